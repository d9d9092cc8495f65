// Foreach operators of two lists, or of a list and scalars: sums, products, quotients, extremes and powers.
#include <cmath>

#include "kernels/rows/arithmetic.h"
#include "ops/foreach/list.h"

namespace updraft {
namespace {

Params one() {
  Params p;
  p.set(0, int64_t{1});
  return p;
}

// Powers that have a form of their own, as PyTorch computes them.
void plan_power(Op& op, const Tensors& x, const aclScalar& exponent, const Tensors& out) {
  if (out.size() == 0) return;
  if (op.inferring()) suggest_list(op, {&x}, out, [](DType common) { return common; });
  const Compute compute = list_compute(x, out);
  const double p = exponent.is_complex() ? NAN : exponent.to_double();
  if (p == 2) return plan_list(op, ew::square, {&x}, out);
  if (p == 3) return plan_list(op, ForeachRow::cube, {&x}, out);
  if (compute == Compute::F32 || compute == Compute::F64) {
    if (p == 0.5) return plan_list(op, ew::sqrt, {&x}, out);
    if (p == -0.5) return plan_list(op, ew::rsqrt, {&x}, out);
    if (p == -1) return plan_list(op, ew::reciprocal, {&x}, out);
    if (p == -2) return plan_list(op, ForeachRow::inverse_square, {&x}, out);
  }
  plan_list(op, ForeachRow::pow_p, {&x}, out, with_scalar(exponent));
}

}  // namespace

ABOUT(aclnnForeachAddList, Vector, "out[i] = x[i] + alpha * y[i], alpha in a tensor",
      "out[i] = x[i] + alpha * y[i]，alpha 为单元素张量")
ACLNN(aclnnForeachAddList, (Tensors, x), (Tensors, y), (In, alpha), (OutTensors, out)) {
  plan_list(op, ew::add, {&x, &y}, out, *alpha);
}
ABOUT(aclnnForeachAddListV2, Vector, "out[i] = x[i] + alpha * y[i], alpha a scalar",
      "out[i] = x[i] + alpha * y[i]，alpha 为标量")
ACLNN(aclnnForeachAddListV2, (Tensors, x), (Tensors, y), (Scalar, alpha), (OutTensors, out)) {
  plan_list(op, ew::add, {&x, &y}, out, with_scalar(*alpha));
}
ABOUT(aclnnForeachSubList, Vector, "out[i] = x[i] - alpha * y[i], alpha in a tensor",
      "out[i] = x[i] - alpha * y[i]，alpha 为单元素张量")
ACLNN(aclnnForeachSubList, (Tensors, x), (Tensors, y), (In, alpha), (OutTensors, out)) {
  plan_list(op, ew::sub, {&x, &y}, out, *alpha);
}
ABOUT(aclnnForeachSubListV2, Vector, "out[i] = x[i] - alpha * y[i], alpha a scalar",
      "out[i] = x[i] - alpha * y[i]，alpha 为标量")
ACLNN(aclnnForeachSubListV2, (Tensors, x), (Tensors, y), (Scalar, alpha), (OutTensors, out)) {
  plan_list(op, ew::sub, {&x, &y}, out, with_scalar(*alpha));
}

// List and list; list and one scalar, in device memory or as an argument; list and a scalar for each tensor.
#define UPDRAFT_FOREACH_LIST(NAME, row) \
  ACLNN(NAME, (Tensors, x), (Tensors, y), (OutTensors, out)) { plan_list(op, ew::row, {&x, &y}, out, one()); }
#define UPDRAFT_FOREACH_SCALAR(NAME, row)                                                  \
  ACLNN(NAME, (Tensors, x), (In, scalar), (OutTensors, out)) {                             \
    op.require(scalar->numel() == 1, "scalar is {}, want one element", describe(*scalar)); \
    plan_list(op, ForeachRow::row, {&x}, out, *scalar);                                    \
  }
#define UPDRAFT_FOREACH_SCALAR_V2(NAME, row)                         \
  ACLNN(NAME, (Tensors, x), (Scalar, scalar), (OutTensors, out)) {   \
    plan_list(op, ForeachRow::row, {&x}, out, with_scalar(*scalar)); \
  }
#define UPDRAFT_FOREACH_SCALAR_LIST(NAME, row)                       \
  ACLNN(NAME, (Tensors, x), (Scalars, scalars), (OutTensors, out)) { \
    plan_list(op, ForeachRow::row, {&x}, out, scalars);              \
  }

UPDRAFT_FOREACH_LIST(aclnnForeachMulList, mul)
UPDRAFT_FOREACH_LIST(aclnnForeachDivList, div)
UPDRAFT_FOREACH_LIST(aclnnForeachMaximumList, maximum)
UPDRAFT_FOREACH_LIST(aclnnForeachMinimumList, minimum)
UPDRAFT_FOREACH_LIST(aclnnForeachPowList, pow)

ABOUT(aclnnForeachMulList, Vector, "out[i] = x[i] * y[i]", "out[i] = x[i] * y[i]")
ABOUT(aclnnForeachDivList, Vector, "out[i] = x[i] / y[i]", "out[i] = x[i] / y[i]")
ABOUT(aclnnForeachMaximumList, Vector, "out[i] = the larger of x[i] and y[i]", "out[i] = max(x[i], y[i])")
ABOUT(aclnnForeachMinimumList, Vector, "out[i] = the smaller of x[i] and y[i]", "out[i] = min(x[i], y[i])")
ABOUT(aclnnForeachPowList, Vector, "out[i] = x[i] ^ y[i]", "out[i] = x[i] ^ y[i]")

UPDRAFT_FOREACH_SCALAR(aclnnForeachAddScalar, add_p)
UPDRAFT_FOREACH_SCALAR_V2(aclnnForeachAddScalarV2, add_p)
UPDRAFT_FOREACH_SCALAR_LIST(aclnnForeachAddScalarList, add_p)
UPDRAFT_FOREACH_SCALAR(aclnnForeachSubScalar, sub_p)
UPDRAFT_FOREACH_SCALAR_V2(aclnnForeachSubScalarV2, sub_p)
UPDRAFT_FOREACH_SCALAR_LIST(aclnnForeachSubScalarList, sub_p)
UPDRAFT_FOREACH_SCALAR(aclnnForeachMulScalar, mul_p)
UPDRAFT_FOREACH_SCALAR_V2(aclnnForeachMulScalarV2, mul_p)
UPDRAFT_FOREACH_SCALAR_LIST(aclnnForeachMulScalarList, mul_p)
UPDRAFT_FOREACH_SCALAR(aclnnForeachDivScalar, div_p)
UPDRAFT_FOREACH_SCALAR_V2(aclnnForeachDivScalarV2, div_p)
UPDRAFT_FOREACH_SCALAR_LIST(aclnnForeachDivScalarList, div_p)
UPDRAFT_FOREACH_SCALAR(aclnnForeachMaximumScalar, maximum_p)
UPDRAFT_FOREACH_SCALAR_V2(aclnnForeachMaximumScalarV2, maximum_p)
UPDRAFT_FOREACH_SCALAR_LIST(aclnnForeachMaximumScalarList, maximum_p)
UPDRAFT_FOREACH_SCALAR(aclnnForeachMinimumScalar, minimum_p)
UPDRAFT_FOREACH_SCALAR_V2(aclnnForeachMinimumScalarV2, minimum_p)
UPDRAFT_FOREACH_SCALAR_LIST(aclnnForeachMinimumScalarList, minimum_p)
UPDRAFT_FOREACH_SCALAR(aclnnForeachPowScalar, pow_p)
UPDRAFT_FOREACH_SCALAR_LIST(aclnnForeachPowScalarList, pow_p)

ABOUT(aclnnForeachAddScalar, Vector, "out[i] = x[i] + scalar, the scalar in a tensor",
      "out[i] = x[i] + scalar，scalar 为单元素张量")
ABOUT(aclnnForeachAddScalarV2, Vector, "out[i] = x[i] + scalar", "out[i] = x[i] + scalar，scalar 为标量")
ABOUT(aclnnForeachAddScalarList, Vector, "out[i] = x[i] + scalars[i]", "out[i] = x[i] + scalars[i]")
ABOUT(aclnnForeachSubScalar, Vector, "out[i] = x[i] - scalar, the scalar in a tensor",
      "out[i] = x[i] - scalar，scalar 为单元素张量")
ABOUT(aclnnForeachSubScalarV2, Vector, "out[i] = x[i] - scalar", "out[i] = x[i] - scalar，scalar 为标量")
ABOUT(aclnnForeachSubScalarList, Vector, "out[i] = x[i] - scalars[i]", "out[i] = x[i] - scalars[i]")
ABOUT(aclnnForeachMulScalar, Vector, "out[i] = x[i] * scalar, the scalar in a tensor",
      "out[i] = x[i] * scalar，scalar 为单元素张量")
ABOUT(aclnnForeachMulScalarV2, Vector, "out[i] = x[i] * scalar", "out[i] = x[i] * scalar，scalar 为标量")
ABOUT(aclnnForeachMulScalarList, Vector, "out[i] = x[i] * scalars[i]", "out[i] = x[i] * scalars[i]")
ABOUT(aclnnForeachDivScalar, Vector, "out[i] = x[i] / scalar, the scalar in a tensor",
      "out[i] = x[i] / scalar，scalar 为单元素张量")
ABOUT(aclnnForeachDivScalarV2, Vector, "out[i] = x[i] / scalar", "out[i] = x[i] / scalar，scalar 为标量")
ABOUT(aclnnForeachDivScalarList, Vector, "out[i] = x[i] / scalars[i]", "out[i] = x[i] / scalars[i]")
ABOUT(aclnnForeachMaximumScalar, Vector, "out[i] = the larger of x[i] and scalar, the scalar in a tensor",
      "out[i] = max(x[i], scalar)，scalar 为单元素张量")
ABOUT(aclnnForeachMaximumScalarV2, Vector, "out[i] = the larger of x[i] and scalar",
      "out[i] = max(x[i], scalar)，scalar 为标量")
ABOUT(aclnnForeachMaximumScalarList, Vector, "out[i] = the larger of x[i] and scalars[i]",
      "out[i] = max(x[i], scalars[i])")
ABOUT(aclnnForeachMinimumScalar, Vector, "out[i] = the smaller of x[i] and scalar, the scalar in a tensor",
      "out[i] = min(x[i], scalar)，scalar 为单元素张量")
ABOUT(aclnnForeachMinimumScalarV2, Vector, "out[i] = the smaller of x[i] and scalar",
      "out[i] = min(x[i], scalar)，scalar 为标量")
ABOUT(aclnnForeachMinimumScalarList, Vector, "out[i] = the smaller of x[i] and scalars[i]",
      "out[i] = min(x[i], scalars[i])")
ABOUT(aclnnForeachPowScalar, Vector, "out[i] = x[i] ^ scalar, the scalar in a tensor",
      "out[i] = x[i] ^ scalar，scalar 为单元素张量")
ABOUT(aclnnForeachPowScalarList, Vector, "out[i] = x[i] ^ scalars[i]", "out[i] = x[i] ^ scalars[i]")

#undef UPDRAFT_FOREACH_LIST
#undef UPDRAFT_FOREACH_SCALAR
#undef UPDRAFT_FOREACH_SCALAR_V2
#undef UPDRAFT_FOREACH_SCALAR_LIST

ABOUT(aclnnForeachPowScalarV2, Vector, "out[i] = x[i] ^ exponent, exponent a scalar",
      "out[i] = x[i] ^ exponent，exponent 为标量")
ACLNN(aclnnForeachPowScalarV2, (Tensors, x), (Scalar, exponent), (OutTensors, out)) {
  plan_power(op, x, *exponent, out);
}
ABOUT(aclnnForeachPowScalarAndTensor, Vector, "out[i] = scalar ^ exponent[i]",
      "out[i] = scalar ^ exponent[i]，底数为标量")
ACLNN(aclnnForeachPowScalarAndTensor, (Scalar, scalar), (Tensors, exponent), (OutTensors, out)) {
  plan_list(op, ForeachRow::p_pow, {&exponent}, out, with_scalar(*scalar));
}

}  // namespace updraft
