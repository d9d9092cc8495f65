// Numbers as a product with few bits would have them, still as floating point, and the gradients through that. Ranges
// are widened until 0 is one of the numbers.
#include <algorithm>
#include <cmath>

#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

struct Grid {
  double least, most, step;  ///< the range with 0 in it
};
struct Bits {
  double first, last;  ///< whole numbers that the bits tell apart
};

Bits bits_of(const Op& op, int64_t num_bits, bool narrow) {
  op.require(num_bits >= 2 && num_bits <= 16, "attribute num_bits is {}, want 2 to 16", num_bits);
  return {narrow ? 1.0 : 0.0, static_cast<double>((1 << num_bits) - 1)};
}

Grid grid_of(double low, double high, const Bits& bits) {
  const double step = (high - low) / (bits.last - bits.first);
  const double zero = std::clamp(std::floor(bits.first - low / step + 0.5), bits.first, bits.last);
  return {(bits.first - zero) * step, (bits.last - zero) * step, step};
}
double on(const Grid& grid, double v) {
  const double inside = std::clamp(v, grid.least, grid.most);
  return std::floor((inside - grid.least) / grid.step + 0.5) * grid.step + grid.least;
}

/// Grids of the channels, the last dimension; one for all where `low` has one element.
std::vector<Grid> grids_of(const TensorView& low, const TensorView& high, const Bits& bits) {
  const std::vector<double> a = linalg::gather(low), b = linalg::gather(high);
  std::vector<Grid> grids;
  for (size_t i = 0; i < a.size(); ++i)
    grids.push_back(a[i] == 0 && b[i] == 0 ? Grid{0, 0, 1} : grid_of(a[i], b[i], bits));
  return grids;
}

void require_ranges(const Op& op, const In& x, const In& min, const In& max, bool by_channel) {
  op.require(is_floating(x->dtype), "x is {}, want floating point", describe(*x));
  op.require_same_shape("max", *max, "min", *min);
  const int64_t want = by_channel && x->rank ? x->dims[x->rank - 1] : 1;
  op.require(min->numel() == want, "min is {}, want {} elements", describe(*min), want);
}

void quantise(Op& op, const In& x, const In& min, const In& max, const Bits& bits, bool by_channel, const Out& y) {
  require_ranges(op, x, min, max, by_channel);
  op.result_like("y", *y, *x, x->dtype);
  op.work(x->numel() * 4);
  op.launch([from = *x, low = *min, high = *max, bits, to = *y] {
    const std::vector<Grid> grids = grids_of(low, high, bits);
    std::vector<double> v = linalg::gather(from);
    for (size_t i = 0; i < v.size(); ++i) v[i] = on(grids[i % grids.size()], v[i]);
    linalg::scatter(to, v);
  });
}

/// Inside of the range the gradient passes; what is below or above belongs to the ends.
void gradients(Op& op, const In& gradients, const In& x, const In& min, const In& max, const Bits& bits,
               bool by_channel, const Out& of_x, const Out& of_min, const Out& of_max) {
  require_ranges(op, x, min, max, by_channel);
  op.require_same_shape("gradients", *gradients, "x", *x);
  op.result_like("backprops_wrt_x", *of_x, *x, x->dtype);
  op.result_like("backprops_wrt_min", *of_min, *min, min->dtype);
  op.result_like("backprops_wrt_max", *of_max, *max, max->dtype);
  op.work(x->numel() * 4);
  op.launch([g = *gradients, from = *x, low = *min, high = *max, bits, dx = *of_x, dmin = *of_min, dmax = *of_max] {
    const std::vector<Grid> grids = grids_of(low, high, bits);
    const std::vector<double> v = linalg::gather(from);
    std::vector<double> d = linalg::gather(g), below(grids.size()), above(grids.size());
    for (size_t i = 0; i < v.size(); ++i) {
      const size_t c = i % grids.size();
      if (v[i] < grids[c].least) below[c] += d[i];
      else if (v[i] > grids[c].most) above[c] += d[i];
      else continue;
      d[i] = 0;
    }
    linalg::scatter(dx, d);
    linalg::scatter(dmin, below);
    linalg::scatter(dmax, above);
  });
}

}  // namespace

