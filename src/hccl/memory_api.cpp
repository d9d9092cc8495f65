// Memory that clients prepare for communication. Ranks of a host reach each other's device memory without being told
// of it, and what comes from other hosts is received where it belongs: so these calls check and remember.
#include <algorithm>
#include <vector>

#include "collective/topology/environment.h"
#include "device/context.h"
#include "device/device.h"
#include "hccl/api.h"
#include "hccl/client_state.h"

using namespace updraft;
using namespace updraft::collective;

namespace {

HandlePool<Window>& windows() {
  static auto* pool = new HandlePool<Window>(1 << 16);
  return *pool;
}

Window& window_of(const void* handle, bool symmetric) {
  need_pointer(handle, "handle");
  Window* window = windows().get(handle);
  if (!window || window->symmetric != symmetric)
    throw Error(result::kPara, "EI0003: {} is not a handle of {} (deregistered, or never registered)", handle,
                symmetric ? "HcclCommSymWinRegister" : "HcclCommRegister");
  return *window;
}

void register_window(void* comm, void* address, uint64_t bytes, void** handle, uint32_t flag, uint32_t most_flag,
                     bool symmetric) {
  CommunicatorPointer communicator = communicator_of(comm);
  need_pointer(handle, "handle");
  if (bytes == 0) throw Error(result::kPara, "EI0003: size is 0, want at least 1 byte");
  if (flag > most_flag) throw Error(result::kPara, "EI0003: flag is {}, want 0{}", flag, most_flag ? " or 1" : "");
  check_buffer(*communicator, address, bytes, "addr");
  *handle = windows().create(Window{communicator, static_cast<char*>(address), bytes, symmetric});
}

void drop_window(const void* handle) {
  if (!windows().destroy(handle)) throw Error(result::kPara, "EI0003: the handle was deregistered by another thread");
}

}  // namespace

HCCL_API HcclCommRegister(void* comm, void* address, uint64_t bytes, void** handle, uint32_t flag) {
  return hccl_guard("HcclCommRegister", [&] { register_window(comm, address, bytes, handle, flag, 0, false); });
}

HCCL_API HcclCommDeregister(void* comm, void* handle) {
  return hccl_guard("HcclCommDeregister", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    if (window_of(handle, false).communicator.lock() != communicator)
      throw Error(result::kPara, "EI0003: the handle was registered with another communicator");
    drop_window(handle);
  });
}

/// Waits until the peers have come to the same call, with memory of their own.
HCCL_API HcclCommExchangeMem(void* comm, void* handle, const uint32_t* peers, uint32_t count) {
  return hccl_guard("HcclCommExchangeMem", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    const Window& window = window_of(handle, false);
    if (window.communicator.lock() != communicator)
      throw Error(result::kPara, "EI0003: the handle was registered with another communicator");
    if (count) need_pointer(peers, "peerRanks");
    const uint32_t me = communicator->rank();
    const std::vector<uint32_t> others(peers, peers + count);
    for (const uint32_t peer : others)
      if (peer >= communicator->size() || peer == me || std::ranges::count(others, peer) > 1)
        throw Error(result::kPara,
                    "EI0003: peerRanks has rank {}: want different ranks below {} without {}, the caller", peer,
                    communicator->size(), me);
    const auto key_of = [&](uint32_t from, uint32_t to) {
      const std::string pair = fmt::format("window {} {}", from, to);
      return fmt::format("{} #{}", pair, communicator->occurrence(pair));
    };
    for (const uint32_t peer : others) communicator->member().put(key_of(me, peer), std::to_string(window.bytes));
    const auto deadline = Communicator::Clock::now() + seconds(communicator->options().connect_timeout);
    for (const uint32_t peer : others) communicator->member().get(key_of(peer, me), peer, deadline);
  });
}

HCCL_API HcclCommSymWinRegister(void* comm, void* address, uint64_t bytes, void** handle, uint32_t flag) {
  return hccl_guard("HcclCommSymWinRegister", [&] { register_window(comm, address, bytes, handle, flag, 1, true); });
}

HCCL_API HcclCommSymWinDeregister(void* handle) {
  return hccl_guard("HcclCommSymWinDeregister", [&] {
    window_of(handle, true);
    drop_window(handle);
  });
}

// --- address ranges (expandable segments) ---

namespace {
// With the lock.
ClientState::Range* range_around(ClientState& state, const char* p) {
  auto it = state.ranges.upper_bound(p);
  if (it == state.ranges.begin()) return nullptr;
  --it;
  return p < it->first + it->second.bytes ? &it->second : nullptr;
}
}  // namespace

