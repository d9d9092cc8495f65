// What a ge::Operator holds: its ports by the IR, links to the operators that it reads, attributes, and the first thing
// about it that was refused.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ge/ir_type.h"
#include "graph/graph.h"
#include "graph/ir/attribute.h"

namespace ge {

/// A tensor of an operator: place `item` of an output.
struct OutputOf {
  std::shared_ptr<OperatorImpl> op;
  size_t port = 0, item = 0;
};

struct Slot {
  OutputOf from;  ///< of an input; its operator is null while nobody set it
  std::optional<updraft::graph::TensorDesc> desc;
};

struct Port {
  const IrPort* ir;
  std::vector<Slot> slots;  ///< one, or as many as a dynamic port was given
};

class OperatorImpl {
 public:
  /// A name of "" is the type. The type may be one that nobody knows: then whatever is asked of it is refused.
  OperatorImpl(std::string operator_name, std::string operator_type);
  OperatorImpl(const OperatorImpl&) = delete;
  /// Lets go of what it reads without a call inside a call for each: chains may be long.
  ~OperatorImpl();

  const std::string name, type;
  const bool named;
  const IrType* const ir;  ///< null: nobody knows the type
  const uint64_t number;   ///< later operators have larger ones
  std::vector<Port> inputs, outputs;
  std::vector<std::shared_ptr<OperatorImpl>> controls;  ///< run before this one
  /// Of what holds a tensor: who reads it. Graphs that only initialise variables name these and no outputs.
  std::vector<std::weak_ptr<OperatorImpl>> readers;
  updraft::graph::Attributes attributes;
  std::map<std::string, std::function<Graph()>> builders;     ///< of the graphs that it runs
  std::map<std::string, unsigned, std::less<>> graph_counts;  ///< of lists of graphs: how many there are
  std::string refusal;                                        ///< the first one

  /// "conv1 (Conv2D)".
  std::string text() const { return named ? name + " (" + type + ")" : type; }
  /// These throw a sentence with all names that there are.
  Slot& input(const char* port);
  Slot& place(std::vector<Port>& ports, const char* port, size_t item);
  OutputOf output(const std::shared_ptr<OperatorImpl>& self, const char* port);
  OutputOf output(const std::shared_ptr<OperatorImpl>& self, size_t index);
  /// The slot of a name, where "x1" may be place 1 of the dynamic x. Null where there is none.
  static Slot* find(std::vector<Port>& ports, std::string_view name);
  /// The slot of that number, places counted; null where there is none.
  static Slot* at(std::vector<Port>& ports, size_t index);
  static size_t count(const std::vector<Port>& ports);
  /// The value, else the default; nothing where there is neither.
  std::optional<updraft::graph::Attribute> attribute(std::string_view attribute_name) const;
  /// Throws unless the type has such an attribute and takes the value.
  void set(const char* attribute_name, updraft::graph::Attribute value);
  /// Throws where nobody knows the type.
  void check() const;

 private:
  void take_links(std::vector<std::shared_ptr<OperatorImpl>>& to);
};

/// Null for an operator without a type.
std::shared_ptr<OperatorImpl> operator_impl(const Operator& op);

}  // namespace ge
