// Activations of one input and their gradients: a line each where the row says it all.
#include <string_view>

#include "ops/elementwise/elementwise.h"

namespace updraft {

#define FORWARD(NAME, ROW) \
  ACLNN(aclnn##NAME, (In, self), (Out, out)) { plan_unary(op, Ew::ROW, *self, *out); }
#define INPLACE(NAME, ROW) \
  ACLNN(aclnnInplace##NAME, (Out, selfRef)) { plan_unary(op, Ew::ROW, *selfRef, *selfRef); }
// The row takes the gradient first, then what the operator saved.
#define BACKWARD(NAME, ROW)                                             \
  ACLNN(aclnn##NAME, (In, gradOutput), (In, saved), (Out, gradInput)) { \
    plan_binary(op, Ew::ROW, gradOutput, saved, *gradInput);            \
  }

FORWARD(Relu, relu)
INPLACE(Relu, relu)
FORWARD(Sigmoid, sigmoid)
INPLACE(Sigmoid, sigmoid)
BACKWARD(SigmoidBackward, sigmoid_backward)
FORWARD(Tanh, tanh)
INPLACE(Tanh, tanh)
BACKWARD(TanhBackward, tanh_backward)
FORWARD(Silu, silu)
BACKWARD(SiluBackward, silu_backward)
FORWARD(Gelu, gelu)
BACKWARD(GeluBackward, gelu_backward)
FORWARD(FastGelu, fast_gelu)
BACKWARD(FastGeluBackward, fast_gelu_backward)
FORWARD(Mish, mish)
INPLACE(Mish, mish)
BACKWARD(MishBackward, mish_backward)
FORWARD(Hardswish, hardswish)
INPLACE(Hardswish, hardswish)
BACKWARD(HardswishBackward, hardswish_backward)
BACKWARD(HardswishBackwardV2, hardswish_backward)
FORWARD(Hardsigmoid, hardsigmoid)
INPLACE(Hardsigmoid, hardsigmoid)
BACKWARD(HardsigmoidBackward, hardsigmoid_backward)

ACLNN(aclnnGeluV2, (In, self), (Int, approximate), (Out, out)) {
  plan_unary(op, approximate == 1 ? Ew::gelu_tanh : Ew::gelu, *self, *out);
}
ACLNN(aclnnGeluBackwardV2, (In, gradOutput), (In, self), (Text, approximate), (Out, gradInput)) {
  const bool tanh = approximate && std::string_view(approximate) == "tanh";
  plan_binary(op, tanh ? Ew::gelu_tanh_backward : Ew::gelu_backward, gradOutput, self, *gradInput);
}

ACLNN(aclnnThreshold, (In, self), (Scalar, threshold), (Scalar, value), (Out, out)) {
  plan_unary(op, Ew::threshold, *self, *out, params_of(threshold, value));
}
ACLNN(aclnnInplaceThreshold, (Out, selfRef), (Scalar, threshold), (Scalar, value)) {
  plan_unary(op, Ew::threshold, *selfRef, *selfRef, params_of(threshold, value));
}
ACLNN(aclnnThresholdBackward, (In, gradOutput), (In, self), (Scalar, threshold), (Out, out)) {
  plan_binary(op, Ew::threshold_backward, gradOutput, self, *out, params_of(threshold));
}

ACLNN(aclnnLeakyRelu, (In, self), (Scalar, negativeSlope), (Out, out)) {
  plan_unary(op, Ew::leaky_relu, *self, *out, params_of(negativeSlope));
}
ACLNN(aclnnInplaceLeakyRelu, (Out, selfRef), (Scalar, negativeSlope)) {
  plan_unary(op, Ew::leaky_relu, *selfRef, *selfRef, params_of(negativeSlope));
}
ACLNN(aclnnLeakyReluBackward, (In, gradOutput), (In, self), (Scalar, negativeSlope), (Bool, selfIsResult), (Out, out)) {
  (void)selfIsResult;  // the sign is the same in either
  plan_binary(op, Ew::leaky_relu_backward, gradOutput, self, *out, params_of(negativeSlope));
}

ACLNN(aclnnSoftplus, (In, self), (Scalar, beta), (Scalar, threshold), (Out, out)) {
  plan_unary(op, Ew::softplus, *self, *out, params_of(beta, threshold));
}
ACLNN(aclnnSoftplusBackward, (In, gradOutput), (In, self), (Scalar, beta), (Scalar, threshold), (Out, gradInput)) {
  plan_binary(op, Ew::softplus_backward, gradOutput, self, *gradInput, params_of(beta, threshold));
}

// Parameters of the elu rows: the negative side's factor, the positive side's, the factor inside exp.
static Params elu_params(const aclScalar& alpha, double scale, double input_scale) {
  return params_of(alpha.to_double() * scale, scale, input_scale);
}
static void plan_elu(Op& op, const TensorView& self, const Params& p, const TensorView& out) {
  plan_unary(op, Ew::elu, self, out, p);
}
ACLNN(aclnnElu, (In, self), (Scalar, alpha), (Scalar, scale), (Scalar, inputScale), (Out, out)) {
  plan_elu(op, *self, elu_params(*alpha, scale->to_double(), inputScale->to_double()), *out);
}
ACLNN(aclnnInplaceElu, (Out, selfRef), (Scalar, alpha), (Scalar, scale), (Scalar, inputScale)) {
  plan_elu(op, *selfRef, elu_params(*alpha, scale->to_double(), inputScale->to_double()), *selfRef);
}
ACLNN(aclnnCelu, (In, self), (Scalar, alpha), (Out, out)) {
  op.require(alpha->to_double() != 0, "alpha is 0");
  plan_elu(op, *self, elu_params(*alpha, 1, 1 / alpha->to_double()), *out);
}
ACLNN(aclnnInplaceCelu, (Out, selfRef), (Scalar, alpha)) {
  op.require(alpha->to_double() != 0, "alpha is 0");
  plan_elu(op, *selfRef, elu_params(*alpha, 1, 1 / alpha->to_double()), *selfRef);
}
ACLNN(aclnnEluBackward, (In, gradOutput), (Scalar, alpha), (Scalar, scale), (Scalar, inputScale), (Bool, isResult),
      (In, selfOrResult), (Out, gradInput)) {
  plan_binary(op, isResult ? Ew::elu_backward_result : Ew::elu_backward, gradOutput, selfOrResult, *gradInput,
              elu_params(*alpha, scale->to_double(), inputScale->to_double()));
}

ACLNN(aclnnHardshrink, (In, self), (Scalar, lambd), (Out, out)) {
  plan_unary(op, Ew::hardshrink, *self, *out, params_of(lambd));
}
ACLNN(aclnnSoftshrink, (In, self), (Scalar, lambd), (Out, out)) {
  plan_unary(op, Ew::softshrink, *self, *out, params_of(lambd));
}
ACLNN(aclnnHardshrinkBackward, (In, gradOutput), (In, self), (Scalar, lambd), (Out, out)) {
  plan_binary(op, Ew::shrink_backward, gradOutput, self, *out, params_of(lambd));
}
ACLNN(aclnnSoftshrinkBackward, (In, gradOutput), (In, self), (Scalar, lambd), (Out, out)) {
  plan_binary(op, Ew::shrink_backward, gradOutput, self, *out, params_of(lambd));
}

FORWARD(LogSigmoid, log_sigmoid)
// PyTorch's CPU kernel keeps exp(-|x|) in buffer; here it may be empty and the gradient does without.
ACLNN(aclnnLogSigmoidForward, (In, self), (Out, out), (OptOut, buffer)) {
  (void)buffer;
  plan_unary(op, Ew::log_sigmoid, *self, *out);
}
ACLNN(aclnnLogSigmoidBackward, (In, gradOutput), (In, self), (OptIn, buffer), (Out, gradInput)) {
  (void)buffer;
  plan_binary(op, Ew::log_sigmoid_backward, gradOutput, self, *gradInput);
}

ACLNN(aclnnAddRelu, (In, self), (In, other), (Scalar, alpha), (Out, out)) {
  plan_binary(op, Ew::add_relu, self, other, *out, params_of(alpha));
}
ACLNN(aclnnInplaceAddRelu, (Out, selfRef), (In, other), (Scalar, alpha)) {
  plan_binary(op, Ew::add_relu, selfRef, other, *selfRef, params_of(alpha));
}

}  // namespace updraft
