// Assignments and steps of optimizers. What a step updates is an input and, where the operator says so, an output, too.
// Rates come in tensors of one element.
#include "ops/ir/elementwise/arithmetic.h"
#include "ops/ir/shapes.h"

namespace updraft {

using ir::difference, ir::product, ir::quotient, ir::rest, ir::root, ir::sum;

namespace {

/// to = to * keep + what * share
template <class Keep, class What, class Share>
void blend(Op& op, const InOut& to, const Keep& keep, const What& what, const Share& share) {
  const TensorView more = product(op, what, share);
  call(op, "aclnnInplaceMul", to, keep);
  call(op, "aclnnInplaceAdd", to, more, 1);
}
void require_same(const Op& op, const TensorView& var,
                  std::initializer_list<std::pair<const char*, TensorView>> others) {
  for (const auto& [name, v] : others) op.require_same_shape(name, v, "var", var);
}

}  // namespace

// --- assignments --------------------------------------------------------------------------------------------------
IR_OP(Assign, aclnnInplaceCopy, (InOut, ref), (In, value), (Bool, validate_shape, true), (Bool, use_locking, false)) {
  (void)use_locking;     // a stream is a lock already
  (void)validate_shape;  // a tensor here never changes its shape
  op.require_same_shape("value", *value, "ref", *ref);
  call(op, "aclnnInplaceCopy", ref, value);
}
IR_OP(AssignAdd, aclnnInplaceAdd, (InOut, ref), (In, value), (Bool, use_locking, false)) {
  (void)use_locking;
  call(op, "aclnnInplaceAdd", ref, value, 1);
}
IR_OP(AssignSub, aclnnInplaceSub, (InOut, var), (In, value), (Bool, use_locking, false)) {
  (void)use_locking;
  call(op, "aclnnInplaceSub", var, value, 1);
}

// --- Adam ---------------------------------------------------------------------------------------------------------
IR_OP(ApplyAdamD, aclnnApplyAdam, (InOut, var), (InOut, m), (InOut, v), (In, beta1_power), (In, beta2_power), (In, lr),
      (In, beta1), (In, beta2), (In, epsilon), (In, grad), (Bool, use_locking, false), (Bool, use_nesterov, false)) {
  call(op, "aclnnApplyAdam", var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_locking,
       use_nesterov);
}
IR_OP(ApplyAdam, aclnnApplyAdam, (InOut, var), (InOut, m), (InOut, v), (In, beta1_power), (In, beta2_power), (In, lr),
      (In, beta1), (In, beta2), (In, epsilon), (In, grad), (Bool, use_locking, false), (Bool, use_nesterov, false)) {
  call(op, "aclnnApplyAdam", var, m, v, beta1_power, beta2_power, lr, beta1, beta2, epsilon, grad, use_locking,
       use_nesterov);
}
IR_OP(ApplyAdamW, aclnnApplyAdamW, (InOut, var), (InOut, m), (InOut, v), (In, beta1_power), (In, beta2_power), (In, lr),
      (In, weight_decay), (In, beta1), (In, beta2), (In, epsilon), (In, grad), (OptIn, max_grad_norm),
      (Bool, amsgrad, false), (Bool, maximize, false)) {
  call(op, "aclnnApplyAdamW", var, m, v, beta1_power, beta2_power, lr, weight_decay, beta1, beta2, epsilon, grad,
       max_grad_norm, amsgrad, maximize);
}
ABOUT(ApplyAdamV2, Vector, "A step of Adam without correction of its bias, as BERT and mBART train",
      "不做偏差校正的 Adam 单步更新（BERT、mBART 用）")
IR_OP(ApplyAdamV2, ApplyAdamV2, (InOut, var), (InOut, m), (InOut, v), (In, lr), (In, beta1), (In, beta2), (In, epsilon),
      (In, grad), (OptIn, max_grad_norm), (In, global_grad_norm), (In, weight_decay), (OptIn, step_size),
      (Text, adam_mode, "adam")) {
  const std::string_view mode = adam_mode;
  op.require(mode == "adam" || mode == "mbart_adam", "attribute adam_mode is \"{}\", want \"adam\" or \"mbart_adam\"",
             mode);
  op.require(mode == "adam" || step_size, "adam_mode \"mbart_adam\" wants a step_size");
  require_same(op, *var, {{"m", *m}, {"v", *v}, {"grad", *grad}});
  const double rate = number_of(op, "lr", lr.handle), keep_m = number_of(op, "beta1", beta1.handle),
               keep_v = number_of(op, "beta2", beta2.handle), small = number_of(op, "epsilon", epsilon.handle),
               decay = number_of(op, "weight_decay", weight_decay.handle),
               norm = number_of(op, "global_grad_norm", global_grad_norm.handle),
               most = max_grad_norm ? number_of(op, "max_grad_norm", max_grad_norm.handle) : -1;
  const double clip = most > 0 && norm > most ? most / norm : 1;
  const double step = mode == "adam" ? rate : number_of(op, "step_size", step_size.handle);
  Temp root, denominator;
  call(op, "aclnnInplaceMuls", m, keep_m);
  call(op, "aclnnInplaceAdd", m, grad, (1 - keep_m) * clip);
  call(op, "aclnnInplaceMuls", v, keep_v);
  call(op, "aclnnInplaceAddcmul", v, grad, grad, (1 - keep_v) * clip * clip);
  call(op, "aclnnSqrt", v, root);
  call(op, "aclnnAdds", *root, small, 1, denominator);
  if (decay != 0) call(op, "aclnnInplaceMuls", var, 1 - rate * decay);
  call(op, "aclnnInplaceAddcdiv", var, m, *denominator, -step);
}
namespace {
/// BERT's step; its numbers are tensors: `decay` may be absent.
void adam_step(Op& op, const In& grad, const In& v, const In& m, const In& var, const In& lr, const In& m_keep,
               const In& m_share, const In& v_keep, const In& v_share, const In* decay, const In& epsilon,
               const TensorView& v_to, const TensorView& m_to, const TensorView& var_to) {
  const TensorView next_v = sum(op, product(op, v, v_keep), product(op, product(op, grad, grad), v_share));
  const TensorView next_m = sum(op, product(op, m, m_keep), product(op, grad, m_share));
  TensorView step = quotient(op, next_m, sum(op, root(op, next_v), epsilon));
  if (decay) step = sum(op, product(op, var, *decay), step);
  const TensorView next = difference(op, var, product(op, step, lr));
  call(op, "aclnnInplaceCopy", v_to, next_v);
  call(op, "aclnnInplaceCopy", m_to, next_m);
  call(op, "aclnnInplaceCopy", var_to, next);
}
}  // namespace
ABOUT(AdamApplyOne, Vector, "One Adam step; every rate is a tensor", "Adam 单步更新，各系数均为张量")
IR_OP(AdamApplyOne, AdamApplyOne, (In, input0), (In, input1), (In, input2), (In, input3), (In, input4), (In, mul0_x),
      (In, mul1_x), (In, mul2_x), (In, mul3_x), (In, add2_y), (Out, output0), (Out, output1), (Out, output2)) {
  op.result_like("output0", *output0, *input1, input1->dtype);
  op.result_like("output1", *output1, *input2, input2->dtype);
  op.result_like("output2", *output2, *input3, input3->dtype);
  adam_step(op, input0, input1, input2, input3, input4, mul0_x, mul1_x, mul2_x, mul3_x, nullptr, add2_y, *output0,
            *output1, *output2);
}
ABOUT(AdamApplyOneWithDecay, Vector, "One Adam step with decay of the weights; every rate is a tensor",
      "带权重衰减的 Adam 单步更新，各系数均为张量")
IR_OP(AdamApplyOneWithDecay, AdamApplyOneWithDecay, (In, input0), (In, input1), (In, input2), (In, input3),
      (In, input4), (In, mul0_x), (In, mul1_x), (In, mul2_x), (In, mul3_x), (In, mul4_x), (In, add2_y), (Out, output0),
      (Out, output1), (Out, output2)) {
  op.result_like("output0", *output0, *input1, input1->dtype);
  op.result_like("output1", *output1, *input2, input2->dtype);
  op.result_like("output2", *output2, *input3, input3->dtype);
  adam_step(op, input0, input1, input2, input3, input4, mul0_x, mul1_x, mul2_x, mul3_x, &mul4_x, add2_y, *output0,
            *output1, *output2);
}
IR_OP(AdamApplyOneAssign, AdamApplyOne, (In, input0), (InOut, input1), (InOut, input2), (InOut, input3), (In, input4),
      (In, mul0_x), (In, mul1_x), (In, mul2_x), (In, mul3_x), (In, add2_y)) {
  adam_step(op, input0, In{input1.handle}, In{input2.handle}, In{input3.handle}, input4, mul0_x, mul1_x, mul2_x, mul3_x,
            nullptr, add2_y, *input1, *input2, *input3);
}
IR_OP(AdamApplyOneWithDecayAssign, AdamApplyOneWithDecay, (In, input0), (InOut, input1), (InOut, input2),
      (InOut, input3), (In, input4), (In, mul0_x), (In, mul1_x), (In, mul2_x), (In, mul3_x), (In, mul4_x),
      (In, add2_y)) {
  adam_step(op, input0, In{input1.handle}, In{input2.handle}, In{input3.handle}, input4, mul0_x, mul1_x, mul2_x, mul3_x,
            &mul4_x, add2_y, *input1, *input2, *input3);
}

// --- others -------------------------------------------------------------------------------------------------------
ABOUT(SGD, Vector, "One step of gradient descent with momentum, dampening and decay",
      "带动量、阻尼与权重衰减的梯度下降单步更新")
IR_OP(SGD, SGD, (InOut, parameters), (In, gradient), (In, learning_rate), (InOut, accum), (In, momentum), (InOut, stat),
      (Float, dampening, 0), (Float, weight_decay, 0), (Bool, nesterov, false)) {
  require_same(op, *parameters, {{"gradient", *gradient}, {"accum", *accum}, {"stat", *stat}});
  TensorView grad = *gradient;
  if (weight_decay != 0) {
    Temp decay;
    call(op, "aclnnMuls", parameters, weight_decay, decay);
    grad = sum(op, grad, *decay);
  }
  // stat is 1 where the first step is: there accum begins as the gradient, undamped, and stat becomes 0.
  const TensorView kept = product(op, accum, momentum);
  Temp share, damped, first;
  call(op, "aclnnMuls", grad, 1 - dampening, share);
  call(op, "aclnnAdd", kept, *share, 1, damped);
  call(op, "aclnnGtScalar", stat, 0, first);
  Temp next;
  call(op, "aclnnSWhere", *first, grad, *damped, next);
  call(op, "aclnnInplaceCopy", accum, *next);
  call(op, "aclnnInplaceZero", stat);
  const TensorView direction = nesterov ? sum(op, grad, product(op, accum, momentum)) : *accum;
  call(op, "aclnnInplaceSub", parameters, product(op, direction, learning_rate), 1);
}
namespace {
void adagrad(Op& op, const InOut& var, const InOut& accum, const In& lr, const TensorView* epsilon, const In& grad,
             bool update_slots) {
  require_same(op, *var, {{"accum", *accum}, {"grad", *grad}});
  if (update_slots) call(op, "aclnnInplaceAdd", accum, product(op, grad, grad), 1);
  TensorView scale = root(op, accum);
  if (epsilon) scale = sum(op, scale, *epsilon);
  call(op, "aclnnInplaceSub", var, quotient(op, product(op, grad, lr), scale), 1);
}
}  // namespace
ABOUT(ApplyAdagrad, Vector, "One Adagrad step", "Adagrad 单步更新")
IR_OP(ApplyAdagrad, ApplyAdagrad, (InOut, var), (InOut, accum), (In, lr), (In, grad), (Bool, update_slots, true),
      (Bool, use_locking, false)) {
  (void)use_locking;
  adagrad(op, var, accum, lr, nullptr, grad, update_slots);
}
IR_OP(ApplyAdagradD, ApplyAdagrad, (InOut, var), (InOut, accum), (In, lr), (In, grad), (Bool, update_slots, true),
      (Bool, use_locking, false)) {
  (void)use_locking;
  adagrad(op, var, accum, lr, nullptr, grad, update_slots);
}
IR_OP(ApplyAdagradV2, ApplyAdagrad, (InOut, var), (InOut, accum), (In, lr), (In, epsilon), (In, grad),
      (Bool, update_slots, true), (Bool, use_locking, false)) {
  (void)use_locking;
  adagrad(op, var, accum, lr, &*epsilon, grad, update_slots);
}
namespace {
/// ms = rho ms + (1 - rho) grad^2; mom = momentum mom + lr grad / sqrt(ms - mg^2 + epsilon); var -= mom
void rms_prop(Op& op, const InOut& var, const InOut* mg, const InOut& ms, const InOut& mom, const In& lr, const In& rho,
              const In& momentum, const In& epsilon, const In& grad) {
  require_same(op, *var, {{"ms", *ms}, {"mom", *mom}, {"grad", *grad}});
  const TensorView share = rest(op, rho);
  blend(op, ms, rho, product(op, grad, grad), share);
  TensorView variance = *ms;
  if (mg) {
    blend(op, *mg, rho, grad, share);
    variance = difference(op, variance, product(op, *mg, *mg));
  }
  const TensorView step = quotient(op, product(op, grad, lr), root(op, sum(op, variance, epsilon)));
  call(op, "aclnnInplaceMul", mom, momentum);
  call(op, "aclnnInplaceAdd", mom, step, 1);
  call(op, "aclnnInplaceSub", var, mom, 1);
}
}  // namespace
ABOUT(ApplyRMSProp, Vector, "One RMSProp step", "RMSProp 单步更新")
IR_OP(ApplyRMSProp, ApplyRMSProp, (InOut, var), (InOut, ms), (InOut, mom), (In, lr), (In, rho), (In, momentum),
      (In, epsilon), (In, grad), (Bool, use_locking, false)) {
  (void)use_locking;
  rms_prop(op, var, nullptr, ms, mom, lr, rho, momentum, epsilon, grad);
}
ABOUT(ApplyCenteredRMSProp, Vector, "One RMSProp step with the variance of the gradient",
      "以梯度方差归一化的 RMSProp 单步更新")
IR_OP(ApplyCenteredRMSProp, ApplyCenteredRMSProp, (InOut, var), (InOut, mg), (InOut, ms), (InOut, mom), (In, lr),
      (In, rho), (In, momentum), (In, epsilon), (In, grad), (Bool, use_locking, false)) {
  (void)use_locking;
  rms_prop(op, var, &mg, ms, mom, lr, rho, momentum, epsilon, grad);
}
namespace {
void adamax(Op& op, const InOut& var, const InOut& m, const InOut& v, const In& beta1_power, const In& lr,
            const In& beta1, const In& beta2, const In& epsilon, const In& grad) {
  require_same(op, *var, {{"m", *m}, {"v", *v}, {"grad", *grad}});
  blend(op, m, beta1, grad, rest(op, beta1));
  Temp size, larger;
  call(op, "aclnnAbs", grad, size);
  call(op, "aclnnMaximum", product(op, v, beta2), *size, larger);
  call(op, "aclnnInplaceCopy", v, *larger);
  const TensorView rate = quotient(op, lr, rest(op, beta1_power));
  call(op, "aclnnInplaceSub", var, quotient(op, product(op, m, rate), sum(op, v, epsilon)), 1);
}
}  // namespace
ABOUT(ApplyAdaMax, Vector, "One AdaMax step", "AdaMax 单步更新")
IR_OP(ApplyAdaMax, ApplyAdaMax, (InOut, var), (InOut, m), (InOut, v), (In, beta1_power), (In, lr), (In, beta1),
      (In, beta2), (In, epsilon), (In, grad), (Bool, use_locking, false)) {
  (void)use_locking;
  adamax(op, var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad);
}
IR_OP(ApplyAdaMaxD, ApplyAdaMax, (InOut, var), (InOut, m), (InOut, v), (In, beta1_power), (In, lr), (In, beta1),
      (In, beta2), (In, epsilon), (In, grad), (Bool, use_locking, false)) {
  (void)use_locking;
  adamax(op, var, m, v, beta1_power, lr, beta1, beta2, epsilon, grad);
}
namespace {
void adadelta(Op& op, const InOut& var, const InOut& accum, const InOut& accum_update, const In& lr, const In& rho,
              const In& epsilon, const In& grad) {
  require_same(op, *var, {{"accum", *accum}, {"accum_update", *accum_update}, {"grad", *grad}});
  const TensorView share = rest(op, rho);
  blend(op, accum, rho, product(op, grad, grad), share);
  const TensorView update =
      product(op, grad, quotient(op, root(op, sum(op, accum_update, epsilon)), root(op, sum(op, accum, epsilon))));
  call(op, "aclnnInplaceSub", var, product(op, update, lr), 1);
  blend(op, accum_update, rho, product(op, update, update), share);
}
}  // namespace
ABOUT(ApplyAdadelta, Vector, "One Adadelta step", "Adadelta 单步更新")
IR_OP(ApplyAdadelta, ApplyAdadelta, (InOut, var), (InOut, accum), (InOut, accum_update), (In, lr), (In, rho),
      (In, epsilon), (In, grad), (Bool, use_locking, false)) {
  (void)use_locking;
  adadelta(op, var, accum, accum_update, lr, rho, epsilon, grad);
}
IR_OP(ApplyAdadeltaD, ApplyAdadelta, (InOut, var), (InOut, accum), (InOut, accum_update), (In, lr), (In, rho),
      (In, epsilon), (In, grad), (Bool, use_locking, false)) {
  (void)use_locking;
  adadelta(op, var, accum, accum_update, lr, rho, epsilon, grad);
}

}  // namespace updraft
