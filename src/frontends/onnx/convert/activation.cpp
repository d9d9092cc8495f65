// Activations.
#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

void elu(Conversion& c) { c.result("Elu", {c.in(0)}, {{"alpha", c.real("alpha", 1)}}); }
void celu(Conversion& c) { c.result("CeluV2", {c.in(0)}, {{"alpha", c.real("alpha", 1)}}); }
void selu(Conversion& c) {
  c.result(
      "Elu", {c.in(0)},
      {{"alpha", c.real("alpha", 1.67326319217681884765625f)}, {"scale", c.real("gamma", 1.05070102214813232421875f)}});
}
void leaky_relu(Conversion& c) { c.result("LeakyRelu", {c.in(0)}, {{"negative_slope", c.real("alpha", 0.01f)}}); }
void thresholded(Conversion& c) { c.result("ThresholdedRelu", {c.in(0)}, {{"alpha", c.real("alpha", 1)}}); }
void hard_sigmoid(Conversion& c) {
  c.result("HardSigmoid", {c.in(0)}, {{"alpha", c.real("alpha", 0.2f)}, {"beta", c.real("beta", 0.5f)}});
}
void swish(Conversion& c) { c.result("Swish", {c.in(0)}, {{"scale", c.real("alpha", 1)}}); }
void gelu(Conversion& c) { c.result("GeluV2", {c.in(0)}, {{"approximate", c.text("approximate", "none")}}); }

void prelu(Conversion& c) {
  const Endpoint x = c.in(0), slope = c.in(1);
  c.result("SelectV2", {c.emit("Less", {x, c.scalar_like(0, x)}), c.mul(x, slope), x});
}

/// x + bias below -lambd, x - bias above lambd, 0 between.
void shrink(Conversion& c) {
  const Endpoint x = c.in(0);
  const double lambd = c.real("lambd", 0.5f), bias = c.real("bias", 0);
  const DType type = c.type(x), wide = is_floating(type) ? type : DType::Float;
  const Endpoint v = c.cast(x, wide), zero = c.scalar(0, wide);
  const Endpoint above = c.emit("SelectV2", {c.emit("Greater", {v, c.scalar(lambd, wide)}), c.add(v, -bias), zero});
  const Endpoint below = c.emit("Less", {v, c.scalar(-lambd, wide)});
  if (wide == type) c.result("SelectV2", {below, c.add(v, bias), above});
  else
    c.result("Cast", {c.emit("SelectV2", {below, c.add(v, bias), above})}, {{"dst_type", static_cast<int64_t>(type)}});
}

/// Along one axis since version 13; before, over all dimensions from the axis on.
void softmax(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t axis = c.integer("axis", c.opset >= 13 ? -1 : 1);
  const bool last = c.opset >= 13 || axis == -1;
  if (last || c.axis(axis, c.rank(x)) == c.rank(x) - 1) {
    c.result(c.row.ascend, {x}, {{"axes", Dims{axis}}});
    return;
  }
  const Endpoint flat = c.emit("Flatten", {x}, {{"axis", c.axis(axis, c.rank(x))}});
  const Endpoint y = c.emit(c.row.ascend, {flat}, {{"axes", Dims{-1}}});
  c.result("Reshape", {y, c.shape(x)});
}

/// 1 at the first largest element, else 0.
void hardmax(Conversion& c) {
  Endpoint x = c.in(0);
  const Endpoint whole = x;
  int64_t axis = c.integer("axis", c.opset >= 13 ? -1 : 1);
  const bool flat = c.opset < 13 && c.axis(axis, c.rank(x)) != c.rank(x) - 1;
  if (flat) {
    x = c.emit("Flatten", {x}, {{"axis", axis}});
    axis = -1;
  }
  axis = c.axis(axis, c.rank(x));
  const DType type = c.type(x);
  const Endpoint at = c.emit("ArgMaxD", {x}, {{"dimension", axis}, {"dtype", DType::Int64}});
  const Endpoint depth = c.gather(c.shape(x), c.integer_scalar(axis), 0);
  const std::vector<Operand> operands = {at, depth, c.scalar(1, type), c.scalar(0, type)};
  if (!flat) c.result("OneHot", operands, {{"axis", axis}});
  else c.result("Reshape", {c.emit("OneHot", operands, {{"axis", axis}}), c.shape(whole)});
}

constexpr Row kRows[] = {
    {"Celu", 12, celu, "CeluV2"},
    {"Elu", 6, elu, "Elu"},
    {"Gelu", 20, gelu, "GeluV2"},
    {"HardSigmoid", 6, hard_sigmoid, "HardSigmoid"},
    {"HardSwish", 14, same, "HardSwish"},
    {"Hardmax", 1, hardmax, "ArgMaxD, OneHot"},
    {"LeakyRelu", 6, leaky_relu, "LeakyRelu"},
    {"LogSoftmax", 1, softmax, "LogSoftmaxV2"},
    {"Mish", 18, same, "Mish"},
    {"PRelu", 7, prelu, "Less, Mul, SelectV2"},
    {"Relu", 6, same, "Relu"},
    {"Selu", 6, selu, "Elu"},
    {"Shrink", 9, shrink, "Greater, Less, SelectV2"},
    {"Sigmoid", 6, same, "Sigmoid"},
    {"Softmax", 1, softmax, "SoftmaxV2"},
    {"Softplus", 1, same, "Softplus"},
    {"Softsign", 1, same, "Softsign"},
    {"Swish", 24, swish, "Swish"},
    {"Tanh", 6, same, "Tanh"},
    {"ThresholdedRelu", 10, thresholded, "ThresholdedRelu"},
};

}  // namespace

std::span<const Row> activation_rows() { return kRows; }

}  // namespace updraft::onnx