ABOUT(FakeQuantWithMinMaxVars, Vector, "x as num_bits between min and max would have it",
      "按 num_bits 与 min、max 模拟量化 x")
IR_OP(FakeQuantWithMinMaxVars, FakeQuantWithMinMaxVars, (In, x), (In, min), (In, max), (Out, y), (Int, num_bits, 8),
      (Bool, narrow_range, false)) {
  quantise(op, x, min, max, bits_of(op, num_bits, narrow_range), false, y);
}
IR_OP(FakeQuantWithMinMaxVarsPerChannel, FakeQuantWithMinMaxVars, (In, x), (In, min), (In, max), (Out, y),
      (Int, num_bits, 8), (Bool, narrow_range, false)) {
  quantise(op, x, min, max, bits_of(op, num_bits, narrow_range), true, y);
}
IR_OP(FakeQuantWithMinMaxArgs, FakeQuantWithMinMaxVars, (In, x), (Out, y), (Float, min, -6), (Float, max, 6),
      (Int, num_bits, 8), (Bool, narrow_range, false)) {
  op.require(min < max, "attribute min is {} and max {}", min, max);
  op.result_like("y", *y, *x, x->dtype);
  const Grid grid = grid_of(min, max, bits_of(op, num_bits, narrow_range));
  op.work(x->numel() * 4);
  op.launch([from = *x, grid, to = *y] {
    std::vector<double> v = linalg::gather(from);
    for (double& e : v) e = on(grid, e);
    linalg::scatter(to, v);
  });
}
ABOUT(FakeQuantWithMinMaxVarsGradient, Vector, "Gradients of FakeQuantWithMinMaxVars",
      "FakeQuantWithMinMaxVars 的反向梯度")
IR_OP(FakeQuantWithMinMaxVarsGradient, FakeQuantWithMinMaxVarsGradient, (In, gradients), (In, x), (In, min), (In, max),
      (Out, backprops_wrt_x), (Out, backprops_wrt_min), (Out, backprops_wrt_max), (Int, num_bits, 8),
      (Bool, narrow_range, false)) {
  updraft::gradients(op, gradients, x, min, max, bits_of(op, num_bits, narrow_range), false, backprops_wrt_x,
                     backprops_wrt_min, backprops_wrt_max);
}
IR_OP(FakeQuantWithMinMaxVarsPerChannelGradient, FakeQuantWithMinMaxVarsGradient, (In, gradients), (In, x), (In, min),
      (In, max), (Out, backprops_wrt_x), (Out, backprops_wrt_min), (Out, backprops_wrt_max), (Int, num_bits, 8),
      (Bool, narrow_range, false)) {
  updraft::gradients(op, gradients, x, min, max, bits_of(op, num_bits, narrow_range), true, backprops_wrt_x,
                     backprops_wrt_min, backprops_wrt_max);
}
IR_OP(FakeQuantWithMinMaxArgsGradient, FakeQuantWithMinMaxVarsGradient, (In, gradients), (In, x), (Out, y),
      (Float, min, -6), (Float, max, 6), (Int, num_bits, 8), (Bool, narrow_range, false)) {
  op.require(min < max, "attribute min is {} and max {}", min, max);
  op.require_same_shape("gradients", *gradients, "x", *x);
  op.result_like("y", *y, *x, x->dtype);
  const Grid grid = grid_of(min, max, bits_of(op, num_bits, narrow_range));
  op.launch([g = *gradients, from = *x, grid, to = *y] {
    const std::vector<double> v = linalg::gather(from);
    std::vector<double> d = linalg::gather(g);
    for (size_t i = 0; i < v.size(); ++i)
      if (v[i] < grid.least || v[i] > grid.most) d[i] = 0;
    linalg::scatter(to, d);
  });
}

}  // namespace updraft
