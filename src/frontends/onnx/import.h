// ONNX models become graphs of the Ascend IR.
#pragma once
#include <span>
#include <string>

#include "frontends/import_options.h"
#include "graph/ir/graph.h"

namespace updraft::onnx {

struct ImportOptions : frontends::ImportOptions {
  /// Where weights lie that the model keeps in files beside it.
  std::string directory;
};

/// The graph of an ONNX model. Data nodes have the names of the inputs; the graph's attribute "output_names" is a list
/// with the names of the outputs. Constants share the bytes of the message. Throws 161002 with the node's name, its
/// operator and the reason.
graph::Model import(graph::Bytes model, const ImportOptions& options = {});

/// True when an input of the model has a size that neither it nor the options say. Throws 161002 for what is no model.
bool has_unknown_sizes(const graph::Bytes& model, const ImportOptions& options);

/// True when the bytes begin like an ONNX model.
bool looks_like_onnx(std::span<const std::byte> bytes);

}  // namespace updraft::onnx
