// Losses that are a function of each element and its target: MSE, L1, smooth L1, cross entropy of probabilities and of
// logits, Kullback-Leibler divergence, soft margin. Reductions are fused: the elements are never stored.
#include <algorithm>

#include "kernels/pipeline.h"
#include "ops/loss/loss.h"

namespace updraft {

Reduction reduction_of(const Op& op, int64_t code) {
  op.require(code >= 0 && code <= 2, "reduction is {}, want 0 (none), 1 (mean) or 2 (sum)", code);
  return static_cast<Reduction>(code);
}

void suggest_loss(const Op& op, Reduction reduction, const TensorView& each, DType type, const TensorView& out) {
  if (reduction == Reduction::kNone) op.suggest_like(out, each, type);
  else op.suggest(out, {}, type);
}

void require_single(const Op& op, const char* name, const TensorView& v) {
  op.require(v.numel() == 1, "{} is {}, want one element", name, describe(v));
}

namespace {

TensorView one() {
  static float value = 1;
  return TensorView::contiguous(&value, DType::Float, nullptr, 0);
}

struct Operands {
  TensorView v[5];
  int count = 0;
  int64_t dims[kMaxDims];
  int rank = 0;
  Compute compute = Compute::F32;
  DType type = DType::Undefined;  ///< that all operands have in common

