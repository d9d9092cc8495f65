// One input, one row: a line an operator.
#include "ops/elementwise/elementwise.h"

#include <algorithm>
#include <cstdlib>

namespace updraft {

#define UNARY(NAME, ROW) \
  ACLNN(NAME, (In, self), (Out, out)) { plan_unary(op, Ew::ROW, *self, *out); }
#define UNARY_INPLACE(NAME, ROW) \
  ACLNN(NAME, (Out, selfRef)) { plan_unary(op, Ew::ROW, *selfRef, *selfRef); }
#define UNARY_BOTH(NAME, ROW) UNARY(aclnn##NAME, ROW) UNARY_INPLACE(aclnnInplace##NAME, ROW)

UNARY(aclnnAbs, abs)
UNARY(aclnnNeg, neg)
UNARY(aclnnSign, sign)
UNARY(aclnnAngleV2, angle)
UNARY_BOTH(Reciprocal, reciprocal)
UNARY_BOTH(Sqrt, sqrt)
UNARY_BOTH(Rsqrt, rsqrt)
UNARY_BOTH(Exp, exp)
UNARY_BOTH(Exp2, exp2)
UNARY_BOTH(Expm1, expm1)
UNARY_BOTH(Log, log)
UNARY_BOTH(Log2, log2)
UNARY_BOTH(Log10, log10)
UNARY_BOTH(Log1p, log1p)
UNARY_BOTH(Sin, sin)
UNARY_BOTH(Cos, cos)
UNARY_BOTH(Tan, tan)
UNARY_BOTH(Asin, asin)
UNARY_BOTH(Acos, acos)
UNARY_BOTH(Atan, atan)
UNARY_BOTH(Sinh, sinh)
UNARY_BOTH(Cosh, cosh)
UNARY_BOTH(Asinh, asinh)
UNARY_BOTH(Acosh, acosh)
UNARY_BOTH(Atanh, atanh)
UNARY_BOTH(Erf, erf)
UNARY_BOTH(Erfc, erfc)
UNARY_BOTH(Erfinv, erfinv)
UNARY_BOTH(Sinc, sinc)
UNARY(aclnnIsFinite, isfinite)
UNARY(aclnnSignbit, signbit)

// Rounding leaves integers as they are.
#define ROUNDING(NAME, ROW)                                                              \
  ACLNN(aclnn##NAME, (In, self), (Out, out)) {                                           \
    plan_unary(op, is_integral(self->dtype, true) ? Ew::copy : Ew::ROW, *self, *out);    \
  }                                                                                      \
  ACLNN(aclnnInplace##NAME, (Out, selfRef)) {                                            \
    if (!is_integral(selfRef->dtype, true)) plan_unary(op, Ew::ROW, *selfRef, *selfRef); \
  }
ROUNDING(Floor, floor)
ROUNDING(Ceil, ceil)
ROUNDING(Trunc, trunc)
ROUNDING(Round, round)
ROUNDING(Frac, frac)

ACLNN(aclnnIsPosInf, (In, self), (Out, out)) {
  plan_elementwise(op, Ew::isposinf, is_floating(self->dtype) ? compute_of(self->dtype) : Compute::F64, {self}, *out);
}
ACLNN(aclnnIsNegInf, (In, self), (Out, out)) {
  plan_elementwise(op, Ew::isneginf, is_floating(self->dtype) ? compute_of(self->dtype) : Compute::F64, {self}, *out);
}

static void plan_round_decimals(Op& op, const TensorView& self, int64_t decimals, const TensorView& out) {
  if (is_integral(self.dtype, true)) return plan_unary(op, Ew::copy, self, out);
  if (decimals == 0) return plan_unary(op, Ew::round, self, out);
  double scale = 1;
  for (int64_t i = 0; i < std::min<int64_t>(std::abs(decimals), 400); ++i) scale *= 10;
  plan_unary(op, decimals > 0 ? Ew::round_decimals : Ew::round_tens, self, out, params_of(scale));
}
ACLNN(aclnnRoundDecimals, (In, self), (Int, decimals), (Out, out)) { plan_round_decimals(op, *self, decimals, *out); }
ACLNN(aclnnInplaceRoundDecimals, (Out, selfRef), (Int, decimals)) {
  plan_round_decimals(op, *selfRef, decimals, *selfRef);
}

static void plan_nan_to_num(Op& op, const TensorView& self, float nan, float posinf, float neginf,
                            const TensorView& out) {
  plan_unary(op, is_integral(self.dtype, true) ? Ew::copy : Ew::nan_to_num, self, out, params_of(nan, posinf, neginf));
}
ACLNN(aclnnNanToNum, (In, self), (Float, nan), (Float, posinf), (Float, neginf), (Out, out)) {
  plan_nan_to_num(op, *self, nan, posinf, neginf, *out);
}
ACLNN(aclnnInplaceNanToNum, (Out, selfRef), (Float, nan), (Float, posinf), (Float, neginf)) {
  plan_nan_to_num(op, *selfRef, nan, posinf, neginf, *selfRef);
}

ACLNN(aclnnLogit, (In, self), (Double, eps), (Out, out)) {
  // eps < 0: none was given.
  plan_unary(op, eps < 0 ? Ew::logit : Ew::logit_eps, *self, *out, params_of(eps, 1.0 - eps));
}
ACLNN(aclnnLogitGrad, (In, self), (In, gradOutput), (Double, eps), (Out, out)) {
  plan_binary(op, eps < 0 ? Ew::logit_backward_any : Ew::logit_backward_eps, gradOutput, self, *out,
              params_of(eps, 1.0 - eps));
}

}  // namespace updraft
