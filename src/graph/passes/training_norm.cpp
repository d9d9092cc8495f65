// Batch normalisation in training takes the sum with another tensor and Relu behind it along: they read its result a
// block at a time, while that is in the core's cache.
#include <map>
#include <set>

#include "graph/passes/match.h"
#include "graph/passes/pass.h"

namespace updraft::graph {
namespace {

/// The only node that reads the first output, and waits for nothing else; else null.
Node* reader_of_result(const Node& norm) {
  if (norm.output(0).uses.size() != 1) return nullptr;
  Node* reader = norm.output(0).uses[0].node;
  return reader->control_inputs().empty() ? reader : nullptr;
}

/// What is added to the result; nothing when that is a broadcast, or is not there yet when the norm runs.
Endpoint added(Node& norm, const Node& sum, const std::map<const Node*, size_t>& order) {
  if (sum.type() != "Add" || sum.inputs().size() != 2) return {};
  const Endpoint result = norm.out(0), other = sum.input(sum.input(0).from == result ? 1 : 0).from;
  if (!other || other == result) return {};
  const TensorDesc &a = desc_of(other), &b = norm.output(0).desc;
  if (a.dtype != b.dtype || !a.known() || a.dims != b.dims) return {};
  return order.at(other.node) < order.at(&norm) ? other : Endpoint{};
}

void take(Graph& graph, Node& norm, Node& reader) {
  std::vector<std::string> origins = origins_of(norm);
  origins.push_back(reader.name());
  norm.attributes["OriginOp"] = origins;
  norm.attributes["PassName"] = "BatchNormEltwiseFusionPass";
  graph.replace(reader.out(), norm.out(0));
  graph.move_controls(reader, norm);
  graph.remove(reader);
}

}  // namespace

int64_t fuse_training_norms(Graph& graph) {
  std::map<const Node*, size_t> order;
  const std::vector<Node*> nodes = graph.in_order();
  for (size_t i = 0; i < nodes.size(); ++i) order[nodes[i]] = i;
  int64_t changes = 0;
  std::set<const Node*> gone;
  for (Node* node : nodes) {
    if (gone.contains(node)) continue;
    if (node->type() != "FusedBatchNormTraining" || find_or<bool>(node->attributes, "relu", false)) continue;
    Node* reader = reader_of_result(*node);
    if (reader && !input_of(*node, "add")) {
      if (const Endpoint other = added(*node, *reader, order)) {
        const int place = node->find_input("add");
        if (place >= 0) graph.connect(*node, place, other);
        else graph.add_input(*node, "add", other);
        gone.insert(reader);
        take(graph, *node, *reader);
        reader = reader_of_result(*node);
        ++changes;
      }
    }
    if (reader && reader->type() == "Relu") {
      node->attributes["relu"] = true;
      gone.insert(reader);
      take(graph, *node, *reader);
      ++changes;
    }
  }
  return changes;
}

}  // namespace updraft::graph
