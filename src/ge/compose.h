// A graph of the operators that its outputs need.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ge/operator_impl.h"
#include "graph/ir/graph.h"

namespace ge {

/// The index that a client gave a Data, where inputs are counted otherwise: in a branch it says which input of the node
/// is meant.
inline constexpr const char* kParentIndex = "_parent_node_index";

/// What SetInputs, SetOutputs and SetTargets were given.
struct Composition {
  std::vector<std::shared_ptr<OperatorImpl>> inputs, targets;
  std::vector<OutputOf> outputs;
  std::string refusal;  ///< of one of these calls
  bool empty() const { return inputs.empty() && targets.empty() && outputs.empty() && refusal.empty(); }
};

/// The graph as it is now: later changes of the operators do not reach it. Throws what is wrong with them: an input
/// that nobody set, an attribute that must be given, two operators of one name, a cycle, a Data that is not among the
/// inputs.
updraft::graph::Model compose(const std::string& name, const Composition& of);

/// Gives the operator's outputs the descriptions that follow from what it reads.
void infer_outputs(const std::shared_ptr<OperatorImpl>& op);

}  // namespace ge
