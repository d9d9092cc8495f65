// Nodes that pass a tensor on as it is: Identity, casts to the type and reshapes to the sizes that the tensor has, and
// products with one.
#include <algorithm>

#include "graph/node_call.h"
#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

/// x times a constant one of its type: what TorchAir makes of addmm's alpha.
bool times_one(const Node& node) {
  if (node.inputs().size() != 2) return false;
  const Endpoint from = node.input(0).from;
  const Tensor* factor = constant_at(node.input(1).from);
  if (!from || !factor || factor->count() != 1 || !factor->dims.empty() || !is_floating(factor->dtype)) return false;
  const TensorDesc &x = from.node->output(from.index).desc, &y = node.output().desc;
  return factor->reals()[0] == 1 && x.dtype == factor->dtype && y.dtype == x.dtype;
}

/// A reshape or a broadcast to the sizes that the tensor has.
bool same_sizes(const Node& node) {
  static constexpr std::string_view kTypes[] = {"Reshape", "Expand", "ExpandD", "BroadcastTo", "BroadcastToD"};
  const TensorDesc &x = node.input(0).from.node->output(node.input(0).from.index).desc, &y = node.output().desc;
  return std::ranges::count(kTypes, std::string_view(node.type())) && x.known() && x.dtype == y.dtype &&
         x.dims == y.dims;
}

bool changes_nothing(const Node& node) {
  if (node.inputs().empty() || !node.input(0).from || node.outputs().size() != 1) return false;
  if (node.type() == "Identity" || node.type() == "StopGradient" || node.type() == "GuaranteeConst") return true;
  const Endpoint from = node.input(0).from;
  if (node.type() == "Mul") return times_one(node);
  if (same_sizes(node)) return true;
  return node.type() == "Cast" && from.node->output(from.index).desc.dtype == node.output().desc.dtype &&
         node.output().desc.dtype != DType::Undefined;
}

}  // namespace

int64_t remove_identities(Graph& graph) {
  int64_t changes = 0;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    if (!changes_nothing(node)) continue;
    const Endpoint from = node.input(0).from;
    if (is_written(from)) continue;
    // What ran before the node runs before those that read it; before its input it need not, and sometimes cannot.
    std::vector<Node*> after = node.control_outputs();
    for (Node* next : after) graph.add_control(*from.node, *next);
    for (const Use& use : node.output().uses) after.push_back(use.node);
    for (Node* before : node.control_inputs())
      for (Node* next : after) graph.add_control(*before, *next);
    graph.replace(node.out(), from);
    graph.remove(node);
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
