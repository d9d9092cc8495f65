// Gradient descent, with momentum or without. Where all arrays are floats without gaps a step goes over them once, a
// piece at a time; else it is spelt out in operators. The results are the same.
#include <algorithm>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/pipeline.h"
#include "kernels/rows/arithmetic.h"
#include "ops/ir/elementwise/arithmetic.h"

namespace updraft {
namespace {

using ir::difference, ir::product, ir::sum;

/// What a step reads and writes. accum_to is accum itself where it is updated in place.
struct Step {
  TensorView var, accum, accum_to, grad, lr, momentum;
  bool keras;  ///< accum_to = accum * momentum - lr * grad, var += it; else accum * momentum + grad, var -= lr * it
  bool nesterov;
};

constexpr int64_t kPiece = 1 << 13;  // elements: five arrays of them fit the second cache

double number_in(const TensorView& v) {
  double number = 0;
  gather_to(&number, DType::Double, v);
  return number;
}

bool in_one_pass(const Step& s) {
  for (const TensorView* v : {&s.var, &s.accum, &s.accum_to, &s.grad})
    if (v->dtype != DType::Float || !v->is_contiguous()) return false;
  return s.lr.dtype == DType::Float && s.momentum.dtype == DType::Float && s.lr.numel() == 1 && s.momentum.numel() == 1;
}

/// `to` = x + factor * y, or x * factor, of a piece.
void add_scaled(const TensorView& x, double factor, const TensorView& y, const TensorView& to) {
  Params p;
  p.set(0, factor);
  run_elementwise(elementwise_kernel(ew::add, Compute::F32), Compute::F32, {x, y}, {to}, p);
}
void scale(const TensorView& x, double factor, const TensorView& to) {
  Params p;
  p.set(0, factor);
  p.set(1, -0.0);  // x * factor keeps its sign where it is zero
  run_elementwise(elementwise_kernel(ew::affine, Compute::F32), Compute::F32, {x}, {to}, p);
}

void run_pieces(const Step& s) {
  const double lr = number_in(s.lr), momentum = number_in(s.momentum);
  const int64_t n = s.var.numel();
  parallel_for((n + kPiece - 1) / kPiece, 2, [&](int64_t begin, int64_t end) {
    ScratchScope scratch;
    auto* spare = s.nesterov ? scratch.take<float>(kPiece) : nullptr;
    for (int64_t at = begin * kPiece; at < std::min(n, end * kPiece); at += kPiece) {
      const int64_t count = std::min(kPiece, n - at);
      const auto piece = [&](const TensorView& v) {
        return TensorView::contiguous(v.as<float>() + at, DType::Float, &count, 1);
      };
      const TensorView var = piece(s.var), accum = piece(s.accum_to), grad = piece(s.grad);
      scale(piece(s.accum), momentum, accum);
      add_scaled(accum, s.keras ? -lr : 1, grad, accum);
      TensorView step = accum;
      if (s.nesterov) {
        step = TensorView::contiguous(spare, DType::Float, &count, 1);
        scale(accum, momentum, step);
        add_scaled(step, s.keras ? -lr : 1, grad, step);
      }
      add_scaled(var, s.keras ? 1 : -lr, step, var);
    }
  });
}

void require_same(const Op& op, const Step& s) {
  op.require_same_shape("accum", s.accum, "var", s.var);
  op.require_same_shape("grad", s.grad, "var", s.var);
}

/// By operators of their own.
void spell_out(Op& op, const Step& s) {
  if (s.keras) {
    const TensorView step = product(op, s.grad, s.lr);
    call(op, "aclnnSub", product(op, s.accum, s.momentum), step, 1, s.accum_to);
    if (!s.nesterov) return call(op, "aclnnInplaceAdd", s.var, s.accum_to, 1);
    return call(op, "aclnnInplaceAdd", s.var, difference(op, product(op, s.accum_to, s.momentum), step), 1);
  }
  call(op, "aclnnAdd", product(op, s.accum, s.momentum), s.grad, 1, s.accum_to);
  const TensorView direction = s.nesterov ? sum(op, s.grad, product(op, s.accum_to, s.momentum)) : s.accum_to;
  call(op, "aclnnInplaceSub", s.var, product(op, direction, s.lr), 1);
}

void plan(Op& op, const Step& s) {
  require_same(op, s);
  if (!in_one_pass(s)) return spell_out(op, s);
  op.work(s.var.numel() * 6);
  op.launch([s] { run_pieces(s); });
}

}  // namespace

ABOUT(ApplyGradientDescent, Vector, "var = var - alpha * delta", "var = var - alpha * delta")
IR_OP(ApplyGradientDescent, ApplyGradientDescent, (InOut, var), (In, alpha), (In, delta), (Bool, use_locking, false)) {
  (void)use_locking;  // a stream is a lock already
  op.require_same_shape("delta", *delta, "var", *var);
  if (var->dtype != DType::Float || delta->dtype != DType::Float || alpha->numel() != 1)
    return call(op, "aclnnInplaceSub", var, product(op, delta, alpha), 1);
  op.work(var->numel() * 2);
  op.launch([var = *var, alpha = *alpha, delta = *delta] { add_scaled(var, -number_in(alpha), delta, var); });
}
ABOUT(ApplyMomentum, Vector, "One step of gradient descent with momentum", "带动量的梯度下降单步更新")
IR_OP(ApplyMomentum, ApplyMomentum, (InOut, var), (InOut, accum), (In, lr), (In, grad), (In, momentum),
      (Bool, use_nesterov, false), (Bool, use_locking, false)) {
  (void)use_locking;
  plan(op, {*var, *accum, *accum, *grad, *lr, *momentum, false, use_nesterov});
}
IR_OP(ApplyMomentumD, ApplyMomentum, (InOut, var), (InOut, accum), (In, lr), (In, grad), (In, momentum),
      (Bool, use_nesterov, false), (Bool, use_locking, false)) {
  (void)use_locking;
  plan(op, {*var, *accum, *accum, *grad, *lr, *momentum, false, use_nesterov});
}
IR_OP(FusedMulApplyMomentum, ApplyMomentum, (InOut, var), (InOut, accum), (In, lr), (In, x1), (In, momentum), (In, x2),
      (Bool, use_nesterov, false), (Bool, use_locking, false)) {
  (void)use_locking;
  plan(op, {*var, *accum, *accum, product(op, x1, x2), *lr, *momentum, false, use_nesterov});
}
ABOUT(ApplyKerasMomentum, Vector, "One step of gradient descent with momentum as Keras has it",
      "Keras 形式的带动量梯度下降单步更新")
IR_OP(ApplyKerasMomentum, ApplyKerasMomentum, (InOut, var), (InOut, accum), (In, lr), (In, grad), (In, momentum),
      (Bool, use_locking, false), (Bool, use_nesterov, false)) {
  (void)use_locking;
  plan(op, {*var, *accum, *accum, *grad, *lr, *momentum, true, use_nesterov});
}
ABOUT(ApplyKerasMomentumD, Vector, "A step with momentum as Keras has it: accum holds the step itself",
      "Keras 形式的动量单步更新，accum 即为更新量")
IR_OP(ApplyKerasMomentumD, ApplyKerasMomentumD, (InOut, var), (InOut, accum), (In, lr), (In, grad), (In, momentum),
      (Bool, use_locking, false), (Bool, use_nesterov, false)) {
  (void)use_locking;
  plan(op, {*var, *accum, *accum, *grad, *lr, *momentum, true, use_nesterov});
}
// A type of our own: graphs get it from passes/updates.cpp.
ABOUT(KerasMomentumStep, Vector, "ApplyKerasMomentum that leaves accum as it is and gives the new one",
      "不改写 accum、另行输出新值的 ApplyKerasMomentum")
IR_OP(KerasMomentumStep, KerasMomentumStep, (InOut, var), (In, accum), (In, lr), (In, grad), (In, momentum),
      (Ref, ir_var), (Out, new_accum), (Bool, use_nesterov, false)) {
  (void)ir_var;
  op.result_like("new_accum", *new_accum, *accum, accum->dtype);
  plan(op, {*var, *accum, *new_accum, *grad, *lr, *momentum, true, use_nesterov});
}

}  // namespace updraft
