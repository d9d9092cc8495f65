// Activations of one input and their gradients: a line each where the row says it all.
#include <string_view>

#include "kernels/rows/activation.h"
#include "kernels/rows/arithmetic.h"
#include "kernels/rows/functions.h"
#include "ops/elementwise/elementwise.h"
#include "ops/op.h"

namespace updraft {

#define FORWARD(NAME, ROW) \
  ACLNN(aclnn##NAME, (In, self), (Out, out)) { plan_unary(op, ew::ROW, *self, *out); }
#define INPLACE(NAME, ROW) \
  ACLNN(aclnnInplace##NAME, (InOut, selfRef)) { plan_unary(op, ew::ROW, *selfRef, *selfRef); }
// The row takes the gradient first, then what the operator saved.
#define BACKWARD(NAME, ROW)                                             \
  ACLNN(aclnn##NAME, (In, gradOutput), (In, saved), (Out, gradInput)) { \
    plan_binary(op, ew::ROW, gradOutput, saved, *gradInput);            \
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

ABOUT(aclnnRelu, Vector, "out = max(self, 0)", "out = max(self, 0)")
ABOUT(aclnnInplaceRelu, Vector, "selfRef = max(selfRef, 0), in place", "原地计算 selfRef = max(selfRef, 0)")
CARD(aclnnSigmoid, on("self", kFloats | kF64 | kIntegers | kBool | kComplex), kFloats | kF64 | kComplex)
ABOUT(aclnnSigmoid, Vector, "out = 1 / (1 + exp(-self))", "out = 1 / (1 + exp(-self))")
CARD(aclnnInplaceSigmoid, kFloats | kF64 | kComplex)
ABOUT(aclnnInplaceSigmoid, Vector, "selfRef = 1 / (1 + exp(-selfRef)), in place",
      "原地计算 selfRef = 1 / (1 + exp(-selfRef))")
ABOUT(aclnnSigmoidBackward, Vector, "Gradient of sigmoid from its result: gradInput = gradOutput * saved * (1 - saved)",
      "sigmoid 的反向梯度，由前向结果计算：gradInput = gradOutput * saved * (1 - saved)")
ABOUT(aclnnTanh, Vector, "out = tanh(self)", "out = tanh(self)，双曲正切")
ABOUT(aclnnInplaceTanh, Vector, "selfRef = tanh(selfRef), in place", "原地计算双曲正切 selfRef = tanh(selfRef)")
ABOUT(aclnnTanhBackward, Vector, "Gradient of tanh from its result: gradInput = gradOutput * (1 - saved * saved)",
      "tanh 的反向梯度，由前向结果计算：gradInput = gradOutput * (1 - saved * saved)")
CARD(aclnnSilu, kFloats)
ABOUT(aclnnSilu, Vector, "out = self * sigmoid(self)", "out = self * sigmoid(self)")
ABOUT(aclnnSiluBackward, Vector, "Gradient of SiLU at its input saved", "SiLU 在前向输入 saved 处的反向梯度")
CARD(aclnnGelu, kFloats)
ABOUT(aclnnGelu, Vector, "out = self * Phi(self), the exact GELU by erf",
      "精确 GELU（erf 形式）：out = self * Phi(self)")
CARD(aclnnGeluBackward, kFloats)
ABOUT(aclnnGeluBackward, Vector, "Gradient of the exact GELU at its input saved",
      "精确 GELU 在前向输入 saved 处的反向梯度")
ABOUT(aclnnFastGelu, Vector, "out = self * sigmoid(1.702 * self)", "out = self * sigmoid(1.702 * self)")
ABOUT(aclnnFastGeluBackward, Vector, "Gradient of self * sigmoid(1.702 * self) at its input saved",
      "FastGelu 在前向输入 saved 处的反向梯度")
CARD(aclnnMish, kFloats)
ABOUT(aclnnMish, Vector, "out = self * tanh(softplus(self))", "out = self * tanh(softplus(self))")
CARD(aclnnInplaceMish, kFloats)
ABOUT(aclnnInplaceMish, Vector, "selfRef = selfRef * tanh(softplus(selfRef)), in place",
      "原地计算 selfRef = selfRef * tanh(softplus(selfRef))")
ABOUT(aclnnMishBackward, Vector, "Gradient of Mish at its input saved", "Mish 在前向输入 saved 处的反向梯度")
ABOUT(aclnnHardswish, Vector, "out = self * clamp(self + 3, 0, 6) / 6", "out = self * clamp(self + 3, 0, 6) / 6")
ABOUT(aclnnInplaceHardswish, Vector, "selfRef = selfRef * clamp(selfRef + 3, 0, 6) / 6, in place",
      "原地计算 selfRef = selfRef * clamp(selfRef + 3, 0, 6) / 6")
ABOUT(aclnnHardswishBackward, Vector, "Gradient of hardswish at its input saved",
      "hardswish 在前向输入 saved 处的反向梯度")
ABOUT(aclnnHardswishBackwardV2, Vector, "Gradient of hardswish at its input saved (same as aclnnHardswishBackward)",
      "hardswish 在前向输入 saved 处的反向梯度（与 aclnnHardswishBackward 相同）")
ABOUT(aclnnHardsigmoid, Vector, "out = clamp(self + 3, 0, 6) / 6", "out = clamp(self + 3, 0, 6) / 6")
ABOUT(aclnnInplaceHardsigmoid, Vector, "selfRef = clamp(selfRef + 3, 0, 6) / 6, in place",
      "原地计算 selfRef = clamp(selfRef + 3, 0, 6) / 6")
ABOUT(aclnnHardsigmoidBackward, Vector, "gradInput = gradOutput / 6 where -3 < saved < 3, else 0",
      "-3 < saved < 3 处 gradInput = gradOutput / 6，其余为 0")

ABOUT(aclnnGeluV2, Vector, "GELU of self: by erf, or its tanh approximation where approximate is 1",
      "GELU 激活：默认 erf 形式，approximate 为 1 时使用 tanh 近似")
ACLNN(aclnnGeluV2, (In, self), (Int, approximate), (Out, out)) {
  plan_unary(op, approximate == 1 ? ew::gelu_tanh : ew::gelu, *self, *out);
}
ABOUT(aclnnGeluBackwardV2, Vector, "Gradient of GELU at self; approximate is none or tanh",
      "GELU 在 self 处的反向梯度，approximate 取 none 或 tanh")
ACLNN(aclnnGeluBackwardV2, (In, gradOutput), (In, self), (Text, approximate), (Out, gradInput)) {
  const bool tanh = approximate && std::string_view(approximate) == "tanh";
  plan_binary(op, tanh ? ew::gelu_tanh_backward : ew::gelu_backward, gradOutput, self, *gradInput);
}

ABOUT(aclnnThreshold, Vector, "out = self where self > threshold, else value",
      "self > threshold 处取 self，其余取 value")
ACLNN(aclnnThreshold, (In, self), (Scalar, threshold), (Scalar, value), (Out, out)) {
  plan_unary(op, ew::threshold, *self, *out, params_of(threshold, value));
}
ABOUT(aclnnInplaceThreshold, Vector, "Writes value into selfRef where it is not above threshold, in place",
      "原地将 selfRef 中不大于 threshold 的元素置为 value")
ACLNN(aclnnInplaceThreshold, (InOut, selfRef), (Scalar, threshold), (Scalar, value)) {
  plan_unary(op, ew::threshold, *selfRef, *selfRef, params_of(threshold, value));
}
ABOUT(aclnnThresholdBackward, Vector, "out = gradOutput where self > threshold, else 0",
      "self > threshold 处 out = gradOutput，其余为 0")
ACLNN(aclnnThresholdBackward, (In, gradOutput), (In, self), (Scalar, threshold), (Out, out)) {
  plan_binary(op, ew::threshold_backward, gradOutput, self, *out, params_of(threshold));
}

CARD(aclnnLeakyRelu, kFloats | kF64)
ABOUT(aclnnLeakyRelu, Vector, "out = self where self > 0, else negativeSlope * self",
      "self > 0 处取 self，其余取 negativeSlope * self")
ACLNN(aclnnLeakyRelu, (In, self), (Scalar, negativeSlope), (Out, out)) {
  plan_unary(op, ew::leaky_relu, *self, *out, params_of(negativeSlope));
}
CARD(aclnnInplaceLeakyRelu, kFloats | kF64)
ABOUT(aclnnInplaceLeakyRelu, Vector, "Multiplies what is not above 0 by negativeSlope, in place",
      "原地将 selfRef 中不大于 0 的元素乘以 negativeSlope")
ACLNN(aclnnInplaceLeakyRelu, (InOut, selfRef), (Scalar, negativeSlope)) {
  plan_unary(op, ew::leaky_relu, *selfRef, *selfRef, params_of(negativeSlope));
}
ABOUT(aclnnLeakyReluBackward, Vector, "out = gradOutput where self > 0, else negativeSlope * gradOutput",
      "self > 0 处 out = gradOutput，其余为 negativeSlope * gradOutput")
ACLNN(aclnnLeakyReluBackward, (In, gradOutput), (In, self), (Scalar, negativeSlope), (Bool, selfIsResult), (Out, out)) {
  (void)selfIsResult;  // the sign is the same in either
  plan_binary(op, ew::leaky_relu_backward, gradOutput, self, *out, params_of(negativeSlope));
}

ABOUT(aclnnSoftplus, Vector, "out = log(1 + exp(beta * self)) / beta, self itself where beta * self > threshold",
      "out = log(1 + exp(beta * self)) / beta，beta * self > threshold 处直接取 self")
ACLNN(aclnnSoftplus, (In, self), (Scalar, beta), (Scalar, threshold), (Out, out)) {
  plan_unary(op, ew::softplus, *self, *out, params_of(beta, threshold));
}
CARD(aclnnSoftplusBackward, on("self", kFloats | kF64 | kIntegers | kBool), kFloats | kF64)
ABOUT(aclnnSoftplusBackward, Vector,
      "gradInput = gradOutput * sigmoid(beta * self), gradOutput where beta * self > threshold",
      "gradInput = gradOutput * sigmoid(beta * self)，beta * self > threshold 处为 gradOutput")
ACLNN(aclnnSoftplusBackward, (In, gradOutput), (In, self), (Scalar, beta), (Scalar, threshold), (Out, gradInput)) {
  plan_binary(op, ew::softplus_backward, gradOutput, self, *gradInput, params_of(beta, threshold));
}

// Parameters of the elu rows: the negative side's factor, the positive side's, the factor inside exp.
static Params elu_params(const aclScalar& alpha, double scale, double input_scale) {
  return params_of(alpha.to_double() * scale, scale, input_scale);
}
static void plan_elu(Op& op, const TensorView& self, const Params& p, const TensorView& out) {
  plan_unary(op, ew::elu, self, out, p);
}
CARD(aclnnElu, kFloats | kF64)
ABOUT(aclnnElu, Vector, "out = scale * self where self > 0, else scale * alpha * (exp(inputScale * self) - 1)",
      "self > 0 处 out = scale * self，其余 out = scale * alpha * (exp(inputScale * self) - 1)")
ACLNN(aclnnElu, (In, self), (Scalar, alpha), (Scalar, scale), (Scalar, inputScale), (Out, out)) {
  plan_elu(op, *self, elu_params(*alpha, scale->to_double(), inputScale->to_double()), *out);
}
CARD(aclnnInplaceElu, kFloats | kF64)
ABOUT(aclnnInplaceElu, Vector, "ELU in place: negative elements become scale * alpha * (exp(inputScale * x) - 1)",
      "原地 ELU：负元素变为 scale * alpha * (exp(inputScale * x) - 1)，其余乘以 scale")
ACLNN(aclnnInplaceElu, (InOut, selfRef), (Scalar, alpha), (Scalar, scale), (Scalar, inputScale)) {
  plan_elu(op, *selfRef, elu_params(*alpha, scale->to_double(), inputScale->to_double()), *selfRef);
}
ABOUT(aclnnCelu, Vector, "out = max(0, self) + min(0, alpha * (exp(self / alpha) - 1))",
      "out = max(0, self) + min(0, alpha * (exp(self / alpha) - 1))")
ACLNN(aclnnCelu, (In, self), (Scalar, alpha), (Out, out)) {
  op.require(alpha->to_double() != 0, "alpha is 0");
  plan_elu(op, *self, elu_params(*alpha, 1, 1 / alpha->to_double()), *out);
}
ABOUT(aclnnInplaceCelu, Vector, "CELU in place: max(0, x) + min(0, alpha * (exp(x / alpha) - 1))",
      "原地 CELU：max(0, x) + min(0, alpha * (exp(x / alpha) - 1))")
ACLNN(aclnnInplaceCelu, (InOut, selfRef), (Scalar, alpha)) {
  op.require(alpha->to_double() != 0, "alpha is 0");
  plan_elu(op, *selfRef, elu_params(*alpha, 1, 1 / alpha->to_double()), *selfRef);
}
ABOUT(aclnnEluBackward, Vector, "Gradient of ELU from its input, or from its result where isResult is true",
      "ELU 的反向梯度，由前向输入计算；isResult 为真时由前向结果计算")
ACLNN(aclnnEluBackward, (In, gradOutput), (Scalar, alpha), (Scalar, scale), (Scalar, inputScale), (Bool, isResult),
      (In, selfOrResult), (Out, gradInput)) {
  plan_binary(op, isResult ? ew::elu_backward_result : ew::elu_backward, gradOutput, selfOrResult, *gradInput,
              elu_params(*alpha, scale->to_double(), inputScale->to_double()));
}

namespace {
constexpr double kSeluAlpha = 1.6732632423543772, kSeluScale = 1.0507009873554805;
const Params& selu_params() {
  static const Params p = params_of(kSeluAlpha * kSeluScale, kSeluScale, 1.0);
  return p;
}
}  // namespace
ABOUT(aclnnSelu, Vector, "Scaled ELU: 1.0507 * (self where self > 0, else 1.6733 * (exp(self) - 1))",
      "缩放 ELU：1.0507 *（self > 0 处为 self，其余为 1.6733 * (exp(self) - 1)）")
ACLNN(aclnnSelu, (In, self), (Out, out)) { plan_elu(op, *self, selu_params(), *out); }
ABOUT(aclnnSeluBackward, Vector, "Gradient of the scaled ELU from its result", "缩放 ELU 的反向梯度，由前向结果计算")
ACLNN(aclnnSeluBackward, (In, gradOutput), (In, result), (Out, gradInput)) {
  plan_binary(op, ew::elu_backward_result, gradOutput, result, *gradInput, selu_params());
}

ABOUT(aclnnHardshrink, Vector, "out = 0 where -lambd <= self <= lambd, else self",
      "-lambd <= self <= lambd 处为 0，其余取 self")
ACLNN(aclnnHardshrink, (In, self), (Scalar, lambd), (Out, out)) {
  plan_unary(op, ew::hardshrink, *self, *out, params_of(lambd));
}
ABOUT(aclnnSoftshrink, Vector, "Moves self towards 0 by lambd: 0 where abs(self) <= lambd",
      "将 self 向 0 收缩 lambd，绝对值不大于 lambd 处为 0")
ACLNN(aclnnSoftshrink, (In, self), (Scalar, lambd), (Out, out)) {
  op.require(lambd->to_double() >= 0, "lambd is {}, want 0 or more", lambd->to_double());
  plan_unary(op, ew::softshrink, *self, *out, params_of(lambd));
}
ABOUT(aclnnHardshrinkBackward, Vector, "out = 0 where -lambd <= self <= lambd, else gradOutput",
      "hardshrink 的反向梯度：-lambd <= self <= lambd 处为 0，其余为 gradOutput")
ACLNN(aclnnHardshrinkBackward, (In, gradOutput), (In, self), (Scalar, lambd), (Out, out)) {
  plan_binary(op, ew::shrink_backward, gradOutput, self, *out, params_of(lambd));
}
ABOUT(aclnnSoftshrinkBackward, Vector, "out = 0 where -lambd <= self <= lambd, else gradOutput (soft shrinkage)",
      "softshrink 的反向梯度：-lambd <= self <= lambd 处为 0，其余为 gradOutput")
ACLNN(aclnnSoftshrinkBackward, (In, gradOutput), (In, self), (Scalar, lambd), (Out, out)) {
  plan_binary(op, ew::shrink_backward, gradOutput, self, *out, params_of(lambd));
}

FORWARD(LogSigmoid, log_sigmoid)

ABOUT(aclnnLogSigmoid, Vector, "out = -log(1 + exp(-self))", "out = -log(1 + exp(-self))")
// PyTorch's CPU kernel keeps exp(-|x|) in buffer; here it may be empty and the gradient does without.
ABOUT(aclnnLogSigmoidForward, Vector, "out = -log(1 + exp(-self)); buffer is left as it is",
      "out = -log(1 + exp(-self))，不写 buffer")
ACLNN(aclnnLogSigmoidForward, (In, self), (Out, out), (OptOut, buffer)) {
  if (buffer) op.suggest_like(*buffer, *self, self->dtype);
  plan_unary(op, ew::log_sigmoid, *self, *out);
}
ABOUT(aclnnLogSigmoidBackward, Vector, "gradInput = gradOutput * sigmoid(-self); buffer is not read",
      "gradInput = gradOutput * sigmoid(-self)，不读 buffer")
ACLNN(aclnnLogSigmoidBackward, (In, gradOutput), (In, self), (OptIn, buffer), (Out, gradInput)) {
  (void)buffer;
  plan_binary(op, ew::log_sigmoid_backward, gradOutput, self, *gradInput);
}

ABOUT(aclnnAddRelu, Vector, "out = max(self + alpha * other, 0)", "out = max(self + alpha * other, 0)，支持广播")
ACLNN(aclnnAddRelu, (In, self), (In, other), (Scalar, alpha), (Out, out)) {
  plan_binary(op, ew::add_relu, self, other, *out, params_of(alpha));
}
ABOUT(aclnnInplaceAddRelu, Vector, "selfRef = max(selfRef + alpha * other, 0), in place",
      "原地计算 selfRef = max(selfRef + alpha * other, 0)")
ACLNN(aclnnInplaceAddRelu, (InOut, selfRef), (In, other), (Scalar, alpha)) {
  plan_binary(op, ew::add_relu, selfRef, other, *selfRef, params_of(alpha));
}

}  // namespace updraft
