// Average pooling over windows, and adaptive.
#include <algorithm>

#include "kernels/pipeline.h"
#include "kernels/reduce.h"
#include "ops/op.h"
#include "ops/pool/pool.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

using PoolFn = void (*KernelTable::*)(const PoolShape&, Compute, const void*, void*);

/// Images whose channels lie side by side, enough of them for whole vectors.
bool has_rows_of_channels(const TensorView& v) { return v.rank == 4 && v.dims[1] >= 16 && v.strides[1] == 1; }

/// Means of windows by rows of channels, without bringing each channel's plane together.
void means_of_rows(const PoolShape& s, const TensorView& in, const TensorView& out) {
  const int64_t channels = in.dims[1], lines = out.dims[0] * s.out[1];
  const int64_t work = s.out[2] * channels * s.kernel[1] * s.kernel[2];
  const StoreFn store = kernels().store[static_cast<int>(Compute::F64)][static_cast<int>(out.dtype)];
  parallel_for(lines, std::max<int64_t>(1, 32768 / std::max<int64_t>(work, 1)), [&](int64_t first, int64_t last) {
    ScratchScope scratch;
    auto* sums = scratch.take<double>(static_cast<size_t>(channels));
    for (int64_t line = first; line < last; ++line) {
      const int64_t n = line / s.out[1], h = line % s.out[1];
      const PoolShape::Span rows = s.span(1, h);
      for (int64_t w = 0; w < s.out[2]; ++w) {
        const PoolShape::Span columns = s.span(2, w);
        std::fill_n(sums, channels, 0.0);
        for (int64_t row = rows.begin; row < rows.end; ++row)
          kernels().sum_cols(static_cast<int>(ReduceMap::none), in.dtype,
                             at_element(in, n * in.strides[0] + row * in.strides[2] + columns.begin * in.strides[3]),
                             in.strides[3], std::max<int64_t>(columns.end - columns.begin, 0), channels, sums);
        const auto divisor = static_cast<double>(s.divisor ? s.divisor : rows.divisor * columns.divisor);
        for (int64_t c = 0; c < channels; ++c) sums[c] /= divisor;
        store(at_element(out, n * out.strides[0] + h * out.strides[2] + w * out.strides[3]), 1, sums, channels);
      }
    }
  });
}

void plan(Op& op, int spatial, const PoolShape& s, const TensorView& in, const TensorView& out, PoolFn fn) {
  const Compute c = pool_compute(op, out);
  if (out.empty()) return;
  if (in.empty()) {  // the gradient of nothing
    op.launch([=] { fill_elements(out, Params{}); });
    return;
  }
  op.work(2 * (in.numel() + out.numel()));
  if (fn == &KernelTable::avg_pool && spatial == 2 && c == Compute::F32 && in.dtype == out.dtype &&
      has_rows_of_channels(in) && has_rows_of_channels(out)) {
    op.launch([=] { means_of_rows(s, in, out); });
    return;
  }
  const Planes from(in, spatial, c), to(out, spatial, c);
  op.launch([=] { map_planes(from, to, [&](const void* x, void* y) { (kernels().*fn)(s, c, x, y); }); });
}

PoolShape avg_shape(Op& op, int spatial, const TensorView& in, const TensorView& out, Ints kernel, Ints stride,
                    Ints padding, bool count_padding, int64_t divisor) {
  PoolShape s = pool_shape(op, spatial, in, out, *kernel, *stride, *padding, {});
  s.count_padding = count_padding;
  s.divisor = divisor;
  require_windows(op, s);
  return s;
}

}  // namespace

