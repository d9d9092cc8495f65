// Which bytes a view touches.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "tensor/view.h"

namespace updraft::sanitizer {

/// Bytes [begin, end).
struct Range {
  uintptr_t begin = 0, end = 0;
  bool empty() const { return begin >= end; }
  bool meets(const Range& o) const { return begin < o.end && o.begin < end; }
};

/// From the first byte to the last; empty for a view without elements or memory.
Range reach_of(const TensorView& view);
/// The pieces without holes, in the order of the view; pieces that touch may come apart. `f` returns false to stop.
/// False when it was stopped, or when there are more than `most`.
bool for_each_run(const TensorView& view, int64_t most, FunctionRef<bool(Range)> f);
/// True when there is a byte that both touch. Views of more than some million pieces count as apart.
bool share_a_byte(const TensorView& a, const TensorView& b);

}  // namespace updraft::sanitizer
