// Communicators that live: settings of their own, holding them back, their network cards.
#include <algorithm>
#include <span>

#include "hccl/api.h"
#include "hccl/client_state.h"

using namespace updraft;
using namespace updraft::collective;

namespace {
constexpr int32_t kDeterministic = 0;

void check_option(int32_t option) {
  if (option != kDeterministic)
    throw Error(result::kNotSupport, "EI0003: option {} is unknown, want HCCL_DETERMINISTIC (0)", option);
}
}  // namespace

/// As HcclSetConfig, of one communicator. The order of reductions is fixed, so every setting is satisfied.
HCCL_API HcclSetCommConfig(void* comm, int32_t option, int32_t value) {
  return hccl_guard("HcclSetCommConfig", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    check_option(option);
    if (value < 0 || value > 2) throw Error(result::kPara, "EI0003: HCCL_DETERMINISTIC is {}, want 0, 1 or 2", value);
    ClientState::of(*communicator).deterministic = value;
  });
}

HCCL_API HcclGetCommConfig(void* comm, int32_t option, int32_t* value) {
  return hccl_guard("HcclGetCommConfig", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    need_pointer(value, "configValue");
    check_option(option);
    *value = ClientState::of(*communicator).deterministic;
  });
}

HCCL_API HcclCommSuspend(void* comm) {
  return hccl_guard("HcclCommSuspend", [&] { communicator_of(comm)->suspend(); });
}

HCCL_API HcclCommResume(void* comm) {
  return hccl_guard("HcclCommResume", [&] { communicator_of(comm)->resume(); });
}

/// A rank has one network card here, its main one: to go (back) to it is done already, a backup there is none.
HCCL_API HcclCommWorkingDevNicSet(void* comm, const uint32_t* ranks, const bool* use_backup, uint32_t count) {
  return hccl_guard("HcclCommWorkingDevNicSet", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    need_pointer(ranks, "ranks");
    need_pointer(use_backup, "useBackup");
    if (count == 0) throw Error(result::kPara, "EI0003: nRanks is 0, want at least 1");
    const std::span all(ranks, count);
    for (const uint32_t rank : all)
      if (rank >= communicator->size() || std::ranges::count(all, rank) > 1)
        throw Error(result::kPara, "EI0003: ranks has rank {}: want different ranks below {}", rank,
                    communicator->size());
    if (const bool* backup = std::find(use_backup, use_backup + count, true); backup != use_backup + count)
      throw Error(result::kNotSupport,
                  "EI0003: rank {} of {} has no backup network card to change to: hosts are reached by the interface "
                  "that HCCL_IF_IP or HCCL_SOCKET_IFNAME chose when the communicator was made; useBackup must be false",
                  all[static_cast<size_t>(backup - use_backup)], communicator->name());
  });
}
