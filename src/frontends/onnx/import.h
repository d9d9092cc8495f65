// ONNX models become graphs of the Ascend IR.
#pragma once
#include <memory>
#include <span>
#include <string>

#include "frontends/import_options.h"
#include "graph/ir/graph.h"

namespace updraft::onnx {

struct ImportOptions : frontends::ImportOptions {
  /// Where weights lie that the model keeps in files beside it.
  std::string directory;
};

struct ModelProto;

/// An ONNX model that was read, from which graphs are made, for one choice of sizes after the other.
class Source {
 public:
  /// `directory`: where weights lie that the model keeps in files beside it. Throws 161002 for what is no model.
  Source(graph::Bytes model, const std::string& directory);

  /// True when an input of the model has a size that neither it nor the options say.
  bool has_unknown_sizes(const ImportOptions& options) const;
  /// The graph. Data nodes have the names of the inputs; the graph's attribute "output_names" is a list with the names
  /// of the outputs. Constants share the bytes that were read. Throws 161002 with the node's name, its operator and the
  /// reason.
  graph::Model import(const ImportOptions& options) const;

 private:
  std::shared_ptr<const ModelProto> proto_;
};

/// The graph of an ONNX model, as Source::import().
graph::Model import(graph::Bytes model, const ImportOptions& options = {});

/// True when the bytes begin like an ONNX model.
bool looks_like_onnx(std::span<const std::byte> bytes);

}  // namespace updraft::onnx
