// Resampling along each dimension: padding, nearest, linear and cubic interpolation are tables of taps.
#pragma once
#include <memory>

#include "kernels/planes.h"
#include "ops/op.h"

namespace updraft {

/// The taps of one dimension and what they point to.
struct TapTable {
  Taps taps;
  std::vector<int64_t> index;
  std::vector<double> weight;
  std::vector<float> weight_f32;

  explicit TapTable(int64_t in = 1, int64_t out = 1, int count = 1, bool unit = true);
  /// Fills what the kernels read; index and weight are set.
  void finish();
};

/// Depth, height, width; kept by the work of an operator.
using TapTables = std::shared_ptr<std::vector<TapTable>>;

/// out = resampling of in (forward), or in's gradient is spread over out's (backward): tables go from the smaller
/// tensor's side of the forward operator. `spatial` tables are given.
void plan_resample(Op& op, std::vector<TapTable> tables, const TensorView& in, const TensorView& out, bool backward);

}  // namespace updraft
