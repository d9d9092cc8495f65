// Sums, products, powers, roundings, comparisons and bits, element by element.
#include <cmath>

#include "ops/ir/shapes.h"

namespace updraft {

#define UNARY(TYPE, TWIN) \
  IR_OP(TYPE, TWIN, (In, x), (Out, y)) { call(op, #TWIN, x, y); }
#define BINARY(TYPE, TWIN) \
  IR_OP(TYPE, TWIN, (In, x1), (In, x2), (Out, y)) { call(op, #TWIN, x1, x2, y); }

UNARY(Abs, aclnnAbs)
UNARY(Acos, aclnnAcos)
UNARY(Acosh, aclnnAcosh)
UNARY(Asin, aclnnAsin)
UNARY(Asinh, aclnnAsinh)
UNARY(Atan, aclnnAtan)
UNARY(Atanh, aclnnAtanh)
UNARY(Ceil, aclnnCeil)
UNARY(Cos, aclnnCos)
UNARY(Cosh, aclnnCosh)
UNARY(Erf, aclnnErf)
UNARY(Erfc, aclnnErfc)
UNARY(Expm1, aclnnExpm1)
UNARY(Floor, aclnnFloor)
UNARY(Inv, aclnnReciprocal)
UNARY(Invert, aclnnBitwiseNot)
UNARY(IsFinite, aclnnIsFinite)
UNARY(IsNegInf, aclnnIsNegInf)
UNARY(IsPosInf, aclnnIsPosInf)
UNARY(Log1p, aclnnLog1p)
UNARY(LogicalNot, aclnnLogicalNot)
UNARY(Neg, aclnnNeg)
UNARY(Reciprocal, aclnnReciprocal)
UNARY(Rint, aclnnRound)
UNARY(Round, aclnnRound)
UNARY(Rsqrt, aclnnRsqrt)
UNARY(Sign, aclnnSign)
UNARY(Sin, aclnnSin)
UNARY(Sinh, aclnnSinh)
UNARY(Sqrt, aclnnSqrt)
UNARY(Tan, aclnnTan)

IR_OP(Erfinv, aclnnErfinv, (In, input_x), (Out, output_y)) { call(op, "aclnnErfinv", input_x, output_y); }
IR_OP(Trunc, aclnnTrunc, (In, input_x), (Out, output_y)) { call(op, "aclnnTrunc", input_x, output_y); }
IR_OP(IsNan, aclnnNeTensor, (In, x), (Out, y)) { call(op, "aclnnNeTensor", x, x, y); }
ABOUT(IsInf, Vector, "y = whether x is an infinity", "y = x 是否为无穷")
IR_OP(IsInf, IsInf, (In, x), (Out, y)) {
  Temp above, below;
  call(op, "aclnnIsPosInf", x, above);
  call(op, "aclnnIsNegInf", x, below);
  call(op, "aclnnLogicalOr", *above, *below, y);
}
ABOUT(Square, Vector, "y = x * x, element by element", "逐元素平方 y = x * x")
IR_OP(Square, Square, (In, x), (Out, y)) { call(op, "aclnnMul", x, x, y); }

BINARY(Atan2, aclnnAtan2)
BINARY(BitwiseAnd, aclnnBitwiseAndTensor)
BINARY(BitwiseOr, aclnnBitwiseOrTensor)
BINARY(BitwiseXor, aclnnBitwiseXorTensor)
BINARY(Equal, aclnnEqTensor)
BINARY(FloorDiv, aclnnFloorDivide)
BINARY(FloorMod, aclnnRemainderTensorTensor)
BINARY(Gcd, aclnnGcd)
BINARY(Greater, aclnnGtTensor)
BINARY(GreaterEqual, aclnnGeTensor)
BINARY(Less, aclnnLtTensor)
BINARY(LessEqual, aclnnLeTensor)
BINARY(LogicalAnd, aclnnLogicalAnd)
BINARY(LogicalOr, aclnnLogicalOr)
BINARY(Maximum, aclnnMaximum)
BINARY(Minimum, aclnnMinimum)
BINARY(Mod, aclnnFmodTensor)
BINARY(Mul, aclnnMul)
BINARY(NotEqual, aclnnNeTensor)
BINARY(Pow, aclnnPowTensorTensor)
BINARY(RealDiv, aclnnDiv)
BINARY(TruncateMod, aclnnFmodTensor)
BINARY(Xlogy, aclnnXLogYTensor)
#undef UNARY
#undef BINARY

IR_OP(Add, aclnnAdd, (In, x1), (In, x2), (Out, y)) { call(op, "aclnnAdd", x1, x2, 1, y); }
IR_OP(AddV2, aclnnAdd, (In, x1), (In, x2), (Out, y)) { call(op, "aclnnAdd", x1, x2, 1, y); }
IR_OP(Sub, aclnnSub, (In, x1), (In, x2), (Out, y)) { call(op, "aclnnSub", x1, x2, 1, y); }
IR_OP(LeftShift, aclnnLeftShift, (In, x), (In, y), (Out, z)) { call(op, "aclnnLeftShift", x, y, z); }
IR_OP(RightShift, aclnnRightShift, (In, x), (In, y), (Out, z)) { call(op, "aclnnRightShift", x, y, z); }

namespace {
constexpr int kTruncate = 1;
/// The quotient of integers is cut off, that of other numbers is exact.
void divide(Op& op, const In& x1, const In& x2, const Out& y) {
  if (is_integral(promote(x1->dtype, x2->dtype))) call(op, "aclnnDivMod", x1, x2, kTruncate, y);
  else call(op, "aclnnDiv", x1, x2, y);
}
}  // namespace
ABOUT(Div, Vector, "y = x1 / x2, cut off for integers", "y = x1 / x2，整数时截断")
IR_OP(Div, Div, (In, x1), (In, x2), (Out, y)) { divide(op, x1, x2, y); }
ABOUT(TruncateDiv, Vector, "y = x1 / x2, cut off", "y = x1 / x2，向零取整")
IR_OP(TruncateDiv, TruncateDiv, (In, x1), (In, x2), (Out, y)) { call(op, "aclnnDivMod", x1, x2, kTruncate, y); }

ABOUT(DivNoNan, Vector, "y = x1 / x2, 0 where x2 is 0", "y = x1 / x2，x2 为 0 处取 0")
IR_OP(DivNoNan, DivNoNan, (In, x1), (In, x2), (Out, y)) {
  Temp quotient, none;
  call(op, "aclnnDiv", x1, x2, quotient);
  call(op, "aclnnEqScalar", x2, 0, none);
  call(op, "aclnnSWhere", *none, ir::constant(op, quotient->dtype, 0), *quotient, y);
}
ABOUT(MulNoNan, Vector, "y = x1 * x2, 0 where x2 is 0", "y = x1 * x2，x2 为 0 处取 0")
IR_OP(MulNoNan, MulNoNan, (In, x1), (In, x2), (Out, y)) {
  Temp product, none;
  call(op, "aclnnMul", x1, x2, product);
  call(op, "aclnnEqScalar", x2, 0, none);
  call(op, "aclnnSWhere", *none, ir::constant(op, product->dtype, 0), *product, y);
}
ABOUT(Xdivy, Vector, "y = x1 / x2, 0 where x1 is 0", "y = x1 / x2，x1 为 0 处取 0")
IR_OP(Xdivy, Xdivy, (In, x1), (In, x2), (Out, y)) {
  Temp quotient, none;
  call(op, "aclnnDiv", x1, x2, quotient);
  call(op, "aclnnEqScalar", x1, 0, none);
  call(op, "aclnnSWhere", *none, ir::constant(op, quotient->dtype, 0), *quotient, y);
}
ABOUT(SquaredDifference, Vector, "y = (x1 - x2)^2", "y = (x1 - x2)^2")
IR_OP(SquaredDifference, SquaredDifference, (In, x1), (In, x2), (Out, y)) {
  Temp d;
  call(op, "aclnnSub", x1, x2, 1, d);
  call(op, "aclnnMul", *d, *d, y);
}

// A number as an attribute keeps the type of x.
namespace {
void with_number(Op& op, const char* twin, const In& x, float value, const Out& y) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, twin, x, value, y);
}
}  // namespace
IR_OP(Muls, aclnnMuls, (In, x), (Out, y), (Float, value)) { with_number(op, "aclnnMuls", x, value, y); }
IR_OP(Adds, aclnnAdds, (In, x), (Out, y), (Float, value)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnAdds", x, value, 1, y);
}
IR_OP(Fills, aclnnInplaceFillScalar, (In, x), (Out, y), (Float, value)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnInplaceFillScalar", y, value);
}
IR_OP(Axpy, aclnnAdd, (In, x1), (In, x2), (Out, y), (Float, alpha)) { call(op, "aclnnAdd", x1, x2, alpha, y); }

namespace {
/// y = x1 + alpha * x2 with alpha in a tensor.
void add_scaled(Op& op, const In& x1, const In& x2, const aclTensor* alpha, const Out& y) {
  Temp scaled(x2->dtype);
  call(op, "aclnnMul", x2, In{alpha}, scaled);
  call(op, "aclnnAdd", x1, *scaled, 1, y);
}
}  // namespace
IR_OP(AxpyV2, aclnnAdd, (In, x1), (In, x2), (In, alpha), (Out, y)) { add_scaled(op, x1, x2, alpha.handle, y); }
ABOUT(Sxpy, Vector, "y = x1 - alpha * x2", "y = x1 - alpha * x2")
IR_OP(Sxpy, Sxpy, (In, x1), (In, x2), (OptIn, alpha), (Out, y)) {
  if (!alpha) return call(op, "aclnnSub", x1, x2, 1, y);
  Temp scaled(x2->dtype);
  call(op, "aclnnMul", x2, alpha, scaled);
  call(op, "aclnnSub", x1, *scaled, 1, y);
}

namespace {
void add_all(Op& op, const Tensors& x, int64_t n, const Out& y) {
  op.require(x.size() > 0 && static_cast<int64_t>(x.size()) == n, "x has {} tensors, attribute N is {}", x.size(), n);
  for (size_t i = 1; i < x.size(); ++i) op.require_same_shape("x0", x[0], "x", x[i]);
  if (x.size() == 1) return ir::copy(op, x[0], y);
  call(op, "aclnnAdd", x[0], x[1], 1, y);
  for (size_t i = 2; i < x.size(); ++i) call(op, "aclnnInplaceAdd", y, x[i], 1);
}
}  // namespace
ABOUT(AddN, Vector, "y = the sum of all x", "y = 全部 x 之和")
IR_OP(AddN, AddN, (Tensors, x), (Out, y), (Int, N)) { add_all(op, x, N, y); }
IR_OP(AccumulateNV2, AddN, (Tensors, x), (Out, y), (Int, N)) { add_all(op, x, N, y); }

ABOUT(Addcmul, Vector, "y = input_data + value * x1 * x2", "y = input_data + value * x1 * x2")
IR_OP(Addcmul, Addcmul, (In, input_data), (In, x1), (In, x2), (In, value), (Out, y)) {
  if (!op.inferring() && value->numel() == 1) {  // in one piece, rounded once
    call(op, "aclnnAddcmul", input_data, x1, x2, number_of(op, "value", value.handle), y);
    return;
  }
  Temp product, scaled;
  call(op, "aclnnMul", x1, x2, product);
  call(op, "aclnnMul", *product, value, scaled);
  call(op, "aclnnAdd", input_data, *scaled, 1, y);
}
ABOUT(Addcdiv, Vector, "y = input_data + value * x1 / x2", "y = input_data + value * x1 / x2")
IR_OP(Addcdiv, Addcdiv, (In, input_data), (In, x1), (In, x2), (In, value), (Out, y)) {
  if (!op.inferring() && value->numel() == 1) {
    call(op, "aclnnAddcdiv", input_data, x1, x2, number_of(op, "value", value.handle), y);
    return;
  }
  Temp quotient, scaled;
  call(op, "aclnnDiv", x1, x2, quotient);
  call(op, "aclnnMul", *quotient, value, scaled);
  call(op, "aclnnAdd", input_data, *scaled, 1, y);
}
ABOUT(FusedMulAdd, Vector, "y = x1 * x2 + x3", "y = x1 * x2 + x3")
IR_OP(FusedMulAdd, FusedMulAdd, (In, x1), (In, x2), (In, x3), (Out, y)) {
  Temp product;
  call(op, "aclnnMul", x1, x2, product);
  call(op, "aclnnAdd", *product, x3, 1, y);
}
IR_OP(FusedMulAddN, FusedMulAdd, (In, x1), (In, x2), (In, x3), (Out, y)) {
  Temp product;
  call(op, "aclnnMul", x1, x3, product);
  call(op, "aclnnAdd", *product, x2, 1, y);
}

IR_OP(Lerp, aclnnLerp, (In, start), (In, end), (In, weight), (Out, y)) { call(op, "aclnnLerp", start, end, weight, y); }
IR_OP(ClipByValue, aclnnClampTensor, (In, x), (In, clip_value_min), (In, clip_value_max), (Out, y)) {
  call(op, "aclnnClampTensor", x, clip_value_min, clip_value_max, y);
}
IR_OP(ClipByValueV2, aclnnClampTensor, (In, x), (In, clip_value_min), (In, clip_value_max), (Out, y)) {
  call(op, "aclnnClampTensor", x, clip_value_min, clip_value_max, y);
}
IR_OP(NanToNum, aclnnNanToNum, (In, x), (Out, y), (Float, nan), (Float, posinf), (Float, neginf)) {
  call(op, "aclnnNanToNum", x, nan, posinf, neginf, y);
}
IR_OP(IsClose, aclnnIsClose, (In, x1), (In, x2), (Out, y), (Float, rtol, 1e-05), (Float, atol, 1e-08),
      (Bool, equal_nan, false)) {
  call(op, "aclnnIsClose", x1, x2, rtol, atol, equal_nan, y);
}
IR_OP(SelectV2, aclnnSWhere, (In, condition), (In, then), (In, ir_else), (Out, result)) {
  call(op, "aclnnSWhere", condition, then, ir_else, result);
}
IR_OP(Select, aclnnSWhere, (In, condition), (In, x1), (In, x2), (Out, y)) {
  op.require_same_shape("x1", *x1, "x2", *x2);
  TensorView rows = *condition;  // one bool for each row, or for each element
  if (rows.rank == 1 && x1->rank > 1)
    for (; rows.rank < x1->rank; ++rows.rank) rows.dims[rows.rank] = 1, rows.strides[rows.rank] = 1;
  call(op, "aclnnSWhere", rows, x1, x2, y);
}

// y = base ^ (scale * x + shift) and its inverse; a base of -1 is e.
namespace {
/// scale * x + shift, x itself where that is nothing.
TensorView affine(Op& op, const TensorView& x, float scale, float shift) {
  TensorView v = x;
  if (scale != 1) {
    Temp t(x.dtype);
    call(op, "aclnnMuls", v, scale, t);
    v = *t;
  }
  if (shift != 0) {
    Temp t(x.dtype);
    call(op, "aclnnAdds", v, shift, 1, t);
    v = *t;
  }
  return v;
}
}  // namespace
IR_OP(Exp, aclnnExp, (In, x), (Out, y), (Float, base, -1), (Float, scale, 1), (Float, shift, 0)) {
  op.require(base == -1 || base > 0, "attribute base is {}, want -1 (e) or a positive number", base);
  const TensorView v = affine(op, *x, scale, shift);
  if (base == -1) call(op, "aclnnExp", v, y);
  else call(op, "aclnnPowScalarTensor", base, v, y);
}
IR_OP(Log, aclnnLog, (In, x), (Out, y), (Float, base, -1), (Float, scale, 1), (Float, shift, 0)) {
  op.require(base == -1 || (base > 0 && base != 1), "attribute base is {}, want -1 (e) or a positive number", base);
  const TensorView v = affine(op, *x, scale, shift);
  if (base == -1) return call(op, "aclnnLog", v, y);
  Temp natural;
  call(op, "aclnnLog", v, natural);
  call(op, "aclnnMuls", *natural, 1 / std::log(static_cast<double>(base)), y);
}
ABOUT(Power, Vector, "y = (scale * x + shift) ^ power", "y = (scale * x + shift) ^ power")
IR_OP(Power, Power, (In, x), (Out, y), (Float, power, 1), (Float, scale, 1), (Float, shift, 0)) {
  call(op, "aclnnPowTensorScalar", affine(op, *x, scale, shift), power, y);
}

// --- complex numbers ----------------------------------------------------------------------------------------------
namespace {
/// The real or the imaginary parts of a complex view.
TensorView parts(const Op& op, const TensorView& v, int which) {
  op.require(is_complex(v.dtype) || v.dtype == DType::Complex32, "input is {}, want complex numbers", describe(v));
  return complex_part(v, which);
}
}  // namespace
IR_OP(Complex, aclnnComplex, (In, real), (In, imag), (Out, out), (Type, Tout, DType::Complex64)) {
  op.result_broadcast("out", *out, *real, *imag, Tout);
  call(op, "aclnnComplex", real, imag, out);
}
ABOUT(Real, Vector, "The real parts of complex numbers", "复数的实部")
IR_OP(Real, Real, (In, input), (Out, output), (Type, Tout, DType::Float)) {
  ir::copy(op, "output", parts(op, *input, 0), output, Tout);
}
ABOUT(Imag, Vector, "The imaginary parts of complex numbers", "复数的虚部")
IR_OP(Imag, Imag, (In, input), (Out, output), (Type, Tout, DType::Float)) {
  ir::copy(op, "output", parts(op, *input, 1), output, Tout);
}
IR_OP(ComplexAbs, aclnnAbs, (In, x), (Out, y), (Type, Tout, DType::Float)) {
  op.result_like("y", *y, *x, Tout);
  call(op, "aclnnAbs", x, y);
}

// --- gradients of functions from their results --------------------------------------------------------------------
IR_OP(SigmoidGrad, aclnnSigmoidBackward, (In, y), (In, dy), (Out, z), (Bool, complex_conj, false)) {
  op.require(!complex_conj || !is_complex(y->dtype), "attribute complex_conj is true, want false for complex numbers");
  call(op, "aclnnSigmoidBackward", dy, y, z);
}
IR_OP(TanhGrad, aclnnTanhBackward, (In, y), (In, dy), (Out, z), (Bool, complex_conj, false)) {
  op.require(!complex_conj || !is_complex(y->dtype), "attribute complex_conj is true, want false for complex numbers");
  call(op, "aclnnTanhBackward", dy, y, z);
}
ABOUT(SqrtGrad, Vector, "z = dy / (2 y), y the square root", "z = dy / (2 y)，y 为平方根")
IR_OP(SqrtGrad, SqrtGrad, (In, y), (In, dy), (Out, z)) {
  Temp twice;
  call(op, "aclnnMuls", y, 2.0, twice);
  call(op, "aclnnDiv", dy, *twice, z);
}
ABOUT(RsqrtGrad, Vector, "z = -dy y^3 / 2, y the reciprocal root", "z = -dy y^3 / 2，y 为平方根的倒数")
IR_OP(RsqrtGrad, RsqrtGrad, (In, y), (In, dy), (Out, z)) {
  Temp cube, half;
  call(op, "aclnnPowTensorScalar", y, 3.0, cube);
  call(op, "aclnnMuls", *cube, -0.5, half);
  call(op, "aclnnMul", dy, *half, z);
}
namespace {
void reciprocal_grad(Op& op, const In& y, const In& dy, const Out& z) {
  Temp square, negative;
  call(op, "aclnnMul", y, y, square);
  call(op, "aclnnNeg", *square, negative);
  call(op, "aclnnMul", dy, *negative, z);
}
}  // namespace
ABOUT(ReciprocalGrad, Vector, "Gradient of 1 / x from its result y: -dy y^2", "1 / x 的反向梯度：-dy y^2")
IR_OP(ReciprocalGrad, ReciprocalGrad, (In, y), (In, dy), (Out, z)) { reciprocal_grad(op, y, dy, z); }
IR_OP(InvGrad, ReciprocalGrad, (In, x), (In, grad), (Out, y)) { reciprocal_grad(op, x, grad, y); }
ABOUT(AbsGrad, Vector, "z = dy * sign(y)", "z = dy * sign(y)")
IR_OP(AbsGrad, AbsGrad, (In, y), (In, dy), (Out, z)) {
  Temp sign;
  call(op, "aclnnSign", y, sign);
  call(op, "aclnnMul", dy, *sign, z);
}

// --- several steps in one -----------------------------------------------------------------------------------------
ABOUT(FusedMulAddAdd, Vector, "y = x1 * x2 + x3 + x4", "y = x1 * x2 + x3 + x4")
IR_OP(FusedMulAddAdd, FusedMulAddAdd, (In, x1), (In, x2), (In, x3), (In, x4), (Out, y)) {
  Temp product, sum;
  call(op, "aclnnMul", x1, x2, product);
  call(op, "aclnnAdd", *product, x3, 1, sum);
  call(op, "aclnnAdd", *sum, x4, 1, y);
}
ABOUT(MulAddn, Vector, "y = the sum of all x1 * x2", "y = 各对 x1 * x2 之和")
IR_OP(MulAddn, MulAddn, (Tensors, x1), (Tensors, x2), (Out, y), (Int, N)) {
  op.require(x1.size() > 0 && x1.size() == x2.size() && static_cast<int64_t>(x1.size()) == N,
             "x1 has {} tensors and x2 {}, attribute N is {}", x1.size(), x2.size(), N);
  TensorView sum;
  for (size_t i = 0; i < x1.size(); ++i) {
    Temp product, next;
    call(op, "aclnnMul", x1[i], x2[i], product);
    if (i) call(op, "aclnnAdd", sum, *product, 1, next);
    sum = i ? *next : *product;
  }
  ir::copy(op, sum, y);
}
ABOUT(MaxN, Vector, "The largest of the x, element by element", "逐元素取各 x 的最大值")
IR_OP(MaxN, MaxN, (Tensors, x), (Out, y)) {
  op.require(x.size() > 0, "there is no x");
  TensorView most = x[0];
  for (size_t i = 1; i < x.size(); ++i) {
    Temp next;
    call(op, "aclnnMaximum", most, x[i], next);
    most = *next;
  }
  ir::copy(op, most, y);
}
ABOUT(Eltwise, Vector, "Product (mode 0), sum by coeff (1) or largest (2) of the x",
      "各 x 的积（mode 0）、加权和（1）或最大值（2）")
IR_OP(Eltwise, Eltwise, (Tensors, x), (Out, y), (Int, N), (Int, mode, 1), (Floats, coeff, nullptr)) {
  op.require(x.size() > 0 && static_cast<int64_t>(x.size()) == N, "x has {} tensors, attribute N is {}", x.size(), N);
  op.require(mode >= 0 && mode <= 2, "attribute mode is {}, want 0, 1 or 2", mode);
  op.require(coeff.size() == 0 || (mode == 1 && coeff.size() == x.size()), "attribute coeff has {} values, want {}",
             coeff.size(), mode == 1 ? x.size() : 0);
  static constexpr const char* kTwins[] = {"aclnnMul", "", "aclnnMaximum"};
  TensorView all;
  for (size_t i = 0; i < x.size(); ++i) {
    if (i) op.require_same_shape("x", x[i], "x0", x[0]);
    TensorView one = x[i];
    if (coeff.size()) {
      Temp scaled(one.dtype);
      call(op, "aclnnMuls", one, coeff[i], scaled);
      one = *scaled;
    }
    Temp next;
    if (i && mode == 1) call(op, "aclnnAdd", all, one, 1, next);
    else if (i) call(op, kTwins[mode], all, one, next);
    all = i ? *next : one;
  }
  ir::copy(op, all, y);
}
ABOUT(AddMatMatElements, Vector, "c = c * beta + a * b * alpha", "c = c * beta + a * b * alpha")
IR_OP(AddMatMatElements, AddMatMatElements, (InOut, c), (In, a), (In, b), (In, beta), (In, alpha)) {
  Temp product, scaled, kept;
  call(op, "aclnnMul", a, b, product);
  call(op, "aclnnMul", *product, alpha, scaled);
  call(op, "aclnnMul", c, beta, kept);
  call(op, "aclnnAdd", *kept, *scaled, 1, c);
}
ABOUT(ApproximateEqual, Vector, "y = whether |x1 - x2| is less than tolerance", "y = |x1 - x2| 是否小于 tolerance")
IR_OP(ApproximateEqual, ApproximateEqual, (In, x1), (In, x2), (Out, y), (Float, tolerance, 1e-5f)) {
  op.require_same_shape("x2", *x2, "x1", *x1);
  Temp difference, distance;
  call(op, "aclnnSub", x1, x2, 1, difference);
  call(op, "aclnnAbs", *difference, distance);
  call(op, "aclnnLtScalar", *distance, tolerance, y);
}
ABOUT(Xlog1py, Vector, "z = x * log(1 + y), 0 where x is 0", "z = x * log(1 + y)，x 为 0 处取 0")
IR_OP(Xlog1py, Xlog1py, (In, x), (In, y), (Out, z)) {
  Temp logarithm, product, none;
  call(op, "aclnnLog1p", y, logarithm);
  call(op, "aclnnMul", x, *logarithm, product);
  call(op, "aclnnEqScalar", x, 0, none);
  call(op, "aclnnSWhere", *none, ir::constant(op, product->dtype, 0), *product, z);
}
ABOUT(Bias, Vector, "x + bias, whose dimensions are those of x from axis on", "x + bias，bias 自 axis 维起对齐")
IR_OP(Bias, Bias, (In, x), (In, bias), (Out, y), (Int, axis, 1), (Int, num_axes, 1), (Bool, bias_from_blob, true)) {
  (void)num_axes, (void)bias_from_blob;  // bias is given, with its dimensions
  const int64_t at = bias->rank ? ir::axis_of(op, "axis", axis, x->rank) : 0;
  op.require(at + bias->rank <= x->rank, "bias is {}, x {} has less dimensions from {} on", describe(*bias),
             describe(*x), at);
  TensorView v = *bias;
  for (int d = static_cast<int>(at) + v.rank; d < x->rank; ++d) v.dims[v.rank] = v.strides[v.rank] = 1, ++v.rank;
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnAdd", x, v, 1, y);
}
ABOUT(ClipByNormNoDivSum, Vector, "The root of x where x is greater, x elsewhere, and maximum_ones at least",
      "x 较大处取其平方根，其余取 x，且不小于 maximum_ones")
IR_OP(ClipByNormNoDivSum, ClipByNormNoDivSum, (In, x), (In, greater_zeros), (In, select_ones), (In, maximum_ones),
      (Out, y)) {
  Temp greater, safe, root, chosen;
  call(op, "aclnnGtTensor", x, greater_zeros, greater);
  call(op, "aclnnSWhere", *greater, x, select_ones, safe);
  call(op, "aclnnSqrt", *safe, root);
  call(op, "aclnnSWhere", *greater, *root, x, chosen);
  call(op, "aclnnMaximum", *chosen, maximum_ones, y);
}

// --- complex numbers once more ------------------------------------------------------------------------------------
ABOUT(Conj, Vector, "The conjugates of complex numbers, x itself for others", "复数的共轭；实数取原值")
IR_OP(Conj, Conj, (In, input), (Out, output)) {
  if (!is_complex(input->dtype)) return ir::copy(op, "output", *input, output, input->dtype);
  op.result_like("output", *output, *input, input->dtype);
  Temp imaginary;
  call(op, "aclnnNeg", parts(op, *input, 1), imaginary);
  call(op, "aclnnComplex", parts(op, *input, 0), *imaginary, output);
}
IR_OP(AngleV2, aclnnAngleV2, (In, x), (Out, y)) { call(op, "aclnnAngleV2", x, y); }
IR_OP(Angle, aclnnAngleV2, (In, input), (Out, output), (Type, Tout, DType::Float)) {
  op.result_like("output", *output, *input, Tout);
  call(op, "aclnnAngleV2", input, output);
}

ABOUT(LogAddExp, Vector, "log(base^x1 + base^x2) in that base, e by default",
      "以 base（默认 e）为底的 log(base^x1 + base^x2)")
IR_OP(LogAddExp, LogAddExp, (In, x1), (In, x2), (Out, y), (Float, base, -1), (Float, scale, 1), (Float, shift, 0)) {
  ir::want(op, "scale", scale, 1.0f);
  ir::want(op, "shift", shift, 0.0f);
  op.require(base == -1 || base == 2, "attribute base is {}, want -1 (e) or 2", static_cast<double>(base));
  call(op, base == 2 ? "aclnnLogAddExp2" : "aclnnLogAddExp", x1, x2, y);
}

}  // namespace updraft
