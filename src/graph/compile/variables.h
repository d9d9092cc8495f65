// Variables: tensors that outlive a run, which graphs read and update in place. While a graph is compiled they become
// inputs of it (RefData) behind the others; whoever runs it, a session, gives them their memory.
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

/// Throws 161002 that names the first variable: models in files have none.
void refuse_variables(const Model& model);

}  // namespace updraft::graph
