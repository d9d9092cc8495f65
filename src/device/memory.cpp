#include "device/memory.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <set>

#include "base/config.h"
#include "base/error.h"
#include "device/observer.h"
#include "device/process_record.h"

namespace updraft {
namespace {
using What = OrderEvent::What;

// With the lock, so that an address that is given out again is told of in order.
void tell_memory(What what, int device, const void* at, ptrdiff_t alias, size_t bytes, const char* kind) {
  if (!watched()) return;
  OrderEvent event{.what = what, .object = static_cast<const char*>(at) + alias};
  event.device = device;
  event.client = at;
  event.bytes = bytes;
  event.name = kind;
  tell_order(event);
}

constexpr size_t kAlign = 512;
constexpr size_t kHuge = 2u << 20;
constexpr size_t kKeep = size_t{1} << 30;  // freed pages that stay: first touch costs more than the memory

size_t round_up(size_t n, size_t to) { return (n + to - 1) / to * to; }

// Windows of the open devices, for host_address().
struct Windows {
  static constexpr int kMax = 1024;
  std::atomic<int> count{0};
  std::atomic<const DeviceMemory*> memory[kMax];
};
Windows g_windows;
std::atomic<uint64_t> g_versions{0};
std::mutex g_windows_mutex;

// Addresses for aclrtReserveMemAddress. torch_npu reserves 9/8 of the device for each stream and pool, and each
// captured graph has pools of its own. Addresses cost nothing, but a limit of them (ulimit -v) counts those that are
// not used, and ThreadSanitizer leaves programs few: there they are no more than the device needs.
bool addresses_limited() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}
size_t address_room(size_t heap) {
#if defined(__SANITIZE_THREAD__)
  return heap;
#else
  if (addresses_limited()) return heap;
  constexpr size_t kRoom = size_t{4} << 40;
  return std::max(heap, kRoom);
#endif
}

// The heap has more addresses than memory, so that fragments never make a device smaller than it says.
size_t fragmentation_room() { return addresses_limited() ? 2 : 4; }

}  // namespace

DeviceMemory::DeviceMemory(int device, size_t limit) : device_(device), limit_(limit), version_(++g_versions) {
  heap_ = round_up(limit * fragmentation_room(), kHuge);  // the file is sparse
  fd_ = memfd_create(fmt::format("updraft-device-{}", device).c_str(), MFD_CLOEXEC);
  if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(heap_)) != 0)
    throw Error(code::kRtMemoryAllocation, "device {}: no memory file of {} bytes: {}", device, heap_,
                std::strerror(errno));
  const bool strict = Config::get().strict;
  size_t total;
  void* p;
  for (size_t room = address_room(heap_);; room = std::max(heap_, room / 2)) {
    span_ = heap_ + room;
    total = (strict ? 2 : 1) * span_ + kHuge;
    p = mmap(nullptr, total, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p != MAP_FAILED || room == heap_) break;
  }
  if (p == MAP_FAILED)
    throw Error(code::kRtMemoryAllocation,
                "device {}: no address space of {} bytes: {} (ulimit -v limits it: raise that, or give the device less "
                "memory by UPDRAFT_MEMORY)",
                device, total, std::strerror(errno));
  window_ = reinterpret_cast<char*>(round_up(reinterpret_cast<uintptr_t>(p), kHuge));
  alias_ = strict ? static_cast<ptrdiff_t>(span_) : 0;
  char* at = window_ + alias_;
  if (mmap(at, heap_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd_, 0) == MAP_FAILED)
    throw Error(code::kRtMemoryAllocation, "device {}: the memory file cannot be mapped: {}", device,
                std::strerror(errno));
  madvise(at, heap_, MADV_HUGEPAGE);
  madvise(at, heap_, MADV_DONTFORK);
  madvise(at, heap_, MADV_DONTDUMP);
  free_[0] = heap_;
  std::lock_guard lock(g_windows_mutex);
  int n = g_windows.count.load();
  if (n < Windows::kMax) {
    g_windows.memory[n] = this;
    g_windows.count.store(n + 1, std::memory_order_release);
  }
}

