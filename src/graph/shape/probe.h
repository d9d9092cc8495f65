// Inference where sizes are unknown: the graph is inferred with several sizes in their place, at the same time. What is
// the same with all of them does not depend on them. So an unknown size may pass through any computation of shapes
// (Shape, Gather, Concat, Reshape …) without a rule for unknown sizes in any operator.
#pragma once
#include <string>
#include <vector>

#include "graph/shape/known.h"

namespace updraft::graph {

class Probe {
 public:
  /// The graph's input has the sizes of its description. `symbols` names its unknown dimensions: those of one name have
  /// one size; a dimension without a name has a size of its own. May be empty.
  void feed(const Node& data, const std::vector<std::string>& symbols = {});
  /// Finds what the node gives and writes it into the descriptions of its outputs. Throws the operator's refusal when
  /// it refuses all sizes that were tried.
  void infer(Node& node);
  /// The same for a node of which nothing is known but what its descriptions say (control flow).
  void leave(Node& node);
  /// The value of a tensor where it is the same with all sizes, else null.
  const Tensor* value(Endpoint from) const;
  /// True when dimension `da` of one tensor and `db` of another have one size, whatever sizes were tried.
  bool same_size(Endpoint a, size_t da, Endpoint b, size_t db) const;

 private:
  static constexpr size_t kWorlds = 4;
  int64_t size_of(size_t world, const std::string& symbol, std::pair<int64_t, int64_t> range);
  /// More worlds, all like the first until now.
  void split();
  void choose_open(size_t world, const Node& node);
  void describe_outputs(Node& node) const;

  std::vector<World> worlds_ = std::vector<World>(1);
  std::vector<size_t> numbers_ = {0};  ///< of the worlds that are left
  std::map<std::string, size_t> symbols_;
  size_t unnamed_ = 0;
};

/// Writes into the descriptions of a graph what is known of every tensor that an output needs.
void infer_all(const Graph& graph);
/// The same, and what was found.
Probe probe_all(const Graph& graph);

}  // namespace updraft::graph
