#include "graph/executor/outline.h"

#include <algorithm>

#include "base/error.h"
#include "graph/shape/probe.h"

namespace updraft::graph {
namespace {

std::vector<Known> sizes_of(const std::vector<const Node*>& inputs, const std::vector<Dims>& shapes) {
  std::vector<Known> sizes;
  for (size_t i = 0; i < inputs.size(); ++i) sizes.emplace_back(inputs[i]->output().desc.dtype, shapes[i]);
  return sizes;
}

std::vector<TensorDesc> descriptions(const std::vector<Known>& outputs) {
  std::vector<TensorDesc> descs;
  for (const Known& k : outputs) descs.emplace_back(k.dtype, *k.dims);
  return descs;
}

void plan_gears(const Graph& graph, Gears gears, const std::vector<size_t>& late, Outline& made) {
  made.gears = std::make_shared<GearTable>();
  made.gears->gears = std::move(gears);
  for (size_t g = 0; g < made.gears->gears.values.size(); ++g) {
    const std::vector<Dims>& shapes = made.gears->inputs.emplace_back(gear_shapes(graph, made.gears->gears, g));
    auto program = plan(graph, sizes_of(made.inputs, shapes), late);
    std::vector<TensorDesc>& outputs = made.gears->outputs.emplace_back();
    if (!program) {  // values decide: what the graph says of them is all
      for (const Input& input : graph.net_output()->inputs())
        outputs.push_back(input.from.node->output(input.from.index).desc);
      continue;
    }
    outputs = descriptions(program->outputs);
    made.work_bytes = std::max(made.work_bytes, program->most_bytes());
    made.programs.push_back({shapes, std::make_shared<Program>(std::move(*program))});
  }
}

}  // namespace

Outline outline(const Graph& graph, const std::vector<size_t>& late) {
  Outline made;
  for (const Node* node : graph.inputs()) made.inputs.push_back(node);
  const Node* end = graph.net_output();
  if (!end) throw Error(code::kAclnnParamInvalid, "graph {} has no outputs", graph.name());
  if (std::ranges::all_of(made.inputs, [](const Node* node) { return node->output().desc.known(); })) {
    Outline::Planned only;
    for (const Node* node : made.inputs) only.dims.push_back(node->output().desc.dims);
    if (auto program = plan(graph, sizes_of(made.inputs, only.dims), late)) {
      only.program = std::make_shared<Program>(std::move(*program));
      made.is_static = true;
      made.work_bytes = only.program->most_bytes();
      made.outputs = descriptions(only.program->outputs);
    }
    made.programs.push_back(std::move(only));
  }
  if (auto gears = gears_of(graph)) plan_gears(graph, std::move(*gears), late, made);
  if (!made.outputs.empty() || end->inputs().empty()) return made;
  const auto copied = copy(graph);
  infer_all(*copied);
  for (const Input& input : copied->net_output()->inputs())
    made.outputs.push_back(input.from.node->output(input.from.index).desc);
  return made;
}

size_t aligned_weight(size_t bytes) {
  constexpr size_t kAlign = 64;
  return (bytes + kAlign - 1) / kAlign * kAlign;
}

size_t weight_bytes(const Model& model) {
  size_t sum = 0;
  for (const Graph* graph : model.graphs())
    for (const auto& node : graph->nodes())
      if (const Tensor* constant = node->constant())
        sum += aligned_weight(static_cast<size_t>(constant->count()) * size_of(constant->dtype));
  return sum;
}

}  // namespace updraft::graph
