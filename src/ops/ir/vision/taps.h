// Resizing along rows and columns by weights: each pixel of the result is a weighted sum of pixels of some rows and
// some columns. The gradient is the same with the weights turned round.
#pragma once
#include <functional>
#include <vector>

#include "ops/op.h"

namespace updraft {

/// For each pixel of the result, along one dimension, which pixels it takes and how much of each.
struct PixelTaps {
  std::vector<int64_t> begin = {0};  ///< of each pixel's taps, and the end of the last
  std::vector<int64_t> at;
  std::vector<float> weights;

  int64_t size() const { return static_cast<int64_t>(begin.size()) - 1; }
  void add(int64_t pixel, float weight) {
    at.push_back(pixel);
    weights.push_back(weight);
  }
  /// Ends the taps of a pixel.
  void close() { begin.push_back(static_cast<int64_t>(at.size())); }
  /// For each of `count` pixels that were taken, who took them.
  PixelTaps turned(int64_t count) const;
};
struct PlaneTaps {
  PixelTaps rows, columns;
};

/// `to` from `from`, both [N, C, H, W] or, with the channels last, [N, H, W, C]. make() is called when it runs. Sums
/// are of FLOAT, of DOUBLE where `to` is.
void plan_taps(Op& op, const TensorView& from, const TensorView& to, bool last, std::function<PlaneTaps()> make);

}  // namespace updraft
