// What some products apply to their results, by the numbers and names that clients give.
#pragma once
#include <cmath>
#include <string_view>

#include "ops/op.h"

namespace updraft {

enum class Activation : uint8_t { None, Relu, GeluTanh, Gelu, FastGelu, Silu };

inline Activation activation_of(const Op& op, int64_t number) {
  op.require(number >= 0 && number <= 5, "actType is {}, want 0 to 5", number);
  return static_cast<Activation>(number);
}
inline Activation activation_of(const Op& op, std::string_view name) {
  if (name == "relu") return Activation::Relu;
  if (name == "gelu") return Activation::Gelu;
  if (name == "fastgelu") return Activation::FastGelu;
  op.require(name == "silu", "activation is \"{}\", want \"relu\", \"gelu\", \"fastgelu\" or \"silu\"", name);
  return Activation::Silu;
}

inline float activated(float x, Activation a) {
  switch (a) {
    case Activation::None: break;
    case Activation::Relu: return x > 0 ? x : 0;
    case Activation::GeluTanh: return 0.5f * x * (1 + std::tanh(0.79788456f * (x + 0.044715f * x * x * x)));
    case Activation::Gelu: return 0.5f * x * (1 + std::erf(x * 0.70710678f));
    case Activation::FastGelu: return x / (1 + std::exp(-1.702f * x));
    case Activation::Silu: return x / (1 + std::exp(-x));
  }
  return x;
}

}  // namespace updraft
