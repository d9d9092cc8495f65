// Graphs that several tests compile.
#pragma once
#include <cmath>
#include <vector>

#include "graph/builder.h"

namespace updraft::graph {

/// y = x * sigmoid(x) @ w, in nodes that FunctionFusionPass makes one Swish of. x is [4, n], w [n, 3].
inline Model small_model(int64_t n = 8, float first = 1.0F) {
  Model model;
  model.name = "small";
  model.graph = std::make_shared<Graph>("small");
  Builder build(*model.graph);
  const Endpoint x = build.input("x", 0, {DType::Float, {4, n}});
  std::vector<float> values(static_cast<size_t>(n) * 3);
  for (size_t i = 0; i < values.size(); ++i) values[i] = first + 0.25F * static_cast<float>(i % 7);
  Tensor weight;
  weight.dtype = DType::Float;
  weight.dims = {n, 3};
  weight.data = Bytes::copy_of(values.data(), values.size() * sizeof(float));
  const Endpoint w = build.constant("w", weight);
  const Endpoint sigmoid = build("Sigmoid", "gate", {x});
  const Endpoint swish = build("Mul", "swish", {x, sigmoid});
  const Endpoint y = build("MatMulV2", "product", {swish, w});
  build.outputs({y});
  return model;
}

/// What it gives for x, computed in double.
inline std::vector<float> small_result(const std::vector<float>& x, int64_t n = 8, float first = 1.0F) {
  std::vector<float> y(12);
  for (size_t row = 0; row < 4; ++row)
    for (size_t column = 0; column < 3; ++column) {
      double sum = 0;
      for (size_t k = 0; k < static_cast<size_t>(n); ++k) {
        const double v = x[row * static_cast<size_t>(n) + k];
        sum += v / (1 + std::exp(-v)) * (first + 0.25 * static_cast<double>((k * 3 + column) % 7));
      }
      y[row * 3 + column] = static_cast<float>(sum);
    }
  return y;
}

}  // namespace updraft::graph
