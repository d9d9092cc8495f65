// Nodes that pass a tensor on as it is: Identity, and casts to the type that the tensor has.
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

bool changes_nothing(const Node& node) {
  if (node.inputs().empty() || !node.input(0).from || node.outputs().size() != 1) return false;
  if (node.type() == "Identity" || node.type() == "StopGradient" || node.type() == "GuaranteeConst") return true;
  const Endpoint from = node.input(0).from;
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
    graph.replace(node.out(), from);
    graph.move_controls(node, *from.node);
    graph.remove(node);
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
