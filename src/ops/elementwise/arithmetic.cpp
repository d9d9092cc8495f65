// Sums, products and quotients of tensors and scalars.
#include "ops/elementwise/elementwise.h"

namespace updraft {
namespace {
Params with_alpha(const aclScalar& alpha) {
  Params p;
  set_param(p, 0, alpha);
  return p;
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
ACLNN(aclnnSub, (In, self), (In, other), (Scalar, alpha), (Out, out)) {
  plan_binary(op, Ew::sub, *self, *other, *out, with_alpha(*alpha));
}
ACLNN(aclnnInplaceSub, (Out, selfRef), (In, other), (Scalar, alpha)) {
  plan_binary(op, Ew::sub, *selfRef, *other, *selfRef, with_alpha(*alpha));
}
ACLNN(aclnnSubs, (In, self), (Scalar, other), (Scalar, alpha), (Out, out)) {
  plan_binary(op, Ew::sub, *self, *other, *out, with_alpha(*alpha));
}
ACLNN(aclnnInplaceSubs, (Out, selfRef), (Scalar, other), (Scalar, alpha)) {
  plan_binary(op, Ew::sub, *selfRef, *other, *selfRef, with_alpha(*alpha));
}
ACLNN(aclnnRsub, (In, self), (In, other), (Scalar, alpha), (Out, out)) {
  plan_binary(op, Ew::sub, *other, *self, *out, with_alpha(*alpha));
}
ACLNN(aclnnRsubs, (In, self), (Scalar, other), (Scalar, alpha), (Out, out)) {
  plan_binary(op, Ew::sub, *other, *self, *out, with_alpha(*alpha));
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
