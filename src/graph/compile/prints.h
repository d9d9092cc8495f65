// Steps that print.
#pragma once
#include "graph/ir/graph.h"

namespace updraft::graph {

/// A StringFormat and the PrintV2 that alone reads it become one PrintTensors, so that no text is a tensor.
void join_prints(Graph& graph);

}  // namespace updraft::graph
