#include "ge/torchair.h"

#include <vector>

namespace ge {
namespace {

namespace ir = updraft::graph;

constexpr int kRunningMean = 1, kRunningVariance = 2, kBatchMean = 3, kBatchDeviation = 4;  // outputs of BatchNormV3

ir::Endpoint add(ir::Graph& graph, const std::string& name, const char* type, ir::Endpoint a, ir::Endpoint b = {}) {
  ir::Node& node = graph.add(type, name);
  graph.add_input(node, b ? "x1" : "x", a);
  if (b) graph.add_input(node, "x2", b);
  graph.add_output(node, "y");
  return node.out();
}

/// The variance of the batch, from the inverse of its deviation.
ir::Endpoint variance(ir::Graph& graph, ir::Node& norm) {
  const ir::Endpoint inverse = norm.out(kBatchDeviation);
  const float epsilon = ir::find_or(norm.attributes, "epsilon", 1e-5F);
  const ir::Endpoint sum = add(graph, norm.name() + "_variance_sum", "Reciprocal",
                               add(graph, norm.name() + "_square", "Mul", inverse, inverse));
  ir::Node& constant = graph.add_constant(norm.name() + "_epsilon", ir::Tensor::of(std::vector<float>{epsilon}));
  return add(graph, norm.name() + "_variance", "Sub", sum, constant.out());
}

}  // namespace

void adapt_torchair(ir::Model& model) {
  if (!model.graph->attributes.contains("_executor_type")) return;  // TorchAir alone writes it
  std::vector<std::string> norms;
  for (const auto& node : model.graph->nodes())
    if (node->type() == "BatchNormV3" && node->outputs().size() == 5 &&
        ir::find_or(node->attributes, "is_training", true))
      norms.push_back(node->name());
  if (norms.empty()) return;
  model.graph = ir::copy(*model.graph);
  ir::Graph& graph = *model.graph;
  for (const std::string& name : norms) {
    ir::Node& norm = *graph.find(name);
    std::vector<ir::Use> uses[5];
    for (int i = kRunningMean; i <= kBatchDeviation; ++i) uses[i] = norm.output(i).uses;
    const auto give = [&](int output, ir::Endpoint to) {
      for (const ir::Use& use : uses[output]) graph.connect(*use.node, use.index, to);
    };
    give(kRunningMean, norm.out(kBatchMean));
    if (!uses[kRunningVariance].empty()) give(kRunningVariance, variance(graph, norm));
    give(kBatchMean, norm.out(kRunningMean));
    give(kBatchDeviation, norm.out(kRunningVariance));
  }
}

}  // namespace ge
