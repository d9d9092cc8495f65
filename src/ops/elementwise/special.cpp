// Powers and other functions of two inputs, selection, and complex numbers from their parts.
#include <optional>

#include "kernels/rows/arithmetic.h"
#include "kernels/rows/special.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/view_algebra.h"

namespace updraft {

static void plan_pow(Op& op, const TensorView& self, const aclScalar& exponent, const TensorView& out) {
  const DType common = result_type({self, exponent});
  op.suggest_like(out, self, natural_type(ew::pow, common));
  const Compute compute = compute_for(ew::pow, common, out.dtype);
  // Exponents that have an exact or faster form, where PyTorch takes it too.
  if ((compute == Compute::F32 || compute == Compute::F64) && !exponent.is_complex()) {
    const double e = exponent.to_double();
    std::optional<Ew> row;
    if (e == 1) row = ew::copy;
    else if (e == 2) row = ew::square;
    else if (e == 3) row = ew::cube;
    else if (e == 0.5) row = ew::sqrt;
    else if (e == -0.5) row = ew::rsqrt;
    else if (e == -1) row = ew::reciprocal;
    else if (e == -2) row = ew::reciprocal_square;
    if (row) return plan_elementwise(op, *row, compute, {self}, out);
  }
  plan_elementwise(op, ew::pow, compute, {self, exponent}, out);
}
ABOUT(aclnnPowTensorScalar, Vector, "out = self ^ exponent, exponent a scalar",
      "out = self ^ exponent，exponent 为标量")
ACLNN(aclnnPowTensorScalar, (In, self), (Scalar, exponent), (Out, out)) { plan_pow(op, *self, *exponent, *out); }
ABOUT(aclnnInplacePowTensorScalar, Vector, "selfRef = selfRef ^ exponent, exponent a scalar, in place",
      "原地计算 selfRef ^ exponent，exponent 为标量")
ACLNN(aclnnInplacePowTensorScalar, (InOut, selfRef), (Scalar, exponent)) {
  plan_pow(op, *selfRef, *exponent, *selfRef);
}

#define BINARY(NAME, A, B, ROW) \
  ACLNN(NAME, (A, self), (B, other), (Out, out)) { plan_binary(op, ew::ROW, self, other, *out); }
#define BINARY_INPLACE(NAME, B, ROW) \
  ACLNN(NAME, (InOut, selfRef), (B, other)) { plan_binary(op, ew::ROW, selfRef, other, *selfRef); }

BINARY(aclnnPowTensorTensor, In, In, pow)
BINARY(aclnnPowScalarTensor, Scalar, In, pow)
BINARY_INPLACE(aclnnInplacePowTensorTensor, In, pow)
BINARY(aclnnAtan2, In, In, atan2)
BINARY_INPLACE(aclnnInplaceAtan2, In, atan2)
BINARY(aclnnMaximum, In, In, maximum)
BINARY(aclnnMinimum, In, In, minimum)
BINARY(aclnnGcd, In, In, gcd)
BINARY(aclnnLogAddExp, In, In, logaddexp)
BINARY(aclnnLogAddExp2, In, In, logaddexp2)
BINARY(aclnnXLogYTensor, In, In, xlogy)
BINARY(aclnnXLogYScalarOther, In, Scalar, xlogy)
BINARY(aclnnXLogYScalarSelf, Scalar, In, xlogy)
BINARY_INPLACE(aclnnInplaceXLogYScalarOther, Scalar, xlogy)

ABOUT(aclnnPowTensorTensor, Vector, "out = self ^ other, with broadcasting", "out = self ^ other，支持广播")
CARD(aclnnPowScalarTensor, kFloats | kF64 | kIntegers | kComplex)
ABOUT(aclnnPowScalarTensor, Vector, "out = self ^ other, self a scalar", "out = self ^ other，self 为标量")
ABOUT(aclnnInplacePowTensorTensor, Vector, "selfRef = selfRef ^ other, in place", "原地计算 selfRef ^ other")
ABOUT(aclnnAtan2, Vector, "out = angle of the point (other, self) in radians",
      "out = atan2(self, other)，点 (other, self) 的辐角")
ABOUT(aclnnInplaceAtan2, Vector, "selfRef = angle of the point (other, selfRef), in place",
      "原地计算 atan2(selfRef, other)")
ABOUT(aclnnMaximum, Vector, "out = the larger of self and other; NaN where either is",
      "逐元素取较大值，任一为 NaN 时结果为 NaN")
ABOUT(aclnnMinimum, Vector, "out = the smaller of self and other; NaN where either is",
      "逐元素取较小值，任一为 NaN 时结果为 NaN")
SAMPLE(aclnnGcd, "self=i32[N,M]:1..60 other=i32[N,M]:1..60 out=i32[N,M]")
ABOUT(aclnnGcd, Vector, "out = greatest common divisor of the integers self and other",
      "整数 self 与 other 的最大公约数")
ABOUT(aclnnLogAddExp, Vector, "out = log(exp(self) + exp(other))", "out = ln(exp(self) + exp(other))")
ABOUT(aclnnLogAddExp2, Vector, "out = log2(2 ^ self + 2 ^ other)", "out = log2(2 ^ self + 2 ^ other)")
ABOUT(aclnnXLogYTensor, Vector, "out = self * log(other), 0 where self is 0",
      "out = self * ln(other)，self 为 0 处为 0")
ABOUT(aclnnXLogYScalarOther, Vector, "out = self * log(other), other a scalar; 0 where self is 0",
      "out = self * ln(other)，other 为标量，self 为 0 处为 0")
CARD(aclnnXLogYScalarSelf, on("other", kFloats | kIntegers | kBool, k910 | k310P),
     on("other", kFloats | kF64 | kIntegers | kBool, kA2))
ABOUT(aclnnXLogYScalarSelf, Vector, "out = self * log(other), self a scalar; 0 where self is 0",
      "out = self * ln(other)，self 为标量，self 为 0 时结果为 0")
ABOUT(aclnnInplaceXLogYScalarOther, Vector, "selfRef = selfRef * log(other), other a scalar, in place",
      "原地计算 selfRef * ln(other)，other 为标量")

SAMPLE(aclnnSWhere, "condition=bool[N,M]")
ABOUT(aclnnSWhere, Vector, "out = self where condition is true, else other", "condition 为真处取 self，其余取 other")
ACLNN(aclnnSWhere, (In, condition), (In, self), (In, other), (Out, out)) {
  if (op.inferring()) {
    int64_t dims[kMaxDims];
    int rank = broadcast_shape(self->dims, self->rank, other->dims, other->rank, dims);
    rank = broadcast_shape(dims, rank, condition->dims, condition->rank, dims);
    op.suggest(*out, dims, rank, result_type({self, other}));
  }
  BlockFn select = kernels().select_kernel(static_cast<int64_t>(size_of(out->dtype)));
  if (select && condition->dtype == DType::Bool && self->dtype == out->dtype && other->dtype == out->dtype) {
    int64_t dims[kMaxDims];
    int rank = broadcast_shape(self->dims, self->rank, other->dims, other->rank, dims);
    rank = broadcast_shape(dims, rank, condition->dims, condition->rank, dims);
    op.result("out", *out, dims, rank, out->dtype);
    if (out->empty()) return;
    op.launch([=, c = *condition, x = *self, y = *other, to = *out] { run_native(select, {c, x, y}, to, Params{}); });
    return;
  }
  plan_elementwise(op, ew::where, compute_of(out->dtype), {condition, self, other}, *out);
}

SAMPLE(aclnnComplex, "out=c64[N,M]")
ABOUT(aclnnComplex, Vector, "out = real + i * imag", "由实部 real 与虚部 imag 组成复数张量")
ACLNN(aclnnComplex, (In, real), (In, imag), (Out, out)) {
  op.result_broadcast("out", *out, *real, *imag, complex_of(promote(real->dtype, imag->dtype)));
  if (out->dtype == DType::Complex32) {
    // Nothing computes in this type: the two parts are copies.
    if (out->empty()) return;
    op.launch([re = complex_part(*out, 0), im = complex_part(*out, 1), real = *real, imag = *imag] {
      copy_elements(re, real);
      copy_elements(im, imag);
    });
    return;
  }
  op.require(is_complex(out->dtype), "out is {}, want a complex type", describe(*out));
  plan_elementwise(op, ew::make_complex, compute_of(out->dtype), {real, imag}, *out);
}
SAMPLE(aclnnPolar, "out=c64[N,M]")
ABOUT(aclnnPolar, Vector, "out = abs * (cos(angle) + i * sin(angle))", "由模 abs 与辐角 angle 组成复数张量")
ACLNN(aclnnPolar, (In, abs), (In, angle), (Out, out)) {
  op.result_broadcast("out", *out, *abs, *angle, complex_of(promote(abs->dtype, angle->dtype)));
  op.require(is_complex(out->dtype), "out is {}, want a complex type", describe(*out));
  plan_elementwise(op, ew::polar, compute_of(out->dtype), {abs, angle}, *out);
}

}  // namespace updraft
