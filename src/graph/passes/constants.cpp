// Nodes all of whose inputs are constants are computed now, and become constants.
#include "base/error.h"
#include "graph/passes/pass.h"
#include "graph/shape/known.h"

namespace updraft::graph {
namespace {

/// A result that is this much larger than its inputs would make the model larger for little work: a broadcast, a fill.
constexpr size_t kMostGrowth = 1 << 16;

bool may_fold(const Node& node) {
  if (node.constant() || node.inputs().empty() || node.outputs().empty() || !node.subgraphs.empty()) return false;
  for (const Input& input : node.inputs())
    if (input.from && !input.from.node->constant()) return false;
  return node.control_inputs().empty();
}

}  // namespace

int64_t fold_constants(Graph& graph) {
  int64_t changes = 0;
  for (Node* node : graph.in_order()) {
    if (!may_fold(*node)) continue;
    std::vector<Known> inputs;
    size_t bytes = 0;
    for (const Input& input : node->inputs()) {
      inputs.push_back(input.from ? Known(*input.from.node->constant()) : Known());
      if (input.from) bytes += input.from.node->constant()->data.size();
    }
    std::vector<Known> outputs;
    try {
      // More elements than that are not even computed.
      outputs = infer_node(*node, inputs, static_cast<int64_t>(bytes + kMostGrowth));
    } catch (const Error&) { continue; }  // it is refused when the graph runs, if it ever does
    bool known = true;
    size_t made = 0;
    for (const Known& output : outputs) {
      known = known && output.value;
      made += output.value ? output.value->data.size() : 0;
    }
    if (!known || made > bytes + kMostGrowth) continue;
    for (size_t i = 0; i < outputs.size(); ++i) {
      Node& constant = graph.add_constant(node->name() + (i ? "_" + std::to_string(i) : "") + "_folded",
                                          std::move(*outputs[i].value));
      constant.attributes["OriginOp"] = std::vector<std::string>{node->name()};
      graph.replace(node->out(static_cast<int>(i)), constant.out());
    }
    graph.remove(*node);
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
