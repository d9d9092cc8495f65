// Weights and biases below the range of normal floats become zero. Pruned and long trained networks have whole channels
// of them; a CPU takes a hundred times as long for a product with such a number, and the result differs by less than
// 1e-37 times the other factor. Half precision, a card's default for models, has no such numbers either.
#include <algorithm>
#include <cmath>

#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

bool multiplies(const Node& node) {
  static constexpr std::string_view kTypes[] = {"BatchMatMul", "BatchMatMulV2", "Conv2D", "Conv2DTranspose", "Conv3D",
                                                "FusedConv2D", "GEMM",          "MatMul", "MatMulV2"};
  return std::ranges::find(kTypes, std::string_view(node.type())) != std::end(kTypes);
}

bool is_subnormal(float v) { return std::fpclassify(v) == FP_SUBNORMAL; }

}  // namespace

int64_t flush_subnormals(Graph& graph) {
  int64_t changes = 0;
  for (Node* node : graph.in_order()) {
    if (!multiplies(*node)) continue;
    for (int i = 0; i < static_cast<int>(node->inputs().size()); ++i) {
      const Endpoint from = node->input(i).from;
      const Tensor* constant = constant_at(from);
      if (!constant || constant->dtype != DType::Float) continue;
      const auto count = static_cast<size_t>(constant->count());
      if (constant->data.size() < count * sizeof(float)) continue;  // in a file of its own
      const float* values = constant->as<float>();
      if (std::none_of(values, values + count, is_subnormal)) continue;
      std::vector<float> flushed(values, values + count);
      for (float& v : flushed)
        if (is_subnormal(v)) v = std::copysign(0.0f, v);
      Tensor tensor = *constant;
      tensor.data = Tensor::of(flushed).data;
      Node& made = graph.add_constant(from.node->name() + "_normal", std::move(tensor));
      made.attributes["OriginOp"] = std::vector<std::string>{from.node->name()};
      graph.connect(*node, i, made.out());
      ++changes;
    }
  }
  return changes;
}

}  // namespace updraft::graph
