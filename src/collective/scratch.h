// Memory that operations use one after another; its pages stay, since the first touch of a page costs more than to
// combine it.
#pragma once
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "collective/error.h"

namespace updraft::collective {

class Scratch {
 public:
  /// More than `kept` bytes are given back when less is asked for again.
  explicit Scratch(size_t kept) : kept_(kept) {}
  ~Scratch() { release(); }
  Scratch(const Scratch&) = delete;

  /// At least `bytes`; what was taken before is gone. Throws HCCL_E_MEMORY.
  char* take(size_t bytes) {
    if (bytes <= bytes_ && (bytes_ <= kept_ || bytes > kept_)) return p_;
    release();
    const size_t wanted = (std::max<size_t>(bytes, 1) + kHuge - 1) / kHuge * kHuge;
    void* p = mmap(nullptr, wanted, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
      throw Error(result::kMemory, "EI0007: no {} bytes of host memory for what comes from other hosts: {}", bytes,
                  std::strerror(errno));
    madvise(p, wanted, MADV_HUGEPAGE);
    p_ = static_cast<char*>(p);
    bytes_ = wanted;
    return p_;
  }

 private:
  static constexpr size_t kHuge = 2u << 20;
  void release() {
    if (p_) munmap(p_, bytes_);
    p_ = nullptr;
    bytes_ = 0;
  }

  const size_t kept_;
  char* p_ = nullptr;
  size_t bytes_ = 0;
};

}  // namespace updraft::collective
