// One ONNX node on its way into the graph: what converters read of it and give for it.
//
//   void leaky_relu(Conversion& c) { c.result("LeakyRelu", {c.in(0)}, {{"negative_slope", c.real("alpha", 0.01f)}}); }
#pragma once
#include <algorithm>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/emitter.h"
#include "frontends/onnx/model.h"

namespace updraft::onnx {

using frontends::numbers_tensor;
using frontends::scalar_tensor;
using graph::Attributes;
using graph::Builder;
using graph::describe;
using graph::Dims;
using graph::Endpoint;
using graph::Operand;
using graph::Tensor;
using graph::TensorDesc;

class Conversion;
class Scope;

/// A row of the table of operators: how the operator is converted since that version of its set, until the next row.
struct Row {
  const char* type;
  int since;
  void (*convert)(Conversion&);
  const char* ascend;     ///< the graph operator, for tables; where there are several, the ones that matter
  const char* note = "";  ///< what is refused
  const char* note_zh = "";
};

struct Family {
  const char* domain;  ///< "": ONNX's own
  std::span<const Row> rows;
};
/// All operators.
std::span<const Family> families();
/// The row that is valid for a version of the domain, else null.
const Row* find_row(std::string_view domain, std::string_view type, int64_t opset);
/// The smallest version that has a row; 0: none.
int first_version(std::string_view domain, std::string_view type);

/// What a name of the model stands for. Sequences and optionals are known while importing, and are not in the graph.
struct Value {
  Endpoint tensor;
  bool sequence = false;
  std::vector<Endpoint> items;
  DType item_type = DType::Undefined;  ///< of an empty sequence
  bool nothing = false;                ///< an optional without a value
};

/// What the importer does for nodes that have graphs, and the scope of names that a node stands in.
class Graphs;

class Conversion : public frontends::Emitter {
 public:
  Conversion(const NodeProto& proto, const Row& row, int64_t opset, Builder& builder, Scope& scope, Graphs& graphs,
             std::string name);

  const NodeProto& proto;
  const Row& row;
  const int64_t opset;
  Scope& scope;
  Graphs& graphs;

  // --- inputs -------------------------------------------------------------------------------------------------------
  size_t inputs() const { return asked_inputs_ = proto.inputs.size(); }
  bool has(size_t i) const {
    asked_inputs_ = std::max(asked_inputs_, i + 1);
    return i < proto.inputs.size() && !proto.inputs[i].empty();
  }
  /// The tensor; refuses where it is absent or a sequence.
  Endpoint in(size_t i) const;
  /// The tensor, or nothing.
  Endpoint maybe(size_t i) const { return has(i) ? in(i) : Endpoint{}; }
  const Value& value_in(size_t i) const;
  std::vector<Endpoint> all() const;

  /// Values of input i that must be known here.
  std::vector<int64_t> integers_in(size_t i, const char* what) const { return integers_of(in(i), what); }
  std::vector<double> reals_in(size_t i, const char* what) const { return reals_of(in(i), what); }

  // --- attributes ---------------------------------------------------------------------------------------------------
  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  int64_t integer(std::string_view attribute) const;
  int64_t integer(std::string_view attribute, int64_t other) const;
  bool flag(std::string_view attribute, bool other = false) const { return integer(attribute, other) != 0; }
  float real(std::string_view attribute, float other) const;
  float real(std::string_view attribute) const;
  std::string text(std::string_view attribute, std::string_view other) const;
  std::vector<int64_t> integers(std::string_view attribute, std::vector<int64_t> other = {}) const;
  std::vector<float> reals(std::string_view attribute) const;
  std::vector<std::string> texts(std::string_view attribute) const;
  const TensorProto* tensor(std::string_view attribute) const;
  const GraphProto& graph(std::string_view attribute) const;
  /// The attribute as a type of elements; refuses types that the virtual NPU has not.
  DType element_type(std::string_view attribute, DType other) const;
  DType element_type(int64_t number, std::string_view what) const;
  /// Refuses values other than `want`.
  void only(std::string_view attribute, int64_t value, int64_t want) const;
  /// The attribute is looked at somewhere else, or says nothing that matters.
  void ignore(std::string_view attribute) const { asked_.insert(std::string(attribute)); }
  /// Attributes that nobody asked for are refused.
  void check_attributes() const;
  /// So are inputs behind those that somebody asked for.
  void check_inputs() const;

  // --- outputs ------------------------------------------------------------------------------------------------------
  size_t outputs() const { return proto.outputs.size(); }
  bool wants(size_t i) const { return i < proto.outputs.size() && !proto.outputs[i].empty(); }
  void give(size_t i, Endpoint e);
  void give(size_t i, Value value);
  bool gave(size_t i) const;

  /// The node itself, under its own name; its outputs are the ONNX node's as far as both have them.
  graph::Node& result(std::string_view type, const std::vector<Operand>& operands, Attributes attributes = {},
                      size_t outputs = 1);
  /// An operand without an operator: the output is that tensor.
  void pass(Endpoint e) { give(0, e); }

 private:
  const AttributeProto* find(std::string_view attribute) const;
  const AttributeProto& want(std::string_view attribute, AttributeProto::Kind kind) const;
  const AttributeProto* want_or_null(std::string_view attribute, AttributeProto::Kind kind) const;

  mutable std::set<std::string, std::less<>> asked_;
  mutable size_t asked_inputs_ = 0;
  std::vector<bool> given_;
};

}  // namespace updraft::onnx
