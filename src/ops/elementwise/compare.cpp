// Comparisons and logic: tensors with tensors and scalars, the result in out's type (bool, or self's in place).
#include "kernels/rows/arithmetic.h"
#include "kernels/rows/logic.h"
#include "ops/elementwise/elementwise.h"

namespace updraft {

// With a tensor and with a scalar, each into out and in place.
#define FORMS(NAME, ROW)                                                                                               \
  ACLNN(aclnn##NAME##Tensor, (In, self), (In, other), (Out, out)) { plan_binary(op, ew::ROW, self, other, *out); }     \
  ACLNN(aclnn##NAME##Scalar, (In, self), (Scalar, other), (Out, out)) { plan_binary(op, ew::ROW, self, other, *out); } \
  ACLNN(aclnnInplace##NAME##Tensor, (InOut, selfRef), (In, other)) {                                                   \
    plan_binary(op, ew::ROW, selfRef, other, *selfRef);                                                                \
  }                                                                                                                    \
  ACLNN(aclnnInplace##NAME##Scalar, (InOut, selfRef), (Scalar, other)) {                                               \
    plan_binary(op, ew::ROW, selfRef, other, *selfRef);                                                                \
  }
FORMS(Eq, eq)
FORMS(Ne, ne)
FORMS(Lt, lt)
FORMS(Le, le)
FORMS(Gt, gt)
FORMS(Ge, ge)

ABOUT(aclnnLessScalar, Vector, "out = self < other, other a scalar (same as aclnnLtScalar)",
      "out = self < other，other 为标量（与 aclnnLtScalar 相同）")
ACLNN(aclnnLessScalar, (In, self), (Scalar, other), (Out, out)) { plan_binary(op, ew::lt, self, other, *out); }

#define LOGICAL(NAME, ROW)                                                                                 \
  ACLNN(aclnn##NAME, (In, self), (In, other), (Out, out)) { plan_binary(op, ew::ROW, self, other, *out); } \
  ACLNN(aclnnInplace##NAME, (InOut, selfRef), (In, other)) { plan_binary(op, ew::ROW, selfRef, other, *selfRef); }
LOGICAL(LogicalAnd, logical_and)
LOGICAL(LogicalOr, logical_or)
ABOUT(aclnnLogicalXor, Vector, "out = whether exactly one of self and other is nonzero",
      "逻辑异或：self 与 other 恰有一个非零")
ACLNN(aclnnLogicalXor, (In, self), (In, other), (Out, out)) { plan_binary(op, ew::logical_xor, self, other, *out); }
ABOUT(aclnnLogicalNot, Vector, "out = whether self is zero", "逻辑非：self 是否为零")
ACLNN(aclnnLogicalNot, (In, self), (Out, out)) { plan_unary(op, ew::logical_not, *self, *out); }
ABOUT(aclnnInplaceLogicalNot, Vector, "selfRef = whether selfRef is zero, in place", "原地逻辑非")
ACLNN(aclnnInplaceLogicalNot, (InOut, selfRef)) { plan_unary(op, ew::logical_not, *selfRef, *selfRef); }

FORMS(BitwiseAnd, bitwise_and)
FORMS(BitwiseOr, bitwise_or)
FORMS(BitwiseXor, bitwise_xor)
ABOUT(aclnnBitwiseNot, Vector, "out = all bits of self inverted (logical not for bool)", "按位取反，布尔类型为逻辑非")
ACLNN(aclnnBitwiseNot, (In, self), (Out, out)) {
  plan_unary(op, self->dtype == DType::Bool ? ew::logical_not : ew::bitwise_not, *self, *out);
}

// Shifts of narrow types are computed in int64: what leaves the type is cut off when it is stored.
ABOUT(aclnnLeftShift, Vector, "out = self << other, with broadcasting", "左移 out = self << other，支持广播")
ACLNN(aclnnLeftShift, (In, self), (In, other), (Out, out)) { plan_binary(op, ew::shift_left, self, other, *out); }
ABOUT(aclnnLeftShifts, Vector, "out = self << other, other a scalar", "左移 out = self << other，other 为标量")
ACLNN(aclnnLeftShifts, (In, self), (Scalar, other), (Out, out)) { plan_binary(op, ew::shift_left, self, other, *out); }
ABOUT(aclnnRightShift, Vector, "out = self >> other, arithmetic, with broadcasting",
      "算术右移 out = self >> other，支持广播")
ACLNN(aclnnRightShift, (In, self), (In, other), (Out, out)) { plan_binary(op, ew::shift_right, self, other, *out); }

ABOUT(aclnnIsClose, Vector, "out = abs(self - other) <= atol + rtol * abs(other); equalNan: NaN equals NaN",
      "abs(self - other) <= atol + rtol * abs(other)；equalNan 为真时 NaN 视为相等")
ACLNN(aclnnIsClose, (In, self), (In, other), (Double, rtol), (Double, atol), (Bool, equalNan), (Out, out)) {
  Compute compute = compute_of(result_type({self, other}));
  if (compute == Compute::I64) compute = Compute::F64;
  plan_elementwise(op, ew::isclose, compute, {self, other}, *out, params_of(rtol, atol, equalNan));
}

ABOUT(aclnnIsInTensorScalar, Vector, "out = element == testElements, a scalar; != where invert is true",
      "逐元素判断 element 是否等于标量 testElements，invert 为真时取反")
ACLNN(aclnnIsInTensorScalar, (In, element), (Scalar, testElements), (Bool, assumeUnique), (Bool, invert), (Out, out)) {
  (void)assumeUnique;
  plan_binary(op, invert ? ew::ne : ew::eq, element, testElements, *out);
}

ABOUT(aclnnEqTensor, Vector, "out = self == other, with broadcasting", "out = self == other，支持广播")
ABOUT(aclnnEqScalar, Vector, "out = self == other, other a scalar", "out = self == other，other 为标量")
ABOUT(aclnnInplaceEqTensor, Vector, "selfRef = selfRef == other, in place in selfRef's type",
      "原地计算 selfRef == other，结果为 selfRef 的数据类型")
ABOUT(aclnnInplaceEqScalar, Vector, "selfRef = selfRef == other, other a scalar, in place",
      "原地计算 selfRef == other，other 为标量")
ABOUT(aclnnNeTensor, Vector, "out = self != other, with broadcasting", "out = self != other，支持广播")
ABOUT(aclnnNeScalar, Vector, "out = self != other, other a scalar", "out = self != other，other 为标量")
ABOUT(aclnnInplaceNeTensor, Vector, "selfRef = selfRef != other, in place in selfRef's type",
      "原地计算 selfRef != other，结果为 selfRef 的数据类型")
ABOUT(aclnnInplaceNeScalar, Vector, "selfRef = selfRef != other, other a scalar, in place",
      "原地计算 selfRef != other，other 为标量")
ABOUT(aclnnLtTensor, Vector, "out = self < other, with broadcasting", "out = self < other，支持广播")
ABOUT(aclnnLtScalar, Vector, "out = self < other, other a scalar", "out = self < other，other 为标量")
ABOUT(aclnnInplaceLtTensor, Vector, "selfRef = selfRef < other, in place in selfRef's type",
      "原地计算 selfRef < other，结果为 selfRef 的数据类型")
ABOUT(aclnnInplaceLtScalar, Vector, "selfRef = selfRef < other, other a scalar, in place",
      "原地计算 selfRef < other，other 为标量")
ABOUT(aclnnLeTensor, Vector, "out = self <= other, with broadcasting", "out = self <= other，支持广播")
ABOUT(aclnnLeScalar, Vector, "out = self <= other, other a scalar", "out = self <= other，other 为标量")
ABOUT(aclnnInplaceLeTensor, Vector, "selfRef = selfRef <= other, in place in selfRef's type",
      "原地计算 selfRef <= other，结果为 selfRef 的数据类型")
ABOUT(aclnnInplaceLeScalar, Vector, "selfRef = selfRef <= other, other a scalar, in place",
      "原地计算 selfRef <= other，other 为标量")
ABOUT(aclnnGtTensor, Vector, "out = self > other, with broadcasting", "out = self > other，支持广播")
ABOUT(aclnnGtScalar, Vector, "out = self > other, other a scalar", "out = self > other，other 为标量")
ABOUT(aclnnInplaceGtTensor, Vector, "selfRef = selfRef > other, in place in selfRef's type",
      "原地计算 selfRef > other，结果为 selfRef 的数据类型")
ABOUT(aclnnInplaceGtScalar, Vector, "selfRef = selfRef > other, other a scalar, in place",
      "原地计算 selfRef > other，other 为标量")
ABOUT(aclnnGeTensor, Vector, "out = self >= other, with broadcasting", "out = self >= other，支持广播")
ABOUT(aclnnGeScalar, Vector, "out = self >= other, other a scalar", "out = self >= other，other 为标量")
ABOUT(aclnnInplaceGeTensor, Vector, "selfRef = selfRef >= other, in place in selfRef's type",
      "原地计算 selfRef >= other，结果为 selfRef 的数据类型")
ABOUT(aclnnInplaceGeScalar, Vector, "selfRef = selfRef >= other, other a scalar, in place",
      "原地计算 selfRef >= other，other 为标量")
ABOUT(aclnnLogicalAnd, Vector, "out = whether both self and other are nonzero", "逻辑与：self 与 other 均非零")
ABOUT(aclnnInplaceLogicalAnd, Vector, "selfRef = whether both selfRef and other are nonzero, in place", "原地逻辑与")
ABOUT(aclnnLogicalOr, Vector, "out = whether self or other is nonzero", "逻辑或：self 或 other 非零")
ABOUT(aclnnInplaceLogicalOr, Vector, "selfRef = whether selfRef or other is nonzero, in place", "原地逻辑或")
ABOUT(aclnnBitwiseAndTensor, Vector, "out = self & other, bit by bit (logical for bool)",
      "按位与 out = self & other，布尔类型为逻辑与")
ABOUT(aclnnBitwiseAndScalar, Vector, "out = self & other, other a scalar", "按位与 out = self & other，other 为标量")
ABOUT(aclnnInplaceBitwiseAndTensor, Vector, "selfRef = selfRef & other, in place", "原地按位与 selfRef & other")
ABOUT(aclnnInplaceBitwiseAndScalar, Vector, "selfRef = selfRef & other, other a scalar, in place",
      "原地按位与，other 为标量")
ABOUT(aclnnBitwiseOrTensor, Vector, "out = bitwise or of self and other (logical for bool)",
      "self 与 other 按位或，布尔类型为逻辑或")
ABOUT(aclnnBitwiseOrScalar, Vector, "out = bitwise or of self and the scalar other", "self 与标量 other 按位或")
ABOUT(aclnnInplaceBitwiseOrTensor, Vector, "Bitwise or of selfRef and other, in place", "原地按位或")
ABOUT(aclnnInplaceBitwiseOrScalar, Vector, "Bitwise or of selfRef and the scalar other, in place",
      "原地按位或，other 为标量")
ABOUT(aclnnBitwiseXorTensor, Vector, "out = bitwise exclusive or of self and other", "self 与 other 按位异或")
ABOUT(aclnnBitwiseXorScalar, Vector, "out = bitwise exclusive or of self and the scalar other",
      "self 与标量 other 按位异或")
ABOUT(aclnnInplaceBitwiseXorTensor, Vector, "Bitwise exclusive or of selfRef and other, in place", "原地按位异或")
ABOUT(aclnnInplaceBitwiseXorScalar, Vector, "Bitwise exclusive or of selfRef and the scalar other, in place",
      "原地按位异或，other 为标量")

}  // namespace updraft
