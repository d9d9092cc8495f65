// What whoever imports a model says of its inputs and outputs.
#pragma once
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "graph/ir/tensor.h"

namespace updraft::frontends {

struct ImportOptions {
  /// By the name of an input: its shape instead of what the model says; {} is a scalar.
  std::map<std::string, graph::Dims> input_shapes;
  /// Smallest and largest sizes of the dimensions of an input (-1: no upper bound).
  std::map<std::string, std::vector<std::pair<int64_t, int64_t>>> input_ranges;
  /// What the graph gives: names of tensors, or "node:index". Empty: the model's own outputs.
  std::vector<std::string> output_nodes;
};

/// Gives the input the shape and the ranges that the options have for it; true when they have a shape. `known`: `desc`
/// has the model's shape, which the other must fit.
bool set_shape(const ImportOptions& options, const std::string& input, bool known, graph::TensorDesc& desc);
/// Refuses shapes for names that are not among the inputs.
void require_inputs(const ImportOptions& options, std::span<const std::string_view> inputs);

}  // namespace updraft::frontends
