// Random numbers, and windows of signals.
#include <cmath>
#include <cstring>
#include <numbers>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

/// 0: another one for each run.
int64_t seed_of(Conversion& c) {
  if (!c.has("seed")) return 0;
  const float seed = c.real("seed");
  uint32_t bits;
  std::memcpy(&bits, &seed, sizeof bits);
  return static_cast<int64_t>(bits) + 1;
}

void drawn(Conversion& c, const char* type, Endpoint shape, DType dtype, double scale, double offset) {
  c.require(is_floating(dtype), "attribute dtype is {}, want a floating type", updraft::name_of(dtype));
  const Endpoint y = c.emit(type, {shape}, {{"dtype", static_cast<int64_t>(dtype)}, {"seed", seed_of(c)}});
  c.result("Add", {c.mul(y, scale), c.scalar(offset, dtype)});
}
void normal(Conversion& c, Endpoint shape, DType type) {
  drawn(c, "RandomStandardNormal", shape, type, c.real("scale", 1), c.real("mean", 0));
}
void uniform(Conversion& c, Endpoint shape, DType type) {
  const double low = c.real("low", 0), high = c.real("high", 1);
  drawn(c, "RandomUniform", shape, type, high - low, low);
}
void random_normal(Conversion& c) { normal(c, c.ints(c.integers("shape")), c.element_type("dtype", DType::Float)); }
void random_uniform(Conversion& c) { uniform(c, c.ints(c.integers("shape")), c.element_type("dtype", DType::Float)); }
void normal_like(Conversion& c) { normal(c, c.shape(c.in(0)), c.element_type("dtype", c.type(c.in(0)))); }
void uniform_like(Conversion& c) { uniform(c, c.shape(c.in(0)), c.element_type("dtype", c.type(c.in(0)))); }

void bernoulli(Conversion& c) {
  const Endpoint p = c.in(0);
  const DType type = c.type(p), to = c.element_type("dtype", type);
  const Endpoint draw =
      c.emit("RandomUniform", {c.shape(p)}, {{"dtype", static_cast<int64_t>(type)}, {"seed", seed_of(c)}});
  const Endpoint on = c.emit("Less", {draw, p});
  if (to == DType::Bool) c.give(0, on);
  else c.result("Cast", {on}, {{"dst_type", static_cast<int64_t>(to)}});
}

void multinomial(Conversion& c) {
  const Endpoint weights = c.emit("Exp", {c.in(0)});  // the input has logarithms
  const DType to = c.element_type("dtype", DType::Int32);
  const Endpoint y = c.emit("MultinomialWithReplacement", {weights, c.integer_scalar(seed_of(c)), c.integer_scalar(0)},
                            {{"numsamples", c.integer("sample_size", 1)}, {"replacement", true}});
  if (to == DType::Int64) c.give(0, y);
  else c.result("Cast", {y}, {{"dst_type", static_cast<int64_t>(to)}});
}

/// a0 - a1 cos(2 pi n / N) + a2 cos(4 pi n / N)
void window(Conversion& c, double a0, double a1, double a2) {
  const Endpoint size = c.in(0);
  const DType to = c.element_type("output_datatype", DType::Float);
  const bool periodic = c.flag("periodic", true);
  const Endpoint length = c.reshape(c.cast(size, DType::Int64), Dims{});
  const Endpoint n = c.cast(c.emit("Range", {c.integer_scalar(0), length, c.integer_scalar(1)}), DType::Double);
  Endpoint all = c.cast(length, DType::Double);
  if (!periodic) all = c.add(all, -1);
  const Endpoint angle = c.emit("RealDiv", {c.mul(n, 2 * std::numbers::pi), all});
  Endpoint y = c.add(c.mul(c.emit("Cos", {angle}), -a1), a0);
  if (a2 != 0) y = c.add(y, c.mul(c.emit("Cos", {c.mul(angle, 2)}), a2));
  c.result("Cast", {y}, {{"dst_type", static_cast<int64_t>(to)}});
}
void hann(Conversion& c) { window(c, 0.5, 0.5, 0); }
void hamming(Conversion& c) { window(c, 25.0 / 46, 21.0 / 46, 0); }
void blackman(Conversion& c) { window(c, 0.42, 0.5, 0.08); }

constexpr Row kRows[] = {
    {"Bernoulli", 15, bernoulli, "RandomUniform, Less"},
    {"BlackmanWindow", 17, blackman, "Range, Cos"},
    {"HammingWindow", 17, hamming, "Range, Cos"},
    {"HannWindow", 17, hann, "Range, Cos"},
    {"Multinomial", 7, multinomial, "MultinomialWithReplacement"},
    {"RandomNormal", 1, random_normal, "RandomStandardNormal"},
    {"RandomNormalLike", 1, normal_like, "RandomStandardNormal"},
    {"RandomUniform", 1, random_uniform, "RandomUniform"},
    {"RandomUniformLike", 1, uniform_like, "RandomUniform"},
};

}  // namespace

std::span<const Row> random_rows() { return kRows; }

}  // namespace updraft::onnx
