// Sums, products and quotients of tensors and scalars.
#include "kernels/rows/arithmetic.h"
#include "ops/elementwise/elementwise.h"
#include "ops/op.h"

namespace updraft {
namespace {
Params with_alpha(const aclScalar& alpha) { return params_of(alpha); }
/// Whole numbers hold no fractions, bools no numbers, real numbers nothing complex: clients expect PyTorch's refusal.
int kind_of_number(DType t) { return is_complex(t) ? 3 : is_floating(t) ? 2 : is_integral(t) ? 1 : 0; }
bool keeps_kind(DType common, DType out) { return kind_of_number(common) <= kind_of_number(out); }
void require_kept(const Op& op, const TensorView& self, const TensorView& other, const TensorView& out) {
  if (self.dtype == out.dtype && other.dtype == out.dtype) return;
  const DType common = result_type({self, other});
  op.require(out.dtype == DType::Undefined || keeps_kind(common, out.dtype),
             "self is {} and other is {}: result type {} can't be cast to the desired output type {}", describe(self),
             describe(other), name_of(common), name_of(out.dtype));
}
void plan_tensors(Op& op, Ew row, const TensorView& self, const TensorView& other, const TensorView& out,
                  const Params& params = {}) {
  require_kept(op, self, other, out);
  plan_binary(op, row, self, other, out, params);
}
/// Sums take a scalar as a number of the tensor's type: for halves that is another number than what the client wrote.
void plan_sum(Op& op, Ew row, Source self, Source other, const aclScalar& alpha, const TensorView& out) {
  if (const DType common = result_type({self, other}); is_half(common)) {
    self.round_to(common);
    other.round_to(common);
  }
  plan_binary(op, row, self, other, out, with_alpha(alpha));
}
void plan_sub(Op& op, const Source& self, const Source& other, const aclScalar& alpha, const TensorView& out) {
  op.require(result_type({self, other}) != DType::Bool, "self and other are BOOL: bools cannot be subtracted");
  plan_sum(op, ew::sub, self, other, alpha, out);
}
}  // namespace

CARD(aclnnAdd, kFloats | kF64 | kIntegers | kBool | kComplex)
ABOUT(aclnnAdd, Vector, "out = self + alpha * other, with broadcasting", "out = self + alpha * other，支持广播")
ACLNN(aclnnAdd, (In, self), (In, other), (Scalar, alpha), (Out, out)) {
  plan_tensors(op, ew::add, *self, *other, *out, with_alpha(*alpha));
}
CARD(aclnnInplaceAdd, kFloats | kF64 | kIntegers | kBool | kComplex)
ABOUT(aclnnInplaceAdd, Vector, "selfRef = selfRef + alpha * other, in place",
      "原地计算 selfRef = selfRef + alpha * other")
ACLNN(aclnnInplaceAdd, (InOut, selfRef), (In, other), (Scalar, alpha)) {
  plan_tensors(op, ew::add, *selfRef, *other, *selfRef, with_alpha(*alpha));
}
CARD(aclnnAdds, kFloats | kF64 | kIntegers | kBool | kComplex)
ABOUT(aclnnAdds, Vector, "out = self + alpha * other, other a scalar", "out = self + alpha * other，other 为标量")
ACLNN(aclnnAdds, (In, self), (Scalar, other), (Scalar, alpha), (Out, out)) {
  plan_sum(op, ew::add, *self, *other, *alpha, *out);
}
CARD(aclnnInplaceAdds, kFloats | kF64 | kIntegers | kBool | kComplex)
ABOUT(aclnnInplaceAdds, Vector, "selfRef = selfRef + alpha * other, other a scalar, in place",
      "原地计算 selfRef = selfRef + alpha * other，other 为标量")
SAMPLE(aclnnInplaceAdds, "other=1")
ACLNN(aclnnInplaceAdds, (InOut, selfRef), (Scalar, other), (Scalar, alpha)) {
  const Source number(*other);
  const DType common = result_type({*selfRef, number});
  op.require(keeps_kind(common, selfRef->dtype),
             "selfRef is {} and other is a {} scalar: result type {} can't be cast to the desired output type {}",
             describe(*selfRef), name_of(number.dtype()), name_of(common), name_of(selfRef->dtype));
  plan_sum(op, ew::add, *selfRef, number, *alpha, *selfRef);
}
ABOUT(aclnnAddV3, Vector, "out = self + alpha * other, self a scalar", "out = self + alpha * other，self 为标量")
ACLNN(aclnnAddV3, (Scalar, self), (In, other), (Scalar, alpha), (Out, out)) {
  plan_sum(op, ew::add, *self, *other, *alpha, *out);
}
ABOUT(aclnnSub, Vector, "out = self - alpha * other, with broadcasting", "out = self - alpha * other，支持广播")
ACLNN(aclnnSub, (In, self), (In, other), (Scalar, alpha), (Out, out)) {
  require_kept(op, *self, *other, *out);
  plan_sub(op, *self, *other, *alpha, *out);
}
ABOUT(aclnnInplaceSub, Vector, "selfRef = selfRef - alpha * other, in place",
      "原地计算 selfRef = selfRef - alpha * other")
ACLNN(aclnnInplaceSub, (InOut, selfRef), (In, other), (Scalar, alpha)) {
  require_kept(op, *selfRef, *other, *selfRef);
  plan_sub(op, *selfRef, *other, *alpha, *selfRef);
}
ABOUT(aclnnSubs, Vector, "out = self - alpha * other, other a scalar", "out = self - alpha * other，other 为标量")
ACLNN(aclnnSubs, (In, self), (Scalar, other), (Scalar, alpha), (Out, out)) {
  plan_sub(op, *self, *other, *alpha, *out);
}
ABOUT(aclnnInplaceSubs, Vector, "selfRef = selfRef - alpha * other, other a scalar, in place",
      "原地计算 selfRef = selfRef - alpha * other，other 为标量")
ACLNN(aclnnInplaceSubs, (InOut, selfRef), (Scalar, other), (Scalar, alpha)) {
  plan_sub(op, *selfRef, *other, *alpha, *selfRef);
}
ABOUT(aclnnRsub, Vector, "out = other - alpha * self, with broadcasting", "out = other - alpha * self，支持广播")
ACLNN(aclnnRsub, (In, self), (In, other), (Scalar, alpha), (Out, out)) { plan_sub(op, *other, *self, *alpha, *out); }
ABOUT(aclnnRsubs, Vector, "out = other - alpha * self, other a scalar", "out = other - alpha * self，other 为标量")
ACLNN(aclnnRsubs, (In, self), (Scalar, other), (Scalar, alpha), (Out, out)) {
  plan_sub(op, *other, *self, *alpha, *out);
}
ABOUT(aclnnMul, Vector, "out = self * other, with broadcasting", "out = self * other，支持广播")
ACLNN(aclnnMul, (In, self), (In, other), (Out, out)) { plan_tensors(op, ew::mul, *self, *other, *out); }
ABOUT(aclnnInplaceMul, Vector, "selfRef = selfRef * other, in place", "原地计算 selfRef = selfRef * other")
ACLNN(aclnnInplaceMul, (InOut, selfRef), (In, other)) { plan_tensors(op, ew::mul, *selfRef, *other, *selfRef); }
ABOUT(aclnnMuls, Vector, "out = self * other, other a scalar", "out = self * other，other 为标量")
ACLNN(aclnnMuls, (In, self), (Scalar, other), (Out, out)) { plan_binary(op, ew::mul, *self, *other, *out); }
ABOUT(aclnnInplaceMuls, Vector, "selfRef = selfRef * other, other a scalar, in place",
      "原地计算 selfRef = selfRef * other，other 为标量")
ACLNN(aclnnInplaceMuls, (InOut, selfRef), (Scalar, other)) { plan_binary(op, ew::mul, *selfRef, *other, *selfRef); }
ABOUT(aclnnDiv, Vector, "out = self / other, true division with broadcasting", "out = self / other，真除法，支持广播")
ACLNN(aclnnDiv, (In, self), (In, other), (Out, out)) { plan_binary(op, ew::div, *self, *other, *out); }
ABOUT(aclnnInplaceDiv, Vector, "selfRef = selfRef / other, true division in place",
      "原地真除法 selfRef = selfRef / other")
ACLNN(aclnnInplaceDiv, (InOut, selfRef), (In, other)) { plan_binary(op, ew::div, *selfRef, *other, *selfRef); }
ABOUT(aclnnDivs, Vector, "out = self / other, other a scalar", "out = self / other，other 为标量")
ACLNN(aclnnDivs, (In, self), (Scalar, other), (Out, out)) { plan_binary(op, ew::div, *self, *other, *out); }
ABOUT(aclnnInplaceDivs, Vector, "selfRef = selfRef / other, other a scalar, in place",
      "原地计算 selfRef = selfRef / other，other 为标量")
ACLNN(aclnnInplaceDivs, (InOut, selfRef), (Scalar, other)) { plan_binary(op, ew::div, *selfRef, *other, *selfRef); }

}  // namespace updraft
