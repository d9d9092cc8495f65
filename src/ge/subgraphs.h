// The graphs that an operator of control flow runs.
#pragma once
#include "ge/operator_impl.h"
#include "graph/ir/graph.h"

namespace ge {

/// Makes the graphs of `op` and adds them to the model; the node's outputs get the descriptions that follow from them.
/// Throws where a graph is missing, or does not have the inputs and outputs that the node has.
void add_subgraphs(const OperatorImpl& op, updraft::graph::Node& node, updraft::graph::Model& model);

}  // namespace ge
