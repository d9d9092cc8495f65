// Memory of tensors that live for a part of a run: those that do not live at the same time share it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace updraft::graph {

/// Hands out offsets in one block as a run of the program would: allocate where a tensor is made, release after its
/// last reader. The smallest gap that fits is taken, at its lower end.
class ArenaPlan {
 public:
  static constexpr size_t kAlign = 64;

  /// The offset of `bytes` (0 is fine).
  size_t allocate(size_t bytes);
  /// `offset` is one that allocate() gave.
  void release(size_t offset);
  /// What the block must hold.
  size_t bytes() const { return end_; }

 private:
  void add_gap(size_t offset, size_t bytes);
  void take_gap(std::map<size_t, size_t>::iterator gap);

  std::map<size_t, size_t> used_, gaps_;         ///< offset -> bytes
  std::set<std::pair<size_t, size_t>> by_size_;  ///< gaps: bytes, offset
  size_t end_ = 0;
};

/// What a tensor of so many bytes takes there.
size_t arena_bytes(size_t bytes);

/// A tensor lives from one step to another, both included.
struct Lifetime {
  size_t bytes, first, last;
};
struct SharedBlock {
  std::vector<size_t> offsets;  ///< of each tensor, multiples of kAlign
  size_t bytes = 0;             ///< of all
};
/// Tensors that live at the same time do not meet. The largest ones are placed first, which takes less memory than to
/// place them in the order of the steps; in that order where that is not so, or where very much lives at a time.
SharedBlock share_block(std::span<const Lifetime> tensors);

}  // namespace updraft::graph
