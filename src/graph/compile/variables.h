// Variables: tensors that outlive a run, which graphs read and update in place. While a graph is compiled they become
// inputs of it (RefData) behind the others; whoever runs it, a session or a bundle of models, gives them their memory.
//
// A node reads what a variable holds when the node runs. Edges of the graph say when; what they leave open is settled
// here by control edges: reads come before writes, writes in the order of their nodes, and outputs are read at the end.
// Where a reader must run behind a write and yet wants what was there before it, it gets a copy.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "graph/ir/graph.h"

namespace updraft::graph {

struct Variable {
  std::string name;
  TensorDesc desc;
  std::optional<Tensor> value;  ///< what it begins with, where the graph says so
  bool read = false;            ///< before the graph assigns it: it must have a value
  bool assigned = false;        ///< it has a value after a run
};

bool has_variables(const Model& model);

/// The model's variables, in the order of the inputs that stand for them, behind the others. The graph is changed: give
/// a copy. Throws 161002 for a variable of unknown type or sizes, and for one in a subgraph.
std::vector<Variable> bind_variables(const Model& model);

/// Throws 161002 that names the first variable: a model that is alone in its file has none.
void refuse_variables(const Model& model);

/// Writes into the inputs that stand for variables what bind_variables() said of them, so that a file keeps it.
void note_variables(Graph& graph, const std::vector<Variable>& variables);
/// What was noted, in the order of the inputs; none for a graph without variables.
std::vector<Variable> noted_variables(const Graph& graph);
/// True for an input that stands for a variable which was noted.
bool is_noted_variable(const Node& input);

}  // namespace updraft::graph
