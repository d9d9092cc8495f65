// Communicators: how they come about, what they are, how they end.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <set>
#include <thread>
#include <vector>

#include "collective/topology/environment.h"
#include "collective/topology/rank_table.h"
#include "device/context.h"
#include "hccl/api.h"
#include "hccl/client_state.h"
#include "hccl/join.h"

using namespace updraft;
using namespace updraft::collective;

namespace {

void init_root_info(uint32_t ranks, const void* root_info, uint32_t rank, const void* config, void** comm) {
  need_pointer(root_info, "rootInfo");
  need_pointer(comm, "comm");
  if (ranks == 0 || rank >= ranks)
    throw Error(result::kPara, "EI0003: rank {} of nRanks {}: want a rank from 0 to nRanks - 1", rank, ranks);
  auto communicator =
      join(RootInfo::read(root_info), rank, ranks, current_context().device(), read_comm_config(config));
  *comm = keep_communicator(std::move(communicator));
}

void init_cluster(const char* path, uint32_t rank, const void* config, void** comm) {
  need_pointer(path, "clusterInfo");
  need_pointer(comm, "comm");
  const Environment& environment = Environment::get();
  const RankTable table = read_rank_table(path, environment.connect_timeout);
  auto communicator =
      join_all(table.ranks, rank, {"", table.digest}, read_comm_config(config), fmt::format("the rank table {}", path));
  *comm = keep_communicator(std::move(communicator));
}

}  // namespace

HCCL_API HcclGetRootInfo(void* root_info) {
  return hccl_guard("HcclGetRootInfo", [&] {
    need_pointer(root_info, "rootInfo");
    RootInfo::open(0).write(root_info);
  });
}

HCCL_API HcclCommInitRootInfo(uint32_t ranks, const void* root_info, uint32_t rank, void** comm) {
  return hccl_guard("HcclCommInitRootInfo", [&] { init_root_info(ranks, root_info, rank, nullptr, comm); });
}

HCCL_API HcclCommInitRootInfoConfig(uint32_t ranks, const void* root_info, uint32_t rank, const void* config,
                                    void** comm) {
  return hccl_guard("HcclCommInitRootInfoConfig", [&] {
    need_pointer(config, "config");
    init_root_info(ranks, root_info, rank, config, comm);
  });
}

/// A root for one of several groups of ranks; as HcclGetRootInfo otherwise.
HCCL_API HcclGetRootInfoScalable(void* root_info) {
  return hccl_guard("HcclGetRootInfoScalable", [&] {
    need_pointer(root_info, "rootInfo");
    RootInfo::open(0).write(root_info);
  });
}

/// Several roots share the rendezvous of very large jobs. One serves as many ranks as a job here has, so all meet at
/// the first, and the others are closed where they live. How ranks are shared among roots (extra_roots) matters to
/// nobody.
HCCL_API HcclCommInitRootInfoScalable(uint32_t ranks, uint32_t roots, const void* root_infos, uint32_t rank,
                                      [[maybe_unused]] uint32_t extra_roots, const void* config, void** comm) {
  return hccl_guard("HcclCommInitRootInfoScalable", [&] {
    need_pointer(root_infos, "rootInfoList");
    if (roots == 0 || roots > ranks)
      throw Error(result::kPara, "EI0003: nRoot is {}, want 1 to nRanks, {}", roots, ranks);
    for (uint32_t i = 1; i < roots; ++i)
      RootInfo::read(static_cast<const char*>(root_infos) + i * kRootInfoBytes).close();
    init_root_info(ranks, root_infos, rank, config, comm);
  });
}

HCCL_API HcclCommInitClusterInfo(const char* path, uint32_t rank, void** comm) {
  return hccl_guard("HcclCommInitClusterInfo", [&] { init_cluster(path, rank, nullptr, comm); });
}

HCCL_API HcclCommInitClusterInfoConfig(const char* path, uint32_t rank, const void* config, void** comm) {
  return hccl_guard("HcclCommInitClusterInfoConfig", [&] {
    need_pointer(config, "config");
    init_cluster(path, rank, config, comm);
  });
}