DeviceMemory::~DeviceMemory() {
  for (auto& entry : g_windows.memory)
    if (entry.load() == this) entry = nullptr;
  munmap(window_, (Config::get().strict ? 2 : 1) * span_);
  close(fd_);
}

void DeviceMemory::require(size_t bytes) const {
  if (bytes > SIZE_MAX - kAlign || !fits(round_up(bytes, kAlign)))
    throw Error(code::kRtMemoryAllocation,
                "device {} is out of memory: {} bytes asked for, {} of {} bytes in use here and {} by other processes "
                "(UPDRAFT_MEMORY sets the figure; processes with another UPDRAFT_RUN_DIR do not count)",
                device_, bytes, used_, limit_, others_);
}

bool DeviceMemory::take_range(size_t start, size_t size) {
  auto it = free_.upper_bound(start);
  if (it == free_.begin()) return false;
  const auto [offset, room] = *--it;
  if (start + size > offset + room) return false;
  free_.erase(it);
  if (start > offset) free_[offset] = start - offset;
  if (start + size < offset + room) free_[start + size] = offset + room - start - size;
  kept_.remove(start, start + size);
  use(size);
  return true;
}

void* DeviceMemory::give_out(size_t start, size_t bytes, Owner owner) {
  allocated_[start] = round_up(bytes, kAlign);
  if (owner == Owner::Library) of_library_.insert(start);
  tell_memory(What::Allocated, device_, window_ + start, alias_, bytes, owner == Owner::Client ? "device" : "library");
  return window_ + start;
}

void* DeviceMemory::allocate(size_t bytes, Owner owner) {
  const size_t align = bytes >= kHuge ? kHuge : kAlign;
  std::lock_guard lock(mutex_);
  require(bytes);
  const size_t size = round_up(bytes, kAlign);
  // First fit keeps the touched part of the file compact.
  for (const auto& [offset, room] : free_) {
    const size_t start = round_up(offset, align);
    if (start + size <= offset + room && take_range(start, size)) return give_out(start, bytes, owner);
  }
  throw Error(code::kRtMemoryAllocation, "device {}: no free range of {} bytes ({} of {} bytes in use)", device_, bytes,
              used_, limit_);
}

// The same places each time, so that the pages of the one that went are there for the next.
void* DeviceMemory::allocate_to_grow(size_t bytes) {
  {
    std::lock_guard lock(mutex_);
    require(bytes);
    const size_t size = round_up(bytes, kAlign);
    for (size_t parts = 4; parts <= 64; parts *= 2)
      for (size_t part = parts; part-- > 1;) {
        const size_t start = heap_ / parts * part / kHuge * kHuge;
        if (take_range(start, size)) return give_out(start, bytes, Owner::Library);
      }
  }
  return allocate(bytes, Owner::Library);
}

bool DeviceMemory::grow(void* p, size_t bytes) {
  std::lock_guard lock(mutex_);
  const auto start = static_cast<size_t>(static_cast<char*>(p) - window_);
  size_t& size = allocated_.at(start);
  if (bytes <= size) return true;
  const size_t more = bytes - size;
  require(more);
  if (!take_range(start + size, round_up(more, kAlign))) return false;
  tell_memory(What::Allocated, device_, window_ + start + size, alias_, more, "library");
  size += round_up(more, kAlign);
  return true;
}

void DeviceMemory::free(void* p, Owner owner) {
  std::lock_guard lock(mutex_);
  auto it = contains(p) ? allocated_.find(static_cast<size_t>(static_cast<char*>(p) - window_)) : allocated_.end();
  if (it == allocated_.end())
    throw Error(code::kRtParamInvalid, "{} is not the start of an allocation of device {} (freed twice, or never)", p,
                device_);
  auto [offset, size] = *it;
  if (of_library_.contains(offset) != (owner == Owner::Library))
    throw Error(code::kRtParamInvalid,
                "{} of device {} is physical memory or a collective's, not an allocation of aclrtMalloc (that one was "
                "freed before, and its address given out again)",
                p, device_);
  if (owner == Owner::Client) tell_memory(What::Freed, device_, p, alias_, size, "device");
  allocated_.erase(it);
  of_library_.erase(offset);
  version_ = ++g_versions;
  used_ -= size;
  update_process_record(device_, used_);
  give_back(offset, size);
}

