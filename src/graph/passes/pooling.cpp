// Maxima of windows: their places where nobody reads them (a graph for inference has them from a framework that
// computes both), and their gradients.
#include <algorithm>

#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

/// An attribute of MaxPoolWithArgmaxV1, which has 1, height, width, 1; nothing where it has another number of values.
const Attribute::Integers* window_attribute(const Node& node, const char* name) {
  const auto* values = find<Attribute::Integers>(node.attributes, name);
  return values && values->size() == 4 ? values : nullptr;
}

}  // namespace

int64_t drop_places(Graph& graph) {
  int64_t changes = 0;
  for (auto it = graph.nodes().begin(); it != graph.nodes().end();) {
    Node& node = **it++;
    if (node.type() != "MaxPoolWithArgmaxV1" || node.outputs().size() != 2 || !node.output(1).uses.empty()) continue;
    const auto *size = window_attribute(node, "ksize"), *steps = window_attribute(node, "strides"),
               *pads = window_attribute(node, "pads");
    const auto* dilation = find<Attribute::Integers>(node.attributes, "dilation");
    if (!size || !steps || !pads || (dilation && std::ranges::any_of(*dilation, [](int64_t d) { return d != 1; })))
      continue;
    Node& pool = graph.add("MaxPoolV3", node.name());
    pool.attributes["ksize"] = Attribute::Integers{1, 1, (*size)[1], (*size)[2]};
    pool.attributes["strides"] = Attribute::Integers{1, 1, (*steps)[1], (*steps)[2]};
    pool.attributes["pads"] = Attribute::Integers{(*pads)[1], (*pads)[1], (*pads)[2], (*pads)[2]};
    pool.attributes["ceil_mode"] = find_or<bool>(node.attributes, "ceil_mode", false);
    pool.attributes["OriginOp"] = std::vector<std::string>{node.name()};
    pool.attributes["PassName"] = "MaxPoolPlacesRemovePass";
    graph.add_input(pool, "x", node.input(0).from);
    graph.add_output(pool, "y", node.output().desc);
    graph.replace(node.out(), pool.out());
    graph.move_controls(node, pool);
    graph.remove(node);
    ++changes;
  }
  return changes;
}

/// A gradient passes the maxima, then the Relu before them. It flows where x equals y alone, so Relu may as well look
/// at the maxima, of which there are fewer.
int64_t move_relu_gradients(Graph& graph) {
  int64_t changes = 0;
  for (Node* node : graph.in_order()) {
    if (node->type() != "MaxPoolV3Grad" || node->inputs().size() != 3) continue;
    Node* relu = only_reader(*node, "ReluGrad");
    if (!relu || relu->input(0).from.node != node || relu->input(1).from != node->input(0).from) continue;
    const Endpoint y = node->input(1).from, grad = node->input(2).from;
    if (!desc_of(y).known() || desc_of(y).dims != desc_of(grad).dims || desc_of(y).dtype != desc_of(grad).dtype)
      continue;
    Node& moved = graph.add("ReluGrad", relu->name());
    moved.attributes["OriginOp"] = origins_of(*relu);
    moved.attributes["PassName"] = "PoolReluGradPass";
    graph.add_input(moved, "gradients", grad);
    graph.add_input(moved, "features", y);
    graph.add_output(moved, "backprops", desc_of(grad));
    graph.connect(*node, 2, moved.out());
    graph.replace(relu->out(), node->out());
    graph.move_controls(*relu, *node);
    graph.remove(*relu);
    ++changes;
  }
  return changes;
}

}  // namespace updraft::graph
