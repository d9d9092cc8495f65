// Activations and their gradients.
#include "ops/ir/shapes.h"

namespace updraft {

#define FORWARD(TYPE, TWIN) \
  IR_OP(TYPE, TWIN, (In, x), (Out, y)) { call(op, #TWIN, x, y); }
FORWARD(FastGelu, aclnnFastGelu)
FORWARD(FastGeluV2, aclnnFastGelu)
FORWARD(Gelu, aclnnGelu)
FORWARD(HardSwish, aclnnHardswish)
FORWARD(LogSigmoid, aclnnLogSigmoid)
FORWARD(Mish, aclnnMish)
FORWARD(Relu, aclnnRelu)
FORWARD(Sigmoid, aclnnSigmoid)
FORWARD(Tanh, aclnnTanh)
#undef FORWARD

IR_OP(Swish, aclnnSilu, (In, x), (Out, y), (Float, scale, 1)) {
  if (scale == 1) return call(op, "aclnnSilu", x, y);
  Temp scaled(x->dtype), gate;  // x sigmoid(scale x)
  call(op, "aclnnMuls", x, scale, scaled);
  call(op, "aclnnSigmoid", *scaled, gate);
  call(op, "aclnnMul", x, *gate, y);
}
IR_OP(SwishGrad, aclnnSiluBackward, (In, grad), (In, x), (In, y), (Out, grad_x), (Float, scale, 1)) {
  ir::want(op, "scale", scale, 1.0f);
  op.require_same_shape("x", *x, "y", *y);
  call(op, "aclnnSiluBackward", grad, x, grad_x);
}
IR_OP(SiluGrad, aclnnSiluBackward, (In, dy), (In, x), (Out, dx)) { call(op, "aclnnSiluBackward", dy, x, dx); }
IR_OP(GeluV2, aclnnGeluV2, (In, x), (Out, y), (Text, approximate, "none")) {
  const std::string_view word = approximate;
  op.require(word == "none" || word == "tanh", "attribute approximate is \"{}\", want \"none\" or \"tanh\"", word);
  call(op, "aclnnGeluV2", x, word == "tanh" ? 1 : 0, y);
}
IR_OP(GeluGrad, aclnnGeluBackward, (In, dy), (In, x), (In, y), (Out, z)) {
  op.require_same_shape("x", *x, "y", *y);
  call(op, "aclnnGeluBackward", dy, x, z);
}
IR_OP(GeluGradV2, aclnnGeluBackwardV2, (In, dy), (In, x), (Out, z), (Text, approximate, "none")) {
  call(op, "aclnnGeluBackwardV2", dy, x, approximate, z);
}
IR_OP(FastGeluGrad, aclnnFastGeluBackward, (In, dy), (In, x), (Out, z)) { call(op, "aclnnFastGeluBackward", dy, x, z); }
IR_OP(ReluGrad, aclnnThresholdBackward, (In, gradients), (In, features), (Out, backprops)) {
  call(op, "aclnnThresholdBackward", gradients, features, 0.0, backprops);
}
IR_OP(Relu6, aclnnHardtanh, (In, x), (Out, y)) { call(op, "aclnnHardtanh", x, 0.0, 6.0, y); }
IR_OP(Relu6D, aclnnHardtanh, (In, x), (Out, y), (Float, scale, 1)) {
  ir::want(op, "scale", scale, 1.0f);
  call(op, "aclnnHardtanh", x, 0.0, 6.0, y);
}
IR_OP(Relu6Grad, aclnnHardtanhBackward, (In, gradients), (In, features), (Out, backprops)) {
  call(op, "aclnnHardtanhBackward", gradients, features, 0.0, 6.0, backprops);
}
IR_OP(HardtanhGrad, aclnnHardtanhBackward, (In, result), (In, grad), (Out, y), (Float, min_val, -1),
      (Float, max_val, 1)) {
  call(op, "aclnnHardtanhBackward", grad, result, min_val, max_val, y);
}
IR_OP(LeakyRelu, aclnnLeakyRelu, (In, x), (Out, y), (Float, negative_slope, 0)) {
  call(op, "aclnnLeakyRelu", x, negative_slope, y);
}
IR_OP(LeakyReluGrad, aclnnLeakyReluBackward, (In, gradients), (In, features), (Out, backprops),
      (Float, negative_slope, 0)) {
  call(op, "aclnnLeakyReluBackward", gradients, features, negative_slope, false, backprops);
}
IR_OP(ThresholdGradV2D, aclnnThresholdBackward, (In, gradients), (In, features), (Out, backprops), (Float, threshold)) {
  call(op, "aclnnThresholdBackward", gradients, features, threshold, backprops);
}
IR_OP(ThresholdV2D, aclnnThreshold, (In, x), (Out, y), (Float, threshold), (Float, value)) {
  call(op, "aclnnThreshold", x, threshold, value, y);
}
IR_OP(ThresholdV2, aclnnThreshold, (In, x), (In, threshold), (OptIn, value), (Out, y)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnThreshold", x, number_of(op, "threshold", threshold.handle),
       value ? number_of(op, "value", value.handle) : 0.0, y);
}
ABOUT(Threshold, Vector, "y = 1 where x > threshold, else 0", "x > threshold 处为 1，其余为 0")
IR_OP(Threshold, Threshold, (In, x), (Out, y), (Float, threshold, 0)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnGtScalar", x, threshold, y);
}
IR_OP(ThresholdedRelu, aclnnThreshold, (In, x), (Out, y), (Float, alpha, 1)) {
  call(op, "aclnnThreshold", x, alpha, 0.0, y);
}

IR_OP(Elu, aclnnElu, (In, x), (Out, y), (Float, alpha, 1), (Float, scale, 1), (Float, input_scale, 1)) {
  call(op, "aclnnElu", x, alpha, scale, input_scale, y);
}
IR_OP(EluGrad, aclnnEluBackward, (In, grads), (In, activations), (Out, y)) {
  call(op, "aclnnEluBackward", grads, 1.0, 1.0, 1.0, true, activations, y);
}
IR_OP(EluGradV2, aclnnEluBackward, (In, grads), (In, activations), (Out, y), (Float, alpha, 1), (Float, scale, 1),
      (Float, input_scale, 1), (Bool, is_result, false)) {
  call(op, "aclnnEluBackward", grads, alpha, scale, input_scale, is_result, activations, y);
}
IR_OP(CeluV2, aclnnCelu, (In, x), (Out, y), (Float, alpha, 1)) { call(op, "aclnnCelu", x, alpha, y); }
ABOUT(Celu, Vector, "y = x where x > 0, else alpha1 (exp(x / alpha2) - 1), times alpha3 where positive",
      "x > 0 处为 alpha3 x，其余为 alpha1 (exp(x / alpha2) - 1)")
IR_OP(Celu, Celu, (In, x), (Out, y), (Float, alpha1, 1), (Float, alpha2, 1), (Float, alpha3, 1)) {
  op.require(alpha1 == alpha2 && alpha3 == 1, "attributes alpha1, alpha2, alpha3 are {}, {}, {}: want equal ones and 1",
             alpha1, alpha2, alpha3);
  call(op, "aclnnCelu", x, alpha1, y);
}
namespace {
constexpr double kSeluAlpha = 1.6732632423543772, kSeluScale = 1.0507009873554805;
}
ABOUT(Selu, Vector, "Scaled exponential linear unit", "SELU 激活函数")
IR_OP(Selu, Selu, (In, x), (Out, y)) { call(op, "aclnnElu", x, kSeluAlpha, kSeluScale, 1.0, y); }
ABOUT(SeluGrad, Vector, "Gradient of Selu from its result", "Selu 的反向梯度，由其结果计算")
IR_OP(SeluGrad, SeluGrad, (In, gradients), (In, outputs), (Out, y)) {
  call(op, "aclnnEluBackward", gradients, kSeluAlpha, kSeluScale, 1.0, true, outputs, y);
}

IR_OP(Softplus, aclnnSoftplus, (In, x), (Out, y)) { call(op, "aclnnSoftplus", x, 1.0, 20.0, y); }
IR_OP(SoftplusV2, aclnnSoftplus, (In, x), (Out, y), (Float, beta, 1), (Float, threshold, 20)) {
  call(op, "aclnnSoftplus", x, beta, threshold, y);
}
IR_OP(SoftplusGrad, aclnnSoftplusBackward, (In, gradients), (In, features), (Out, backprops)) {
  call(op, "aclnnSoftplusBackward", gradients, features, 1.0, 20.0, backprops);
}
IR_OP(SoftplusV2Grad, aclnnSoftplusBackward, (In, input_gradients), (In, input_features), (Out, output_backprops),
      (Float, beta, 1), (Float, threshold, 20)) {
  call(op, "aclnnSoftplusBackward", input_gradients, input_features, beta, threshold, output_backprops);
}
ABOUT(Softsign, Vector, "y = x / (1 + |x|)", "y = x / (1 + |x|)")
IR_OP(Softsign, Softsign, (In, x), (Out, y)) {
  Temp size, more;
  call(op, "aclnnAbs", x, size);
  call(op, "aclnnAdds", *size, 1.0, 1, more);
  call(op, "aclnnDiv", x, *more, y);
}
ABOUT(SoftsignGrad, Vector, "output = gradients / (1 + |features|)^2", "output = gradients / (1 + |features|)^2")
IR_OP(SoftsignGrad, SoftsignGrad, (In, gradients), (In, features), (Out, output)) {
  Temp size, more, square;
  call(op, "aclnnAbs", features, size);
  call(op, "aclnnAdds", *size, 1.0, 1, more);
  call(op, "aclnnMul", *more, *more, square);
  call(op, "aclnnDiv", gradients, *square, output);
}

IR_OP(HardShrink, aclnnHardshrink, (In, input_x), (Out, output_y), (Float, lambd, 0.5)) {
  call(op, "aclnnHardshrink", input_x, lambd, output_y);
}
IR_OP(HardShrinkGrad, aclnnHardshrinkBackward, (In, gradients), (In, features), (Out, backprops), (Float, lambd, 0.5)) {
  call(op, "aclnnHardshrinkBackward", gradients, features, lambd, backprops);
}
IR_OP(SoftShrink, aclnnSoftshrink, (In, input_x), (Out, output_y), (Float, lambd, 0.5)) {
  call(op, "aclnnSoftshrink", input_x, lambd, output_y);
}
IR_OP(SoftShrinkGrad, aclnnSoftshrinkBackward, (In, input_grad), (In, input_x), (Out, output_y), (Float, lambd, 0.5)) {
  call(op, "aclnnSoftshrinkBackward", input_grad, input_x, lambd, output_y);
}

ABOUT(HardSigmoid, Vector, "output_y = alpha input_x + beta, at least 0 and at most 1",
      "output_y = alpha input_x + beta，截断到 [0, 1]")
IR_OP(HardSigmoid, HardSigmoid, (In, input_x), (Out, output_y), (Float, alpha, 0.16666666), (Float, beta, 0.5)) {
  Temp scaled, line;
  call(op, "aclnnMuls", input_x, alpha, scaled);
  call(op, "aclnnAdds", *scaled, beta, 1, line);
  call(op, "aclnnHardtanh", *line, 0.0, 1.0, output_y);
}
ABOUT(HardSigmoidGrad, Vector, "Gradient of HardSigmoid", "HardSigmoid 的反向梯度")
IR_OP(HardSigmoidGrad, HardSigmoidGrad, (In, grads), (In, input_x), (Out, y), (Float, alpha, 0.16666666),
      (Float, beta, 0.5)) {
  Temp scaled, line, through;
  call(op, "aclnnMuls", input_x, alpha, scaled);
  call(op, "aclnnAdds", *scaled, beta, 1, line);
  call(op, "aclnnHardtanhBackward", grads, *line, 0.0, 1.0, through);
  call(op, "aclnnMuls", *through, alpha, y);
}
IR_OP(HardSwishGrad, aclnnHardswishBackward, (In, grad), (In, x), (Out, y)) {
  call(op, "aclnnHardswishBackward", grad, x, y);
}
IR_OP(LogSigmoidGrad, aclnnLogSigmoidBackward, (In, grads), (In, features), (Out, backprops)) {
  call(op, "aclnnLogSigmoidBackward", grads, features, nullptr, backprops);
}
IR_OP(MishGrad, aclnnMishBackward, (In, grad), (In, x), (OptIn, tanhx), (Out, x_grad)) {
  if (tanhx) op.require_same_shape("x", *x, "tanhx", *tanhx);  // what the forward pass found, not needed here
  call(op, "aclnnMishBackward", grad, x, x_grad);
}

IR_OP(PRelu, aclnnPrelu, (In, x), (In, weight), (Out, y)) {
  call(op, "aclnnPrelu", x, ir::reshaped(op, *weight, {weight->numel()}), y);
}
IR_OP(PReluGrad, aclnnPreluBackward, (In, grads), (In, features), (In, weights), (Out, dx), (Out, da)) {
  op.result_like("dx", *dx, *features, features->dtype);
  op.result_like("da", *da, *weights, weights->dtype);
  call(op, "aclnnPreluBackward", grads, features, ir::reshaped(op, *weights, {weights->numel()}), dx,
       ir::reshaped(op, *da, {da->numel()}));
}

IR_OP(GLU, aclnnGlu, (In, x), (Out, y), (Int, dim, -1)) { call(op, "aclnnGlu", x, dim, y); }
IR_OP(GLUGrad, aclnnGluBackward, (In, y_grad), (In, x), (Out, x_grad), (Int, dim, -1)) {
  call(op, "aclnnGluBackward", y_grad, x, dim, x_grad);
}
IR_OP(SwiGlu, aclnnSwiGlu, (In, x), (Out, y), (Int, dim, -1)) { call(op, "aclnnSwiGlu", x, dim, y); }
IR_OP(SwiGluGrad, aclnnSwiGluGrad, (In, y_grad), (In, x), (Out, y), (Int, dim, -1)) {
  call(op, "aclnnSwiGluGrad", y_grad, x, dim, y);
}
IR_OP(GeGluV2, aclnnGeGluV3, (In, x), (Out, y), (Out, gelu), (Int, dim, -1), (Int, approximate, 1),
      (Bool, activate_left, false)) {
  call(op, "aclnnGeGluV3", x, dim, approximate, activate_left, y, gelu);
}

IR_OP(ClippedSwiglu, aclnnClippedSwiglu, (In, x), (OptIn, group_index), (Out, y), (Int, dim, -1),
      (Float, alpha, 1.702f), (Float, limit, 7), (Float, bias, 1), (Bool, interleaved, true)) {
  call(op, "aclnnClippedSwiglu", x, group_index, dim, alpha, limit, bias, interleaved, y);
}

}  // namespace updraft
