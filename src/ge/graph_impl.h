// What a ge::Graph holds.
#pragma once
#include <functional>
#include <map>
#include <string>

#include "ge/compose.h"
#include "graph/graph.h"
#include "graph/ir/graph.h"

namespace ge {

class GraphImpl {
 public:
  explicit GraphImpl(std::string graph_name) : name(std::move(graph_name)) {}
  std::string name;
  updraft::graph::Model model;  ///< its graph is null until one was made
  /// The graph made anew for a build that gives its inputs other sizes; empty: the model serves all. A front end that
  /// cannot make a graph of unknown sizes leaves `model` without one, and this says why, or makes it, when it is built.
  std::function<updraft::graph::Model(const std::map<std::string, updraft::graph::Dims>&)> with_sizes;
  /// The graph whose nodes clients have; it becomes `model` with the first change.
  updraft::graph::Model walked;
  bool iterated = false;  ///< see Graph::SetNeedIteration
  /// The operators that it is made of; empty for a graph that was read.
  Composition operators;

  /// The graph that was read, or made of the operators as they are now. Throws what is wrong with them.
  updraft::graph::Model made() const { return operators.empty() ? model : compose(name, operators); }
};

/// Made where there is none yet.
GraphImpl& graph_impl(Graph& graph);
/// Null for a graph that was never made.
const GraphImpl* graph_impl(const Graph& graph);

using Options = std::map<AscendString, AscendString>;
/// The same with texts of ours.
std::map<std::string, std::string> texts(const Options& options);

}  // namespace ge
