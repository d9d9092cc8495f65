#include "frontends/onnx/conversion.h"

#include <algorithm>
#include <cstring>

#include "frontends/onnx/scope.h"

namespace updraft::onnx {

using Kind = AttributeProto::Kind;

Conversion::Conversion(const NodeProto& p, const Row& r, int64_t version, Builder& builder, Scope& s, Graphs& g,
                       std::string own)
    : Emitter(builder, std::move(own), p.type),
      proto(p),
      row(r),
      opset(version),
      scope(s),
      graphs(g),
      given_(p.outputs.size()) {}

const Value& Conversion::value_in(size_t i) const {
  if (!has(i)) refuse("input {} is absent", i);
  const Value* found = scope.find(proto.inputs[i]);
  if (!found) refuse("input {}, \"{}\", is no tensor that a node before it gives", i, proto.inputs[i]);
  return *found;
}

Endpoint Conversion::in(size_t i) const {
  const Value& v = value_in(i);
  require(!v.sequence && !v.nothing, "input {}, \"{}\", is {}, want a tensor", i, proto.inputs[i],
          v.sequence ? "a sequence" : "an optional without a value");
  return v.tensor;
}

std::vector<Endpoint> Conversion::all() const {
  std::vector<Endpoint> list;
  for (size_t i = 0; i < inputs(); ++i) list.push_back(in(i));
  return list;
}

// --- attributes -----------------------------------------------------------------------------------------------------

const AttributeProto* Conversion::find(std::string_view attribute) const {
  asked_.emplace(attribute);
  for (const AttributeProto& a : proto.attributes) {
    if (a.name != attribute) continue;
    if (a.reference.empty()) return &a;
    if (!scope.bound)
      refuse("attribute {} refers to \"{}\" of a function and stands outside of one", a.name, a.reference);
    const auto bound = scope.bound->find(a.reference);
    return bound == scope.bound->end() ? nullptr : bound->second;
  }
  return nullptr;
}

const AttributeProto* Conversion::want_or_null(std::string_view attribute, Kind kind) const {
  const AttributeProto* a = find(attribute);
  if (a && a->kind != kind) {
    // A list without elements may have any kind.
    const bool lists = kind == Kind::Ints || kind == Kind::Floats || kind == Kind::Texts;
    const bool empty = a->integers.empty() && a->reals.empty() && a->texts.empty();
    const bool list =
        a->kind == Kind::Ints || a->kind == Kind::Floats || a->kind == Kind::Texts || a->kind == Kind::None;
    require(lists && list && empty, "attribute {} is {}, want {}", attribute, name_of(a->kind), name_of(kind));
  }
  return a;
}

const AttributeProto& Conversion::want(std::string_view attribute, Kind kind) const {
  const AttributeProto* a = want_or_null(attribute, kind);
  require(a, "attribute {} is missing", attribute);
  return *a;
}

int64_t Conversion::integer(std::string_view attribute) const { return want(attribute, Kind::Int).integer; }
int64_t Conversion::integer(std::string_view attribute, int64_t other) const {
  const AttributeProto* a = want_or_null(attribute, Kind::Int);
  return a ? a->integer : other;
}
float Conversion::real(std::string_view attribute) const { return want(attribute, Kind::Float).real; }
float Conversion::real(std::string_view attribute, float other) const {
  const AttributeProto* a = want_or_null(attribute, Kind::Float);
  return a ? a->real : other;
}
std::string Conversion::text(std::string_view attribute, std::string_view other) const {
  const AttributeProto* a = want_or_null(attribute, Kind::Text);
  return std::string(a ? a->text : other);
}
std::vector<int64_t> Conversion::integers(std::string_view attribute, std::vector<int64_t> other) const {
  const AttributeProto* a = want_or_null(attribute, Kind::Ints);
  return a ? a->integers : other;
}
std::vector<float> Conversion::reals(std::string_view attribute) const {
  const AttributeProto* a = want_or_null(attribute, Kind::Floats);
  return a ? a->reals : std::vector<float>();
}
std::vector<std::string> Conversion::texts(std::string_view attribute) const {
  const AttributeProto* a = want_or_null(attribute, Kind::Texts);
  return a ? std::vector<std::string>(a->texts.begin(), a->texts.end()) : std::vector<std::string>();
}
const TensorProto* Conversion::tensor(std::string_view attribute) const {
  const AttributeProto* a = find(attribute);
  require(!a || a->tensor, "attribute {} is {}, want a tensor", attribute, a ? name_of(a->kind) : "");
  return a ? a->tensor.get() : nullptr;
}
const GraphProto& Conversion::graph(std::string_view attribute) const { return *want(attribute, Kind::Graph).graph; }

DType Conversion::element_type(int64_t number, std::string_view what) const {
  const auto type = static_cast<ElementType>(number);
  const DType dtype = dtype_of(type);
  require(dtype != DType::Undefined, "{} is {}, a type of elements that the virtual NPU has not", what, name_of(type));
  return dtype;
}
DType Conversion::element_type(std::string_view attribute, DType other) const {
  const AttributeProto* a = want_or_null(attribute, Kind::Int);
  return a ? element_type(a->integer, attribute) : other;
}

void Conversion::only(std::string_view attribute, int64_t value, int64_t want) const {
  require(value == want, "attribute {} is {}, want {}", attribute, value, want);
}

void Conversion::check_attributes() const {
  for (const AttributeProto& a : proto.attributes)
    require(asked_.contains(a.name), "attribute {} is not known of this operator at version {} of its set", a.name,
            opset);
}

void Conversion::check_inputs() const {
  for (size_t i = asked_inputs_; i < proto.inputs.size(); ++i)
    require(proto.inputs[i].empty(), "input {}, \"{}\", is not known of this operator at version {} of its set", i,
            proto.inputs[i], opset);
}

// --- outputs --------------------------------------------------------------------------------------------------------

void Conversion::give(size_t i, Endpoint e) {
  Value v;
  v.tensor = e;
  give(i, std::move(v));
}
void Conversion::give(size_t i, Value value) {
  if (!wants(i)) return;
  given_[i] = true;
  scope.set(proto.outputs[i], std::move(value));
}
bool Conversion::gave(size_t i) const { return i < given_.size() && given_[i]; }

graph::Node& Conversion::result(std::string_view type, const std::vector<Operand>& operands, Attributes attributes,
                                size_t outputs) {
  graph::Node& made = build.node(type, name, operands, std::move(attributes), outputs);
  for (size_t i = 0; i < made.outputs().size() && i < this->outputs(); ++i) give(i, made.out(static_cast<int>(i)));
  return made;
}

}  // namespace updraft::onnx
