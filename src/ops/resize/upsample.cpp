// Interpolation: nearest, linear, cubic and their antialiased forms, in one to three dimensions.
#include <cmath>

#include "ops/resize/resample.h"

namespace updraft {
namespace {

enum class Mode { Nearest, NearestExact, Linear, Cubic, LinearAntialias, CubicAntialias };

// Positions are computed in the type that PyTorch computes them in: float unless elements are double.
template <class R>
struct Positions {
  R scale;
  Positions(int64_t in, int64_t out, bool align_corners, double factor) {
    if (align_corners) scale = out > 1 ? static_cast<R>(in - 1) / static_cast<R>(out - 1) : R(0);
    else scale = factor > 0 ? static_cast<R>(1.0 / factor) : static_cast<R>(in) / static_cast<R>(out);
  }
  R source(int64_t o, bool align_corners, bool cubic) const {
    if (align_corners) return scale * static_cast<R>(o);
    const R at = scale * (static_cast<R>(o) + R(0.5)) - R(0.5);
    return !cubic && at < 0 ? R(0) : at;
  }
};

TapTable nearest(int64_t in, int64_t out, double factor, bool exact) {
  TapTable t(in, out);
  const float scale = factor > 0 ? static_cast<float>(1.0 / factor) : static_cast<float>(in) / static_cast<float>(out);
  // Whatever the client's factor is, an index is one of the input; the comparison is for NaN, too.
  auto index = [in](float at) { return at < static_cast<float>(in) ? static_cast<int64_t>(std::floor(at)) : in - 1; };
  for (int64_t o = 0; o < out; ++o) {
    int64_t at;
    if (exact) at = index((static_cast<float>(o) + 0.5f) * scale);
    else if (out == in) at = o;
    else if (out == 2 * in) at = o >> 1;
    else at = index(static_cast<float>(o) * scale);
    t.index[static_cast<size_t>(o)] = std::min(at, in - 1);
  }
  return t;
}

template <class R>
TapTable linear(int64_t in, int64_t out, bool align_corners, double factor) {
  TapTable t(in, out, 2, false);
  const Positions<R> positions(in, out, align_corners, factor);
  for (int64_t o = 0; o < out; ++o) {
    int64_t i0 = o, i1 = o;
    R w1 = 0;
    if (in != out) {
      const R at = positions.source(o, align_corners, false);
      i0 = std::min(static_cast<int64_t>(at), in - 1);
      i1 = i0 + (i0 < in - 1 ? 1 : 0);
      w1 = std::min(std::max(at - static_cast<R>(i0), R(0)), R(1));
    }
    t.index[static_cast<size_t>(o)] = i0;
    t.index[static_cast<size_t>(out + o)] = i1;
    t.weight[static_cast<size_t>(o)] = R(1) - w1;
    t.weight[static_cast<size_t>(out + o)] = w1;
  }
  return t;
}

template <class R>
R cubic_near(R x, R a) {
  return ((a + 2) * x - (a + 3)) * x * x + 1;
}
template <class R>
R cubic_far(R x, R a) {
  return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
}

template <class R>
TapTable cubic(int64_t in, int64_t out, bool align_corners, double factor) {
  TapTable t(in, out, 4, false);
  const Positions<R> positions(in, out, align_corners, factor);
  const R a = R(-0.75);
  for (int64_t o = 0; o < out; ++o) {
    const R at = positions.source(o, align_corners, true);
    const int64_t i = std::min(static_cast<int64_t>(std::floor(at)), in - 1);
    const R x = std::min(std::max(at - static_cast<R>(i), R(0)), R(1));
    const R w[4] = {cubic_far(x + 1, a), cubic_near(x, a), cubic_near(1 - x, a), cubic_far(2 - x, a)};
    for (int k = 0; k < 4; ++k) {
      t.index[static_cast<size_t>(k * out + o)] = std::clamp<int64_t>(i - 1 + k, 0, in - 1);
      t.weight[static_cast<size_t>(k * out + o)] = w[k];
    }
  }
  return t;
}

template <class R>
TapTable antialias(int64_t in, int64_t out, bool align_corners, double factor, bool is_cubic) {
  const R scale = Positions<R>(in, out, align_corners, factor).scale;
  const R reach = R(is_cubic ? 4 : 2) * R(0.5);
  const R support = scale >= 1 ? reach * scale : reach;
  const R inverse = scale >= 1 ? R(1) / scale : R(1);
  const int count = static_cast<int>(std::min<int64_t>(in, static_cast<int64_t>(std::ceil(support)) * 2 + 1));
  TapTable t(in, out, count, false);
  auto filter = [&](R x) {
    x = std::abs(x);
    if (!is_cubic) return x < 1 ? R(1) - x : R(0);
    return x < 1 ? cubic_near(x, R(-0.5)) : x < 2 ? cubic_far(x, R(-0.5)) : R(0);
  };
  for (int64_t o = 0; o < out; ++o) {
    const R center = scale * (static_cast<R>(o) + R(0.5));
    const int64_t begin = std::max<int64_t>(static_cast<int64_t>(center - support + R(0.5)), 0);
    const int64_t size =
        std::clamp<int64_t>(std::min(static_cast<int64_t>(center + support + R(0.5)), in) - begin, 0, count);
    R total = 0;
    std::vector<R> w(static_cast<size_t>(count));
    for (int64_t k = 0; k < size; ++k)
      total += w[static_cast<size_t>(k)] = filter((static_cast<R>(k + begin) - center + R(0.5)) * inverse);
    for (int64_t k = 0; k < count; ++k) {
      t.index[static_cast<size_t>(k * out + o)] = std::min(begin + std::min(k, std::max<int64_t>(size - 1, 0)), in - 1);
      t.weight[static_cast<size_t>(k * out + o)] =
          total != 0 ? w[static_cast<size_t>(k)] / total : w[static_cast<size_t>(k)];
    }
  }
  return t;
}

template <class R>
TapTable table(Mode mode, int64_t in, int64_t out, bool align_corners, double factor) {
  switch (mode) {
    case Mode::Nearest: return nearest(in, out, factor, false);
    case Mode::NearestExact: return nearest(in, out, factor, true);
    case Mode::Linear: return linear<R>(in, out, align_corners, factor);
    case Mode::Cubic: return cubic<R>(in, out, align_corners, factor);
    case Mode::LinearAntialias: return antialias<R>(in, out, align_corners, factor, false);
    default: return antialias<R>(in, out, align_corners, factor, true);
  }
}

// `small` is the forward operator's input, `large` its output.
void plan_upsample(Op& op, Mode mode, const TensorView& in, const TensorView& out, bool align_corners,
                   std::initializer_list<double> factors, bool backward) {
  const TensorView &small = backward ? out : in, &large = backward ? in : out;
  const int spatial = static_cast<int>(factors.size());
  op.require(small.rank == spatial + 2 && large.rank == spatial + 2, "input is {}, output is {}, want {} dimensions",
             describe(small), describe(large), spatial + 2);
  if (out.empty()) return;
  const bool interpolates = mode != Mode::Nearest && mode != Mode::NearestExact;
  op.require(!interpolates || is_floating(out.dtype) || (out.dtype == DType::UInt8 && !backward),
             "output is {}, want a floating type", describe(out));
  for (int d = 2; d < small.rank; ++d)
    op.require(small.dims[d] > 0 && large.dims[d] > 0, "input is {}, output is {}, want sizes above 0", describe(small),
               describe(large));
  if (op.inferring()) return;  // tables are as long as the sizes that a graph says
  std::vector<TapTable> tables;
  for (int d = 0; d < spatial; ++d) {
    const int64_t from = small.dims[d + 2], to = large.dims[d + 2];
    const double factor = factors.begin()[d];
    tables.push_back(out.dtype == DType::Double ? table<double>(mode, from, to, align_corners, factor)
                                                : table<float>(mode, from, to, align_corners, factor));
  }
  plan_resample(op, std::move(tables), in, out, backward);
}

/// Sizes that clients give twice: in the list, and in the tensor that has them.
void check_sizes(Op& op, const char* name, Ints sizes, const TensorView& v, int skip) {
  for (size_t d = 0; d < sizes.size(); ++d)
    op.require(static_cast<int>(d) + skip < v.rank && sizes[d] == v.dims[d + static_cast<size_t>(skip)],
               "{} does not fit {}", name, describe(v));
}

void check_output(Op& op, const TensorView& self, Ints sizes, const TensorView& out) {
  if (op.inferring() && self.rank == static_cast<int>(sizes.size()) + 2) {
    TensorView sized = self;
    std::copy(sizes->begin(), sizes->end(), sized.dims + 2);
    op.suggest_like(out, sized, self.dtype);
  }
  check_sizes(op, "outputSize", sizes, out, 2);
}
void check_input_gradient(Op& op, const TensorView& grad, Ints sizes, const TensorView& out) {
  op.suggest(out, sizes->data(), static_cast<int>(sizes.size()), grad.dtype);
  check_sizes(op, "inputSize", sizes, out, 0);
}

}  // namespace

// --- forward ------------------------------------------------------------------------------------------------------
ABOUT(aclnnUpsampleNearest1d, Vector, "Resizes [N, C, L] by nearest neighbour, scale from the sizes",
      "对 [N, C, L] 做最近邻缩放，比例由尺寸得出")
ACLNN(aclnnUpsampleNearest1d, (In, self), (Ints, outputSize), (Out, out)) {
  check_output(op, *self, outputSize, *out);
  plan_upsample(op, Mode::Nearest, *self, *out, false, {0}, false);
}
ABOUT(aclnnUpsampleNearest1dV2, Vector, "Resizes [N, C, L] by nearest neighbour with the given scale",
      "对 [N, C, L] 按给定比例做最近邻缩放")
ACLNN(aclnnUpsampleNearest1dV2, (In, self), (Ints, outputSize), (Float, scaleL), (Out, out)) {
  check_output(op, *self, outputSize, *out);
  plan_upsample(op, Mode::Nearest, *self, *out, false, {scaleL}, false);
}
ABOUT(aclnnUpsampleNearest2d, Vector, "Resizes [N, C, H, W] by nearest neighbour, scales from the sizes",
      "对 [N, C, H, W] 做最近邻缩放，比例由尺寸得出")
ACLNN(aclnnUpsampleNearest2d, (In, self), (Ints, outputSize), (Out, out)) {
  check_output(op, *self, outputSize, *out);
  plan_upsample(op, Mode::Nearest, *self, *out, false, {0, 0}, false);
}
ABOUT(aclnnUpsampleNearest2dV2, Vector, "Resizes [N, C, H, W] by nearest neighbour with the given scales",
      "对 [N, C, H, W] 按给定比例做最近邻缩放")
ACLNN(aclnnUpsampleNearest2dV2, (In, self), (Ints, outputSize), (Float, scaleH), (Float, scaleW), (Out, out)) {
  check_output(op, *self, outputSize, *out);
  plan_upsample(op, Mode::Nearest, *self, *out, false, {scaleH, scaleW}, false);
}
#define UPDRAFT_UPSAMPLE1(NAME, mode)                                         \
  ACLNN(NAME, (In, self), (Ints, outputSize), (Double, scales), (Out, out)) { \
    check_output(op, *self, outputSize, *out);                                \
    plan_upsample(op, mode, *self, *out, false, {scales}, false);             \
  }
#define UPDRAFT_UPSAMPLE2(NAME, mode)                                                             \
  ACLNN(NAME, (In, self), (Ints, outputSize), (Double, scalesH), (Double, scalesW), (Out, out)) { \
    check_output(op, *self, outputSize, *out);                                                    \
    plan_upsample(op, mode, *self, *out, false, {scalesH, scalesW}, false);                       \
  }
#define UPDRAFT_UPSAMPLE3(NAME, mode)                                                                                \
  ACLNN(NAME, (In, self), (Ints, outputSize), (Double, scalesD), (Double, scalesH), (Double, scalesW), (Out, out)) { \
    check_output(op, *self, outputSize, *out);                                                                       \
    plan_upsample(op, mode, *self, *out, false, {scalesD, scalesH, scalesW}, false);                                 \
  }
#define UPDRAFT_UPSAMPLE2_CORNERS(NAME, mode)                                                             \
  ACLNN(NAME, (In, self), (Ints, outputSize), (Bool, alignCorners), (Double, scalesH), (Double, scalesW), \
        (Out, out)) {                                                                                     \
    check_output(op, *self, outputSize, *out);                                                            \
    plan_upsample(op, mode, *self, *out, alignCorners, {scalesH, scalesW}, false);                        \
  }
UPDRAFT_UPSAMPLE1(aclnnUpsampleNearestExact1d, Mode::NearestExact)
UPDRAFT_UPSAMPLE2(aclnnUpsampleNearestExact2d, Mode::NearestExact)
UPDRAFT_UPSAMPLE3(aclnnUpsampleNearest3d, Mode::Nearest)
UPDRAFT_UPSAMPLE3(aclnnUpsampleNearestExact3d, Mode::NearestExact)
UPDRAFT_UPSAMPLE2_CORNERS(aclnnUpsampleBilinear2d, Mode::Linear)
UPDRAFT_UPSAMPLE2_CORNERS(aclnnUpsampleBicubic2d, Mode::Cubic)
UPDRAFT_UPSAMPLE2_CORNERS(aclnnUpsampleBilinear2dAA, Mode::LinearAntialias)
UPDRAFT_UPSAMPLE2_CORNERS(aclnnUpsampleBicubic2dAA, Mode::CubicAntialias)

ABOUT(aclnnUpsampleLinear1d, Vector, "Resizes [N, C, L] by linear interpolation", "对 [N, C, L] 做线性插值缩放")
ABOUT(aclnnUpsampleNearestExact1d, Vector, "Resizes [N, C, L] by nearest neighbour of pixel centres",
      "对 [N, C, L] 按像素中心做最近邻缩放")
ABOUT(aclnnUpsampleNearestExact2d, Vector, "Resizes [N, C, H, W] by nearest neighbour of pixel centres",
      "对 [N, C, H, W] 按像素中心做最近邻缩放")
ABOUT(aclnnUpsampleNearest3d, Vector, "Resizes [N, C, D, H, W] by nearest neighbour", "对 [N, C, D, H, W] 做最近邻缩放")
ABOUT(aclnnUpsampleNearestExact3d, Vector, "Resizes [N, C, D, H, W] by nearest neighbour of pixel centres",
      "对 [N, C, D, H, W] 按像素中心做最近邻缩放")
ABOUT(aclnnUpsampleBilinear2d, Vector, "Resizes [N, C, H, W] by bilinear interpolation",
      "对 [N, C, H, W] 做双线性插值缩放")
ABOUT(aclnnUpsampleBicubic2d, Vector, "Resizes [N, C, H, W] by bicubic interpolation",
      "对 [N, C, H, W] 做双三次插值缩放")
CARD(aclnnUpsampleBilinear2dAA, absent(k910 | k310P))
ABOUT(aclnnUpsampleBilinear2dAA, Vector, "Resizes [N, C, H, W] by bilinear interpolation with antialiasing",
      "对 [N, C, H, W] 做抗锯齿双线性插值缩放")
ABOUT(aclnnUpsampleBicubic2dAA, Vector, "Resizes [N, C, H, W] by bicubic interpolation with antialiasing",
      "对 [N, C, H, W] 做抗锯齿双三次插值缩放")
ACLNN(aclnnUpsampleLinear1d, (In, self), (Ints, outputSize), (Bool, alignCorners), (Double, scales), (Out, out)) {
  check_output(op, *self, outputSize, *out);
  plan_upsample(op, Mode::Linear, *self, *out, alignCorners, {scales}, false);
}
ABOUT(aclnnUpsampleTrilinear3d, Vector, "Resizes [N, C, D, H, W] by trilinear interpolation",
      "对 [N, C, D, H, W] 做三线性插值缩放")
ACLNN(aclnnUpsampleTrilinear3d, (In, self), (Ints, outputSize), (Bool, alignCorners), (Double, scalesD),
      (Double, scalesH), (Double, scalesW), (Out, out)) {
  check_output(op, *self, outputSize, *out);
  plan_upsample(op, Mode::Linear, *self, *out, alignCorners, {scalesD, scalesH, scalesW}, false);
}

// --- backward -----------------------------------------------------------------------------------------------------
#define UPDRAFT_UPSAMPLE1_BACKWARD(NAME, mode)                                                               \
  ACLNN(NAME, (In, gradOutput), (Ints, outputSize), (Ints, inputSize), (Double, scales), (Out, gradInput)) { \
    check_sizes(op, "outputSize", outputSize, *gradOutput, 2);                                               \
    check_input_gradient(op, *gradOutput, inputSize, *gradInput);                                            \
    plan_upsample(op, mode, *gradOutput, *gradInput, false, {scales}, true);                                 \
  }
#define UPDRAFT_UPSAMPLE2_BACKWARD(NAME, mode)                                                               \
  ACLNN(NAME, (In, gradOutput), (Ints, outputSize), (Ints, inputSize), (Double, scalesH), (Double, scalesW), \
        (Out, gradInput)) {                                                                                  \
    check_sizes(op, "outputSize", outputSize, *gradOutput, 2);                                               \
    check_input_gradient(op, *gradOutput, inputSize, *gradInput);                                            \
    plan_upsample(op, mode, *gradOutput, *gradInput, false, {scalesH, scalesW}, true);                       \
  }
#define UPDRAFT_UPSAMPLE3_BACKWARD(NAME, mode)                                                               \
  ACLNN(NAME, (In, gradOutput), (Ints, outputSize), (Ints, inputSize), (Double, scalesD), (Double, scalesH), \
        (Double, scalesW), (Out, gradInput)) {                                                               \
    check_sizes(op, "outputSize", outputSize, *gradOutput, 2);                                               \
    check_input_gradient(op, *gradOutput, inputSize, *gradInput);                                            \
    plan_upsample(op, mode, *gradOutput, *gradInput, false, {scalesD, scalesH, scalesW}, true);              \
  }
#define UPDRAFT_UPSAMPLE2_CORNERS_BACKWARD(NAME, mode)                                                          \
  ACLNN(NAME, (In, gradOutput), (Ints, outputSize), (Ints, inputSize), (Bool, alignCorners), (Double, scalesH), \
        (Double, scalesW), (Out, gradInput)) {                                                                  \
    check_sizes(op, "outputSize", outputSize, *gradOutput, 2);                                                  \
    check_input_gradient(op, *gradOutput, inputSize, *gradInput);                                               \
    plan_upsample(op, mode, *gradOutput, *gradInput, alignCorners, {scalesH, scalesW}, true);                   \
  }
UPDRAFT_UPSAMPLE1_BACKWARD(aclnnUpsampleNearest1dBackward, Mode::Nearest)
UPDRAFT_UPSAMPLE1_BACKWARD(aclnnUpsampleNearestExact1dBackward, Mode::NearestExact)
UPDRAFT_UPSAMPLE2_BACKWARD(aclnnUpsampleNearest2dBackward, Mode::Nearest)
UPDRAFT_UPSAMPLE2_BACKWARD(aclnnUpsampleNearestExact2dBackward, Mode::NearestExact)
UPDRAFT_UPSAMPLE3_BACKWARD(aclnnUpsampleNearest3dBackward, Mode::Nearest)
UPDRAFT_UPSAMPLE3_BACKWARD(aclnnUpsampleNearestExact3dBackward, Mode::NearestExact)
UPDRAFT_UPSAMPLE2_CORNERS_BACKWARD(aclnnUpsampleBilinear2dBackward, Mode::Linear)
UPDRAFT_UPSAMPLE2_CORNERS_BACKWARD(aclnnUpsampleBilinear2dBackwardV2, Mode::Linear)
UPDRAFT_UPSAMPLE2_CORNERS_BACKWARD(aclnnUpsampleBicubic2dBackward, Mode::Cubic)
UPDRAFT_UPSAMPLE2_CORNERS_BACKWARD(aclnnUpsampleBilinear2dAABackward, Mode::LinearAntialias)
UPDRAFT_UPSAMPLE2_CORNERS_BACKWARD(aclnnUpsampleBicubic2dAAGrad, Mode::CubicAntialias)

ABOUT(aclnnUpsampleLinear1dBackward, Vector, "Gradient of linear resizing of [N, C, L]",
      "[N, C, L] 线性插值缩放的反向梯度")
ABOUT(aclnnUpsampleNearest1dBackward, Vector, "Gradient of nearest neighbour resizing of [N, C, L]",
      "[N, C, L] 最近邻缩放的反向梯度")
ABOUT(aclnnUpsampleNearestExact1dBackward, Vector, "Gradient of aclnnUpsampleNearestExact1d",
      "aclnnUpsampleNearestExact1d 的反向梯度")
ABOUT(aclnnUpsampleNearest2dBackward, Vector, "Gradient of nearest neighbour resizing of [N, C, H, W]",
      "[N, C, H, W] 最近邻缩放的反向梯度")
ABOUT(aclnnUpsampleNearestExact2dBackward, Vector, "Gradient of aclnnUpsampleNearestExact2d",
      "aclnnUpsampleNearestExact2d 的反向梯度")
ABOUT(aclnnUpsampleNearest3dBackward, Vector, "Gradient of nearest neighbour resizing of [N, C, D, H, W]",
      "[N, C, D, H, W] 最近邻缩放的反向梯度")
ABOUT(aclnnUpsampleNearestExact3dBackward, Vector, "Gradient of aclnnUpsampleNearestExact3d",
      "aclnnUpsampleNearestExact3d 的反向梯度")
ABOUT(aclnnUpsampleBilinear2dBackward, Vector, "Gradient of bilinear resizing", "双线性插值缩放的反向梯度")
ABOUT(aclnnUpsampleBilinear2dBackwardV2, Vector,
      "Gradient of bilinear resizing (same as aclnnUpsampleBilinear2dBackward)",
      "双线性插值缩放的反向梯度（与 aclnnUpsampleBilinear2dBackward 相同）")
ABOUT(aclnnUpsampleBicubic2dBackward, Vector, "Gradient of bicubic resizing", "双三次插值缩放的反向梯度")
ABOUT(aclnnUpsampleBilinear2dAABackward, Vector, "Gradient of bilinear resizing with antialiasing",
      "抗锯齿双线性插值缩放的反向梯度")
ABOUT(aclnnUpsampleBicubic2dAAGrad, Vector, "Gradient of bicubic resizing with antialiasing",
      "抗锯齿双三次插值缩放的反向梯度")
ACLNN(aclnnUpsampleLinear1dBackward, (In, gradOutput), (Ints, outputSize), (Ints, inputSize), (Bool, alignCorners),
      (Double, scales), (Out, gradInput)) {
  check_sizes(op, "outputSize", outputSize, *gradOutput, 2);
  check_input_gradient(op, *gradOutput, inputSize, *gradInput);
  plan_upsample(op, Mode::Linear, *gradOutput, *gradInput, alignCorners, {scales}, true);
}
ABOUT(aclnnUpsampleTrilinear3dBackward, Vector, "Gradient of trilinear resizing of [N, C, D, H, W]",
      "[N, C, D, H, W] 三线性插值缩放的反向梯度")
ACLNN(aclnnUpsampleTrilinear3dBackward, (In, gradOutput), (Ints, outputSize), (Ints, inputSize), (Bool, alignCorners),
      (Double, scalesD), (Double, scalesH), (Double, scalesW), (Out, gradInput)) {
  check_sizes(op, "outputSize", outputSize, *gradOutput, 2);
  check_input_gradient(op, *gradOutput, inputSize, *gradInput);
  plan_upsample(op, Mode::Linear, *gradOutput, *gradInput, alignCorners, {scalesD, scalesH, scalesW}, true);
}

}  // namespace updraft
