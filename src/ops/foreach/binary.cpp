// Foreach operators of two lists, or of a list and scalars: sums, products, quotients, extremes and powers.
#include <cmath>

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
  const Compute compute = list_compute(x, out);
  const double p = exponent.is_complex() ? NAN : exponent.to_double();
  if (p == 2) return plan_list(op, Ew::square, {&x}, out);
  if (p == 3) return plan_list(op, ForeachRow::cube, {&x}, out);
  if (compute == Compute::F32 || compute == Compute::F64) {
    if (p == 0.5) return plan_list(op, Ew::sqrt, {&x}, out);
    if (p == -0.5) return plan_list(op, Ew::rsqrt, {&x}, out);
    if (p == -1) return plan_list(op, Ew::reciprocal, {&x}, out);
    if (p == -2) return plan_list(op, ForeachRow::inverse_square, {&x}, out);
  }
  plan_list(op, ForeachRow::pow_p, {&x}, out, with_scalar(exponent));
}

}  // namespace

ACLNN(aclnnForeachAddList, (Tensors, x), (Tensors, y), (In, alpha), (Tensors, out)) {
  plan_list(op, Ew::add, {&x, &y}, out, *alpha);
}
ACLNN(aclnnForeachAddListV2, (Tensors, x), (Tensors, y), (Scalar, alpha), (Tensors, out)) {
  plan_list(op, Ew::add, {&x, &y}, out, with_scalar(*alpha));
}
ACLNN(aclnnForeachSubList, (Tensors, x), (Tensors, y), (In, alpha), (Tensors, out)) {
  plan_list(op, Ew::sub, {&x, &y}, out, *alpha);
}
ACLNN(aclnnForeachSubListV2, (Tensors, x), (Tensors, y), (Scalar, alpha), (Tensors, out)) {
  plan_list(op, Ew::sub, {&x, &y}, out, with_scalar(*alpha));
}

// List and list; list and one scalar, in device memory or as an argument; list and a scalar for each tensor.
#define UPDRAFT_FOREACH_LIST(NAME, row) \
  ACLNN(NAME, (Tensors, x), (Tensors, y), (Tensors, out)) { plan_list(op, Ew::row, {&x, &y}, out, one()); }
#define UPDRAFT_FOREACH_SCALAR(NAME, row)                                                  \
  ACLNN(NAME, (Tensors, x), (In, scalar), (Tensors, out)) {                                \
    op.require(scalar->numel() == 1, "scalar is {}, want one element", describe(*scalar)); \
    plan_list(op, ForeachRow::row, {&x}, out, *scalar);                                    \
  }
#define UPDRAFT_FOREACH_SCALAR_V2(NAME, row)                         \
  ACLNN(NAME, (Tensors, x), (Scalar, scalar), (Tensors, out)) {      \
    plan_list(op, ForeachRow::row, {&x}, out, with_scalar(*scalar)); \
  }
#define UPDRAFT_FOREACH_SCALAR_LIST(NAME, row) \
  ACLNN(NAME, (Tensors, x), (Scalars, scalars), (Tensors, out)) { plan_list(op, ForeachRow::row, {&x}, out, scalars); }

UPDRAFT_FOREACH_LIST(aclnnForeachMulList, mul)
UPDRAFT_FOREACH_LIST(aclnnForeachDivList, div)
UPDRAFT_FOREACH_LIST(aclnnForeachMaximumList, maximum)
UPDRAFT_FOREACH_LIST(aclnnForeachMinimumList, minimum)
UPDRAFT_FOREACH_LIST(aclnnForeachPowList, pow)

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

#undef UPDRAFT_FOREACH_LIST
#undef UPDRAFT_FOREACH_SCALAR
#undef UPDRAFT_FOREACH_SCALAR_V2
#undef UPDRAFT_FOREACH_SCALAR_LIST

ACLNN(aclnnForeachPowScalarV2, (Tensors, x), (Scalar, exponent), (Tensors, out)) { plan_power(op, x, *exponent, out); }
ACLNN(aclnnForeachPowScalarAndTensor, (Scalar, scalar), (Tensors, exponent), (Tensors, out)) {
  plan_list(op, ForeachRow::p_pow, {&exponent}, out, with_scalar(*scalar));
}

}  // namespace updraft
