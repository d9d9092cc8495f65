// The same operation for every tensor of a list.
#include "ops/ir/shapes.h"

namespace updraft {

#define UNARY(TYPE) \
  IR_OP(TYPE, aclnn##TYPE, (Tensors, x), (OutTensors, y)) { call(op, "aclnn" #TYPE, x, y); }
#define BINARY(TYPE) \
  IR_OP(TYPE, aclnn##TYPE, (Tensors, x1), (Tensors, x2), (OutTensors, y)) { call(op, "aclnn" #TYPE, x1, x2, y); }
/// A tensor of one element for all of them, of one element for each.
#define BY_SCALAR(TYPE) \
  IR_OP(TYPE, aclnn##TYPE, (Tensors, x), (In, scalar), (OutTensors, y)) { call(op, "aclnn" #TYPE, x, scalar, y); }
#define BY_SCALARS(TYPE)                                                      \
  IR_OP(TYPE, aclnn##TYPE, (Tensors, x), (In, scalars), (OutTensors, y)) {    \
    call(op, "aclnn" #TYPE, x, numbers_of(op, "scalars", scalars.handle), y); \
  }

UNARY(ForeachAbs)
UNARY(ForeachAcos)
UNARY(ForeachAsin)
// as torch's functions are named
IR_OP(ForeachACos, aclnnForeachAcos, (Tensors, x), (OutTensors, y)) { call(op, "aclnnForeachAcos", x, y); }
IR_OP(ForeachASin, aclnnForeachAsin, (Tensors, x), (OutTensors, y)) { call(op, "aclnnForeachAsin", x, y); }
IR_OP(ForeachATan, aclnnForeachAtan, (Tensors, x), (OutTensors, y)) { call(op, "aclnnForeachAtan", x, y); }
UNARY(ForeachAtan)
UNARY(ForeachCos)
UNARY(ForeachCosh)
UNARY(ForeachErf)
UNARY(ForeachErfc)
UNARY(ForeachExp)
UNARY(ForeachExpm1)
UNARY(ForeachLog)
UNARY(ForeachLog10)
UNARY(ForeachLog1p)
UNARY(ForeachLog2)
UNARY(ForeachNeg)
UNARY(ForeachReciprocal)
UNARY(ForeachSigmoid)
UNARY(ForeachSign)
UNARY(ForeachSin)
UNARY(ForeachSinh)
UNARY(ForeachSqrt)
UNARY(ForeachTan)
UNARY(ForeachTanh)

BINARY(ForeachDivList)
BINARY(ForeachMaximumList)
BINARY(ForeachMinimumList)
BINARY(ForeachMulList)
BINARY(ForeachPowList)

BY_SCALAR(ForeachAddScalar)
BY_SCALAR(ForeachDivScalar)
BY_SCALAR(ForeachMaximumScalar)
BY_SCALAR(ForeachMinimumScalar)
BY_SCALAR(ForeachMulScalar)
BY_SCALAR(ForeachPowScalar)
BY_SCALAR(ForeachSubScalar)

BY_SCALARS(ForeachAddScalarList)
BY_SCALARS(ForeachDivScalarList)
BY_SCALARS(ForeachMaximumScalarList)
BY_SCALARS(ForeachMinimumScalarList)
BY_SCALARS(ForeachMulScalarList)
BY_SCALARS(ForeachPowScalarList)
BY_SCALARS(ForeachSubScalarList)
#undef UNARY
#undef BINARY
#undef BY_SCALAR
#undef BY_SCALARS

IR_OP(ForeachAddList, aclnnForeachAddList, (Tensors, x1), (Tensors, x2), (In, alpha), (OutTensors, y)) {
  call(op, "aclnnForeachAddList", x1, x2, alpha, y);
}
IR_OP(ForeachSubList, aclnnForeachSubList, (Tensors, x1), (Tensors, x2), (In, alpha), (OutTensors, y)) {
  call(op, "aclnnForeachSubList", x1, x2, alpha, y);
}

IR_OP(ForeachAddcmulScalar, aclnnForeachAddcmulScalar, (Tensors, x1), (Tensors, x2), (Tensors, x3), (In, scalar),
      (OutTensors, y)) {
  call(op, "aclnnForeachAddcmulScalar", x1, x2, x3, scalar, y);
}
IR_OP(ForeachAddcmulScalarList, aclnnForeachAddcmulScalarList, (Tensors, x1), (Tensors, x2), (Tensors, x3),
      (In, scalar), (OutTensors, y)) {
  call(op, "aclnnForeachAddcmulScalarList", x1, x2, x3, scalar, y);
}
IR_OP(ForeachAddcmulList, aclnnForeachAddcmulScalarList, (Tensors, x), (Tensors, x1), (Tensors, x2), (In, scalar),
      (OutTensors, y)) {
  call(op, "aclnnForeachAddcmulScalarList", x, x1, x2, scalar, y);
}
IR_OP(ForeachAddcdivScalar, aclnnForeachAddcdivScalar, (Tensors, x), (Tensors, x1), (Tensors, x2), (In, scalar),
      (OutTensors, y)) {
  call(op, "aclnnForeachAddcdivScalar", x, x1, x2, scalar, y);
}
IR_OP(ForeachAddcdivScalarList, aclnnForeachAddcdivScalarList, (Tensors, x), (Tensors, x1), (Tensors, x2), (In, scalar),
      (OutTensors, y)) {
  call(op, "aclnnForeachAddcdivScalarList", x, x1, x2, scalar, y);
}
IR_OP(ForeachAddcdivList, aclnnForeachAddcdivScalarList, (Tensors, x), (Tensors, x1), (Tensors, x2), (In, scalar),
      (OutTensors, y)) {
  call(op, "aclnnForeachAddcdivScalarList", x, x1, x2, scalar, y);
}

IR_OP(ForeachLerpList, aclnnForeachLerpList, (Tensors, x1), (Tensors, x2), (Tensors, weights), (OutTensors, y)) {
  call(op, "aclnnForeachLerpList", x1, x2, weights, y);
}
IR_OP(ForeachLerpScalar, aclnnForeachLerpScalar, (Tensors, x1), (Tensors, x2), (In, weight), (OutTensors, y)) {
  call(op, "aclnnForeachLerpScalar", x1, x2, number_of(op, "weight", weight.handle), y);
}
IR_OP(ForeachNorm, aclnnForeachNorm, (Tensors, x1), (In, scalar), (OutTensors, y)) {
  call(op, "aclnnForeachNorm", x1, number_of(op, "scalar", scalar.handle), y);
}
IR_OP(ForeachPowScalarAndTensor, aclnnForeachPowScalarAndTensor, (In, scalar), (Tensors, x), (OutTensors, y)) {
  call(op, "aclnnForeachPowScalarAndTensor", number_of(op, "scalar", scalar.handle), x, y);
}
IR_OP(ForeachRoundOffNumber, aclnnForeachRoundOffNumber, (Tensors, x), (In, roundMode), (OutTensors, y)) {
  call(op, "aclnnForeachRoundOffNumberV2", x, integer_of(op, "roundMode", roundMode.handle), y);
}

}  // namespace updraft