/// One communicator over several devices of this process; a handle a device.
HCCL_API HcclCommInitAll(uint32_t count, int32_t* devices, void** comms) {
  return hccl_guard("HcclCommInitAll", [&] {
    need_pointer(devices, "devices");
    need_pointer(comms, "comms");
    if (count == 0) throw Error(result::kPara, "EI0003: ndev is 0, want at least one device");
    std::set<int32_t> seen;
    for (uint32_t i = 0; i < count; ++i) {
      if (!seen.insert(devices[i]).second) throw Error(result::kPara, "EI0003: device {} is listed twice", devices[i]);
      Device::get(devices[i]);
    }
    const RootInfo info = RootInfo::open(count);
    std::vector<CommunicatorPointer> made(count);
    std::vector<std::exception_ptr> failures(count);
    std::atomic<bool> failed{false};
    const auto check = [&] {
      if (failed) throw Error(result::kRuntime, "EI0015: another device of the call failed");
    };
    const auto join_one = [&](uint32_t i) {
      try {
        made[i] = join(info, i, count, Device::get(devices[i]), CommConfig{}, {}, check);
      } catch (...) { failures[i] = std::current_exception(); }
    };
    std::exception_ptr cause;
    {
      std::vector<std::jthread> threads;
      try {
        for (uint32_t i = 0; i < count; ++i) threads.emplace_back(join_one, i);
      } catch (const std::exception& e) {  // no more threads: those who are there wait in vain
        cause = std::make_exception_ptr(
            Error(result::kRuntime, "EI0015: no thread for device {} of {}: {}", threads.size(), count, e.what()));
        failed = true;
      }
    }
    if (cause) info.close();
    for (auto& failure : failures)
      if (failure && !cause) cause = failure;
    if (cause) {
      for (auto& c : made)
        if (c) c->close();
      std::rethrow_exception(cause);
    }
    for (uint32_t i = 0; i < count; ++i) comms[i] = keep_communicator(std::move(made[i]));
  });
}

/// Ranks of a communicator form another one; the others pass no ranks and get null.
HCCL_API HcclCreateSubCommConfig(void** parent, uint32_t count, const uint32_t* ranks, uint64_t id, uint32_t sub_rank,
                                 const void* config, void** sub) {
  return hccl_guard("HcclCreateSubCommConfig", [&] {
    need_pointer(parent, "comm");
    need_pointer(sub, "subComm");
    CommunicatorPointer communicator = communicator_of(*parent);
    *sub = nullptr;
    if (count == 0 && !ranks) return;
    need_pointer(ranks, "rankIds");
    std::set<uint32_t> seen;
    for (uint32_t i = 0; i < count; ++i) {
      if (ranks[i] >= communicator->size() || !seen.insert(ranks[i]).second)
        throw Error(result::kPara, "EI0003: rankIds[{}] is {}: want different ranks below {}", i, ranks[i],
                    communicator->size());
    }
    if (sub_rank >= count || ranks[sub_rank] != communicator->rank())
      throw Error(result::kPara,
                  "EI0003: subCommRankId is {}: rank {} of the communicator must find itself there in rankIds (of {} "
                  "ranks)",
                  sub_rank, communicator->rank(), count);
    auto made = join_part(*communicator, fmt::format("sub {}", id), std::vector<uint32_t>(ranks, ranks + count),
                          sub_rank, read_comm_config(config));
    *sub = keep_communicator(std::move(made));
  });
}

HCCL_API HcclCommDestroy(void* comm) {
  return hccl_guard("HcclCommDestroy", [&] {
    const CommunicatorPointer communicator = take_communicator(comm);
    if (communicator) {
      communicator->close();
      ClientState::forget(*communicator);
    } else {
      communicator_of(comm);  // says what is wrong with it
    }
  });
}

HCCL_API HcclGetCommName(void* comm, char* name) {
  return hccl_guard("HcclGetCommName", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    need_pointer(name, "commName");
    std::memset(name, 0, kCommNameBytes);
    std::memcpy(name, communicator->name().data(), std::min(communicator->name().size(), kCommNameBytes - 1));
  });
}

HCCL_API HcclGetRankId(void* comm, uint32_t* rank) {
  return hccl_guard("HcclGetRankId", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    need_pointer(rank, "rank");
    *rank = communicator->rank();
  });
}

HCCL_API HcclGetRankSize(void* comm, uint32_t* size) {
  return hccl_guard("HcclGetRankSize", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    need_pointer(size, "rankSize");
    *size = communicator->size();
  });
}

HCCL_API HcclGetCommAsyncError(void* comm, int32_t* error) {
  return hccl_guard("HcclGetCommAsyncError", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    need_pointer(error, "asyncError");
    *error = communicator->async_error();
    // The text that aclGetRecentErrMsg gives next says what happened.
    if (auto failure = communicator->failure()) report_error("HcclGetCommAsyncError", *error, failure->text());
  });
}

/// Number of options of HcclCommConfig that this library knows.
extern "C" UPDRAFT_API uint32_t HcclGetCommConfigCapability() { return 12; }
