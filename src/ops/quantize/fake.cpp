// What quantized numbers would be, still as floating point, and where they lie within the range: training for
// quantization.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {
namespace {

struct Numbers {
  float low, high;
};
Numbers range_of(const Op& op, int64_t low, int64_t high) {
  op.require(low <= high, "quantMin is {}, quantMax is {}: no number lies between them", low, high);
  return {static_cast<float>(low), static_cast<float>(high)};
}

/// Scale and zero point for each place of dimension d; -1: one for all.
void plan_fake(Op& op, const TensorView& self, const TensorView& scale, const TensorView& zero, int d, bool enabled,
               Numbers range, const Out& out, const Out& mask) {
  op.result_like("out", *out, self, self.dtype);
  op.result_like("mask", *mask, self, DType::Bool);
  op.require(is_floating(self.dtype) && self.dtype != DType::Double, "self is {}, want FLOAT, FLOAT16 or BFLOAT16",
             describe(self));
  op.require(out->dtype == self.dtype && mask->dtype == DType::Bool, "out is {}, mask is {}, want {} and BOOL",
             describe(*out), describe(*mask), name_of(self.dtype));
  const int64_t places = d < 0 ? 1 : self.dims[d];
  op.require(scale.numel() == places, "scale is {}, want {} elements", describe(scale), places);
  op.require(zero.numel() == places, "zeroPoint is {}, want {} elements", describe(zero), places);
  if (self.empty()) return;
  op.work(self.numel() * 4);
  op.launch([=, to = *out, inside = *mask] {
    const std::vector<float> scales = floats_of(scale), zeros = floats_of(zero);
    const bool rounds_sum =
        is_floating(zero.dtype);  // a zero point between the numbers is added before they are rounded
    int64_t inner = 1;
    for (int i = d + 1; i < self.rank; ++i) inner *= self.dims[i];
    if (d < 0) inner = self.numel();
    std::vector<float> values = floats_of(self);
    std::vector<uint8_t> kept(values.size(), 1);
    parallel_for(self.numel(), 4096, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; enabled && i < end; ++i) {
        const auto at = static_cast<size_t>(i), place = static_cast<size_t>(i / inner % places);
        const float scaled = values[at] * (1.0f / scales[place]), point = zeros[place];
        const float number = rounds_sum ? std::nearbyint(scaled + point) : std::nearbyint(scaled) + point;
        kept[at] = number >= range.low && number <= range.high;
        values[at] = (std::fmin(std::fmax(number, range.low), range.high) - point) * scales[place];
      }
    });
    copy_elements(to, TensorView::contiguous(values.data(), DType::Float, to.dims, to.rank));
    copy_elements(inside, TensorView::contiguous(kept.data(), DType::Bool, inside.dims, inside.rank));
  });
}

}  // namespace

SAMPLE(aclnnFakeQuantPerTensorAffineCachemask,
       "self=f32[N,M] scale=f32[1]:1..2 zeroPoint=i32[1]:0..2 fakeEnabled=1 quantMin=-2 quantMax=2 out=f32[N,M] "
       "mask=bool[N,M]")
ABOUT(aclnnFakeQuantPerTensorAffineCachemask, Vector,
      "out = (round(self / scale) + zeroPoint in its range - zeroPoint) * scale; mask: was in range",
      "伪量化：out 为量化再反量化的 self；mask 为是否在范围内")
ACLNN(aclnnFakeQuantPerTensorAffineCachemask, (In, self), (In, scale), (In, zeroPoint), (Float, fakeEnabled),
      (Int, quantMin), (Int, quantMax), (Out, out), (Out, mask)) {
  plan_fake(op, *self, *scale, *zeroPoint, -1, fakeEnabled > 0, range_of(op, quantMin, quantMax), out, mask);
}
SAMPLE(
    aclnnFakeQuantPerChannelAffineCachemask,
    "self=f32[N,M] scale=f32[M]:1..2 zeroPoint=i32[M]:0..2 axis=1 quantMin=-2 quantMax=2 out=f32[N,M] mask=bool[N,M]")
ABOUT(aclnnFakeQuantPerChannelAffineCachemask, Vector,
      "aclnnFakeQuantPerTensorAffineCachemask with a scale and zeroPoint for each place of axis",
      "同 aclnnFakeQuantPerTensorAffineCachemask，沿 axis 各有 scale 与 zeroPoint")
ACLNN(aclnnFakeQuantPerChannelAffineCachemask, (In, self), (In, scale), (In, zeroPoint), (Int, axis), (Int, quantMin),
      (Int, quantMax), (Out, out), (Out, mask)) {
  op.require(self->rank > 0, "self is {}, want one dimension or more", describe(*self));
  plan_fake(op, *self, *scale, *zeroPoint, self->wrap_dim(axis), true, range_of(op, quantMin, quantMax), out, mask);
}

}  // namespace updraft
