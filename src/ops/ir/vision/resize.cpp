// Resizing of any dimensions as ONNX defines it: along each axis an element is a weighted sum of its neighbours. Sizes
// may be computed while the graph runs. What is plain in two dimensions has faster types (image.cpp).
#include <algorithm>
#include <cmath>

#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;

struct Rules {
  std::string coordinates, mode, nearest, policy;
  double cubic = -0.75, extrapolation = 0;
  bool exclude_outside = false, antialias = false;
};

/// How one axis is resized.
struct Axis {
  int64_t d = 0, from = 0, to = 0;
  double scale = 1, start = 0, end = 1;
};

double coordinate(const Rules& r, const Axis& a, int64_t at) {
  const auto x = static_cast<double>(at), from = static_cast<double>(a.from), to = a.scale * from;
  if (r.coordinates == "asymmetric") return x / a.scale;
  if (r.coordinates == "align_corners") return a.to == 1 || to == 1 ? 0 : x * (from - 1) / (to - 1);
  if (r.coordinates == "pytorch_half_pixel" && a.to == 1) return 0;
  if (r.coordinates == "tf_half_pixel_for_nn") return (x + 0.5) / a.scale;
  if (r.coordinates == "tf_crop_and_resize")
    return a.to == 1 ? 0.5 * (a.start + a.end) * (from - 1)
                     : a.start * (from - 1) + x * (a.end - a.start) * (from - 1) / (to - 1);
  if (r.coordinates == "half_pixel_symmetric")
    return from / 2 * (1 - static_cast<double>(a.to) / to) + (x + 0.5) / a.scale - 0.5;
  return (x + 0.5) / a.scale - 0.5;
}

double cubic_weight(double distance, double a) {
  const double d = std::fabs(distance);
  if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
  return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

/// Neighbours of an element and what each counts.
struct Neighbours {
  std::vector<int64_t> at;
  std::vector<double> weights;
  bool outside = false;
};
Neighbours neighbours(const Rules& r, const Axis& a, int64_t i) {
  Neighbours n;
  const double x = coordinate(r, a, i);
  const auto last = a.from - 1;
  n.outside = r.coordinates == "tf_crop_and_resize" && (x < 0 || x > static_cast<double>(last));
  auto inside = [&](int64_t k) { return std::clamp<int64_t>(k, 0, last); };
  if (r.mode == "nearest") {
    const double k = r.nearest == "floor"               ? std::floor(x)
                     : r.nearest == "ceil"              ? std::ceil(x)
                     : r.nearest == "round_prefer_ceil" ? std::floor(x + 0.5)
                                                        : std::ceil(x - 0.5);
    n.at = {inside(static_cast<int64_t>(k))};
    n.weights = {1};
    return n;
  }
  const bool cubic = r.mode == "cubic";
  const double shrink = r.antialias ? std::min(a.scale, 1.0) : 1, reach = (cubic ? 2 : 1) / shrink;
  const auto first = static_cast<int64_t>(std::floor(x - reach)) + 1;
  double sum = 0;
  for (int64_t k = first; static_cast<double>(k) < x + reach; ++k) {
    const double distance = (static_cast<double>(k) - x) * shrink;
    double w = cubic ? cubic_weight(distance, r.cubic) : std::max(0.0, 1 - std::fabs(distance));
    if (r.exclude_outside && (k < 0 || k > last)) w = 0;
    n.at.push_back(inside(k));
    n.weights.push_back(w);
    sum += w;
  }
  if (r.antialias || r.exclude_outside)
    for (double& w : n.weights) w /= sum;
  return n;
}

/// The values along one axis resized; `outside` marks elements that no neighbour has.
std::vector<double> along(const Rules& r, const Axis& a, const std::vector<double>& x, int64_t before, int64_t behind,
                          std::vector<bool>& outside) {
  std::vector<double> y(static_cast<size_t>(before * a.to * behind));
  outside.assign(static_cast<size_t>(a.to), false);
  std::vector<Neighbours> all;
  for (int64_t i = 0; i < a.to; ++i) {
    all.push_back(neighbours(r, a, i));
    outside[static_cast<size_t>(i)] = all.back().outside;
  }
  parallel_for(before * a.to, 1 + 4096 / std::max<int64_t>(1, behind), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const Neighbours& n = all[static_cast<size_t>(row % a.to)];
      double* to = y.data() + row * behind;
      for (size_t k = 0; k < n.at.size(); ++k) {
        const double* from = x.data() + (row / a.to * a.from + n.at[k]) * behind;
        const double w = n.weights[k];
        for (int64_t j = 0; j < behind; ++j) to[j] += w * from[j];
      }
    }
  });
  return y;
}

void resize(const Rules& r, const std::vector<Axis>& axes, const TensorView& from, const TensorView& to) {
  std::vector<double> values = linalg::gather(from);
  Dims dims = ir::dims_of(from);
  std::vector<std::vector<bool>> outside(dims.size());
  for (const Axis& a : axes) {
    int64_t before = 1, behind = 1;
    for (size_t d = 0; d < dims.size(); ++d) (static_cast<int64_t>(d) < a.d ? before : behind) *= dims[d];
    behind /= a.from;
    values = along(r, a, values, before, behind, outside[static_cast<size_t>(a.d)]);
    dims[static_cast<size_t>(a.d)] = a.to;
  }
  if (r.coordinates == "tf_crop_and_resize")
    for (const Axis& a : axes) {
      int64_t behind = 1;
      for (size_t d = static_cast<size_t>(a.d) + 1; d < dims.size(); ++d) behind *= dims[d];
      for (size_t i = 0; i < values.size(); ++i)
        if (outside[static_cast<size_t>(a.d)][static_cast<size_t>(static_cast<int64_t>(i) / behind % a.to)])
          values[i] = r.extrapolation;
    }
  linalg::scatter(to, values);
}

}  // namespace