void DeviceMemory::use(size_t bytes) {
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  update_process_record(device_, used_);
}

void DeviceMemory::give_back(size_t offset, size_t size) {
  // What exceeds the figure goes back to the system, whole pages only: neighbours on the border pages are in use.
  const size_t keep = std::min(size, kKeep - std::min(kKeep, kept_.total()));
  const size_t begin = round_up(offset + keep, 4096), end = (offset + size) / 4096 * 4096;
  if (begin < end) {
    fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(begin),
              static_cast<off_t>(end - begin));
    kept_.add(offset, begin);
  } else {
    kept_.add(offset, offset + size);
  }
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && offset + size == next->first) {
    size += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  free_[offset] = size;
}

bool DeviceMemory::find(const void* p, void** base, size_t* bytes) const {
  if (!contains(p)) return false;
  std::lock_guard lock(mutex_);
  auto offset = static_cast<size_t>(static_cast<const char*>(p) - window_);
  for (const auto* blocks : {&allocated_, &mapped_}) {
    auto it = blocks->upper_bound(offset);
    if (it == blocks->begin()) continue;
    --it;
    if (offset >= it->first + it->second) continue;
    *base = window_ + it->first;
    *bytes = it->second;
    return true;
  }
  return false;
}

// Records of other processes are read before memory is refused, and else at most once in 100 ms or 64 MiB.
bool DeviceMemory::fits(size_t bytes) const {
  constexpr size_t kUnread = 64u << 20;
  if (bytes < kUnread && used_ + bytes < used_when_read_ + kUnread && used_ + others_ + bytes <= limit_ &&
      std::chrono::steady_clock::now() - read_at_ < std::chrono::milliseconds(100))
    return true;
  return bytes <= room();
}

std::pair<size_t, size_t> DeviceMemory::range_of(size_t offset) const {
  auto holder = [offset](const std::map<size_t, size_t>& blocks) {
    auto it = blocks.upper_bound(offset);
    return it != blocks.begin() && offset - std::prev(it)->first < std::prev(it)->second ? std::prev(it) : blocks.end();
  };
  if (auto it = holder(allocated_); it != allocated_.end()) return {it->first, it->first + it->second};
  auto it = holder(mapped_);
  if (it == mapped_.end()) return {0, 0};
  size_t begin = it->first, end = it->first + it->second;
  for (auto next = std::next(it); next != mapped_.end() && next->first == end; ++next) end += next->second;
  for (; it != mapped_.begin() && std::prev(it)->first + std::prev(it)->second == begin; --it)
    begin = std::prev(it)->first;
  return {begin, end};
}

size_t DeviceMemory::room_at(const void* p) const {
  if (!contains(p)) return 0;
  auto offset = static_cast<size_t>(static_cast<const char*>(p) - window_);
  std::lock_guard lock(mutex_);
  return range_of(offset).second - (range_of(offset).second ? offset : 0);
}

bool DeviceMemory::covers(const void* begin, const void* end) const {
  struct Range {
    uint64_t version = 0;
    const char *begin = nullptr, *end = nullptr;
  };
  static thread_local Range seen[4];
  static thread_local unsigned oldest = 0;
  const uint64_t version = version_.load(std::memory_order_acquire);
  for (const Range& r : seen)
    if (r.version == version && begin >= r.begin && end <= r.end) return begin <= end;
  if (!contains(begin) || end < begin) return false;
  std::pair<size_t, size_t> range;
  {
    std::lock_guard lock(mutex_);
    range = range_of(static_cast<size_t>(static_cast<const char*>(begin) - window_));
  }
  if (range.second == 0 || end > window_ + range.second) return false;
  seen[oldest++ % 4] = {version, window_ + range.first, window_ + range.second};
  return true;
}

size_t DeviceMemory::room() const {
  others_ = other_processes_use(device_);
  used_when_read_ = used_;
  read_at_ = std::chrono::steady_clock::now();
  const size_t taken = used_ + others_;
  return taken < limit_ ? limit_ - taken : 0;
}

