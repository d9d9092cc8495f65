// Quotients that round, and remainders.
#include "ops/elementwise/elementwise.h"

namespace updraft {

static void plan_div_mode(Op& op, const Source& self, const Source& other, int32_t mode, const TensorView& out) {
  op.require(mode >= 0 && mode <= 2, "mode is {}, want 0 (true), 1 (trunc) or 2 (floor)", mode);
  plan_binary(op, mode == 0 ? Ew::div : mode == 1 ? Ew::trunc_div : Ew::floor_div, self, other, out);
}
ACLNN(aclnnDivMod, (In, self), (In, other), (Int32, mode), (Out, out)) { plan_div_mode(op, self, other, mode, *out); }
ACLNN(aclnnDivMods, (In, self), (Scalar, other), (Int32, mode), (Out, out)) {
  plan_div_mode(op, self, other, mode, *out);
}
ACLNN(aclnnInplaceDivMod, (Out, selfRef), (In, other), (Int32, mode)) {
  plan_div_mode(op, selfRef, other, mode, *selfRef);
}
ACLNN(aclnnInplaceDivMods, (Out, selfRef), (Scalar, other), (Int32, mode)) {
  plan_div_mode(op, selfRef, other, mode, *selfRef);
}

#define BINARY(NAME, A, B, ROW) \
  ACLNN(NAME, (A, self), (B, other), (Out, out)) { plan_binary(op, Ew::ROW, self, other, *out); }
#define BINARY_INPLACE(NAME, B, ROW) \
  ACLNN(NAME, (Out, selfRef), (B, other)) { plan_binary(op, Ew::ROW, selfRef, other, *selfRef); }

BINARY(aclnnFloorDivide, In, In, floor_div)
BINARY(aclnnFloorDivides, In, Scalar, floor_div)
BINARY_INPLACE(aclnnInplaceFloorDivide, In, floor_div)
BINARY_INPLACE(aclnnInplaceFloorDivides, Scalar, floor_div)
BINARY(aclnnRemainderTensorTensor, In, In, remainder)
BINARY(aclnnRemainderTensorScalar, In, Scalar, remainder)
BINARY(aclnnRemainderScalarTensor, Scalar, In, remainder)
BINARY_INPLACE(aclnnInplaceRemainderTensorTensor, In, remainder)
BINARY_INPLACE(aclnnInplaceRemainderTensorScalar, Scalar, remainder)
BINARY(aclnnFmodTensor, In, In, fmod)
BINARY(aclnnFmodScalar, In, Scalar, fmod)
BINARY_INPLACE(aclnnInplaceFmodTensor, In, fmod)
BINARY_INPLACE(aclnnInplaceFmodScalar, Scalar, fmod)

}  // namespace updraft
