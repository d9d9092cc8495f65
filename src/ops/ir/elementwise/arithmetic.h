// Elementwise steps that leave what they give for the next step: formulas of optimizers.
#pragma once
#include "ops/ir_op.h"

namespace updraft::ir {

/// a = b * c and the like between two elementwise steps.
template <class A, class B>
TensorView product(Op& op, const A& a, const B& b) {
  Temp t;
  call(op, "aclnnMul", a, b, t);
  return *t;
}
template <class A, class B>
TensorView quotient(Op& op, const A& a, const B& b) {
  Temp t;
  call(op, "aclnnDiv", a, b, t);
  return *t;
}
template <class A, class B>
TensorView sum(Op& op, const A& a, const B& b) {
  Temp t;
  call(op, "aclnnAdd", a, b, 1, t);
  return *t;
}
template <class A, class B>
TensorView difference(Op& op, const A& a, const B& b) {
  Temp t;
  call(op, "aclnnSub", a, b, 1, t);
  return *t;
}
template <class A>
TensorView root(Op& op, const A& a) {
  Temp t;
  call(op, "aclnnSqrt", a, t);
  return *t;
}
/// 1 - a
template <class A>
TensorView rest(Op& op, const A& a) {
  Temp minus, t;
  call(op, "aclnnNeg", a, minus);
  call(op, "aclnnAdds", *minus, 1.0, 1, t);
  return *t;
}

}  // namespace updraft::ir
