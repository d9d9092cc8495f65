// Makes graphs node by node: names inputs and outputs as the registry does, and knows of every tensor what can be known
// at that point. Front ends and passes use it.
//
//   Builder build(graph);
//   Endpoint x = build.input("x", 0, {DType::Float, {-1, 3, 224, 224}});
//   Endpoint y = build("Conv2D", "conv1", {x, filter}, {{"strides", Dims{1, 1, 2, 2}}, …});
//   build.desc(y).dims                                            // [-1, 64, 112, 112]
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "graph/shape/probe.h"

namespace updraft::graph {

/// What a node reads: a tensor, nothing (an optional input), or the tensors of a dynamic input.
class Operand {
 public:
  Operand(Endpoint tensor) : tensors_{tensor} {}
  Operand(Node& node) : tensors_{node.out()} {}
  Operand(std::nullptr_t) : tensors_{Endpoint{}} {}
  Operand(std::vector<Endpoint> list) : tensors_(std::move(list)), list_(true) {}

 private:
  friend class Builder;
  std::vector<Endpoint> tensors_;
  bool list_ = false;
};

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  Graph& graph() { return graph_; }

  /// An input of the graph; `symbols` as Probe::feed() has them.
  Endpoint input(const std::string& name, int64_t index, TensorDesc desc, const std::vector<std::string>& symbols = {});
  Endpoint constant(const std::string& name, Tensor value);
  /// A node with the operands in the order of its type's inputs; those that are left out at the end are absent. Types
  /// with a dynamic output have `outputs` of it. Throws 161002 for a type without an operator, for a required input
  /// that is absent, and what the operator refuses.
  Node& node(std::string_view type, const std::string& name, const std::vector<Operand>& operands,
             Attributes attributes = {}, size_t outputs = 1);
  /// The first output of such a node.
  Endpoint operator()(std::string_view type, const std::string& name, const std::vector<Operand>& operands,
                      Attributes attributes = {}) {
    return node(type, name, operands, std::move(attributes)).out();
  }
  /// A node that runs other graphs of the model: its inputs, in order, and what is known of its outputs.
  Node& control(std::string_view type, const std::string& name, const std::vector<Endpoint>& inputs,
                const std::vector<TensorDesc>& outputs, std::vector<std::string> subgraphs);
  /// The graph's outputs, in order; once.
  void outputs(const std::vector<Endpoint>& tensors);

  const TensorDesc& desc(Endpoint from) const { return from.node->output(from.index).desc; }
  /// Dimensions of a tensor. Throws 161002 where nobody knows how many there are.
  int64_t rank(Endpoint from) const;
  /// The value of a tensor where the inputs' data do not change it (a constant, a computed shape), else null.
  const Tensor* value(Endpoint from) const { return probe_.value(from); }

 private:
  Graph& graph_;
  Probe probe_;
};

}  // namespace updraft::graph
