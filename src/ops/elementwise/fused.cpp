// Three inputs: addcmul, addcdiv, lerp, clamp.
#include "kernels/rows/activation.h"
#include "kernels/rows/arithmetic.h"
#include "ops/elementwise/elementwise.h"

namespace updraft {

CARD(aclnnAddcmul, on("self tensor1 tensor2", kFloats | kF64 | kI32 | kI64 | kI8 | kU8))
ABOUT(aclnnAddcmul, Vector, "out = self + value * tensor1 * tensor2",
      "out = self + value * tensor1 * tensor2，支持广播")
ACLNN(aclnnAddcmul, (In, self), (In, tensor1), (In, tensor2), (Scalar, value), (Out, out)) {
  plan_elementwise(op, ew::addcmul, {self, tensor1, tensor2}, *out, params_of(value));
}
ABOUT(aclnnInplaceAddcmul, Vector, "selfRef = selfRef + value * tensor1 * tensor2, in place",
      "原地计算 selfRef + value * tensor1 * tensor2")
ACLNN(aclnnInplaceAddcmul, (InOut, selfRef), (In, tensor1), (In, tensor2), (Scalar, value)) {
  plan_elementwise(op, ew::addcmul, {selfRef, tensor1, tensor2}, *selfRef, params_of(value));
}
ABOUT(aclnnAddcdiv, Vector, "out = self + value * tensor1 / tensor2",
      "out = self + value * tensor1 / tensor2，支持广播")
ACLNN(aclnnAddcdiv, (In, self), (In, tensor1), (In, tensor2), (Scalar, value), (Out, out)) {
  plan_elementwise(op, ew::addcdiv, {self, tensor1, tensor2}, *out, params_of(value));
}
ABOUT(aclnnInplaceAddcdiv, Vector, "selfRef = selfRef + value * tensor1 / tensor2, in place",
      "原地计算 selfRef + value * tensor1 / tensor2")
ACLNN(aclnnInplaceAddcdiv, (InOut, selfRef), (In, tensor1), (In, tensor2), (Scalar, value)) {
  plan_elementwise(op, ew::addcdiv, {selfRef, tensor1, tensor2}, *selfRef, params_of(value));
}

ABOUT(aclnnLerp, Vector, "out = self + weight * (end - self)", "线性插值 out = self + weight * (end - self)")
ACLNN(aclnnLerp, (In, self), (In, end), (In, weight), (Out, out)) {
  plan_elementwise(op, ew::lerp, {self, end, weight}, *out);
}
static void plan_lerp(Op& op, const TensorView& self, const TensorView& end, const Scalar& weight,
                      const TensorView& out) {
  // A weight that makes real numbers complex takes part in finding the type.
  if (weight->is_complex()) return plan_elementwise(op, ew::lerp, {self, end, weight}, out);
  plan_elementwise(op, ew::lerp_scalar, {self, end}, out, params_of(weight));
}
ABOUT(aclnnLerps, Vector, "out = self + weight * (end - self), weight a scalar",
      "线性插值 out = self + weight * (end - self)，weight 为标量")
ACLNN(aclnnLerps, (In, self), (In, end), (Scalar, weight), (Out, out)) { plan_lerp(op, *self, *end, weight, *out); }
ABOUT(aclnnInplaceLerp, Vector, "selfRef = selfRef + weight * (end - selfRef), in place",
      "原地线性插值 selfRef + weight * (end - selfRef)")
ACLNN(aclnnInplaceLerp, (InOut, selfRef), (In, end), (In, weight)) {
  plan_elementwise(op, ew::lerp, {selfRef, end, weight}, *selfRef);
}
ABOUT(aclnnInplaceLerps, Vector, "selfRef = selfRef + weight * (end - selfRef), weight a scalar, in place",
      "原地线性插值，weight 为标量")
ACLNN(aclnnInplaceLerps, (InOut, selfRef), (In, end), (Scalar, weight)) {
  plan_lerp(op, *selfRef, *end, weight, *selfRef);
}

static void plan_clamp(Op& op, const TensorView& self, OptScalar min, OptScalar max, const TensorView& out) {
  op.require(min || max, "min and max are both absent");
  DType common = self.dtype;
  if (min) common = promote(common, result_type({self, *min}));
  if (max) common = promote(common, result_type({self, *max}));
  op.suggest_like(out, self, common);
  const Compute compute = compute_for(ew::clamp_min, common, out.dtype);
  if (min && max) return plan_elementwise(op, ew::clamp_scalars, compute, {self}, out, params_of(*min, *max));
  plan_elementwise(op, min ? ew::clamp_min : ew::clamp_max, compute, {self}, out, params_of(min ? *min : *max));
}
ABOUT(aclnnClamp, Vector, "out = self limited to [min, max], scalars of which one may be absent",
      "将 self 截断到 [min, max]，min、max 为标量，可缺其一")
ACLNN(aclnnClamp, (In, self), (OptScalar, min), (OptScalar, max), (Out, out)) { plan_clamp(op, *self, min, max, *out); }
ABOUT(aclnnClampMin, Vector, "out = max(self, min), min a scalar", "out = max(self, min)，min 为标量")
ACLNN(aclnnClampMin, (In, self), (Scalar, min), (Out, out)) {
  plan_clamp(op, *self, OptScalar{min.handle}, OptScalar{nullptr}, *out);
}
ABOUT(aclnnClampMax, Vector, "out = min(self, max), max a scalar", "out = min(self, max)，max 为标量")
ACLNN(aclnnClampMax, (In, self), (Scalar, max), (Out, out)) {
  plan_clamp(op, *self, OptScalar{nullptr}, OptScalar{max.handle}, *out);
}
ABOUT(aclnnInplaceClampMax, Vector, "selfRef = min(selfRef, max), max a scalar, in place",
      "原地计算 selfRef = min(selfRef, max)，max 为标量")
ACLNN(aclnnInplaceClampMax, (InOut, selfRef), (Scalar, max)) {
  plan_clamp(op, *selfRef, OptScalar{nullptr}, OptScalar{max.handle}, *selfRef);
}

SAMPLE(aclnnClampTensor, "min=f32[N,M]:0.1..0.4 max=f32[N,M]:0.5..0.8")
ABOUT(aclnnClampTensor, Vector, "out = self limited to [min, max], tensors of which one may be absent",
      "将 self 截断到 [min, max]，min、max 为张量，可缺其一")
ACLNN(aclnnClampTensor, (In, self), (OptIn, min), (OptIn, max), (Out, out)) {
  op.require(min || max, "min and max are both absent");
  if (min && max) plan_elementwise(op, ew::clamp, {self, *min, *max}, *out);
  else if (min) plan_binary(op, ew::maximum, self, *min, *out);
  else plan_binary(op, ew::minimum, self, *max, *out);
}
ABOUT(aclnnClampMinTensor, Vector, "out = max(self, min), min a tensor", "out = max(self, min)，min 为张量")
ACLNN(aclnnClampMinTensor, (In, self), (In, min), (Out, out)) { plan_binary(op, ew::maximum, self, min, *out); }
ABOUT(aclnnClampMaxTensor, Vector, "out = min(self, max), max a tensor", "out = min(self, max)，max 为张量")
ACLNN(aclnnClampMaxTensor, (In, self), (In, max), (Out, out)) { plan_binary(op, ew::minimum, self, max, *out); }
ABOUT(aclnnInplaceClampMinTensor, Vector, "selfRef = max(selfRef, min), min a tensor, in place",
      "原地计算 selfRef = max(selfRef, min)，min 为张量")
ACLNN(aclnnInplaceClampMinTensor, (InOut, selfRef), (In, min)) { plan_binary(op, ew::maximum, selfRef, min, *selfRef); }
ABOUT(aclnnInplaceClampMaxTensor, Vector, "selfRef = min(selfRef, max), max a tensor, in place",
      "原地计算 selfRef = min(selfRef, max)，max 为张量")
ACLNN(aclnnInplaceClampMaxTensor, (InOut, selfRef), (In, max)) { plan_binary(op, ew::minimum, selfRef, max, *selfRef); }

ABOUT(aclnnHardtanh, Vector, "out = self limited to [min, max]", "out = clamp(self, min, max)")
ACLNN(aclnnHardtanh, (In, self), (Scalar, min), (Scalar, max), (Out, out)) {
  plan_unary(op, ew::clamp_scalars, *self, *out, params_of(min, max));
}
ABOUT(aclnnInplaceHardtanh, Vector, "Limits selfRef to [min, max], in place", "原地将 selfRef 截断到 [min, max]")
ACLNN(aclnnInplaceHardtanh, (InOut, selfRef), (Scalar, min), (Scalar, max)) {
  plan_unary(op, ew::clamp_scalars, *selfRef, *selfRef, params_of(min, max));
}
ABOUT(aclnnHardtanhBackward, Vector, "gradInput = gradOutput where min < self < max, else 0",
      "min < self < max 处 gradInput = gradOutput，其余为 0")
ACLNN(aclnnHardtanhBackward, (In, gradOutput), (In, self), (Scalar, min), (Scalar, max), (Out, gradInput)) {
  plan_binary(op, ew::hardtanh_backward, gradOutput, self, *gradInput, params_of(min, max));
}

}  // namespace updraft
