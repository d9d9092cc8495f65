// Dropout between the layers of a recurrent network.
#pragma once
#include <span>

#include "kernels/random.h"
#include "tensor/view.h"

namespace updraft {

/// The operators are given no seed, and the backward pass is given no mask. So the mask is a function of what the
/// network computes from, its input, first states and parameters, which both passes have: the same run draws the same
/// masks, layers that are computed again (checkpointing) drop the same elements, and another step of training others.
struct LayerDropout {
  double p = 0;  ///< probability of 0
  RandomKey key{};

  explicit operator bool() const { return p > 0; }
  /// x, contiguous FLOAT or DOUBLE, := x * mask / (1 - p); `border` counts the borders between layers. Its own
  /// gradient.
  void apply(const TensorView& x, int64_t border) const;
};

/// A number made of all elements of the views; absent ones have no data.
uint64_t digest(std::span<const TensorView> views);

}  // namespace updraft
