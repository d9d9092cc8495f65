// Activations, and functions of one element with parameters.
#include <cmath>

#include "frontends/caffe/convert/families.h"

namespace updraft::caffe {
namespace {

void relu(Conversion& c) {
  c.param.ignore("engine");
  const double slope = c.param.real("negative_slope", 0);
  if (slope == 0) c.result("Relu", {c.in(0)});
  else c.result("LeakyRelu", {c.in(0)}, {{"negative_slope", static_cast<float>(slope)}});
}

/// A slope for each channel, or one for all.
void prelu(Conversion& c) {
  const Endpoint x = c.in(0);
  c.param.ignore("filler");
  c.require(c.rank(x) >= 2, "bottom is {}, want channels", describe(c.desc(x)));
  const int64_t slopes = c.param.flag("channel_shared", false) ? 1 : c.size(x, 1, "the bottom");
  c.result("PRelu", {x, c.blob(0, {slopes}, "slope")});
}

void elu(Conversion& c) { c.result("Elu", {c.in(0)}, {{"alpha", static_cast<float>(c.param.real("alpha", 1))}}); }

void squash(Conversion& c) {
  c.param.ignore("engine");
  c.result(c.row.ascend, {c.in(0)});
}

void swish(Conversion& c) { c.result("Swish", {c.in(0)}, {{"scale", static_cast<float>(c.param.real("beta", 1))}}); }

void clip(Conversion& c) {
  const Endpoint x = c.in(0);
  const double low = c.param.real("min"), high = c.param.real("max");
  c.require(low <= high, "clip_param.min is {} and max {}", low, high);
  c.result("ClipByValueV2", {x, c.scalar_like(low, x), c.scalar_like(high, x)});
}

void threshold(Conversion& c) {
  c.result("Threshold", {c.in(0)}, {{"threshold", static_cast<float>(c.param.real("threshold", 0))}});
}

Attributes affine(Conversion& c, const char* first, double other) {
  return {{first, static_cast<float>(c.param.real(first, other))},
          {"scale", static_cast<float>(c.param.real("scale", 1))},
          {"shift", static_cast<float>(c.param.real("shift", 0))}};
}
void power(Conversion& c) { c.result("Power", {c.in(0)}, affine(c, "power", 1)); }
void logarithm_or_power(Conversion& c) {
  const double base = c.param.real("base", -1);
  c.require(base == -1 || base > 0, "{}.base is {}, want -1 (e) or a positive number", c.row.param, base);
  c.result(c.row.ascend, {c.in(0)}, affine(c, "base", -1));
}

constexpr Row kRows[] = {
    {"AbsVal", same, "", "Abs"},
    {"BNLL", same, "", "Softplus"},
    {"Clip", clip, "clip_param", "ClipByValueV2"},
    {"ELU", elu, "elu_param", "Elu"},
    {"Exp", logarithm_or_power, "exp_param", "Exp"},
    {"Log", logarithm_or_power, "log_param", "Log"},
    {"PReLU", prelu, "prelu_param", "PRelu"},
    {"Power", power, "power_param", "Power"},
    {"ReLU", relu, "relu_param", "Relu, LeakyRelu"},
    {"ReLU6", same, "", "Relu6"},
    {"Sigmoid", squash, "sigmoid_param", "Sigmoid"},
    {"Swish", swish, "swish_param", "Swish"},
    {"TanH", squash, "tanh_param", "Tanh"},
    {"Threshold", threshold, "threshold_param", "Threshold"},
};

}  // namespace

std::span<const Row> activation_rows() { return kRows; }

}  // namespace updraft::caffe
