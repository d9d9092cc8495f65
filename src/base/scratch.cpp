#include "base/scratch.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <vector>

namespace updraft {
namespace {

constexpr size_t kAlign = scratch_size(1);
constexpr size_t kStep = size_t{2} << 20;  // blocks are multiples of this
constexpr int kWatched = 256;              // outermost scopes after which the arena may shrink

struct Block {
  char* data;
  size_t size;
  bool lent = false;
};

class Arena {
 public:
  ~Arena() {
    for (const Block& block : blocks_) std::free(block.data);
  }

  size_t block() const { return block_; }
  size_t used() const { return used_; }
  void enter() { ++depth_; }

  void leave(size_t block, size_t used) {
    block_ = block;
    used_ = used;
    if (--depth_ == 0) settle();
  }

  // The lent block comes next: nothing lies behind the place where the arena stands.
  size_t lend(void* data, size_t bytes) {
    const size_t skip = -reinterpret_cast<uintptr_t>(data) % kAlign;
    const size_t at = std::min(blocks_.size(), used_ ? block_ + 1 : block_);
    const Block block{static_cast<char*>(data) + skip, bytes > skip ? bytes - skip : 0, true};
    blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(at), block);
    block_ = at;
    used_ = 0;
    enter();
    return at;
  }

  void end_loan(size_t at, size_t block, size_t used) {
    blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(at));
    leave(block, used);
  }

  void* take(size_t bytes) {
    bytes = scratch_size(bytes);
    while (block_ < blocks_.size() && blocks_[block_].size - used_ < bytes) {
      ++block_;
      used_ = 0;
    }
    if (block_ == blocks_.size()) add(bytes);
    char* at = blocks_[block_].data + used_;
    used_ += bytes;
    size_t in_use = used_;
    for (size_t i = 0; i < block_; ++i) in_use += blocks_[i].size;
    recent_ = std::max(recent_, in_use);
    peak_ = std::max(peak_, in_use);
    return at;
  }

  size_t held() const {
    size_t bytes = 0;
    for (const Block& block : blocks_)
      if (!block.lent) bytes += block.size;
    return bytes;
  }
  size_t peak() const { return peak_; }
  void reset_peak() { peak_ = 0; }

 private:
  void add(size_t bytes) {
    const size_t size = (std::max(bytes, held() / 2) + kStep - 1) / kStep * kStep;
    blocks_.reserve(blocks_.size() + 1);
    void* data = std::aligned_alloc(kAlign, size);
    if (!data) throw std::bad_alloc();
    blocks_.push_back({static_cast<char*>(data), size});
    used_ = 0;
  }

  // Nothing is in use: several blocks become one of their size, so that the next time one suffices, and an arena that
  // was more than four times as large as needed for a while is made smaller.
  void settle() {
    const bool watched = ++scopes_ >= kWatched;
    const size_t bytes = held();
    size_t want = bytes;
    if (watched && bytes > kStep && bytes / 4 > recent_) want = std::max(kStep, (recent_ + kStep - 1) / kStep * kStep);
    if (blocks_.size() > 1 || want < bytes) {
      for (const Block& block : blocks_) std::free(block.data);
      blocks_.clear();
      block_ = used_ = 0;
      if (void* data = std::aligned_alloc(kAlign, want)) blocks_.push_back({static_cast<char*>(data), want});
    }
    if (watched) scopes_ = 0, recent_ = 0;
  }

  std::vector<Block> blocks_;
  size_t block_ = 0, used_ = 0;
  size_t recent_ = 0, peak_ = 0;
  int depth_ = 0, scopes_ = 0;
};

Arena& arena() {
  thread_local Arena a;
  return a;
}

}  // namespace

ScratchScope::ScratchScope() : block_(arena().block()), used_(arena().used()) { arena().enter(); }
ScratchScope::~ScratchScope() { arena().leave(block_, used_); }
void* ScratchScope::take(size_t bytes) { return arena().take(bytes); }

LentScratch::LentScratch(void* data, size_t bytes) : block_(arena().block()), used_(arena().used()) {
  at_ = arena().lend(data, bytes);
}
LentScratch::~LentScratch() { arena().end_loan(at_, block_, used_); }

size_t scratch_held() { return arena().held(); }
size_t scratch_peak() { return arena().peak(); }
void reset_scratch_peak() { arena().reset_peak(); }

}  // namespace updraft
