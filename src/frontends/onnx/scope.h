// Names of a graph of the model, and of the graphs that it stands in.
#pragma once
#include <map>
#include <string>
#include <unordered_map>

#include "frontends/onnx/conversion.h"

namespace updraft::onnx {

/// Attributes of a call of a function, which its nodes refer to.
using Bound = std::map<std::string_view, const AttributeProto*>;

/// The graph that nodes are put into: that of the model, or of a body that is a graph of its own.
struct Frame {
  Builder& build;
  Frame* outer = nullptr;
  /// Tensors of the outer frame that the body reads: they become its inputs.
  std::vector<Endpoint> captured = {};
  int64_t inputs = 0;  ///< Data nodes until now
  std::map<std::pair<const graph::Node*, int>, Endpoint> seen = {};
};

class Scope {
 public:
  /// `outer`: whose names are seen here as well; null for the graph of the model and for functions.
  Scope(Frame& frame, Scope* outer, const Opsets& opsets, const Bound* bound, std::string prefix)
      : frame(frame), outer(outer), opsets(opsets), bound(bound), prefix(std::move(prefix)) {}

  Frame& frame;
  Scope* const outer;
  const Opsets& opsets;
  const Bound* const bound;  ///< null outside of functions
  const std::string prefix;  ///< before the names of nodes
  int depth = 0;             ///< of functions and graphs in each other

  void set(std::string_view name, Value value) { values_[std::string(name)] = std::move(value); }
  /// What the name stands for, made an input of the body where it belongs to an outer frame; null: nobody has it.
  const Value* find(std::string_view name);

 private:
  Endpoint captured(Endpoint from, Frame& owner, std::string_view name);

  std::unordered_map<std::string, Value> values_;
};

/// What nodes with graphs ask of the importer.
class Graphs {
 public:
  virtual ~Graphs() = default;
  /// The nodes of a graph as if they stood in `scope`'s frame, with these values for the graph's inputs; what its
  /// outputs are.
  virtual std::vector<Value> inlined(const GraphProto& graph, std::vector<Value> inputs, Scope& scope,
                                     const std::string& prefix) = 0;
  struct Body {
    std::string name;
    std::vector<Endpoint> captured;  ///< of the frame that calls it: inputs behind `inputs`
    std::vector<TensorDesc> outputs;
  };
  /// The graph as a graph of the model of its own.
  virtual Body body(const GraphProto& graph, const std::vector<TensorDesc>& inputs, Scope& scope,
                    const std::string& name) = 0;
};

}  // namespace updraft::onnx
