// A node as a call of its operator.
#pragma once
#include <functional>

#include "base/error.h"
#include "graph/ir/graph.h"
#include "ops/call.h"

namespace updraft::graph {

/// Where a tensor of a node stands in the call of its operator.
struct CallPlace {
  const Parameter* parameter;
  size_t item;  ///< of a list
};

/// The operator of a node, else null: Data, Const, NetOutput and control flow have none.
const OpInfo* operator_of(const Node& node);

/// True when an attribute of that kind takes the value, as it is or converted.
bool takes(Kind kind, const Attribute& value);

/// True when the node's operator updates this input in place: the memory that it reads there is written.
bool updates_input(const Node& node, size_t input);
/// True when the tensor's memory is another one's, which the node updates: what Assign gives.
bool is_updated_input(Endpoint from);

/// True for types that run other graphs of the model: If, While.
bool is_control_flow(const Node& node);

/// Throws an error of a node again, with the node's name and type in front where it has not the name already.
[[noreturn]] void throw_of(const Node& node, const Error& error);

class NodeCall {
 public:
  /// Takes over the node's attributes. Throws 161002 when the registry has no such type, or when an attribute is not
  /// of the kind that the type has.
  explicit NodeCall(const Node& node);

  /// The places of the node's inputs and outputs, by their names, or by their order where a client has other names.
  const std::vector<CallPlace>& inputs() const { return inputs_; }
  const std::vector<CallPlace>& outputs() const { return outputs_; }

  void set_input(size_t i, CallTensor tensor) { call_.add_tensor(inputs_[i].parameter->name, std::move(tensor)); }
  void set_output(size_t i, CallTensor tensor);
  void ask_output(size_t i);
  /// What infer() found of an output.
  const CallTensor& output(size_t i) const;
  /// Type and sizes of an output, after a run those that it has.
  Shape shape(size_t i) const { return call_.shape(outputs_[i].parameter->name, outputs_[i].item); }
  /// True when output i is an input that the operator updates: it has that input's memory.
  bool updates(size_t i) const { return outputs_[i].parameter->direction == Direction::InOut; }

  OpCall& call() { return call_; }

 private:
  void set_attributes(const Node& node);
  void find_places(const Node& node);

  OpCall call_;
  std::vector<CallPlace> inputs_, outputs_;
};

}  // namespace updraft::graph
