// Activations.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

void leaky_relu(Conversion& c) { c.result("LeakyRelu", {c.in(0)}, {{"negative_slope", c.real("alpha", 0.2F)}}); }
void softmax(Conversion& c) { c.result(c.row.ascend, {c.in(0)}, {{"axes", Dims{-1}}}); }

void leaky_relu_gradient(Conversion& c) {
  c.result("LeakyReluGrad", {c.in(0), c.in(1)}, {{"negative_slope", c.real("alpha", 0.2F)}});
}

constexpr Row kRows[] = {
    {"Elu", same, "Elu"},
    {"EluGrad", same, "EluGrad"},
    {"LeakyRelu", leaky_relu, "LeakyRelu"},
    {"LeakyReluGrad", leaky_relu_gradient, "LeakyReluGrad"},
    {"LogSoftmax", softmax, "LogSoftmaxV2"},
    {"Relu", same, "Relu"},
    {"ReluGrad", same, "ReluGrad"},
    {"Relu6", same, "Relu6"},
    {"Relu6Grad", same, "Relu6Grad"},
    {"Selu", same, "Selu"},
    {"SeluGrad", same, "SeluGrad"},
    {"Sigmoid", same, "Sigmoid"},
    {"SigmoidGrad", same, "SigmoidGrad"},
    {"Softmax", softmax, "SoftmaxV2"},
    {"Softplus", same, "Softplus"},
    {"SoftplusGrad", same, "SoftplusGrad"},
    {"Softsign", same, "Softsign"},
    {"SoftsignGrad", same, "SoftsignGrad"},
    {"Tanh", same, "Tanh"},
    {"TanhGrad", same, "TanhGrad"},
};

}  // namespace

std::span<const Row> activation_rows() { return kRows; }

}  // namespace updraft::tensorflow
