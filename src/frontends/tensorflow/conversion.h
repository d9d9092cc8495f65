// One TensorFlow node on its way into the graph: what converters read of it and give for it.
//
//   void leaky_relu(Conversion& c) { c.result("LeakyRelu", {c.in(0)}, {{"negative_slope", c.real("alpha", 0.2f)}}); }
#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/emitter.h"
#include "frontends/tensorflow/graph_def.h"

namespace updraft::tensorflow {

using graph::Attributes;
using graph::describe;
using graph::Dims;
using graph::Endpoint;
using graph::Operand;
using graph::Tensor;

class Conversion;

/// A row of the table of operators.
struct Row {
  const char* type;
  void (*convert)(Conversion&);
  const char* ascend;     ///< the graph operator, for tables; where there are several, the ones that matter
  const char* note = "";  ///< what is refused
  const char* note_zh = "";
};
std::span<const std::span<const Row>> families();
/// Null for an operator without a converter.
const Row* find_row(std::string_view type);

/// What nodes with functions ask of the importer.
class Functions {
 public:
  virtual ~Functions() = default;
  /// What the function gives for these inputs: its nodes stand in the place of the call.
  virtual std::vector<Endpoint> inlined(Conversion& of, std::string_view function,
                                        const std::vector<Endpoint>& inputs) = 0;
  /// A graph of the model of its own, which a node of control flow runs.
  struct Body {
    std::string name;
    std::vector<graph::TensorDesc> outputs;
  };
  virtual Body body(Conversion& of, std::string_view function, const std::vector<graph::TensorDesc>& inputs) = 0;
  /// A graph that was made for a try is not needed.
  virtual void drop(const Body& body) = 0;
};

class Conversion : public frontends::Emitter {
 public:
  Conversion(const NodeDef& def, const Row& row, graph::Builder& builder, Functions& functions, std::string name,
             std::vector<Endpoint> inputs)
      : Emitter(builder, std::move(name), def.type),
        proto(def),
        row(row),
        functions(functions),
        inputs_(std::move(inputs)) {}

  const NodeDef& proto;
  const Row& row;
  Functions& functions;

  // --- inputs -------------------------------------------------------------------------------------------------------
  size_t inputs() const { return inputs_.size(); }
  Endpoint in(size_t i) const {
    require(i < inputs_.size(), "input {} is absent", i);
    return inputs_[i];
  }
  const std::vector<Endpoint>& all() const { return inputs_; }
  std::vector<Endpoint> all(size_t from, size_t behind = 0) const;
  /// Each input for itself, where the graph operator has the same.
  std::vector<Operand> operands() const { return {inputs_.begin(), inputs_.end()}; }
  std::vector<int64_t> integers_in(size_t i, const char* what) const { return integers_of(in(i), what); }
  /// The value of one element of an input that must be known here.
  int64_t integer_in(size_t i, const char* what) const;

  // --- attributes ---------------------------------------------------------------------------------------------------
  bool has(std::string_view attribute) const { return find(attribute) != nullptr; }
  int64_t integer(std::string_view attribute, std::optional<int64_t> other = {}) const;
  float real(std::string_view attribute, std::optional<float> other = {}) const;
  bool flag(std::string_view attribute, bool other = false) const;
  std::string text(std::string_view attribute, std::string_view other = "") const;
  std::vector<int64_t> integers(std::string_view attribute) const;
  /// A type of elements that the virtual NPU has.
  DType element_type(std::string_view attribute) const;
  DType element_type(std::string_view attribute, DType other) const {
    return has(attribute) ? element_type(attribute) : other;
  }
  const AttrValue& attribute(std::string_view attribute, AttrValue::Kind kind) const;
  /// The attribute is looked at somewhere else, or says nothing that matters.
  void ignore(std::string_view attribute) const { asked_.insert(std::string(attribute)); }
  /// Attributes that nobody asked for are refused where they are other than nothing: an operator that would do
  /// something else because of them.
  void check_attributes() const;

  // --- outputs ------------------------------------------------------------------------------------------------------
  void give(Endpoint e) { outputs_.push_back(e); }
  const std::vector<Endpoint>& given() const { return outputs_; }
  /// The node itself, under its own name, and all of its outputs.
  graph::Node& result(std::string_view type, const std::vector<Operand>& operands, Attributes attributes = {},
                      size_t outputs = 1);

  /// True for NHWC and NDHWC.
  bool channels_last() const;

  /// What a node gives for these inputs. Throws 161002 with its name, its operator and the reason.
  static std::vector<Endpoint> convert(const NodeDef& node, const std::string& name, std::vector<Endpoint> inputs,
                                       graph::Builder& builder, Functions& functions);

 private:
  const AttrValue* find(std::string_view attribute) const;

  const std::vector<Endpoint> inputs_;
  std::vector<Endpoint> outputs_;
  mutable std::set<std::string, std::less<>> asked_;
};

}  // namespace updraft::tensorflow
