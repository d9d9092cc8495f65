// Communicators that live: settings of their own, holding them back.
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
