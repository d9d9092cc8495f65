// What is known of a tensor before the graph runs, when its inputs have certain sizes.
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "graph/ir/graph.h"

namespace updraft::graph {

struct Known {
  DType dtype = DType::Undefined;
  std::optional<Dims> dims;     ///< nothing: values that are computed decide the rank or a size
  std::optional<Tensor> value;  ///< where it does not depend on the data
  std::vector<bool> open;       ///< dimensions that are at most so large: values decide; empty: none

  Known() = default;
  Known(DType type, Dims d) : dtype(type), dims(std::move(d)) {}
  explicit Known(Tensor t) : dtype(t.dtype), dims(t.dims), value(std::move(t)) {}
  bool exact() const { return dims && open.empty(); }
};

/// Values of more elements than this are not computed while shapes are inferred.
inline constexpr int64_t kMostInferredElements = 1 << 14;

/// Shapes, types and, where all inputs have values, the values of the outputs of a node that has an operator in the
/// registry. Values of more than `most_elements` are not computed. Throws what the operator refuses, with the node's
/// name.
std::vector<Known> infer_node(const Node& node, std::span<const Known> inputs,
                              int64_t most_elements = kMostInferredElements);

/// True for types that ask for nothing but the shapes of their inputs: Shape, ShapeN, Size, Rank.
bool asks_for_sizes(const Node& node);

/// Inference through a graph, one node after the other, with certain sizes for its inputs.
class World {
 public:
  /// Sizes (and maybe the value) of an input.
  void feed(const Node& data, Known known);
  /// All that a node gives.
  void feed(const Node& node, std::vector<Known> outputs) { known_[node.id()] = std::move(outputs); }
  /// Those of what the node gives, from what its inputs are known to be. Throws the operator's refusal.
  void infer(const Node& node);
  const Known& at(Endpoint from) const;
  /// Says otherwise than infer() found.
  void set(Endpoint from, Known known);
  bool has(Endpoint from) const;

 private:
  std::vector<Known> found(const Node& node) const;

  std::map<int64_t, std::vector<Known>> known_;  ///< by the id of the node
};

}  // namespace updraft::graph
