// Weights and biases below the range of normal floats become zero. Pruned and long trained networks have whole channels
// of them; a CPU takes a hundred times as long for a product with such a number, and the result differs by less than
// 1e-37 times the other factor. Half precision, a card's default for models, has no such numbers either.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>

#include "base/parallel.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

bool multiplies(const Node& node) {
  static constexpr std::string_view kTypes[] = {"BatchMatMul", "BatchMatMulV2", "Conv2D", "Conv2DTranspose",
                                                "Conv3D",      "FusedConv2D",   "GEMM",   "MatMul",
                                                "MatMulV2",    "FusedMatMul"};
  return std::ranges::find(kTypes, std::string_view(node.type())) != std::end(kTypes);
}

/// Without a branch, so that loops over it are done several at a time: neither zero nor normal, whatever the sign.
bool is_subnormal(float v) { return (std::bit_cast<uint32_t>(v) << 1) - 1 < 0x00ffffff; }

bool has_subnormals(const float* values, size_t count) {
  constexpr size_t kBlock = 1024;
  constexpr int64_t kBlocks = 256;  // that are worth a thread
  std::atomic<bool> found{false};
  parallel_for(static_cast<int64_t>(count / kBlock), kBlocks, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end && !found.load(std::memory_order_relaxed); ++b) {
      const float* const block = values + static_cast<size_t>(b) * kBlock;
      uint32_t any = 0;
      for (size_t i = 0; i < kBlock; ++i) any |= is_subnormal(block[i]);
      if (any) found.store(true, std::memory_order_relaxed);
    }
  });
  return found || std::any_of(values + count / kBlock * kBlock, values + count, is_subnormal);
}

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
      if (!has_subnormals(values, count)) continue;
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
