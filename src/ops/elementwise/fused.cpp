// Three inputs: addcmul, addcdiv, lerp, clamp.
#include "ops/elementwise/elementwise.h"

namespace updraft {

ACLNN(aclnnAddcmul, (In, self), (In, tensor1), (In, tensor2), (Scalar, value), (Out, out)) {
  plan_elementwise(op, Ew::addcmul, {self, tensor1, tensor2}, *out, params_of(value));
}
ACLNN(aclnnInplaceAddcmul, (Out, selfRef), (In, tensor1), (In, tensor2), (Scalar, value)) {
  plan_elementwise(op, Ew::addcmul, {selfRef, tensor1, tensor2}, *selfRef, params_of(value));
}
ACLNN(aclnnAddcdiv, (In, self), (In, tensor1), (In, tensor2), (Scalar, value), (Out, out)) {
  plan_elementwise(op, Ew::addcdiv, {self, tensor1, tensor2}, *out, params_of(value));
}
ACLNN(aclnnInplaceAddcdiv, (Out, selfRef), (In, tensor1), (In, tensor2), (Scalar, value)) {
  plan_elementwise(op, Ew::addcdiv, {selfRef, tensor1, tensor2}, *selfRef, params_of(value));
}

ACLNN(aclnnLerp, (In, self), (In, end), (In, weight), (Out, out)) {
  plan_elementwise(op, Ew::lerp, {self, end, weight}, *out);
}
ACLNN(aclnnLerps, (In, self), (In, end), (Scalar, weight), (Out, out)) {
  plan_elementwise(op, Ew::lerp, {self, end, weight}, *out);
}
ACLNN(aclnnInplaceLerp, (Out, selfRef), (In, end), (In, weight)) {
  plan_elementwise(op, Ew::lerp, {selfRef, end, weight}, *selfRef);
}
ACLNN(aclnnInplaceLerps, (Out, selfRef), (In, end), (Scalar, weight)) {
  plan_elementwise(op, Ew::lerp, {selfRef, end, weight}, *selfRef);
}

static void plan_clamp(Op& op, const TensorView& self, OptScalar min, OptScalar max, const TensorView& out) {
  op.require(min || max, "min and max are both absent");
  DType common = self.dtype;
  if (min) common = promote(common, result_type({self, *min}));
  if (max) common = promote(common, result_type({self, *max}));
  const Compute compute = compute_for(Ew::clamp_min, common, out.dtype);
  if (min && max) return plan_elementwise(op, Ew::clamp_scalars, compute, {self}, out, params_of(*min, *max));
  plan_elementwise(op, min ? Ew::clamp_min : Ew::clamp_max, compute, {self}, out, params_of(min ? *min : *max));
}
ACLNN(aclnnClamp, (In, self), (OptScalar, min), (OptScalar, max), (Out, out)) { plan_clamp(op, *self, min, max, *out); }
ACLNN(aclnnClampMin, (In, self), (Scalar, min), (Out, out)) {
  plan_clamp(op, *self, OptScalar{min.handle}, OptScalar{nullptr}, *out);
}
ACLNN(aclnnClampMax, (In, self), (Scalar, max), (Out, out)) {
  plan_clamp(op, *self, OptScalar{nullptr}, OptScalar{max.handle}, *out);
}
ACLNN(aclnnInplaceClampMax, (Out, selfRef), (Scalar, max)) {
  plan_clamp(op, *selfRef, OptScalar{nullptr}, OptScalar{max.handle}, *selfRef);
}

ACLNN(aclnnClampTensor, (In, self), (OptIn, min), (OptIn, max), (Out, out)) {
  op.require(min || max, "min and max are both absent");
  if (min && max) plan_elementwise(op, Ew::clamp, {self, *min, *max}, *out);
  else if (min) plan_binary(op, Ew::maximum, self, *min, *out);
  else plan_binary(op, Ew::minimum, self, *max, *out);
}
ACLNN(aclnnClampMinTensor, (In, self), (In, min), (Out, out)) { plan_binary(op, Ew::maximum, self, min, *out); }
ACLNN(aclnnClampMaxTensor, (In, self), (In, max), (Out, out)) { plan_binary(op, Ew::minimum, self, max, *out); }
ACLNN(aclnnInplaceClampMinTensor, (Out, selfRef), (In, min)) { plan_binary(op, Ew::maximum, selfRef, min, *selfRef); }
ACLNN(aclnnInplaceClampMaxTensor, (Out, selfRef), (In, max)) { plan_binary(op, Ew::minimum, selfRef, max, *selfRef); }

ACLNN(aclnnHardtanh, (In, self), (Scalar, min), (Scalar, max), (Out, out)) {
  plan_unary(op, Ew::clamp_scalars, *self, *out, params_of(min, max));
}
ACLNN(aclnnInplaceHardtanh, (Out, selfRef), (Scalar, min), (Scalar, max)) {
  plan_unary(op, Ew::clamp_scalars, *selfRef, *selfRef, params_of(min, max));
}
ACLNN(aclnnHardtanhBackward, (In, gradOutput), (In, self), (Scalar, min), (Scalar, max), (Out, gradInput)) {
  plan_binary(op, Ew::hardtanh_backward, gradOutput, self, *gradInput, params_of(min, max));
}

}  // namespace updraft
