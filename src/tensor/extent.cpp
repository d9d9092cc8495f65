#include "tensor/extent.h"

namespace updraft {

std::optional<Extent> extent_of(const TensorView& v) {
  // a type without a size in bytes still has strides
  const auto size = static_cast<int64_t>(std::max<size_t>(size_of(v.dtype), 1));
  Extent e{0, size};
  int64_t elements = 1;
  for (int i = 0; i < v.rank; ++i) {
    int64_t step = 0, jump = 0, reach = 0;
    // `jump` is one step further than the last element: loops compute it before they stop.
    if (v.dims[i] < 0 || __builtin_mul_overflow(v.strides[i], size, &step) ||
        __builtin_mul_overflow(step, std::max<int64_t>(v.dims[i], 1), &jump) || jump > kFarthest || jump < -kFarthest ||
        __builtin_mul_overflow(elements, std::max<int64_t>(v.dims[i], 1), &elements) || elements > kFarthest)
      return std::nullopt;
    reach = jump - step;
    if (v.dims[i] > 0) (reach < 0 ? e.low : e.high) += reach;
    if (e.high > kFarthest || e.low < -kFarthest) return std::nullopt;
  }
  if (v.empty()) return Extent{};
  return e;
}

}  // namespace updraft
