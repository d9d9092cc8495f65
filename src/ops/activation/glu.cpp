// Gated units: the input's two halves along a dimension, one through an activation, multiplied.
#include <string_view>

#include "kernels/rows/activation.h"
#include "kernels/rows/arithmetic.h"
#include "ops/elementwise/elementwise.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

int split_dim(const Op& op, const TensorView& self, int64_t dim) {
  op.require(self.rank > 0, "self is {}, want at least one dimension", describe(self));
  const int d = self.wrap_dim(dim);
  op.require(self.dims[d] % 2 == 0, "self is {}, want an even size in dimension {}", describe(self), d);
  return d;
}

/// out = row(half `first` of self, the other half).
void plan_gated(Op& op, Ew row, const TensorView& self, int dim, int first, const TensorView& out) {
  const TensorView a = half_of(self, dim, first), b = half_of(self, dim, 1 - first);
  plan_elementwise(op, row, compute_for(row, self.dtype, out.dtype), {a, b}, out);
}

/// Both halves of a gradient: to_a = row_a(grad, a, b), to_b = row_b(grad, a, b).
void plan_gated_backward(Op& op, Ew row_a, Ew row_b, const TensorView& grad, const TensorView& a, const TensorView& b,
                         const TensorView& to_a, const TensorView& to_b) {
  op.require_same_shape("grad_output", grad, "a half of self", a);
  op.require_same_shape("a half of grad_input", to_a, "a half of self", a);
  const Compute compute = compute_of(promote(grad.dtype, a.dtype));
  BlockFn fa = elementwise_kernel(row_a, compute), fb = elementwise_kernel(row_b, compute);
  if (to_a.empty()) return;
  const bool three_a = row_of(row_a).inputs == 3, three_b = row_of(row_b).inputs == 3;
  op.launch([=] {
    const TensorView in[] = {grad, a, b};
    run_elementwise(fa, compute, in, three_a ? 3 : 2, &to_a, 1, Params{}, false);
    run_elementwise(fb, compute, in, three_b ? 3 : 2, &to_b, 1, Params{}, false);
  });
}

bool is_tanh(int64_t approximate) { return approximate == 1; }
}  // namespace

CARD(aclnnGlu, kFloats | kF64)
ABOUT(aclnnGlu, Vector, "out = a * sigmoid(b), a and b the halves of self along dim",
      "out = a * sigmoid(b)，a、b 为 self 沿 dim 的前后两半")
ACLNN(aclnnGlu, (In, self), (Int, dim), (Out, out)) {
  plan_gated(op, ew::glu, *self, split_dim(op, *self, dim), 0, *out);
}

ABOUT(aclnnGluBackward, Vector, "Gradient of GLU for both halves of self along dim",
      "GLU 的反向梯度，写入 self 沿 dim 的两半")
ACLNN(aclnnGluBackward, (In, gradOutput), (In, self), (Int, dim), (Out, out)) {
  const int d = split_dim(op, *self, dim);
  op.result_like("out", *out, *self, self->dtype);
  // d(a sigmoid(b))/da = sigmoid(b): glu's own row on (grad, b); the second reads (grad, a, b).
  const TensorView a = half_of(*self, d, 0), b = half_of(*self, d, 1);
  const TensorView to_a = half_of(*out, d, 0), to_b = half_of(*out, d, 1), grad = *gradOutput;
  op.require_same_shape("gradOutput", grad, "a half of self", a);
  const Compute compute = compute_of(promote(grad.dtype, a.dtype));
  BlockFn fa = elementwise_kernel(ew::glu, compute), fb = elementwise_kernel(ew::glu_backward, compute);
  if (out->empty()) return;
  op.launch([=] {
    run_elementwise(fb, compute, {grad, a, b}, {to_b}, Params{});
    run_elementwise(fa, compute, {grad, b}, {to_a}, Params{});
  });
}

CARD(aclnnSwiGlu, on("self out", kFloats, kA2))
ABOUT(aclnnSwiGlu, Vector, "out = silu(a) * b, a and b the halves of self along dim",
      "out = silu(a) * b，a、b 为 self 沿 dim 的前后两半")
ACLNN(aclnnSwiGlu, (In, self), (Int, dim), (Out, out)) {
  plan_gated(op, ew::swiglu, *self, split_dim(op, *self, dim), 0, *out);
}
ABOUT(aclnnSwiGluGrad, Vector, "Gradient of SwiGLU for both halves of self along dim",
      "SwiGLU 的反向梯度，写入 self 沿 dim 的两半")
