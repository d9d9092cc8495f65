// Steps of optimizers that weigh a layer's gradient by the norms of its weights and of the gradient (LAMB, LARS), and
// FTRL.
#include "ops/ir/elementwise/arithmetic.h"
#include "ops/ir/shapes.h"

namespace updraft {

using ir::difference, ir::product, ir::quotient, ir::rest, ir::root, ir::sum;

namespace {

/// base to the power of exponent.
template <class A, class B>
TensorView power(Op& op, const A& base, const B& exponent) {
  Temp t;
  call(op, "aclnnPowTensorTensor", base, exponent, t);
  return *t;
}

/// value where both norms are above 0, else 1.
TensorView where_both(Op& op, const TensorView& first, const TensorView& second, const TensorView& value) {
  Temp one, has_first, has_second, both, t;
  call(op, "aclnnMuls", value, 0.0, one);
  call(op, "aclnnInplaceFillScalar", *one, 1.0);
  call(op, "aclnnGtScalar", first, 0.0, has_first);
  call(op, "aclnnGtScalar", second, 0.0, has_second);
  call(op, "aclnnLogicalAnd", *has_first, *has_second, both);
  call(op, "aclnnSWhere", *both, value, *one, t);
  return *t;
}

}  // namespace

ABOUT(LambApplyOptimizerAssign, Vector, "LAMB's direction of a layer; its moments are updated",
      "LAMB 的单层更新方向，并更新矩估计")
IR_OP(LambApplyOptimizerAssign, LambApplyOptimizerAssign, (In, grad), (InOut, inputv), (InOut, inputm), (In, input3),
      (In, mul0_x), (In, mul1_x), (In, mul2_x), (In, mul3_x), (In, add2_y), (In, steps), (In, do_use_weight),
      (In, weight_decay_rate), (Out, output0), (Ref, ir_inputv), (Ref, ir_inputm)) {
  (void)ir_inputv, (void)ir_inputm;
  for (const auto& [name, v] : {std::pair{"inputv", *inputv}, {"inputm", *inputm}, {"input3", *input3}})
    op.require_same_shape(name, v, "grad", *grad);
  op.result_like("output0", *output0, *grad, grad->dtype);
  const TensorView v = sum(op, product(op, inputv, mul2_x), product(op, product(op, grad, grad), mul3_x));
  const TensorView m = sum(op, product(op, inputm, mul0_x), product(op, grad, mul1_x));
  call(op, "aclnnInplaceCopy", inputv, v);
  call(op, "aclnnInplaceCopy", inputm, m);
  const TensorView mean = quotient(op, m, rest(op, power(op, mul0_x, steps)));
  const TensorView variance = quotient(op, v, rest(op, power(op, mul2_x, steps)));
  const TensorView step = quotient(op, mean, sum(op, root(op, variance), add2_y));
  const TensorView decay = product(op, product(op, input3, weight_decay_rate), do_use_weight);
  call(op, "aclnnAdd", decay, step, 1, output0);
}

ABOUT(LambApplyWeightAssign, Vector, "LAMB's step: the direction, weighed by the norms of weights and direction",
      "LAMB 的参数更新：按参数与更新方向的范数之比缩放")
IR_OP(LambApplyWeightAssign, LambApplyWeightAssign, (In, input0), (In, input1), (In, input2), (In, input3),
      (InOut, input_param)) {
  op.require_same_shape("input3", *input3, "input_param", *input_param);
  const TensorView ratio = where_both(op, *input0, *input1, quotient(op, input0, input1));
  call(op, "aclnnInplaceSub", input_param, product(op, input3, product(op, ratio, input2)), 1);
}

ABOUT(LarsV2Update, Vector, "LARS' gradient of a layer, weighed by the norms of weights and gradient",
      "LARS 的单层梯度，按参数与梯度的范数缩放")
IR_OP(LarsV2Update, LarsV2Update, (In, w), (In, g), (In, w_square_sum), (In, g_square_sum), (In, weight_decay),
      (In, learning_rate), (Out, g_new), (Float, hyperpara, 0.001), (Float, epsilon, 0.00001),
      (Bool, use_clip, false)) {
  op.require_same_shape("g", *g, "w", *w);
  op.result_like("g_new", *g_new, *w, w->dtype);
  const TensorView weights = root(op, w_square_sum), gradient = root(op, g_square_sum);
  Temp below, scaled, kept;
  call(op, "aclnnAdds", sum(op, gradient, product(op, weights, weight_decay)), epsilon, 1, below);
  call(op, "aclnnMuls", weights, hyperpara, scaled);
  TensorView rate = quotient(op, *scaled, *below);
  if (use_clip) {
    call(op, "aclnnClamp", quotient(op, rate, learning_rate), 0.0, 1.0, kept);
    rate = *kept;
  }
  rate = where_both(op, weights, gradient, rate);
  call(op, "aclnnMul", sum(op, g, product(op, w, weight_decay)), rate, g_new);
}

namespace {
/// `shrinkage` may be absent.
void ftrl(Op& op, const InOut& var, const InOut& accum, const InOut& linear, const In& grad, const In& lr, const In& l1,
          const In& l2, const In* shrinkage, const In& lr_power) {
  for (const auto& [name, v] : {std::pair{"accum", *accum}, {"linear", *linear}, {"grad", *grad}})
    op.require_same_shape(name, v, "var", *var);
  Temp exponent, doubled, sign, magnitude, beyond, zero, next, twice;
  call(op, "aclnnNeg", lr_power, exponent);
  const TensorView before = power(op, accum, *exponent);
  call(op, "aclnnInplaceAdd", accum, product(op, grad, grad), 1);
  const TensorView after = power(op, accum, *exponent);
  const TensorView sigma = quotient(op, difference(op, after, before), lr);
  TensorView change = difference(op, grad, product(op, sigma, var));
  if (shrinkage) {
    call(op, "aclnnMuls", product(op, var, *shrinkage), 2.0, twice);
    change = sum(op, change, *twice);
  }
  call(op, "aclnnInplaceAdd", linear, change, 1);
  call(op, "aclnnMuls", l2, 2.0, doubled);
  const TensorView scale = sum(op, quotient(op, after, lr), *doubled);
  call(op, "aclnnSign", linear, sign);
  call(op, "aclnnAbs", linear, magnitude);
  call(op, "aclnnGtTensor", *magnitude, l1, beyond);
  const TensorView moved = quotient(op, difference(op, product(op, *sign, l1), linear), scale);
  call(op, "aclnnMuls", moved, 0.0, zero);
  call(op, "aclnnInplaceZero", *zero);
  call(op, "aclnnSWhere", *beyond, moved, *zero, next);
  call(op, "aclnnInplaceCopy", var, *next);
}
}  // namespace
ABOUT(ApplyFtrl, Vector, "One step of Follow The Regularized Leader", "FTRL 单步更新")
IR_OP(ApplyFtrl, ApplyFtrl, (InOut, var), (InOut, accum), (InOut, linear), (In, grad), (In, lr), (In, l1), (In, l2),
      (In, lr_power), (Bool, use_locking, false)) {
  (void)use_locking;
  ftrl(op, var, accum, linear, grad, lr, l1, l2, nullptr, lr_power);
}
IR_OP(ApplyFtrlV2, ApplyFtrl, (InOut, var), (InOut, accum), (InOut, linear), (In, grad), (In, lr), (In, l1), (In, l2),
      (In, l2_shrinkage), (In, lr_power), (Bool, use_locking, false)) {
  (void)use_locking;
  ftrl(op, var, accum, linear, grad, lr, l1, l2, &l2_shrinkage, lr_power);
}

}  // namespace updraft
