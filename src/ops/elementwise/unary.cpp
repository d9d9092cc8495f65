// One input, one row: a line an operator.
#include "kernels/rows/arithmetic.h"
#include "kernels/rows/functions.h"
#include "kernels/rows/logic.h"
#include "kernels/rows/special.h"
#include "ops/elementwise/elementwise.h"

#include <algorithm>
#include <cstdlib>

namespace updraft {

#define UNARY(NAME, ROW) \
  ACLNN(NAME, (In, self), (Out, out)) { plan_unary(op, ew::ROW, *self, *out); }
#define UNARY_INPLACE(NAME, ROW) \
  ACLNN(NAME, (InOut, selfRef)) { plan_unary(op, ew::ROW, *selfRef, *selfRef); }
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

ABOUT(aclnnAbs, Vector, "out = abs(self); the modulus of complex numbers", "out = abs(self)，复数取模")
ABOUT(aclnnNeg, Vector, "out = -self", "out = -self")
ABOUT(aclnnSign, Vector, "out = -1, 0 or 1 by the sign of self", "按 self 的符号输出 -1、0 或 1")
ABOUT(aclnnAngleV2, Vector, "Angle of each element in radians: of complex numbers, and 0 or pi of real ones",
      "逐元素的辐角（弧度），实数为 0 或 pi")
ABOUT(aclnnReciprocal, Vector, "out = 1 / self", "out = 1 / self")
ABOUT(aclnnInplaceReciprocal, Vector, "selfRef = 1 / selfRef, in place", "原地计算 selfRef = 1 / selfRef")
ABOUT(aclnnSqrt, Vector, "out = sqrt(self)", "out = sqrt(self)，平方根")
ABOUT(aclnnInplaceSqrt, Vector, "selfRef = sqrt(selfRef), in place", "原地计算平方根")
ABOUT(aclnnRsqrt, Vector, "out = 1 / sqrt(self)", "out = 1 / sqrt(self)，平方根的倒数")
ABOUT(aclnnInplaceRsqrt, Vector, "selfRef = 1 / sqrt(selfRef), in place", "原地计算平方根的倒数")
ABOUT(aclnnExp, Vector, "out = exp(self)", "out = exp(self)，自然指数")
ABOUT(aclnnInplaceExp, Vector, "selfRef = exp(selfRef), in place", "原地计算自然指数")
ABOUT(aclnnExp2, Vector, "out = 2 ^ self", "out = 2 ^ self")
ABOUT(aclnnInplaceExp2, Vector, "selfRef = 2 ^ selfRef, in place", "原地计算 selfRef = 2 ^ selfRef")
ABOUT(aclnnExpm1, Vector, "out = exp(self) - 1, accurate near 0", "out = exp(self) - 1，在 0 附近保持精度")
ABOUT(aclnnInplaceExpm1, Vector, "selfRef = exp(selfRef) - 1, in place", "原地计算 selfRef = exp(selfRef) - 1")
CARD(aclnnLog, on("self", kFloats | kF64 | kIntegers | kBool | kComplex), kFloats | kF64 | kComplex)
ABOUT(aclnnLog, Vector, "out = natural logarithm of self", "out = ln(self)，自然对数")
ABOUT(aclnnInplaceLog, Vector, "Natural logarithm of selfRef, in place", "原地计算自然对数")
ABOUT(aclnnLog2, Vector, "out = logarithm of self to base 2", "以 2 为底的对数")
ABOUT(aclnnInplaceLog2, Vector, "Logarithm of selfRef to base 2, in place", "原地计算以 2 为底的对数")
ABOUT(aclnnLog10, Vector, "out = logarithm of self to base 10", "以 10 为底的对数")
ABOUT(aclnnInplaceLog10, Vector, "Logarithm of selfRef to base 10, in place", "原地计算以 10 为底的对数")
ABOUT(aclnnLog1p, Vector, "out = log(1 + self), accurate near 0", "out = ln(1 + self)，在 0 附近保持精度")
ABOUT(aclnnInplaceLog1p, Vector, "selfRef = log(1 + selfRef), in place", "原地计算 selfRef = ln(1 + selfRef)")
CARD(aclnnSin, on("self", kFloats | kF64 | kIntegers | kBool | kComplex), kFloats | kF64 | kComplex)
ABOUT(aclnnSin, Vector, "out = sin(self)", "out = sin(self)，正弦")
ABOUT(aclnnInplaceSin, Vector, "selfRef = sin(selfRef), in place", "原地计算正弦")
ABOUT(aclnnCos, Vector, "out = cos(self)", "out = cos(self)，余弦")
ABOUT(aclnnInplaceCos, Vector, "selfRef = cos(selfRef), in place", "原地计算余弦")
ABOUT(aclnnTan, Vector, "out = tan(self)", "out = tan(self)，正切")
ABOUT(aclnnInplaceTan, Vector, "selfRef = tan(selfRef), in place", "原地计算正切")
ABOUT(aclnnAsin, Vector, "out = arcsine of self", "out = asin(self)，反正弦")
ABOUT(aclnnInplaceAsin, Vector, "Arcsine of selfRef, in place", "原地计算反正弦")
CARD(aclnnAcos, on("self", kFloats | kF64 | kIntegers | kBool), kFloats | kF64)
ABOUT(aclnnAcos, Vector, "out = arccosine of self", "out = acos(self)，反余弦")
CARD(aclnnInplaceAcos, kFloats | kF64)
ABOUT(aclnnInplaceAcos, Vector, "Arccosine of selfRef, in place", "原地计算反余弦")
ABOUT(aclnnAtan, Vector, "out = arctangent of self", "out = atan(self)，反正切")
ABOUT(aclnnInplaceAtan, Vector, "Arctangent of selfRef, in place", "原地计算反正切")
ABOUT(aclnnSinh, Vector, "out = sinh(self)", "out = sinh(self)，双曲正弦")
ABOUT(aclnnInplaceSinh, Vector, "selfRef = sinh(selfRef), in place", "原地计算双曲正弦")
ABOUT(aclnnCosh, Vector, "out = cosh(self)", "out = cosh(self)，双曲余弦")
ABOUT(aclnnInplaceCosh, Vector, "selfRef = cosh(selfRef), in place", "原地计算双曲余弦")
ABOUT(aclnnAsinh, Vector, "out = inverse hyperbolic sine of self", "out = asinh(self)，反双曲正弦")
ABOUT(aclnnInplaceAsinh, Vector, "Inverse hyperbolic sine of selfRef, in place", "原地计算反双曲正弦")
ABOUT(aclnnAcosh, Vector, "out = inverse hyperbolic cosine of self", "out = acosh(self)，反双曲余弦")
ABOUT(aclnnInplaceAcosh, Vector, "Inverse hyperbolic cosine of selfRef, in place", "原地计算反双曲余弦")
ABOUT(aclnnAtanh, Vector, "out = inverse hyperbolic tangent of self", "out = atanh(self)，反双曲正切")
ABOUT(aclnnInplaceAtanh, Vector, "Inverse hyperbolic tangent of selfRef, in place", "原地计算反双曲正切")
ABOUT(aclnnErf, Vector, "out = error function of self", "out = erf(self)，误差函数")
ABOUT(aclnnInplaceErf, Vector, "Error function of selfRef, in place", "原地计算误差函数")
ABOUT(aclnnErfc, Vector, "out = 1 - erf(self)", "out = 1 - erf(self)，互补误差函数")
ABOUT(aclnnInplaceErfc, Vector, "selfRef = 1 - erf(selfRef), in place", "原地计算互补误差函数")
ABOUT(aclnnErfinv, Vector, "out = inverse error function of self", "out = erfinv(self)，逆误差函数")
ABOUT(aclnnInplaceErfinv, Vector, "Inverse error function of selfRef, in place", "原地计算逆误差函数")
ABOUT(aclnnSinc, Vector, "out = sin(pi * self) / (pi * self), 1 at 0", "out = sin(pi * self) / (pi * self)，0 处为 1")
ABOUT(aclnnInplaceSinc, Vector, "selfRef = sin(pi * selfRef) / (pi * selfRef), in place",
      "原地计算 sin(pi * selfRef) / (pi * selfRef)")
ABOUT(aclnnIsFinite, Vector, "out = whether each element is neither infinite nor NaN",
      "逐元素判断是否为有限值（非无穷、非 NaN）")
ACLNN(aclnnIsInf, (In, self), (Out, out)) {
  op.result_like("out", *out, *self, DType::Bool);
  if (is_floating(self->dtype)) return plan_unary(op, ew::isinf, *self, *out);
  op.require(is_integral(self->dtype, true), "self is {}, want real numbers", describe(*self));
  if (!out->empty()) op.launch([to = *out] { fill_elements(to, Params{}); });
}
SAMPLE(aclnnIsInf, "out=bool[N,M]")
ABOUT(aclnnIsInf, Vector, "out = whether each element is an infinity", "逐元素判断是否为无穷")
SAMPLE(aclnnSignbit, "out=bool[N,M]")
ABOUT(aclnnSignbit, Vector, "out = whether the sign bit of each element is set", "逐元素判断符号位是否为 1")

// Rounding leaves integers as they are.
#define ROUNDING(NAME, ROW)                                                              \
  ACLNN(aclnn##NAME, (In, self), (Out, out)) {                                           \
    plan_unary(op, is_integral(self->dtype, true) ? ew::copy : ew::ROW, *self, *out);    \
  }                                                                                      \
  ACLNN(aclnnInplace##NAME, (InOut, selfRef)) {                                          \
    if (!is_integral(selfRef->dtype, true)) plan_unary(op, ew::ROW, *selfRef, *selfRef); \
  }
ROUNDING(Floor, floor)
ROUNDING(Ceil, ceil)
ROUNDING(Trunc, trunc)
ROUNDING(Round, round)
ROUNDING(Frac, frac)

ABOUT(aclnnFloor, Vector, "out = self rounded down", "out = floor(self)，向下取整")
ABOUT(aclnnInplaceFloor, Vector, "Rounds selfRef down, in place", "原地向下取整")
ABOUT(aclnnCeil, Vector, "out = self rounded up", "out = ceil(self)，向上取整")
ABOUT(aclnnInplaceCeil, Vector, "Rounds selfRef up, in place", "原地向上取整")
ABOUT(aclnnTrunc, Vector, "out = self rounded towards zero", "out = trunc(self)，向零取整")
ABOUT(aclnnInplaceTrunc, Vector, "Rounds selfRef towards zero, in place", "原地向零取整")
ABOUT(aclnnRound, Vector, "out = self rounded to the nearest integer, halves to even", "四舍六入五取偶到最近的整数")
ABOUT(aclnnInplaceRound, Vector, "Rounds selfRef to the nearest integer, halves to even, in place",
      "原地取最近的整数，五取偶")
ABOUT(aclnnFrac, Vector, "out = self - trunc(self)", "out = self - trunc(self)，小数部分")
ABOUT(aclnnInplaceFrac, Vector, "selfRef = selfRef - trunc(selfRef), in place", "原地取小数部分")

ABOUT(aclnnIsPosInf, Vector, "out = whether each element is +infinity", "逐元素判断是否为正无穷")
ACLNN(aclnnIsPosInf, (In, self), (Out, out)) {
  plan_elementwise(op, ew::isposinf, is_floating(self->dtype) ? compute_of(self->dtype) : Compute::F64, {self}, *out);
}
ABOUT(aclnnIsNegInf, Vector, "out = whether each element is -infinity", "逐元素判断是否为负无穷")
ACLNN(aclnnIsNegInf, (In, self), (Out, out)) {
  plan_elementwise(op, ew::isneginf, is_floating(self->dtype) ? compute_of(self->dtype) : Compute::F64, {self}, *out);
}

static void plan_round_decimals(Op& op, const TensorView& self, int64_t decimals, const TensorView& out) {
  if (is_integral(self.dtype, true)) return plan_unary(op, ew::copy, self, out);
  if (decimals == 0) return plan_unary(op, ew::round, self, out);
  double scale = 1;
  for (int64_t i = 0; i < std::min<int64_t>(std::abs(decimals), 400); ++i) scale *= 10;
  plan_unary(op, decimals > 0 ? ew::round_decimals : ew::round_tens, self, out, params_of(scale));
}
ABOUT(aclnnRoundDecimals, Vector, "Rounds self to a number of decimals, halves to even; negative: left of the point",
      "按 decimals 位小数取整，五取偶；负值表示小数点左侧")
ACLNN(aclnnRoundDecimals, (In, self), (Int, decimals), (Out, out)) { plan_round_decimals(op, *self, decimals, *out); }
ABOUT(aclnnInplaceRoundDecimals, Vector, "Rounds selfRef to a number of decimals, halves to even, in place",
      "原地按 decimals 位小数取整，五取偶")
ACLNN(aclnnInplaceRoundDecimals, (InOut, selfRef), (Int, decimals)) {
  plan_round_decimals(op, *selfRef, decimals, *selfRef);
}

static void plan_nan_to_num(Op& op, const TensorView& self, float nan, float posinf, float neginf,
                            const TensorView& out) {
  plan_unary(op, is_integral(self.dtype, true) ? ew::copy : ew::nan_to_num, self, out, params_of(nan, posinf, neginf));
}
ABOUT(aclnnNanToNum, Vector, "Replaces NaN, +infinity and -infinity by nan, posinf and neginf",
      "将 NaN、正无穷、负无穷分别替换为 nan、posinf、neginf")
ACLNN(aclnnNanToNum, (In, self), (Float, nan), (Float, posinf), (Float, neginf), (Out, out)) {
  plan_nan_to_num(op, *self, nan, posinf, neginf, *out);
}
ABOUT(aclnnInplaceNanToNum, Vector, "Replaces NaN, +infinity and -infinity of selfRef, in place",
      "原地将 NaN、正无穷、负无穷替换为 nan、posinf、neginf")
ACLNN(aclnnInplaceNanToNum, (InOut, selfRef), (Float, nan), (Float, posinf), (Float, neginf)) {
  plan_nan_to_num(op, *selfRef, nan, posinf, neginf, *selfRef);
}

ABOUT(aclnnLogit, Vector, "out = log(self / (1 - self)); self is clamped to [eps, 1 - eps] where eps >= 0",
      "out = ln(self / (1 - self))，eps >= 0 时先将 self 截断到 [eps, 1 - eps]")
ACLNN(aclnnLogit, (In, self), (Double, eps), (Out, out)) {
  // eps < 0: none was given.
  plan_unary(op, eps < 0 ? ew::logit : ew::logit_eps, *self, *out, params_of(eps, 1.0 - eps));
}
ABOUT(aclnnLogitGrad, Vector, "out = gradOutput / (self * (1 - self)); 0 outside [eps, 1 - eps]",
      "logit 的反向梯度：out = gradOutput / (self * (1 - self))，[eps, 1 - eps] 外为 0")
ACLNN(aclnnLogitGrad, (In, self), (In, gradOutput), (Double, eps), (Out, out)) {
  plan_binary(op, eps < 0 ? ew::logit_backward_any : ew::logit_backward_eps, gradOutput, self, *out,
              params_of(eps, 1.0 - eps));
}

}  // namespace updraft
