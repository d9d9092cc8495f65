// Copies, casts and fills.
#include <cstdlib>

#include "base/parallel.h"
#include "ops/elementwise/elementwise.h"

namespace updraft {
namespace {

/// True for a view with more elements than places. Which of several stays at a place must not depend on threads.
bool overlaps_itself(const TensorView& view) {
  int64_t places = 1;
  for (int d = 0; d < view.rank; ++d) places += (view.dims[d] - 1) * std::abs(view.strides[d]);
  return view.numel() > places;
}

}  // namespace

ABOUT(aclnnInplaceCopy, Vector, "Copies src into selfRef with broadcasting and conversion of the data type",
      "将 src 拷贝到 selfRef，支持广播与数据类型转换")
ACLNN(aclnnInplaceCopy, (InOut, selfRef), (In, src)) {
  TensorView from = src->same_shape(*selfRef) ? *src : src->expand_as(*selfRef);
  if (selfRef->empty()) return;
  if (overlaps_itself(*selfRef)) {
    op.launch([to = *selfRef, from] {
      const SerialSection serial;
      copy_elements(to, from);
    });
  } else {
    op.launch([to = *selfRef, from] { copy_elements(to, from); });
  }
}

SAMPLE(aclnnCast, "dtype=f16 out=f16[N,M]")
ABOUT(aclnnCast, Vector, "out = self converted to dtype", "将 self 转换为数据类型 dtype")
ACLNN(aclnnCast, (In, self), (Type, dtype), (Out, out)) {
  op.result_like("out", *out, *self, dtype);
  op.require(out->dtype == dtype, "out is {}, want data type {}", describe(*out), name_of(dtype));
  if (out->empty()) return;
  op.launch([to = *out, from = *self] { copy_elements(to, from); });
}

static void plan_fill(Op& op, const TensorView& to, const Params& value) {
  if (!to.empty()) op.launch([=] { fill_elements(to, value); });
}

ABOUT(aclnnInplaceFillScalar, Vector, "Writes the scalar value to every element of selfRef",
      "将 selfRef 的全部元素置为标量 value")
ACLNN(aclnnInplaceFillScalar, (InOut, selfRef), (Scalar, value)) {
  Params p;
  set_param(p, 0, *value);
  plan_fill(op, *selfRef, p);
}

SAMPLE(aclnnInplaceFillTensor, "value=f32[]")
ABOUT(aclnnInplaceFillTensor, Vector, "Writes the one element of the tensor value to every element of selfRef",
      "将 selfRef 的全部元素置为单元素张量 value 的值")
ACLNN(aclnnInplaceFillTensor, (InOut, selfRef), (In, value)) {
  op.require(value->numel() == 1, "value is {}, want one element", describe(*value));
  if (selfRef->empty()) return;
  TensorView one = TensorView::contiguous(value->data, value->dtype, nullptr, 0);
  op.launch([to = *selfRef, from = one.expand_as(*selfRef)] { copy_elements(to, from); });
}

ABOUT(aclnnInplaceZero, Vector, "Writes 0 to every element of selfRef", "将 selfRef 清零")
ACLNN(aclnnInplaceZero, (InOut, selfRef)) {
  Params p;
  plan_fill(op, *selfRef, p);
}

ABOUT(aclnnInplaceOne, Vector, "Writes 1 to every element of selfRef", "将 selfRef 置为全 1")
ACLNN(aclnnInplaceOne, (InOut, selfRef)) {
  Params p;
  p.set(0, int64_t{1});
  plan_fill(op, *selfRef, p);
}

}  // namespace updraft
