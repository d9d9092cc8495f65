#include "graph/ir/large_blocks.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <new>

namespace updraft::graph {

LargeBlocks& LargeBlocks::get() {
  static auto* blocks = new LargeBlocks;
  return *blocks;
}

LargeBlocks::Block LargeBlocks::take(size_t bytes) {
  constexpr size_t kPage = 4096;
  if (bytes > SIZE_MAX - kPage) throw std::bad_alloc();
  bytes = (bytes + kPage - 1) / kPage * kPage;
  {
    std::lock_guard lock(mutex_);
    ++asked_[std::bit_width(bytes)];
    const auto found =
        std::ranges::find_if(idle_, [&](Block b) { return b.bytes >= bytes && b.bytes <= bytes + bytes / 4; });
    if (found != idle_.end()) {
      const Block block = *found;
      idle_.erase(found);
      kept_ -= block.bytes;
      return block;
    }
  }
  void* const at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) throw std::bad_alloc();
  return {static_cast<std::byte*>(at), bytes};
}

void LargeBlocks::give_back(Block block) {
  {
    std::lock_guard lock(mutex_);
    if (asked_[std::bit_width(block.bytes)] > kOneBuild && kept_ + block.bytes <= kMost) {
      madvise(block.data, block.bytes, MADV_FREE);
      idle_.push_back(block);
      kept_ += block.bytes;
      return;
    }
  }
  munmap(block.data, block.bytes);
}

size_t LargeBlocks::kept() const {
  std::lock_guard lock(mutex_);
  return kept_;
}

}  // namespace updraft::graph
