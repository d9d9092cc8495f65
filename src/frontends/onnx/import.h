// ONNX models become graphs of the Ascend IR.
#pragma once
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/graph.h"

namespace updraft::onnx {

struct ImportOptions {
  /// By the name of an input: its shape instead of what the model says; {} is a scalar.
  std::map<std::string, graph::Dims> input_shapes;
  /// Smallest and largest sizes of the dimensions of an input (-1: no upper bound).
  std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> input_ranges;
  /// What the graph gives: names of tensors, or "node:index". Empty: the model's own outputs.
  std::vector<std::string> output_nodes;
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
