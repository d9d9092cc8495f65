// A product that somebody wants transposed is the product of its operands the other way round, which reads them as they
// lie: gradients of weights come so.
#include <algorithm>
#include <unordered_set>

#include "graph/passes/match.h"
#include "graph/passes/pass.h"
#include "graph/planner/program.h"

namespace updraft::graph {
namespace {

/// It changes the places of the last two dimensions alone.
bool swaps_last(const Dims& order) {
  const auto rank = static_cast<int64_t>(order.size());
  if (rank < 2) return false;
  for (int64_t d = 0; d + 2 < rank; ++d)
    if (order[static_cast<size_t>(d)] != d) return false;
  return order[static_cast<size_t>(rank - 1)] == rank - 2;
}

/// Products and attention read a transposed tensor as fast: there is nothing to gain.
bool takes_views(const Use& use) {
  return use.node->type() != "Cast" && reads_transposed(*use.node, static_cast<size_t>(use.index));
}

}  // namespace

int64_t swap_transposed_products(Graph& graph) {
  int64_t changes = 0;
  std::unordered_set<const Node*> gone;
  for (Node* product : graph.in_order()) {
    if (gone.contains(product)) continue;
    const auto flags = product_flags(*product);
    Node* const transpose = flags ? only_reader(*product) : nullptr;
    if (!transpose || !product->control_inputs().empty() || !transpose->control_inputs().empty()) continue;
    const auto order = order_of(*transpose);
    if (!order || !swaps_last(*order)) continue;
    const auto& uses = transpose->output().uses;
    if (uses.empty() || std::ranges::all_of(uses, takes_views)) continue;
    if (constant_at(product->input(1).from)) continue;  // a weight is prepared as the second operand
    Node& made = graph.add(product->type(), transpose->name());
    made.attributes = product->attributes;
    made.attributes[flags->first] = !find_or(product->attributes, flags->second, false);
    made.attributes[flags->second] = !find_or(product->attributes, flags->first, false);
    for (int i = 0; i < static_cast<int>(product->inputs().size()); ++i)
      graph.add_input(made, product->input(i).name, i < 2 ? product->input(1 - i).from : Endpoint{});
    graph.add_output(made, "y", transpose->output().desc);
    Node* const both[] = {product, transpose};
    const auto removed = take_place(graph, made, both, "TransposeMatMulFusionPass");
    gone.insert(removed.begin(), removed.end());
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
