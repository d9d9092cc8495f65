// TensorFlow's frozen graphs become graphs of the Ascend IR.
#pragma once
#include <span>

#include "frontends/import_options.h"
#include "graph/ir/graph.h"

namespace updraft::tensorflow {

/// Outputs that nobody names are the nodes that no other node reads.
using frontends::ImportOptions;

/// The graph of a GraphDef whose variables are constants (`.pb`). Data nodes have the names of the placeholders, in the
/// order of the graph; the graph's attribute "output_names" is a list with "node:index" of the outputs. Only nodes that
/// the outputs need are converted. Constants share the bytes of the message. Throws 161002 with the node's name, its
/// operator and the reason.
graph::Model import(graph::Bytes model, const ImportOptions& options = {});

/// True when the bytes begin like a GraphDef.
bool looks_like_graph(std::span<const std::byte> bytes);

}  // namespace updraft::tensorflow
