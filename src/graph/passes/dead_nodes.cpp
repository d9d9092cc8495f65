// Nodes that no output needs go. Inputs of the graph stay: clients count them.
#include <unordered_set>

#include "graph/passes/pass.h"

namespace updraft::graph {

int64_t remove_dead_nodes(Graph& graph) {
  const auto needed = graph.needed_in_order();
  const std::unordered_set<const Node*> kept(needed.begin(), needed.end());
  std::vector<Node*> dead;
  const auto order = graph.in_order();
  for (auto node = order.rbegin(); node != order.rend(); ++node)
    if (!kept.contains(*node) && !(*node)->is_data()) dead.push_back(*node);
  for (Node* node : dead) graph.remove(*node);
  return static_cast<int64_t>(dead.size());
}

}  // namespace updraft::graph
