// Maxima whose places nobody reads: a graph for inference has them from a framework that computes both.
#include <algorithm>

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

}  // namespace updraft::graph