  /// `typed`: takes part in the choice of the type to compute in.
  void add(const TensorView& x, bool typed = true) {
    v[count++] = x;
    rank = broadcast_shape(dims, rank, x.dims, x.rank, dims);
    if (!typed) return;
    type = type == DType::Undefined ? x.dtype : promote(type, x.dtype);
    if (compute_of(x.dtype) == Compute::F64) compute = Compute::F64;
  }
  void add(const OptIn& x) { add(x ? *x : one(), false); }
  int64_t numel() const {
    int64_t n = 1;
    for (int d = 0; d < rank; ++d) n *= dims[d];
    return n;
  }
};

void require_floating(const Op& op, const Operands& x) {
  for (int k = 0; k < x.count; ++k)
    op.require(is_floating(x.v[k].dtype), "an input is {}, want a floating type", describe(x.v[k]));
}

void forward(Op& op, Loss loss, Operands x, int64_t code, const TensorView& out, const Params& params = {}) {
  const Reduction reduction = reduction_of(op, code);
  op.suggest(out, x.dims, reduction == Reduction::kNone ? x.rank : 0, x.type);
  if (x.compute != Compute::F64 && compute_of(out.dtype) == Compute::F64) x.compute = Compute::F64;
  const BlockFn fn = kernels().loss_kernel(static_cast<int>(loss), static_cast<int>(x.compute));
  const int64_t n = x.numel();
  op.work(n * 4);
  if (reduction == Reduction::kNone) {
    op.require_shape("out", out, x.dims, x.rank);
    if (n == 0) return;
    op.launch([x, fn, out, params] { run_elementwise(fn, x.compute, x.v, x.count, &out, 1, params, false); });
    return;
  }
  require_single(op, "out", out);
  op.launch([x, fn, out, params, n, mean = reduction == Reduction::kMean] {
    const BlockSum sum = sum_elementwise(fn, x.compute, x.v, x.count, x.dims, x.rank, params);
    if (x.compute == Compute::I64) return store_one(out, sum.integer);
    store_one(out, mean ? sum.real / static_cast<double>(n) : sum.real);
  });
}

/// x.v[0] is the incoming gradient. `elements`: what mean divided by.
void backward(Op& op, Loss loss, const Operands& x, int64_t code, int64_t elements, const TensorView& out,
              Params params = {}) {
  const Reduction reduction = reduction_of(op, code);
  const BlockFn fn = kernels().loss_kernel(static_cast<int>(loss), static_cast<int>(x.compute));
  params.set(0, reduction == Reduction::kMean ? 1.0 / static_cast<double>(elements) : 1.0);
  op.result("out", out, x.dims, x.rank, x.type);
  op.work(out.numel() * 4);
  if (out.empty()) return;
  op.launch([x, fn, out, params] { run_elementwise(fn, x.compute, x.v, x.count, &out, 1, params, false); });
}

Operands pair(const TensorView& self, const TensorView& target) {
  Operands x;
  x.add(self);
  x.add(target);
  return x;
}
Operands triple(const TensorView& grad, const TensorView& self, const TensorView& target) {
  Operands x;
  x.add(grad);
  x.add(self);
  x.add(target);
  return x;
}
int64_t broadcast_numel(const TensorView& a, const TensorView& b) { return pair(a, b).numel(); }

}  // namespace

CARD(aclnnMseLoss, on("self target", kFloats))
ABOUT(aclnnMseLoss, Vector, "(self - target) ^ 2, as it is, its mean or its sum",
      "均方误差 (self - target) ^ 2，可不归约、取平均或求和")
ACLNN(aclnnMseLoss, (In, self), (In, target), (Int, reduction), (Out, out)) {
  const Operands x = pair(*self, *target);
  require_floating(op, x);
  forward(op, Loss::kMse, x, reduction, *out);
}
ABOUT(aclnnMseLossBackward, Vector, "out = gradOutput * 2 * (self - target), divided by n for the mean",
      "out = gradOutput * 2 * (self - target)，平均归约时再除以元素数")
ACLNN(aclnnMseLossBackward, (In, gradOutput), (In, self), (In, target), (Int, reduction), (Out, out)) {
  backward(op, Loss::kMseBackward, triple(*gradOutput, *self, *target), reduction, broadcast_numel(*self, *target),
           *out);
}

ABOUT(aclnnL1Loss, Vector, "abs(self - target), as it is, its mean or its sum",
      "绝对误差 abs(self - target)，可不归约、取平均或求和")
ACLNN(aclnnL1Loss, (In, self), (In, target), (Int, reduction), (Out, out)) {
  Operands x = pair(*self, *target);
  op.require(!is_complex(self->dtype) && !is_complex(target->dtype), "self is {}, want a real type", describe(*self));
  if (is_integral(self->dtype, true) && is_integral(target->dtype, true) && reduction != 1) x.compute = Compute::I64;
  forward(op, Loss::kL1, x, reduction, *out);
}
ABOUT(aclnnL1LossBackward, Vector, "gradInput = gradOutput * sign(self - target), divided by n for the mean",
      "gradInput = gradOutput * sign(self - target)，平均归约时再除以元素数")
ACLNN(aclnnL1LossBackward, (In, gradOutput), (In, self), (In, target), (Int, reduction), (Out, gradInput)) {
  backward(op, Loss::kL1Backward, triple(*gradOutput, *self, *target), reduction, broadcast_numel(*self, *target),
           *gradInput);
}

ABOUT(aclnnSmoothL1Loss, Vector, "d ^ 2 / (2 * beta) where d = abs(self - target) < beta, else d - beta / 2; reduced",
      "d = abs(self - target) < beta 时为 d ^ 2 / (2 * beta)，否则 d - beta / 2，并归约")
ACLNN(aclnnSmoothL1Loss, (In, self), (In, target), (Int, reduction), (Float, beta), (Out, result)) {
  op.require(beta >= 0, "beta is {}, want 0 or more", beta);
  const Operands x = pair(*self, *target);
  require_floating(op, x);
  Params p;
  p.set(1, static_cast<double>(beta));
  forward(op, Loss::kSmoothL1, x, reduction, *result, p);
}
ABOUT(aclnnSmoothL1LossBackward, Vector, "Gradient of the smooth L1 loss for self", "Smooth L1 损失对 self 的反向梯度")
ACLNN(aclnnSmoothL1LossBackward, (In, gradOut), (In, self), (In, target), (Int, reduction), (Float, beta),
      (Out, gradInput)) {
  op.require(beta >= 0, "beta is {}, want 0 or more", beta);
  Params p;
  p.set(1, static_cast<double>(beta));
  backward(op, Loss::kSmoothL1Backward, triple(*gradOut, *self, *target), reduction, broadcast_numel(*self, *target),
           *gradInput, p);
}

ABOUT(aclnnBinaryCrossEntropy, Vector, "-weight * (target * log(self) + (1 - target) * log(1 - self)), reduced",
      "-weight * (target * ln(self) + (1 - target) * ln(1 - self))，并归约")
ACLNN(aclnnBinaryCrossEntropy, (In, self), (In, target), (OptIn, weight), (Int, reduction), (Out, out)) {
  op.require_same_shape("self", *self, "target", *target);
  Operands x = pair(*self, *target);
  require_floating(op, x);
  x.add(weight);
  forward(op, Loss::kBce, x, reduction, *out);
}
ABOUT(aclnnBinaryCrossEntropyBackward, Vector, "Gradient of binary cross entropy for self",
      "二元交叉熵对 self 的反向梯度")
ACLNN(aclnnBinaryCrossEntropyBackward, (In, gradOutput), (In, self), (In, target), (OptIn, weight), (Int, reduction),
      (Out, out)) {
  Operands x = triple(*gradOutput, *self, *target);
  x.add(weight);
  backward(op, Loss::kBceBackward, x, reduction, self->numel(), *out);
}

ABOUT(aclnnBinaryCrossEntropyWithLogits, Vector,
      "Binary cross entropy of sigmoid(self), with weight and posWeight, reduced",
      "对 sigmoid(self) 计算二元交叉熵，支持 weight 与 posWeight，并归约")
ACLNN(aclnnBinaryCrossEntropyWithLogits, (In, self), (In, target), (OptIn, weight), (OptIn, posWeight),
      (Int, reduction), (Out, out)) {
  op.require_same_shape("self", *self, "target", *target);
  Operands x = pair(*self, *target);
  require_floating(op, x);
  x.add(weight);
  x.add(posWeight);
  forward(op, Loss::kBceLogits, x, reduction, *out);
}
ABOUT(aclnnBinaryCrossEntropyWithLogitsBackward, Vector, "Gradient of binary cross entropy with logits for self",
      "带 logits 的二元交叉熵对 self 的反向梯度")
ACLNN(aclnnBinaryCrossEntropyWithLogitsBackward, (In, gradOutput), (In, self), (In, target), (OptIn, weight),
      (OptIn, posWeight), (Int, reduction), (Out, out)) {
  Operands x = triple(*gradOutput, *self, *target);
  x.add(weight);
  x.add(posWeight);
  backward(op, Loss::kBceLogitsBackward, x, reduction, self->numel(), *out);
}

ABOUT(aclnnKlDiv, Vector, "target * (log(target) - self), or exp(target) * (target - self) for logTarget; reduced",
      "target * (ln(target) - self)，logTarget 时为 exp(target) * (target - self)，并归约")
ACLNN(aclnnKlDiv, (In, self), (In, target), (Int, reduction), (Bool, logTarget), (Out, out)) {
  forward(op, logTarget ? Loss::kKlDivLog : Loss::kKlDiv, pair(*self, *target), reduction, *out);
}
ABOUT(aclnnKlDivBackward, Vector, "Gradient of the Kullback-Leibler divergence for self", "KL 散度对 self 的反向梯度")
ACLNN(aclnnKlDivBackward, (In, gradOutput), (In, self), (In, target), (Int, reduction), (Bool, logTarget), (Out, out)) {
  Operands x = pair(*gradOutput, *target);
  if (compute_of(self->dtype) == Compute::F64) x.compute = Compute::F64;
  x.rank = broadcast_shape(x.dims, x.rank, self->dims, self->rank, x.dims);
  backward(op, logTarget ? Loss::kKlDivLogBackward : Loss::kKlDivBackward, x, reduction,
           broadcast_numel(*self, *target), *out);
}
ABOUT(aclnnKlDivTargetBackward, Vector, "Gradient of the Kullback-Leibler divergence for target",
      "KL 散度对 target 的反向梯度")
ACLNN(aclnnKlDivTargetBackward, (In, gradOutput), (In, self), (In, target), (Int, reduction), (Bool, logTarget),
      (Out, gradTarget)) {
  backward(op, logTarget ? Loss::kKlDivLogTargetBackward : Loss::kKlDivTargetBackward,
           triple(*gradOutput, *self, *target), reduction, broadcast_numel(*self, *target), *gradTarget);
}

ABOUT(aclnnSoftMarginLoss, Vector, "log(1 + exp(-target * self)), as it is, its mean or its sum",
      "ln(1 + exp(-target * self))，可不归约、取平均或求和")
ACLNN(aclnnSoftMarginLoss, (In, self), (In, target), (Int, reduction), (Out, out)) {
  const Operands x = pair(*self, *target);
  forward(op, Loss::kSoftMargin, x, reduction, *out);
}
ABOUT(aclnnSoftMarginLossBackward, Vector, "Gradient of the soft margin loss for self",
      "soft margin 损失对 self 的反向梯度")
ACLNN(aclnnSoftMarginLossBackward, (In, gradOutput), (In, self), (In, target), (Int, reduction), (Out, out)) {
  backward(op, Loss::kSoftMarginBackward, triple(*gradOutput, *self, *target), reduction,
           broadcast_numel(*self, *target), *out);
}

}  // namespace updraft
