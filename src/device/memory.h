// Device memory: a sparse memfd a device, mapped once. Peers map the same file, so a pointer is (device, offset)
// for every process of the host: IPC, VMM and collectives rest on this.
//
// In strict mode the addresses that clients see are a PROT_NONE window and the memory is mapped as an alias at a
// constant distance behind it; host_address() adds the distance. In normal mode both are the same.
#pragma once
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "device/intervals.h"

namespace updraft {

class DeviceMemory {
 public:
  /// Who gives an allocation back: a client by its address, or the library, from whom an address freed twice must not
  /// take it.
  enum class Owner { Client, Library };

  /// Reserves the windows; `limit` is the figure that allocations may use together (bytes).
  DeviceMemory(int device, size_t limit);
  ~DeviceMemory();
  DeviceMemory(const DeviceMemory&) = delete;

  /// 512-byte aligned (2 MiB from 2 MiB on). Throws 207001 with sizes when the limit or the window is exhausted.
  void* allocate(size_t bytes, Owner owner = Owner::Client);
  /// The same for the library, with free addresses behind it for grow().
  void* allocate_to_grow(size_t bytes);
  /// Memory of the library has so many bytes from now on, at the same address. False when the addresses behind it are
  /// in use; throws 207001 when the limit is exhausted.
  bool grow(void* p, size_t bytes);
  /// Throws 107000 when p is not the start of an allocation of this owner.
  void free(void* p, Owner owner = Owner::Client);
  /// Start and size of the allocation that holds p; false when none does.
  bool find(const void* p, void** base, size_t* bytes) const;
  /// Bytes of memory from p on: to the end of its allocation, or of the mappings that follow each other.
  size_t room_at(const void* p) const;
  /// True when [begin, end) is memory. Fast for what was asked lately.
  bool covers(const void* begin, const void* end) const;

  bool contains(const void* p) const {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(window_) < span_;
  }
  ptrdiff_t alias() const { return alias_; }
  size_t limit() const { return limit_; }
  size_t used() const;
  /// The most that was ever in use at once.
  size_t peak() const;
  /// Free bytes whose pages are there still.
  size_t kept() const;
  /// Bytes that this process may still allocate: other processes on the device share the limit.
  size_t available() const;
  int fd() const { return fd_; }
  const char* base() const { return window_; }
  /// Bytes from base() on that the file behind fd() holds; addresses above are those of VMM.
  size_t file_bytes() const { return heap_; }

  // Virtual memory management: address ranges and physical memory apart.
  void* reserve(size_t bytes);
  void release(void* p);
  /// Maps `bytes` of file `fd` from `offset` at a reserved address.
  void map(void* at, size_t bytes, int fd, size_t offset);
  void unmap(void* at);
  /// Accounts physical memory against the limit (throws 207001) and gives it back.
  void charge(size_t bytes);
  void discharge(size_t bytes);

 private:
  // With the lock:
  void require(size_t bytes) const;            ///< throws 207001 where the limit has no room
  bool take_range(size_t start, size_t size);  ///< false when it is not free
  void* give_out(size_t start, size_t bytes, Owner owner);
  void give_back(size_t offset, size_t bytes);
  void use(size_t bytes);
  bool fits(size_t bytes) const;
  size_t room() const;
  /// The memory around an offset as [begin, end), empty when there is none.
  std::pair<size_t, size_t> range_of(size_t offset) const;

  int device_;
  int fd_ = -1;
  char* window_ = nullptr;
  size_t heap_ = 0;  ///< bytes of the window that the memfd backs
  size_t span_ = 0;  ///< heap and the VMM part behind it
  ptrdiff_t alias_ = 0;
  size_t limit_;

  mutable std::mutex mutex_;
  std::atomic<uint64_t> version_;  ///< another number after memory went away; unique among all devices
  size_t used_ = 0, peak_ = 0;
  mutable size_t others_ = 0;          ///< bytes of other processes when their records were read
  mutable size_t used_when_read_ = 0;  ///< and our own at that time
  mutable std::chrono::steady_clock::time_point read_at_{};
  Intervals kept_;                      ///< freed bytes whose pages are still there
  std::map<size_t, size_t> allocated_;  ///< offset -> bytes
  std::set<size_t> of_library_;         ///< offsets of allocated_ with this owner
  std::map<size_t, size_t> free_;       ///< offset -> bytes
  std::map<size_t, size_t> reserved_;   ///< VMM: offset -> bytes
  std::map<size_t, size_t> mapped_;     ///< VMM: offset -> bytes
};

/// The address at which this process may touch memory that a client calls `p`: device memory is translated in
/// strict mode, everything else is returned as it is.
void* host_address(const void* p);

/// Pinned host memory (aclrtMallocHost and aclrtHostRegister).
class HostMemory {
 public:
  static HostMemory& get();
  void* allocate(size_t bytes);
  void free(void* p);
  void add(void* p, size_t bytes);
  void remove(void* p);
  bool contains(const void* p) const;
  /// True when devices may use the address: aclrtHostRegister was called for it.
  bool registered(const void* p) const;

 private:
  mutable std::mutex mutex_;
  std::map<uintptr_t, std::pair<size_t, bool>> blocks_;  ///< start -> (bytes, ours)
};

}  // namespace updraft
