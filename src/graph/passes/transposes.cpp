// Transposes behind each other are one, or none.
#include <algorithm>

#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {

int64_t cancel_transposes(Graph& graph) {
  int64_t changes = 0;
  for (Node* outer : graph.in_order()) {
    const auto second = order_of(*outer);
    const Endpoint between = second ? outer->input(0).from : Endpoint{};
    if (!between || !between.node->control_inputs().empty() || !outer->control_inputs().empty()) continue;
    const auto first = order_of(*between.node);
    if (!first || first->size() != second->size() || is_written(between.node->input(0).from)) continue;
    const Endpoint from = between.node->input(0).from;
    Dims both;
    for (int64_t d : *second) both.push_back((*first)[static_cast<size_t>(d)]);
    if (std::ranges::is_sorted(both)) {
      graph.replace(outer->out(), from);
      graph.move_controls(*outer, *from.node);
      graph.remove(*outer);
    } else if (between.node->output().uses.size() == 1) {
      Node& made = graph.add("Transpose", outer->name());
      graph.add_input(made, "x", from);
      graph.add_input(made, "perm", graph.add_constant(outer->name() + "_perm", Tensor::of(both)).out());
      graph.add_output(made, "y", outer->output().desc);
      Node* const nodes[] = {between.node, outer};
      take_place(graph, made, nodes, "TransposeRemovePass");
    } else {
      continue;
    }
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