ABOUT(Resize, Vector, "x with other sizes, by its nearest elements, linearly or by cubic curves, as ONNX defines it",
      "按 ONNX 定义以最近邻、线性或三次方式缩放 x")
IR_OP(Resize, Resize, (In, x), (OptIn, roi), (OptIn, scales), (OptIn, sizes), (Out, y),
      (Text, coordinate_transformation_mode, "half_pixel"), (Float, cubic_coeff_a, -0.75f), (Int, exclude_outside, 0),
      (Float, extrapolation_value, 0), (Text, mode, "nearest"), (Text, nearest_mode, "round_prefer_floor"),
      (Ints, axes, nullptr), (Bool, antialias, false), (Text, keep_aspect_ratio_policy, "stretch")) {
  const Rules r = {coordinate_transformation_mode, mode,          nearest_mode,
                   keep_aspect_ratio_policy,       cubic_coeff_a, extrapolation_value,
                   exclude_outside != 0,           antialias};
  op.require(r.mode == "nearest" || r.mode == "linear" || r.mode == "cubic",
             "attribute mode is \"{}\", want nearest, linear or cubic", r.mode);
  static constexpr std::string_view kCoordinates[] = {
      "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
      "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
  op.require(std::ranges::count(kCoordinates, r.coordinates) == 1,
             "attribute coordinate_transformation_mode is \"{}\", which is not known", r.coordinates);
  op.require(r.nearest == "round_prefer_floor" || r.nearest == "round_prefer_ceil" || r.nearest == "floor" ||
                 r.nearest == "ceil",
             "attribute nearest_mode is \"{}\", which is not known", r.nearest);
  op.require(r.policy == "stretch" || r.policy == "not_larger" || r.policy == "not_smaller",
             "attribute keep_aspect_ratio_policy is \"{}\", want stretch, not_larger or not_smaller", r.policy);
  const bool by_sizes = sizes && sizes->numel() > 0;
  op.require(by_sizes || (scales && scales->numel() > 0), "neither scales nor sizes are given");
  const Dims at = axes.size() ? *axes : ir::all_axes(x->rank);
  const Dims to = by_sizes ? op.integers("sizes", sizes.handle) : Dims();
  const std::vector<double> by = by_sizes ? std::vector<double>() : numbers_of(op, "scales", scales.handle);
  const size_t n = at.size();
  op.require((by_sizes ? to.size() : by.size()) == n, "scales or sizes have {} values, want {}",
             by_sizes ? to.size() : by.size(), n);
  std::vector<double> window;
  if (r.coordinates == "tf_crop_and_resize") {
    op.require(static_cast<bool>(roi), "roi is absent, want it with tf_crop_and_resize");
    window = numbers_of(op, "roi", roi.handle);
    op.require(window.size() == 2 * n, "roi has {} values, want {}", window.size(), 2 * n);
  }
  double one = 0;  // the scale of all axes, where proportions are kept
  if (by_sizes && r.policy != "stretch")
    for (size_t i = 0; i < n; ++i) {
      const double s =
          static_cast<double>(to[i]) / static_cast<double>(x->dims[ir::axis_of(op, "axes", at[i], x->rank)]);
      one = i == 0 ? s : r.policy == "not_larger" ? std::min(one, s) : std::max(one, s);
    }
  std::vector<Axis> changed;
  Dims dims = ir::dims_of(*x);
  for (size_t i = 0; i < n; ++i) {
    Axis a;
    a.d = ir::axis_of(op, "axes", at[i], x->rank);
    a.from = x->dims[a.d];
    if (!by_sizes) a.scale = by[i];
    else a.scale = one > 0 ? one : static_cast<double>(to[i]) / static_cast<double>(std::max<int64_t>(1, a.from));
    const double size = static_cast<double>(a.from) * a.scale;
    op.require(std::isfinite(size) && size >= 0 && size < 1e15, "a scale is {} for a size of {}", a.scale, a.from);
    a.to = !by_sizes ? static_cast<int64_t>(std::floor(size))
           : one > 0 ? static_cast<int64_t>(std::floor(size + 0.5))
                     : to[i];
    op.require(a.to >= 0 && (a.from > 0 || a.to == 0), "dimension {} of {} elements cannot have {}", a.d, a.from, a.to);
    if (!window.empty()) a.start = window[i], a.end = window[n + i];
    dims[static_cast<size_t>(a.d)] = a.to;
    if (a.from != a.to || a.scale != 1 || a.start != 0 || a.end != 1) changed.push_back(a);
  }
  ir::result(op, "y", *y, dims, x->dtype);
  op.work(y->numel() * 4);
  op.launch([r, changed, from = *x, result = *y] {
    if (!result.empty()) resize(r, changed, from, result);
  });
}

}  // namespace updraft
