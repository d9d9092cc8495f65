// Comparisons and logic: tensors with tensors and scalars, the result in out's type (bool, or self's in place).
#include "ops/elementwise/elementwise.h"

namespace updraft {

// With a tensor and with a scalar, each into out and in place.
#define FORMS(NAME, ROW)                                                                                               \
  ACLNN(aclnn##NAME##Tensor, (In, self), (In, other), (Out, out)) { plan_binary(op, Ew::ROW, self, other, *out); }     \
  ACLNN(aclnn##NAME##Scalar, (In, self), (Scalar, other), (Out, out)) { plan_binary(op, Ew::ROW, self, other, *out); } \
  ACLNN(aclnnInplace##NAME##Tensor, (Out, selfRef), (In, other)) {                                                     \
    plan_binary(op, Ew::ROW, selfRef, other, *selfRef);                                                                \
  }                                                                                                                    \
  ACLNN(aclnnInplace##NAME##Scalar, (Out, selfRef), (Scalar, other)) {                                                 \
    plan_binary(op, Ew::ROW, selfRef, other, *selfRef);                                                                \
  }
FORMS(Eq, eq)
FORMS(Ne, ne)
FORMS(Lt, lt)
FORMS(Le, le)
FORMS(Gt, gt)
FORMS(Ge, ge)

ACLNN(aclnnLessScalar, (In, self), (Scalar, other), (Out, out)) { plan_binary(op, Ew::lt, self, other, *out); }

#define LOGICAL(NAME, ROW)                                                                                 \
  ACLNN(aclnn##NAME, (In, self), (In, other), (Out, out)) { plan_binary(op, Ew::ROW, self, other, *out); } \
  ACLNN(aclnnInplace##NAME, (Out, selfRef), (In, other)) { plan_binary(op, Ew::ROW, selfRef, other, *selfRef); }
LOGICAL(LogicalAnd, logical_and)
LOGICAL(LogicalOr, logical_or)
ACLNN(aclnnLogicalXor, (In, self), (In, other), (Out, out)) { plan_binary(op, Ew::logical_xor, self, other, *out); }
ACLNN(aclnnLogicalNot, (In, self), (Out, out)) { plan_unary(op, Ew::logical_not, *self, *out); }
ACLNN(aclnnInplaceLogicalNot, (Out, selfRef)) { plan_unary(op, Ew::logical_not, *selfRef, *selfRef); }

FORMS(BitwiseAnd, bitwise_and)
FORMS(BitwiseOr, bitwise_or)
FORMS(BitwiseXor, bitwise_xor)
ACLNN(aclnnBitwiseNot, (In, self), (Out, out)) {
  plan_unary(op, self->dtype == DType::Bool ? Ew::logical_not : Ew::bitwise_not, *self, *out);
}

// Shifts of narrow types are computed in int64: what leaves the type is cut off when it is stored.
ACLNN(aclnnLeftShift, (In, self), (In, other), (Out, out)) { plan_binary(op, Ew::shift_left, self, other, *out); }
ACLNN(aclnnLeftShifts, (In, self), (Scalar, other), (Out, out)) { plan_binary(op, Ew::shift_left, self, other, *out); }
ACLNN(aclnnRightShift, (In, self), (In, other), (Out, out)) { plan_binary(op, Ew::shift_right, self, other, *out); }

ACLNN(aclnnIsClose, (In, self), (In, other), (Double, rtol), (Double, atol), (Bool, equalNan), (Out, out)) {
  Compute compute = compute_of(result_type({self, other}));
  if (compute == Compute::I64) compute = Compute::F64;
  plan_elementwise(op, Ew::isclose, compute, {self, other}, *out, params_of(rtol, atol, equalNan));
}

ACLNN(aclnnIsInTensorScalar, (In, element), (Scalar, testElements), (Bool, assumeUnique), (Bool, invert), (Out, out)) {
  (void)assumeUnique;
  plan_binary(op, invert ? Ew::ne : Ew::eq, element, testElements, *out);
}

}  // namespace updraft
