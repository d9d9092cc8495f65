// Sums, products and quotients of tensors and scalars.
#include "ops/elementwise/elementwise.h"

namespace updraft {
namespace {
Params with_alpha(const aclScalar& alpha) { return params_of(alpha); }
void plan_sub(Op& op, const Source& self, const Source& other, const aclScalar& alpha, const TensorView& out) {
  op.require(result_type({self, other}) != DType::Bool, "self and other are BOOL: bools cannot be subtracted");
  plan_binary(op, Ew::sub, self, other, out, with_alpha(alpha));
}
}  // namespace

ACLNN(aclnnAdd, (In, self), (In, other), (Scalar, alpha), (Out, out)) {
  plan_binary(op, Ew::add, *self, *other, *out, with_alpha(*alpha));
}
ACLNN(aclnnInplaceAdd, (Out, selfRef), (In, other), (Scalar, alpha)) {
  plan_binary(op, Ew::add, *selfRef, *other, *selfRef, with_alpha(*alpha));
}
ACLNN(aclnnAdds, (In, self), (Scalar, other), (Scalar, alpha), (Out, out)) {
  plan_binary(op, Ew::add, *self, *other, *out, with_alpha(*alpha));
}
ACLNN(aclnnInplaceAdds, (Out, selfRef), (Scalar, other), (Scalar, alpha)) {
  plan_binary(op, Ew::add, *selfRef, *other, *selfRef, with_alpha(*alpha));
}
ACLNN(aclnnAddV3, (Scalar, self), (In, other), (Scalar, alpha), (Out, out)) {
  plan_binary(op, Ew::add, *self, *other, *out, with_alpha(*alpha));
}
ACLNN(aclnnSub, (In, self), (In, other), (Scalar, alpha), (Out, out)) { plan_sub(op, *self, *other, *alpha, *out); }
ACLNN(aclnnInplaceSub, (Out, selfRef), (In, other), (Scalar, alpha)) {
  plan_sub(op, *selfRef, *other, *alpha, *selfRef);
}
ACLNN(aclnnSubs, (In, self), (Scalar, other), (Scalar, alpha), (Out, out)) {
  plan_sub(op, *self, *other, *alpha, *out);
}
ACLNN(aclnnInplaceSubs, (Out, selfRef), (Scalar, other), (Scalar, alpha)) {
  plan_sub(op, *selfRef, *other, *alpha, *selfRef);
}
ACLNN(aclnnRsub, (In, self), (In, other), (Scalar, alpha), (Out, out)) { plan_sub(op, *other, *self, *alpha, *out); }
ACLNN(aclnnRsubs, (In, self), (Scalar, other), (Scalar, alpha), (Out, out)) {
  plan_sub(op, *other, *self, *alpha, *out);
}
ACLNN(aclnnMul, (In, self), (In, other), (Out, out)) { plan_binary(op, Ew::mul, *self, *other, *out); }
ACLNN(aclnnInplaceMul, (Out, selfRef), (In, other)) { plan_binary(op, Ew::mul, *selfRef, *other, *selfRef); }
ACLNN(aclnnMuls, (In, self), (Scalar, other), (Out, out)) { plan_binary(op, Ew::mul, *self, *other, *out); }
ACLNN(aclnnInplaceMuls, (Out, selfRef), (Scalar, other)) { plan_binary(op, Ew::mul, *selfRef, *other, *selfRef); }
ACLNN(aclnnDiv, (In, self), (In, other), (Out, out)) { plan_binary(op, Ew::div, *self, *other, *out); }
ACLNN(aclnnInplaceDiv, (Out, selfRef), (In, other)) { plan_binary(op, Ew::div, *selfRef, *other, *selfRef); }
ACLNN(aclnnDivs, (In, self), (Scalar, other), (Out, out)) { plan_binary(op, Ew::div, *self, *other, *out); }
ACLNN(aclnnInplaceDivs, (Out, selfRef), (Scalar, other)) { plan_binary(op, Ew::div, *selfRef, *other, *selfRef); }

}  // namespace updraft
