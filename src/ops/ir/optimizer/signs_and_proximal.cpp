// Steps of AddSign, PowerSign, proximal methods, Keras' momentum, and Adam that remembers the largest variance. Types
// that end in D have some rates as attributes.
#include "ops/ir/elementwise/arithmetic.h"
#include "ops/ir/shapes.h"

namespace updraft {

using ir::difference, ir::product, ir::quotient, ir::rest, ir::root, ir::sum;

namespace {

void require_same(const Op& op, const TensorView& var,
                  std::initializer_list<std::pair<const char*, TensorView>> others) {
  for (const auto& [name, v] : others) op.require_same_shape(name, v, "var", var);
}

TensorView times(Op& op, const TensorView& x, double by) {
  Temp t(x.dtype);
  call(op, "aclnnMuls", x, by, t);
  return *t;
}

/// to = to * keep + what * (1 - keep)
template <class What>
void blend(Op& op, const InOut& to, const In& keep, const What& what) {
  const TensorView more = product(op, what, rest(op, keep));
  call(op, "aclnnInplaceMul", to, keep);
  call(op, "aclnnInplaceAdd", to, more, 1);
}

/// m = beta m + (1 - beta) grad; then sign_decay * sign(grad) * sign(m)
TensorView agreement(Op& op, const InOut& var, const InOut& m, const In& sign_decay, const In& beta, const In& grad) {
  require_same(op, *var, {{"m", *m}, {"grad", *grad}});
  blend(op, m, beta, grad);
  Temp of_grad, of_m;
  call(op, "aclnnSign", grad, of_grad);
  call(op, "aclnnSign", m, of_m);
  return product(op, product(op, *of_grad, *of_m), sign_decay);
}

/// var = sign(p) max(|p| - rate l1, 0) / (1 + rate l2)
void proximal(Op& op, const InOut& var, const TensorView& p, const TensorView& rate, const In& l1, const In& l2) {
  Temp sign, magnitude, beyond, shrunk, all;
  call(op, "aclnnSign", p, sign);
  call(op, "aclnnAbs", p, magnitude);
  call(op, "aclnnSub", *magnitude, product(op, rate, l1), 1, beyond);
  call(op, "aclnnClampMin", *beyond, 0, shrunk);
  call(op, "aclnnAdds", product(op, rate, l2), 1.0, 1, all);
  call(op, "aclnnInplaceCopy", var, quotient(op, product(op, *sign, *shrunk), *all));
}
void proximal_adagrad(Op& op, const InOut& var, const InOut& accum, const In& lr, const In& l1, const In& l2,
                      const In& grad) {
  require_same(op, *var, {{"accum", *accum}, {"grad", *grad}});
  call(op, "aclnnInplaceAdd", accum, product(op, grad, grad), 1);
  const TensorView one = lr->numel() == 1 ? *lr : TensorView();
  op.require(lr->numel() == 1, "lr is {}, want one element", describe(*lr));
  const TensorView rate = quotient(op, one, root(op, accum));
  proximal(op, var, difference(op, var, product(op, grad, rate)), rate, l1, l2);
}

/// A tensor of one element, of the type of var, for what an attribute says.
TensorView rate_of(Op& op, const TensorView& var, double value) { return ir::constant(op, var.dtype, value); }

template <class Beta1, class Beta2, class Epsilon>
void amsgrad(Op& op, const InOut& var, const InOut& m, const InOut& v, const InOut& vhat, const In& beta1_power,
             const In& beta2_power, const In& lr, const Beta1& beta1, const Beta2& beta2, const Epsilon& epsilon,
             const In& grad) {
  require_same(op, *var, {{"m", *m}, {"v", *v}, {"vhat", *vhat}, {"grad", *grad}});
  const TensorView for_m = product(op, grad, rest(op, beta1)),
                   for_v = product(op, product(op, grad, grad), rest(op, beta2));
  call(op, "aclnnInplaceMul", m, beta1);
  call(op, "aclnnInplaceAdd", m, for_m, 1);
  call(op, "aclnnInplaceMul", v, beta2);
  call(op, "aclnnInplaceAdd", v, for_v, 1);
  Temp largest;
  call(op, "aclnnMaximum", vhat, v, largest);
  call(op, "aclnnInplaceCopy", vhat, *largest);
  const TensorView rate = quotient(op, product(op, lr, root(op, rest(op, beta2_power))), rest(op, beta1_power));
  call(op, "aclnnInplaceSub", var, quotient(op, product(op, m, rate), sum(op, root(op, vhat), epsilon)), 1);
}

}  // namespace

ABOUT(ApplyAddSignD, Vector, "One AddSign step: more where gradient and momentum agree",
      "AddSign 单步更新：梯度与动量同号处步长更大")
IR_OP(ApplyAddSignD, ApplyAddSignD, (InOut, var), (InOut, m), (In, lr), (In, alpha), (In, sign_decay), (In, beta),
      (In, grad), (Bool, use_locking, false)) {
  (void)use_locking;
  const TensorView share = sum(op, agreement(op, var, m, sign_decay, beta, grad), alpha);
  call(op, "aclnnInplaceSub", var, product(op, product(op, share, grad), lr), 1);
}
ABOUT(ApplyPowerSignD, Vector, "One PowerSign step: more where gradient and momentum agree",
      "PowerSign 单步更新：梯度与动量同号处步长更大")
IR_OP(ApplyPowerSignD, ApplyPowerSignD, (InOut, var), (InOut, m), (In, lr), (In, logbase), (In, sign_decay), (In, beta),
      (In, grad), (Bool, use_locking, false)) {
  (void)use_locking;
  Temp power;
  call(op, "aclnnExp", product(op, agreement(op, var, m, sign_decay, beta, grad), logbase), power);
  call(op, "aclnnInplaceSub", var, product(op, product(op, *power, grad), lr), 1);
}
ABOUT(ApplyProximalGradientDescent, Vector, "A step of gradient descent, then shrunk by l1 and l2",
      "梯度下降单步更新，并按 l1、l2 收缩")
IR_OP(ApplyProximalGradientDescent, ApplyProximalGradientDescent, (InOut, var), (In, alpha), (In, l1), (In, l2),
      (In, delta), (Bool, use_locking, false)) {
  (void)use_locking;
  require_same(op, *var, {{"delta", *delta}});
  proximal(op, var, difference(op, var, product(op, delta, alpha)), *alpha, l1, l2);
}
ABOUT(ApplyProximalAdagrad, Vector, "An Adagrad step, then shrunk by l1 and l2", "Adagrad 单步更新，并按 l1、l2 收缩")
IR_OP(ApplyProximalAdagrad, ApplyProximalAdagrad, (InOut, var), (InOut, accum), (In, lr), (In, l1), (In, l2),
      (In, grad), (Bool, use_locking, false)) {
  (void)use_locking;
  proximal_adagrad(op, var, accum, lr, l1, l2, grad);
}
IR_OP(ApplyProximalAdagradD, ApplyProximalAdagrad, (InOut, var), (InOut, accum), (In, lr), (In, l1), (In, l2),
      (In, grad), (Bool, use_locking, false)) {
  (void)use_locking;
  proximal_adagrad(op, var, accum, lr, l1, l2, grad);
}
ABOUT(ApplyAdamWithAmsgradD, Vector, "One Adam step by the largest variance so far",
      "以历史最大方差更新的 Adam 单步（AMSGrad）")
IR_OP(ApplyAdamWithAmsgradD, ApplyAdamWithAmsgradD, (InOut, var), (InOut, m), (InOut, v), (InOut, vhat),
      (In, beta1_power), (In, beta2_power), (In, lr), (In, grad), (Float, beta1), (Float, beta2), (Float, epsilon),
      (Bool, use_locking, false)) {
  (void)use_locking;
  amsgrad(op, var, m, v, vhat, beta1_power, beta2_power, lr, rate_of(op, *var, beta1), rate_of(op, *var, beta2),
          rate_of(op, *var, epsilon), grad);
}
IR_OP(ApplyAdamWithAmsgradV2, ApplyAdamWithAmsgradD, (InOut, var), (InOut, m), (InOut, v), (InOut, vhat),
      (In, beta1_power), (In, beta2_power), (In, lr), (In, beta1), (In, beta2), (In, epsilon), (In, grad),
      (Bool, use_locking, false)) {
  (void)use_locking;
  amsgrad(op, var, m, v, vhat, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad);
}
IR_OP(ApplyAdagradV2D, ApplyAdagrad, (InOut, var), (InOut, accum), (In, lr), (In, grad), (Float, epsilon),
      (Bool, update_slots, true), (Bool, use_locking, false)) {
  (void)use_locking;
  require_same(op, *var, {{"accum", *accum}, {"grad", *grad}});
  if (update_slots) call(op, "aclnnInplaceAdd", accum, product(op, grad, grad), 1);
  Temp scale;
  call(op, "aclnnAdds", root(op, accum), epsilon, 1, scale);
  call(op, "aclnnInplaceSub", var, quotient(op, product(op, grad, lr), *scale), 1);
}
IR_OP(ApplyRMSPropD, ApplyRMSProp, (InOut, var), (InOut, ms), (InOut, mom), (In, lr), (In, grad), (Float, rho),
      (Float, momentum), (Float, epsilon), (Bool, use_locking, false)) {
  (void)use_locking;
  require_same(op, *var, {{"ms", *ms}, {"mom", *mom}, {"grad", *grad}});
  const TensorView square = times(op, product(op, grad, grad), 1 - static_cast<double>(rho));
  call(op, "aclnnInplaceMuls", ms, rho);
  call(op, "aclnnInplaceAdd", ms, square, 1);
  Temp variance;
  call(op, "aclnnAdds", *ms, epsilon, 1, variance);
  const TensorView step = quotient(op, product(op, grad, lr), root(op, *variance));
  call(op, "aclnnInplaceMuls", mom, momentum);
  call(op, "aclnnInplaceAdd", mom, step, 1);
  call(op, "aclnnInplaceSub", var, mom, 1);
}

}  // namespace updraft
