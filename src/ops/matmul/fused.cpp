// A product with what follows it.
#include <string_view>

#include "base/scratch.h"
#include "kernels/pipeline.h"
#include "kernels/rows/activation.h"
#include "kernels/rows/arithmetic.h"
#include "ops/matmul/matmul.h"

namespace updraft {
namespace {

/// x1 @ x2 + bias in float, then a row of kernels with x3 or alone; rounded once.
struct Followed {
  TensorView a, b, bias, x3, y;
  ConstantOperand* right;
  bool biased, with_x3;
  Ew row;

  /// Where the product goes: halves are kept in float in between.
  TensorView sum(void* scratch) const {
    return scratch || is_half(y.dtype) ? TensorView::contiguous(scratch, DType::Float, y.dims, y.rank) : y;
  }
  MatmulOptions options() const {
    return {.beta = biased ? 1.0 : 0.0, .add = biased ? &bias : nullptr, .right = right};
  }
  size_t scratch_bytes() const {
    const TensorView product = sum(nullptr);
    return matmul_scratch(a, b, product, options()) + (is_half(y.dtype) ? scratch_size(product.bytes()) : 0);
  }
  void run() const {
    ScratchScope scratch;
    const TensorView product = sum(is_half(y.dtype) ? scratch.take(static_cast<size_t>(y.numel()) * 4) : nullptr);
    matmul(a, b, product, options());
    const Compute compute = compute_of(product.dtype);
    Params one;
    one.set(0, 1.0);
    if (with_x3) run_elementwise(elementwise_kernel(row, compute), compute, {product, x3}, {y}, one);
    else run_elementwise(elementwise_kernel(row, compute), compute, {product}, {y}, one);
  }
};

void plan_fused(Op& op, const In& x1, const In& x2, const OptIn& bias, const OptIn& x3, std::string_view kind,
                const TensorView& y) {
  const bool adds = kind == "add", multiplies = kind == "mul", widens = kind == "16cast32";
  op.require(
      kind.empty() || adds || multiplies || widens || kind == "relu" || kind == "gelu_erf" || kind == "gelu_tanh",
      "fusedOpType is \"{}\", want add, mul, gelu_erf, gelu_tanh, relu, 16cast32 or nothing", kind);
  op.require(x1->rank >= 2 && x2->rank >= 2, "x1 is {} and x2 is {}, want two dimensions or more", describe(*x1),
             describe(*x2));
  op.require(static_cast<bool>(x3) == (adds || multiplies), "x3 is {}, want {} with fusedOpType \"{}\"",
             x3 ? "given" : "absent", x3 ? "none" : "one", kind);
  op.require(is_floating(x1->dtype) && x1->dtype == x2->dtype, "x1 is {} and x2 is {}, want one floating type",
             describe(*x1), describe(*x2));
  op.require(!widens || is_half(x1->dtype), "x1 is {}, want FLOAT16 or BFLOAT16 with 16cast32", describe(*x1));
  check_product(op, *x1, *x2, y, widens ? DType::Float : x1->dtype);
  op.require(!widens || y.dtype == DType::Float, "y is {}, want FLOAT", describe(y));
  ConstantOperand* const right = x2.handle->constant;
  const TensorView bias_view = bias ? bias->expand_as(y) : y, other = x3 ? x3->expand_as(y) : y;
  if (adds && !bias) return plan_product(op, *x1, *x2, y, {.beta = 1, .add = &other, .right = right});
  if (kind.empty() || widens || kind == "relu")
    return plan_product(op, *x1, *x2, y,
                        {.beta = bias ? 1.0 : 0.0, .add = &bias_view, .relu = kind == "relu", .right = right});
  if (y.empty()) return;
  const int64_t k = x1->dims[x1->rank - 1];
  op.work(y.numel() * std::max<int64_t>(1, k / 4));
  op.flops(2 * y.numel() * k);
  const Followed work{*x1,
                      *x2,
                      bias_view,
                      other,
                      y,
                      right,
                      static_cast<bool>(bias),
                      static_cast<bool>(x3),
                      adds                 ? ew::add
                      : multiplies         ? ew::mul
                      : kind == "gelu_erf" ? ew::gelu
                                           : ew::gelu_tanh};
  op.kernel_scratch(x1->numel() + x2->numel() + 2 * y.numel(), [work] { return work.scratch_bytes(); });
  op.launch([work] { work.run(); });
}

}  // namespace

SAMPLE(aclnnFusedMatmul, "x1=f32[4,M] x2=f32[M,5] bias=f32[5] x3=f32[4,5] fusedOpType=mul cubeMathType=0 y=f32[4,5]")
ABOUT(aclnnFusedMatmul, Cube,
      "y = x1 @ x2 + bias, then as fusedOpType says: add or mul of x3, relu, gelu, or halves to float",
      "y = x1 @ x2 + bias，并按 fusedOpType 融合 x3 的加或乘、relu、gelu，或 16 位输入输出 float")
ACLNN(aclnnFusedMatmul, (In, x1), (In, x2), (OptIn, bias), (OptIn, x3), (Text, fusedOpType), (Int8, cubeMathType),
      (Out, y)) {
  (void)cubeMathType;
  plan_fused(op, x1, x2, bias, x3, fusedOpType ? fusedOpType : "", *y);
}

}  // namespace updraft