CARD(aclnnAvgPool2d, on("self out", kFloats))
ABOUT(aclnnAvgPool2d, Vector, "Mean over windows of the last two dimensions", "对最后两维的窗口做平均池化")
ACLNN(aclnnAvgPool2d, (In, self), (Ints, kernelSize), (Ints, stride), (Ints, padding), (Bool, ceilMode),
      (Bool, countIncludePad), (Int, divisorOverride), (Int8, cubeMathType), (Out, out)) {
  (void)cubeMathType;
  suggest_pooled(op, 2, *self, *kernelSize, *stride, *padding, {}, ceilMode, self->dtype, *out);
  plan(op, 2, avg_shape(op, 2, *self, *out, kernelSize, stride, padding, countIncludePad, divisorOverride), *self, *out,
       &KernelTable::avg_pool);
}
ABOUT(aclnnAvgPool2dBackward, Vector, "Gradient of aclnnAvgPool2d", "aclnnAvgPool2d 的反向梯度")
ACLNN(aclnnAvgPool2dBackward, (In, gradOutput), (In, self), (Ints, kernelSize), (Ints, stride), (Ints, padding),
      (Bool, ceilMode), (Bool, countIncludePad), (Int, divisorOverride), (Int8, cubeMathType), (Out, gradInput)) {
  (void)ceilMode, (void)cubeMathType;
  op.result_like("gradInput", *gradInput, *self, self->dtype);
  plan(op, 2, avg_shape(op, 2, *gradInput, *gradOutput, kernelSize, stride, padding, countIncludePad, divisorOverride),
       *gradOutput, *gradInput, &KernelTable::avg_pool_backward);
}
ABOUT(aclnnAvgPool3d, Vector, "Mean over windows of the last three dimensions", "对最后三维的窗口做平均池化")
ACLNN(aclnnAvgPool3d, (In, self), (Ints, kernelSize), (Ints, stride), (Ints, padding), (Bool, ceilMode),
      (Bool, countIncludePad), (Int, divisorOverride), (Out, out)) {
  suggest_pooled(op, 3, *self, *kernelSize, *stride, *padding, {}, ceilMode, self->dtype, *out);
  plan(op, 3, avg_shape(op, 3, *self, *out, kernelSize, stride, padding, countIncludePad, divisorOverride), *self, *out,
       &KernelTable::avg_pool);
}
ABOUT(aclnnAvgPool3dBackward, Vector, "Gradient of aclnnAvgPool3d", "aclnnAvgPool3d 的反向梯度")
ACLNN(aclnnAvgPool3dBackward, (In, gradOutput), (In, self), (Ints, kernelSize), (Ints, stride), (Ints, padding),
      (Bool, ceilMode), (Bool, countIncludePad), (Int, divisorOverride), (Out, gradInput)) {
  (void)ceilMode;
  op.result_like("gradInput", *gradInput, *self, self->dtype);
  plan(op, 3, avg_shape(op, 3, *gradInput, *gradOutput, kernelSize, stride, padding, countIncludePad, divisorOverride),
       *gradOutput, *gradInput, &KernelTable::avg_pool_backward);
}

ABOUT(aclnnAdaptiveAvgPool2d, Vector, "Mean over windows that divide the last two dimensions into outputSize",
      "将最后两维自适应平均池化到 outputSize")
ACLNN(aclnnAdaptiveAvgPool2d, (In, self), (Ints, outputSize), (Out, out)) {
  suggest_sized(op, 2, *self, *outputSize, self->dtype, *out);
  require_output_size(op, outputSize, *out, 2);
  plan(op, 2, plane_shape(op, 2, *self, *out), *self, *out, &KernelTable::adaptive_avg_pool);
}
ABOUT(aclnnAdaptiveAvgPool3d, Vector, "Mean over windows that divide the last three dimensions into outputSize",
      "将最后三维自适应平均池化到 outputSize")
ACLNN(aclnnAdaptiveAvgPool3d, (In, self), (Ints, outputSize), (Out, out)) {
  suggest_sized(op, 3, *self, *outputSize, self->dtype, *out);
  require_output_size(op, outputSize, *out, 3);
  plan(op, 3, plane_shape(op, 3, *self, *out), *self, *out, &KernelTable::adaptive_avg_pool);
}
ABOUT(aclnnAdaptiveAvgPool2dBackward, Vector, "Gradient of aclnnAdaptiveAvgPool2d", "aclnnAdaptiveAvgPool2d 的反向梯度")
ACLNN(aclnnAdaptiveAvgPool2dBackward, (In, gradOutput), (In, self), (Out, out)) {
  op.result_like("out", *out, *self, self->dtype);
  plan(op, 2, plane_shape(op, 2, *out, *gradOutput), *gradOutput, *out, &KernelTable::adaptive_avg_pool_backward);
}
ABOUT(aclnnAdaptiveAvgPool3dBackward, Vector, "Gradient of aclnnAdaptiveAvgPool3d", "aclnnAdaptiveAvgPool3d 的反向梯度")
ACLNN(aclnnAdaptiveAvgPool3dBackward, (In, gradOutput), (In, self), (Out, out)) {
  op.result_like("out", *out, *self, self->dtype);
  plan(op, 3, plane_shape(op, 3, *out, *gradOutput), *gradOutput, *out, &KernelTable::adaptive_avg_pool_backward);
}

}  // namespace updraft
