// Activations.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

void leaky_relu(Conversion& c) { c.result("LeakyRelu", {c.in(0)}, {{"negative_slope", c.real("alpha", 0.2F)}}); }
void softmax(Conversion& c) { c.result(c.row.ascend, {c.in(0)}, {{"axes", Dims{-1}}}); }

constexpr Row kRows[] = {
    {"Elu", same, "Elu"},
    {"LeakyRelu", leaky_relu, "LeakyRelu"},
    {"LogSoftmax", softmax, "LogSoftmaxV2"},
    {"Relu", same, "Relu"},
    {"Relu6", same, "Relu6"},
    {"Selu", same, "Selu"},
    {"Sigmoid", same, "Sigmoid"},
    {"Softmax", softmax, "SoftmaxV2"},
    {"Softplus", same, "Softplus"},
    {"Softsign", same, "Softsign"},
    {"Tanh", same, "Tanh"},
};

}  // namespace

std::span<const Row> activation_rows() { return kRows; }

}  // namespace updraft::tensorflow