size_t DeviceMemory::available() const {
  std::lock_guard lock(mutex_);
  return room();
}

size_t DeviceMemory::used() const {
  std::lock_guard lock(mutex_);
  return used_;
}

size_t DeviceMemory::peak() const {
  std::lock_guard lock(mutex_);
  return peak_;
}

size_t DeviceMemory::kept() const {
  std::lock_guard lock(mutex_);
  return kept_.total();
}

void DeviceMemory::charge(size_t bytes) {
  std::lock_guard lock(mutex_);
  if (!fits(bytes))
    throw Error(code::kRtMemoryAllocation, "device {} is out of memory: {} bytes asked for, {} of {} bytes in use",
                device_, bytes, used_, limit_);
  use(bytes);
}

void DeviceMemory::discharge(size_t bytes) {
  std::lock_guard lock(mutex_);
  used_ -= bytes;
  update_process_record(device_, used_);
}

void* DeviceMemory::reserve(size_t bytes) {
  size_t size = round_up(bytes, kHuge);
  std::lock_guard lock(mutex_);
  size_t at = heap_;
  for (auto [offset, n] : reserved_) {
    if (offset - at >= size) break;
    at = offset + n;
  }
  if (size < bytes || size == 0 || size > span_ - at)
    throw Error(code::kRtMemoryAllocation,
                "device {}: {} bytes of addresses cannot be reserved: none of {} bytes is that long (ulimit -v "
                "makes them fewer)",
                device_, bytes, span_ - heap_);
  reserved_[at] = size;
  return window_ + at;
}

void DeviceMemory::release(void* p) {
  std::lock_guard lock(mutex_);
  auto offset = static_cast<size_t>(static_cast<char*>(p) - window_);
  auto it = contains(p) ? reserved_.find(offset) : reserved_.end();
  if (it == reserved_.end()) throw Error(code::kRtParamInvalid, "{} is not a reserved address", p);
  auto first = mapped_.lower_bound(offset);
  if (first != mapped_.end() && first->first < offset + it->second)
    throw Error(code::kRtParamInvalid, "{} is still mapped: unmap it before its addresses are released", p);
  reserved_.erase(it);
}

void DeviceMemory::map(void* at, size_t bytes, int fd, size_t offset) {
  std::lock_guard lock(mutex_);
  auto start = static_cast<size_t>(static_cast<char*>(at) - window_);
  auto it = contains(at) ? reserved_.upper_bound(start) : reserved_.begin();
  if (it == reserved_.begin() ||
      (--it, bytes == 0 || start - it->first >= it->second || bytes > it->first + it->second - start))
    throw Error(code::kRtParamInvalid, "{} + {} bytes is not inside a reserved range", at, bytes);
  auto next = mapped_.lower_bound(start);
  if ((next != mapped_.end() && next->first - start < bytes) ||
      (next != mapped_.begin() && start - std::prev(next)->first < std::prev(next)->second))
    throw Error(code::kRtParamInvalid, "{} + {} bytes: some of it is mapped already, unmap it first", at, bytes);
  char* host = static_cast<char*>(at) + alias_;
  if (mmap(host, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, static_cast<off_t>(offset)) == MAP_FAILED)
    throw Error(code::kRtMemoryAllocation, "{} bytes cannot be mapped at {}: {}", bytes, at, std::strerror(errno));
  madvise(host, bytes, MADV_HUGEPAGE);
  madvise(host, bytes, MADV_DONTFORK);
  madvise(host, bytes, MADV_DONTDUMP);
  mapped_[start] = bytes;
  tell_memory(What::Allocated, device_, at, alias_, bytes, "mapped");
}

