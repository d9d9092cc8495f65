#include "collective/shared/peer_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "collective/error.h"

namespace updraft::collective {

std::shared_ptr<PeerMemory> PeerMemory::import(int fd) {
  static std::mutex mutex;
  static auto* known = new std::map<std::pair<dev_t, ino_t>, std::weak_ptr<PeerMemory>>;
  struct stat info;
  if (fstat(fd, &info) != 0)
    throw Error(result::kMemory, "EI0007: a peer's memory cannot be used: {}", std::strerror(errno));
  std::lock_guard lock(mutex);
  auto& entry = (*known)[{info.st_dev, info.st_ino}];
  if (auto memory = entry.lock()) return memory;
  std::erase_if(*known, [&](const auto& e) { return e.second.expired() && &e.second != &entry; });
  const auto bytes = static_cast<size_t>(info.st_size);
  // Aligned, so that the peer's huge pages are huge here, too.
  constexpr size_t kHuge = 2u << 20;
  void* reserved = mmap(nullptr, bytes + kHuge, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const auto start = reinterpret_cast<uintptr_t>(reserved), aligned = (start + kHuge - 1) / kHuge * kHuge;
  void* p = reserved == MAP_FAILED ? reserved
                                   : mmap(reinterpret_cast<void*>(aligned), bytes, PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd, 0);
  if (p == MAP_FAILED) {
    const int why = errno;
    if (reserved != MAP_FAILED) munmap(reserved, bytes + kHuge);
    throw Error(result::kMemory, "EI0007: {} bytes of a peer's device memory cannot be mapped: {}", bytes,
                std::strerror(why));
  }
  if (aligned > start) munmap(reserved, aligned - start);
  const size_t whole = (bytes + 4095) / 4096 * 4096;
  munmap(reinterpret_cast<void*>(aligned + whole), start + bytes + kHuge - aligned - whole);
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  if (copy < 0) {
    const int why = errno;
    munmap(p, bytes);
    throw Error(result::kMemory, "EI0007: a peer's memory cannot be kept: {}", std::strerror(why));
  }
  madvise(p, bytes, MADV_HUGEPAGE);
  madvise(p, bytes, MADV_DONTFORK);
  madvise(p, bytes, MADV_DONTDUMP);
  std::shared_ptr<PeerMemory> memory(new PeerMemory(static_cast<char*>(p), bytes, copy));
  entry = memory;
  return memory;
}

PeerMemory::~PeerMemory() {
  munmap(base_, bytes_);
  close(fd_);
}

}  // namespace updraft::collective
