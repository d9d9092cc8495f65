// What the Ascend IR says of a type: the registry's graph operators, and the types that graphs have and the registry
// has not, because they hold tensors (Data, Const, Variable) or run other graphs (If, Case, While, PartitionedCall).
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "ops/op.h"

namespace ge {

struct IrPort {
  const char* name;
  bool dynamic;   ///< any number of tensors: name0, name1, …
  bool optional;  ///< of an input: it may be absent
};

struct IrAttribute {
  const char* name;
  updraft::Kind kind;      ///< Kind::Tensor: the value is a constant
  updraft::Default other;  ///< what it is when nobody gives it
  bool optional = false;   ///< it may be absent, although it has no default
};

struct IrGraph {
  const char* name;
  bool list;  ///< any number of graphs: name0, name1, …
};

struct IrType {
  const char* name;
  const char* summary;
  const char* file;  ///< the source file of the operator; of types that hold tensors ""
  std::vector<IrPort> inputs, outputs;
  std::vector<IrAttribute> attributes;
  const updraft::OpInfo* info;       ///< null: it holds tensors, or runs graphs
  std::vector<IrGraph> graphs = {};  ///< of control flow: the graphs that it runs

  const IrAttribute* attribute(std::string_view attribute_name) const;
  /// The places of inputs and outputs; -1 for a name that is none.
  int input(std::string_view input_name) const;
  int output(std::string_view output_name) const;
};

/// All types by their names.
const std::vector<IrType>& ir_types();
/// Null where there is none.
const IrType* find_ir_type(std::string_view name);
/// "VT_INT", "VT_LIST_FLOAT", …
const char* kind_name(updraft::Kind kind);

}  // namespace ge