void DeviceMemory::unmap(void* at) {
  std::lock_guard lock(mutex_);
  auto it = contains(at) ? mapped_.find(static_cast<size_t>(static_cast<char*>(at) - window_)) : mapped_.end();
  if (it == mapped_.end()) throw Error(code::kRtParamInvalid, "{} is not the start of a mapping", at);
  if (mmap(static_cast<char*>(at) + alias_, it->second, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
    throw Error(code::kRtMemoryAllocation, "{} bytes cannot be unmapped at {}: {}", it->second, at,
                std::strerror(errno));
  tell_memory(What::Freed, device_, at, alias_, it->second, "mapped");
  mapped_.erase(it);
  version_ = ++g_versions;
}

void* host_address(const void* p) {
  void* host = const_cast<void*>(p);
  if (!Config::get().strict) return host;
  int n = g_windows.count.load(std::memory_order_acquire);
  for (int i = 0; i < n; ++i)
    if (const DeviceMemory* m = g_windows.memory[i]; m && m->contains(p)) return static_cast<char*>(host) + m->alias();
  return host;
}

namespace {
/// Starts of blocks of aclrtMallocHost that are registered as well. With the lock of HostMemory.
std::set<uintptr_t>& registered_starts() {
  static auto* starts = new std::set<uintptr_t>;
  return *starts;
}
}  // namespace

HostMemory& HostMemory::get() {
  static auto* memory = new HostMemory;
  return *memory;
}

void* HostMemory::allocate(size_t bytes) {
  size_t size = round_up(std::max<size_t>(bytes, 1), 4096);
  void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED)
    throw Error(code::kRtMemoryAllocation, "{} bytes of host memory cannot be allocated: {}", bytes,
                std::strerror(errno));
  if (size >= kHuge) madvise(p, size, MADV_HUGEPAGE);
  std::lock_guard lock(mutex_);
  blocks_[reinterpret_cast<uintptr_t>(p)] = {size, true};
  tell_memory(What::Allocated, -1, p, 0, bytes, "host");
  return p;
}

void HostMemory::free(void* p) {
  std::lock_guard lock(mutex_);
  auto it = blocks_.find(reinterpret_cast<uintptr_t>(p));
  if (it == blocks_.end() || !it->second.second)
    throw Error(code::kRtParamInvalid, "{} was not allocated by aclrtMallocHost (freed twice, or never)", p);
  tell_memory(What::Freed, -1, p, 0, it->second.first, "host");
  munmap(p, it->second.first);
  registered_starts().erase(it->first);
  blocks_.erase(it);
}

void HostMemory::add(void* p, size_t bytes) {
  if (bytes == 0 || reinterpret_cast<uintptr_t>(p) + bytes < bytes)
    throw Error(code::kRtParamInvalid, "{} + {} bytes is not host memory", p, bytes);
  std::lock_guard lock(mutex_);
  const auto at = reinterpret_cast<uintptr_t>(p);
  // What aclrtMallocHost gave may be registered as well: torch_npu does so for memory that is swapped.
  const auto it = blocks_.find(at);
  const bool ours = it != blocks_.end() && it->second.second;
  if (ours && bytes > it->second.first)
    throw Error(code::kRtParamInvalid, "{} + {} bytes is more than the {} that aclrtMallocHost gave", p, bytes,
                it->second.first);
  if (ours ? !registered_starts().insert(at).second : !blocks_.emplace(at, std::pair{bytes, false}).second)
    throw Error(code::kRtParamInvalid, "host memory {} is registered already", p);
}

void HostMemory::remove(void* p) {
  std::lock_guard lock(mutex_);
  const auto at = reinterpret_cast<uintptr_t>(p);
  if (registered_starts().erase(at)) return;
  auto it = blocks_.find(at);
  if (it == blocks_.end() || it->second.second)
    throw Error(code::kRtParamInvalid, "host memory {} is not registered", p);
  blocks_.erase(it);
}

bool HostMemory::contains(const void* p) const {
  std::lock_guard lock(mutex_);
  auto at = reinterpret_cast<uintptr_t>(p);
  auto it = blocks_.upper_bound(at);
  if (it == blocks_.begin()) return false;
  --it;
  return at < it->first + it->second.first;
}

bool HostMemory::registered(const void* p) const {
  std::lock_guard lock(mutex_);
  auto at = reinterpret_cast<uintptr_t>(p);
  auto it = blocks_.upper_bound(at);
  if (it == blocks_.begin()) return false;
  --it;
  const auto [bytes, ours] = it->second;
  return at < it->first + bytes && (!ours || registered_starts().contains(it->first));
}

}  // namespace updraft
