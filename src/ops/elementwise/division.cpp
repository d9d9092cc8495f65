// Quotients that round, and remainders.
#include "kernels/rows/arithmetic.h"
#include "ops/elementwise/elementwise.h"

namespace updraft {

static void plan_div_mode(Op& op, const Source& self, const Source& other, int32_t mode, const TensorView& out) {
  op.require(mode >= 0 && mode <= 2, "mode is {}, want 0 (true), 1 (trunc) or 2 (floor)", mode);
  plan_binary(op, mode == 0 ? ew::div : mode == 1 ? ew::trunc_div : ew::floor_div, self, other, out);
}
ABOUT(aclnnDivMod, Vector, "out = self / other: exact (mode 0), rounded to zero (1) or down (2)",
      "out = self / other，mode 为 0 不取整、1 向零取整、2 向下取整")
ACLNN(aclnnDivMod, (In, self), (In, other), (Int32, mode), (Out, out)) { plan_div_mode(op, self, other, mode, *out); }
ABOUT(aclnnDivMods, Vector, "out = self / other, other a scalar: exact (mode 0), rounded to zero (1) or down (2)",
      "除以标量 other，mode 为 0 不取整、1 向零取整、2 向下取整")
ACLNN(aclnnDivMods, (In, self), (Scalar, other), (Int32, mode), (Out, out)) {
  plan_div_mode(op, self, other, mode, *out);
}
ABOUT(aclnnInplaceDivMod, Vector, "selfRef = selfRef / other in place: exact (mode 0), rounded to zero (1) or down (2)",
      "原地除以 other，mode 为 0 不取整、1 向零取整、2 向下取整")
ACLNN(aclnnInplaceDivMod, (InOut, selfRef), (In, other), (Int32, mode)) {
  plan_div_mode(op, selfRef, other, mode, *selfRef);
}
ABOUT(aclnnInplaceDivMods, Vector,
      "selfRef = selfRef / other in place, other a scalar; mode 0 exact, 1 to zero, 2 down",
      "原地除以标量 other，mode 为 0 不取整、1 向零取整、2 向下取整")
ACLNN(aclnnInplaceDivMods, (InOut, selfRef), (Scalar, other), (Int32, mode)) {
  plan_div_mode(op, selfRef, other, mode, *selfRef);
}

#define BINARY(NAME, A, B, ROW) \
  ACLNN(NAME, (A, self), (B, other), (Out, out)) { plan_binary(op, ew::ROW, self, other, *out); }
#define BINARY_INPLACE(NAME, B, ROW) \
  ACLNN(NAME, (InOut, selfRef), (B, other)) { plan_binary(op, ew::ROW, selfRef, other, *selfRef); }

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

ABOUT(aclnnFloorDivide, Vector, "out = floor(self / other), with broadcasting", "out = floor(self / other)，支持广播")
ABOUT(aclnnFloorDivides, Vector, "out = floor(self / other), other a scalar", "out = floor(self / other)，other 为标量")
ABOUT(aclnnInplaceFloorDivide, Vector, "selfRef = floor(selfRef / other), in place",
      "原地计算 selfRef = floor(selfRef / other)")
ABOUT(aclnnInplaceFloorDivides, Vector, "selfRef = floor(selfRef / other), other a scalar, in place",
      "原地计算 selfRef = floor(selfRef / other)，other 为标量")
ABOUT(aclnnRemainderTensorTensor, Vector, "out = self - floor(self / other) * other: the sign is the divisor's",
      "out = self - floor(self / other) * other，余数与除数同号")
ABOUT(aclnnRemainderTensorScalar, Vector, "Remainder of self by a scalar, with the divisor's sign",
      "self 除以标量 other 的余数，与除数同号")
ABOUT(aclnnRemainderScalarTensor, Vector, "Remainder of the scalar self by other, with the divisor's sign",
      "标量 self 除以张量 other 的余数，与除数同号")
ABOUT(aclnnInplaceRemainderTensorTensor, Vector, "Remainder of selfRef by other in place, with the divisor's sign",
      "原地计算 selfRef 除以 other 的余数，与除数同号")
ABOUT(aclnnInplaceRemainderTensorScalar, Vector, "Remainder of selfRef by a scalar in place, with the divisor's sign",
      "原地计算 selfRef 除以标量 other 的余数，与除数同号")
ABOUT(aclnnFmodTensor, Vector, "out = self - trunc(self / other) * other: the sign is the dividend's",
      "out = self - trunc(self / other) * other，余数与被除数同号")
ABOUT(aclnnFmodScalar, Vector, "Remainder of self by a scalar, with the dividend's sign",
      "self 除以标量 other 的余数，与被除数同号")
ABOUT(aclnnInplaceFmodTensor, Vector, "Remainder of selfRef by other in place, with the dividend's sign",
      "原地计算 selfRef 除以 other 的余数，与被除数同号")
ABOUT(aclnnInplaceFmodScalar, Vector, "Remainder of selfRef by a scalar in place, with the dividend's sign",
      "原地计算 selfRef 除以标量 other 的余数，与被除数同号")

}  // namespace updraft