ACLNN(aclnnSwiGluGrad, (In, gradOutput), (In, self), (Int, dim), (Out, out)) {
  const int d = split_dim(op, *self, dim);
  op.result_like("out", *out, *self, self->dtype);
  plan_gated_backward(op, ew::swiglu_backward, ew::swiglu_backward_gate, *gradOutput, half_of(*self, d, 0),
                      half_of(*self, d, 1), half_of(*out, d, 0), half_of(*out, d, 1));
}

CARD(aclnnGeluMul, on("input out", kFloats, kAll))
ABOUT(aclnnGeluMul, Vector, "out = gelu(a) * b, a and b the halves of the last dimension; approximate is none or tanh",
      "out = gelu(a) * b，a、b 为 input 最后一维的前后两半，approximate 取 none 或 tanh")
ACLNN(aclnnGeluMul, (In, input), (Text, approximate), (Out, out)) {
  const bool tanh = approximate && std::string_view(approximate) == "tanh";
  plan_gated(op, tanh ? ew::gelu_tanh_mul : ew::gelu_mul, *input, split_dim(op, *input, -1), 0, *out);
}

// activateLeft says which half goes through gelu; outGelu keeps that half's gelu for the gradient.
CARD(aclnnGeGluV3, kFloats)
ABOUT(aclnnGeGluV3, Vector, "out = gelu(gate) * other over the halves of self along dim; outGelu keeps gelu(gate)",
      "out = gelu(gate) * other，两者为 self 沿 dim 的两半；outGelu 保存 gelu(gate)")
ACLNN(aclnnGeGluV3, (In, self), (Int, dim), (Int, approximate), (Bool, activateLeft), (Out, out), (Out, outGelu)) {
  const int d = split_dim(op, *self, dim);
  const TensorView gate = half_of(*self, d, activateLeft ? 0 : 1), other = half_of(*self, d, activateLeft ? 1 : 0);
  op.result_like("out", *out, gate, self->dtype);
  op.result_like("outGelu", *outGelu, gate, self->dtype);
  const Compute compute = compute_of(self->dtype);
  BlockFn gelu = elementwise_kernel(is_tanh(approximate) ? ew::gelu_tanh : ew::gelu, compute);
  BlockFn both = elementwise_kernel(is_tanh(approximate) ? ew::gelu_tanh_mul : ew::gelu_mul, compute);
  if (out->empty()) return;
  op.launch([=, to = *out, to_gelu = *outGelu] {
    run_elementwise(both, compute, {gate, other}, {to}, Params{});
    run_elementwise(gelu, compute, {gate}, {to_gelu}, Params{});
  });
}
CARD(aclnnGeGluV3Backward, kFloats)
ABOUT(aclnnGeGluV3Backward, Vector, "Gradient of aclnnGeGluV3 from the gelu that it kept",
      "aclnnGeGluV3 的反向梯度，使用前向保存的 gelu")
ACLNN(aclnnGeGluV3Backward, (In, gradOutput), (In, self), (In, gelu), (Int, dim), (Int, approximate),
      (Bool, activateLeft), (Out, gradInput)) {
  const int d = split_dim(op, *self, dim), g = activateLeft ? 0 : 1;
  op.result_like("gradInput", *gradInput, *self, self->dtype);
  const TensorView gate = half_of(*self, d, g), other = half_of(*self, d, 1 - g), saved = *gelu, grad = *gradOutput;
  const TensorView to_gate = half_of(*gradInput, d, g), to_other = half_of(*gradInput, d, 1 - g);
  op.require_same_shape("gradOutput", grad, "a half of self", gate);
  op.require_same_shape("gelu", saved, "gradOutput", grad);
  const Compute compute = compute_of(self->dtype);
  BlockFn slope =
      elementwise_kernel(is_tanh(approximate) ? ew::gelu_tanh_mul_backward : ew::gelu_mul_backward, compute);
  BlockFn mul = elementwise_kernel(ew::mul, compute);
  if (gradInput->empty()) return;
  op.launch([=] {
    run_elementwise(slope, compute, {grad, gate, other}, {to_gate}, Params{});
    run_elementwise(mul, compute, {grad, saved}, {to_other}, Params{});
  });
}

}  // namespace updraft
