// Names of a graph of the model, and of the graphs that it stands in.
#pragma once
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>

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
  /// False when the graph has given that name before: each is given once.
  bool once(std::string_view name) { return given_.insert(std::string(name)).second; }
  /// What the name stands for, made an input of the body where it belongs to an outer frame; null: nobody has it.
  const Value* find(std::string_view name);

 private:
  Endpoint captured(Endpoint from, Frame& owner, std::string_view name);

  std::unordered_map<std::string, Value> values_;
  std::unordered_set<std::string> given_;
};

/// What nodes with graphs ask of the importer.
class Graphs {
 public:
  virtual ~Graphs() = default;
  /// The nodes of a graph as if they stood in `scope`'s frame, with these values for the graph's inputs; what its
  /// outputs are.
  virtual std::vector<Value> inlined(const GraphProto& graph, std::vector<Value> inputs, Scope& scope,
                                     const std::string& prefix) = 0;
  /// A graph of the model of its own, which a node of control flow runs.
  struct Body {
    std::string name;
    std::vector<TensorDesc> outputs;
    std::vector<Endpoint> captured;  ///< of the frame that runs it: its inputs behind those that it was asked with
  };
  struct Given {
    std::vector<Endpoint> state;      ///< as many as the inputs where the graph is run again with it
    std::vector<Endpoint> collected;  ///< behind the state and what is captured
  };
  struct Asked {
    std::string name;
    std::vector<TensorDesc> inputs;
    std::vector<Endpoint> captured = {};  ///< of the frame that runs it: inputs whether or not it reads them
    bool again = false;                   ///< what is captured is given on, behind the state
  };
  /// `fill` puts nodes into the graph by its Conversion, and says what the graph gives for these inputs.
  virtual Body body(const Conversion& of, const Asked& asked,
                    const std::function<Given(Conversion&, const std::vector<Endpoint>& inputs)>& fill) = 0;
  /// More inputs for a graph, which it does not read: whoever runs two graphs gives both the same.
  virtual void add_inputs(const Body& body, const std::vector<Endpoint>& captured) = 0;
  /// Graphs that were made since are not needed.
  virtual size_t made() const = 0;
  virtual void drop_since(size_t made) = 0;
};

}  // namespace updraft::onnx
