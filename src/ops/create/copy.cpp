// Copies, casts and fills.
#include "ops/elementwise/elementwise.h"

namespace updraft {

ACLNN(aclnnInplaceCopy, (Out, selfRef), (In, src)) {
  TensorView from = src->same_shape(*selfRef) ? *src : src->expand_as(*selfRef);
  if (selfRef->empty()) return;
  op.launch([to = *selfRef, from] { copy_elements(to, from); });
}

ACLNN(aclnnCast, (In, self), (Type, dtype), (Out, out)) {
  op.require(out->dtype == dtype, "out is {}, want data type {}", describe(*out), name_of(dtype));
  op.require_same_shape("self", *self, "out", *out);
  if (out->empty()) return;
  op.launch([to = *out, from = *self] { copy_elements(to, from); });
}

static void plan_fill(Op& op, const TensorView& to, const Params& value) {
  if (!to.empty()) op.launch([=] { fill_elements(to, value); });
}

ACLNN(aclnnInplaceFillScalar, (Out, selfRef), (Scalar, value)) {
  Params p;
  set_param(p, 0, *value);
  plan_fill(op, *selfRef, p);
}

ACLNN(aclnnInplaceFillTensor, (Out, selfRef), (In, value)) {
  op.require(value->numel() == 1, "value is {}, want one element", describe(*value));
  if (selfRef->empty()) return;
  TensorView one = TensorView::contiguous(value->data, value->dtype, nullptr, 0);
  op.launch([to = *selfRef, from = one.expand_as(*selfRef)] { copy_elements(to, from); });
}

ACLNN(aclnnInplaceZero, (Out, selfRef)) {
  Params p;
  plan_fill(op, *selfRef, p);
}

ACLNN(aclnnInplaceOne, (Out, selfRef)) {
  Params p;
  p.set(0, int64_t{1});
  plan_fill(op, *selfRef, p);
}

}  // namespace updraft
