// Choices by mask: masked_fill, where, the scaled mask of dropout.
#include <algorithm>

#include "base/parallel.h"
#include "kernels/copy.h"
#include "kernels/rows/arithmetic.h"
#include "kernels/table.h"
#include "ops/elementwise/elementwise.h"
#include "ops/index/indices.h"

namespace updraft {
namespace {
// Where everything is one run of the same type, bytes are chosen without converting them.
template <class T>
void fill_run(T* to, const uint8_t* mask, T value, int64_t n) {
  constexpr int64_t kBlock = 1024;
  const BlockFn select = kernels().select_kernel(sizeof(T));
  if (!select) {
    for (int64_t i = 0; i < n; ++i) to[i] = mask[i] ? value : to[i];
    return;
  }
  T values[kBlock];
  std::fill_n(values, std::min(n, kBlock), value);
  for (int64_t i = 0; i < n; i += kBlock) {
    const void* in[] = {mask + i, values, to + i};
    void* out[] = {to + i};
    select(in, out, std::min(kBlock, n - i), Params{});
  }
}

void masked_fill(const TensorView& self, const TensorView& flags, const void* value) {
  const TensorView* views[] = {&self, &flags};
  const StridedLoop<2> loop(views);
  const int inner = loop.rank - 1;
  const int64_t ts = loop.strides[0][inner], ms = loop.strides[1][inner];
  visit_size(size_of(self.dtype), [&]<class T>() {
    const T v = *static_cast<const T*>(value);
    parallel_for(self.numel(), 16384, [&](int64_t begin, int64_t end) {
      loop.rows(begin, end, [&](const int64_t(&at)[2], int64_t, int64_t n) {
        T* to = self.as<T>() + at[0];
        const uint8_t* mask = flags.as<const uint8_t>() + at[1];
        if (ts == 1 && ms == 1) return fill_run(to, mask, v, n);
        for (int64_t i = 0; i < n; ++i)
          if (mask[i * ms]) to[i * ts] = v;
      });
    });
  });
}

TensorView require_flags(const Op& op, const TensorView& mask, const TensorView& self) {
  op.require(mask.dtype == DType::Bool || mask.dtype == DType::UInt8, "mask is {}, want BOOL", describe(mask));
  return mask.expand_as(self);
}
}  // namespace

SAMPLE(aclnnInplaceMaskedFillScalar, "mask=bool[N,M]")
ABOUT(aclnnInplaceMaskedFillScalar, Vector, "Writes the scalar value to selfRef where mask is true",
      "将 selfRef 中 mask 为真的元素置为标量 value")
ACLNN(aclnnInplaceMaskedFillScalar, (InOut, selfRef), (In, mask), (Scalar, value)) {
  const TensorView flags = require_flags(op, *mask, *selfRef);
  if (selfRef->empty()) return;
  op.launch(
      [self = *selfRef, flags, value = Element(selfRef->dtype, *value)] { masked_fill(self, flags, value.bytes); });
}

SAMPLE(aclnnInplaceMaskedFillTensor, "mask=bool[N,M] value=f32[]")
ABOUT(aclnnInplaceMaskedFillTensor, Vector, "Writes the one element of value to selfRef where mask is true",
      "将 selfRef 中 mask 为真的元素置为单元素张量 value 的值")
ACLNN(aclnnInplaceMaskedFillTensor, (InOut, selfRef), (In, mask), (In, value)) {
  const TensorView flags = require_flags(op, *mask, *selfRef);
  op.require(value->numel() == 1, "value is {}, want one element", describe(*value));
  if (selfRef->empty()) return;
  op.launch([self = *selfRef, flags, value = *value] {
    alignas(16) unsigned char one[16];
    copy_elements(TensorView::contiguous(one, self.dtype, nullptr, 0),
                  TensorView::contiguous(value.data, value.dtype, nullptr, 0));
    masked_fill(self, flags, one);
  });
}

SAMPLE(aclnnMaskedScale, "mask=u8[N,M]:0..2 scale=2")
ABOUT(aclnnMaskedScale, Vector, "out = self * mask * scale", "out = self * mask * scale")
ACLNN(aclnnMaskedScale, (In, self), (In, mask), (Double, scale), (Out, out)) {
  op.require_same_shape("self", *self, "mask", *mask);
  op.result_like("out", *out, *self, self->dtype);
  if (out->empty()) return;
  const Compute compute = compute_of(out->dtype);
  BlockFn times = elementwise_kernel(ew::mul, compute), affine = elementwise_kernel(ew::affine, compute);
  Params p;
  p.set(0, scale);
  op.launch([=, self = *self, mask = *mask, out = *out] {
    run_elementwise(times, compute, {self, mask}, {out}, Params{});
    run_elementwise(affine, compute, {out}, {out}, p);
  });
}

}  // namespace updraft
