// TensorFlow's frozen graphs become graphs of the Ascend IR.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/graph.h"

namespace updraft::tensorflow {

struct ImportOptions {
  /// By the name of a placeholder: its shape instead of what the graph says; {} is a scalar.
  std::map<std::string, graph::Dims> input_shapes;
  /// Smallest and largest sizes of the dimensions of an input (-1: no upper bound).
  std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> input_ranges;
  /// What the graph gives: "node" or "node:index". Empty: the nodes that no other node reads.
  std::vector<std::string> output_nodes;
};

/// The graph of a GraphDef whose variables are constants (`.pb`). Data nodes have the names of the placeholders, in the
/// order of the graph; the graph's attribute "output_names" is a list with "node:index" of the outputs. Only nodes that
/// the outputs need are converted. Constants share the bytes of the message. Throws 161002 with the node's name, its
/// operator and the reason.
graph::Model import(graph::Bytes model, const ImportOptions& options = {});

/// True when the bytes begin like a GraphDef.
bool looks_like_graph(std::span<const std::byte> bytes);

}  // namespace updraft::tensorflow