/// [base, base + size) is an address range that aclrtReserveMemAddress gave.
HCCL_API HcclCommSetMemoryRange(void* comm, void* base, size_t bytes, [[maybe_unused]] size_t alignment,
                                [[maybe_unused]] uint64_t flags) {
  return hccl_guard("HcclCommSetMemoryRange", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    need_pointer(base, "baseVirPtr");
    const DeviceMemory& memory = communicator->device().memory();
    const char* start = static_cast<const char*>(base);
    if (bytes == 0 || bytes > SIZE_MAX / 2 || !memory.contains(start) || !memory.contains(start + bytes - 1))
      throw Error(result::kPara,
                  "EI0003: {} bytes from baseVirPtr ({}) are not addresses of device {}: want a range of "
                  "aclrtReserveMemAddress",
                  bytes, base, communicator->device().index());
    ClientState& state = ClientState::of(*communicator);
    std::lock_guard lock(state.mutex);
    for (const auto& [other, range] : state.ranges)
      if (start < other + range.bytes && other < start + bytes)
        throw Error(result::kPara,
                    "EI0003: {} bytes from baseVirPtr ({}) overlap a range that is set, {} bytes from {}", bytes, base,
                    range.bytes, static_cast<const void*>(other));
    state.ranges[start].bytes = bytes;
  });
}

HCCL_API HcclCommUnsetMemoryRange(void* comm, void* base) {
  return hccl_guard("HcclCommUnsetMemoryRange", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    need_pointer(base, "baseVirPtr");
    ClientState& state = ClientState::of(*communicator);
    std::lock_guard lock(state.mutex);
    auto it = state.ranges.find(static_cast<const char*>(base));
    if (it == state.ranges.end())
      throw Error(result::kPara, "EI0003: baseVirPtr ({}) is not the start of a range that is set", base);
    if (!it->second.active.empty())
      throw Error(result::kPara, "EI0003: {} pieces of the range at {} are active: deactivate them first",
                  it->second.active.size(), base);
    state.ranges.erase(it);
  });
}

/// [p, p + size) of a range that is set has memory now.
HCCL_API HcclCommActivateCommMemory(void* comm, void* p, size_t bytes, size_t offset, void* physical,
                                    [[maybe_unused]] uint64_t flags) {
  return hccl_guard("HcclCommActivateCommMemory", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    need_pointer(p, "virPtr");
    need_pointer(physical, "handle");
    if (offset != 0) throw Error(result::kPara, "EI0003: offset is {}, want 0", offset);
    if (bytes == 0) throw Error(result::kPara, "EI0003: size is 0, want at least 1 byte");
    check_buffer(*communicator, p, bytes, "virPtr");
    const char* start = static_cast<const char*>(p);
    ClientState& state = ClientState::of(*communicator);
    std::lock_guard lock(state.mutex);
    ClientState::Range* range = range_around(state, start);
    if (!range || range != range_around(state, start + bytes - 1))
      throw Error(result::kPara, "EI0003: {} bytes from virPtr ({}) are not within a range of HcclCommSetMemoryRange",
                  bytes, p);
    for (const auto& [other, size] : range->active)
      if (start < other + size && other < start + bytes)
        throw Error(result::kPara, "EI0003: {} bytes from virPtr ({}) overlap memory that is active", bytes, p);
    range->active[start] = bytes;
  });
}

HCCL_API HcclCommDeactivateCommMemory(void* comm, void* p) {
  return hccl_guard("HcclCommDeactivateCommMemory", [&] {
    CommunicatorPointer communicator = communicator_of(comm);
    need_pointer(p, "virPtr");
    ClientState& state = ClientState::of(*communicator);
    std::lock_guard lock(state.mutex);
    ClientState::Range* range = range_around(state, static_cast<const char*>(p));
    if (!range || range->active.erase(static_cast<const char*>(p)) == 0)
      throw Error(result::kPara, "EI0003: virPtr ({}) is not the start of active memory", p);
  });
}

// --- libhcomm.so ---

/// Device memory of the current device.
HCCL_API HcommMemAlloc(void** p, uint64_t bytes) {
  return hccl_guard("HcommMemAlloc", [&] {
    need_pointer(p, "ptr");
    if (bytes == 0) throw Error(result::kPara, "EI0003: size is 0, want at least 1 byte");
    *p = current_context().device().memory().allocate(bytes);
  });
}

HCCL_API HcommMemFree(void* p) {
  return hccl_guard("HcommMemFree", [&] {
    need_pointer(p, "ptr");
    Device* device = Device::owner(p);
    if (!device) throw Error(result::kPara, "EI0003: {} is not device memory", p);
    device->memory().free(p);
  });
}
