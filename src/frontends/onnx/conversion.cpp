#include "frontends/onnx/conversion.h"

#include <algorithm>
#include <cstring>

#include "frontends/onnx/scope.h"

namespace updraft::onnx {

using Kind = AttributeProto::Kind;

Conversion::Conversion(const NodeProto& p, const Row& r, int64_t version, Builder& builder, Scope& s, Graphs& g,
                       std::string own)
    : proto(p),
      row(r),
      opset(version),
      build(builder),
      scope(s),
      graphs(g),
      name(std::move(own)),
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

const Dims& Conversion::dims(Endpoint e) const {
  rank(e);
  return desc(e).dims;
}

int64_t Conversion::size(Endpoint e, int64_t d, const char* what) const {
  const Dims& all = dims(e);
  require(d < static_cast<int64_t>(all.size()), "{} is {}, want {} dimensions or more", what, describe(all), d + 1);
  const int64_t n = all[static_cast<size_t>(d)];
  require(n >= 0, "{} is {}: dimension {} must be known here (give the input's shape)", what, describe(all), d);
  return n;
}

std::vector<int64_t> Conversion::integers_in(size_t i, const char* what) const {
  const Tensor* t = value(in(i));
  require(t, "{} is computed while the graph runs, want a value that is known before", what);
  return t->integers();
}
std::vector<double> Conversion::reals_in(size_t i, const char* what) const {
  const Tensor* t = value(in(i));
  require(t, "{} is computed while the graph runs, want a value that is known before", what);
  return t->reals();
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

int64_t Conversion::axis(int64_t at, int64_t of) const {
  require(at >= -of && at < of, "axis {} of {} dimensions", at, of);
  return at < 0 ? at + of : at;
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

graph::Node& Conversion::node(std::string_view type, const std::vector<Operand>& operands, Attributes attributes,
                              size_t outputs) {
  return build.node(type, name + "/" + std::string(type), operands, std::move(attributes), outputs);
}
Endpoint Conversion::emit(std::string_view type, const std::vector<Operand>& operands, Attributes attributes) {
  return node(type, operands, std::move(attributes)).out();
}
graph::Node& Conversion::result(std::string_view type, const std::vector<Operand>& operands, Attributes attributes,
                                size_t outputs) {
  graph::Node& made = build.node(type, name, operands, std::move(attributes), outputs);
  for (size_t i = 0; i < made.outputs().size() && i < this->outputs(); ++i) give(i, made.out(static_cast<int>(i)));
  return made;
}

Endpoint Conversion::constant(Tensor value, std::string_view what) {
  return build.constant(name + "/" + std::string(what), std::move(value));
}

namespace {

template <class T>
Tensor numbers_as(const std::vector<double>& values, Dims dims, DType type) {
  return {type, std::move(dims), graph::Bytes::make(values.size() * sizeof(T), [&](std::byte* to) {
            for (size_t i = 0; i < values.size(); ++i) {
              T v;
              if constexpr (std::is_arithmetic_v<T>) v = static_cast<T>(values[i]);
              else v = T(static_cast<float>(values[i]));
              std::memcpy(to + i * sizeof(T), &v, sizeof v);
            }
          })};
}

}  // namespace

Tensor numbers_tensor(const std::vector<double>& values, Dims dims, DType type) {
  switch (type) {
    case DType::Float: return numbers_as<float>(values, std::move(dims), type);
    case DType::Double: return numbers_as<double>(values, std::move(dims), type);
    case DType::Float16: return numbers_as<Half>(values, std::move(dims), type);
    case DType::BFloat16: return numbers_as<BFloat16>(values, std::move(dims), type);
    case DType::Int8: return numbers_as<int8_t>(values, std::move(dims), type);
    case DType::Int16: return numbers_as<int16_t>(values, std::move(dims), type);
    case DType::Int32: return numbers_as<int32_t>(values, std::move(dims), type);
    case DType::Int64: return numbers_as<int64_t>(values, std::move(dims), type);
    case DType::UInt8: return numbers_as<uint8_t>(values, std::move(dims), type);
    case DType::UInt16: return numbers_as<uint16_t>(values, std::move(dims), type);
    case DType::UInt32: return numbers_as<uint32_t>(values, std::move(dims), type);
    case DType::UInt64: return numbers_as<uint64_t>(values, std::move(dims), type);
    case DType::Bool: return numbers_as<bool>(values, std::move(dims), type);
    default: throw Error(code::kAclnnParamInvalid, "a constant of type {} has no numbers", updraft::name_of(type));
  }
}
Tensor scalar_tensor(double value, DType type) { return numbers_tensor({value}, {}, type); }

Endpoint Conversion::scalar(double value, DType type) { return constant(scalar_tensor(value, type)); }

// --- what many converters need --------------------------------------------------------------------------------------

Endpoint Conversion::cast(Endpoint e, DType to) {
  return type(e) == to ? e : emit("Cast", {e}, {{"dst_type", static_cast<int64_t>(to)}});
}
Endpoint Conversion::shape(Endpoint e) { return emit("Shape", {e}, {{"dtype", DType::Int64}}); }
Endpoint Conversion::reshape(Endpoint e, Endpoint to) { return emit("Reshape", {e, to}); }

Endpoint Conversion::unsqueeze(Endpoint e, const Dims& axes) {
  if (const Tensor* t = graph::constant_at(e)) {
    Tensor other = *t;
    Dims at = axes;
    const auto rank = static_cast<int64_t>(t->dims.size() + axes.size());
    for (int64_t& a : at) a = axis(a, rank);
    std::sort(at.begin(), at.end());
    for (int64_t a : at) other.dims.insert(other.dims.begin() + a, 1);
    return constant(std::move(other), "unsqueezed");
  }
  return emit("Unsqueeze", {e}, {{"axes", axes}});
}
Endpoint Conversion::squeeze(Endpoint e, const Dims& axes) { return emit("Squeeze", {e}, {{"axis", axes}}); }
Endpoint Conversion::transpose(Endpoint e, const Dims& order) { return emit("Transpose", {e, ints(order)}); }

Endpoint Conversion::slice(Endpoint e, const Dims& begin, const Dims& end, const Dims& axes, const Dims& steps) {
  return emit("StridedSliceV2",
              {e, ints(begin), ints(end), ints(axes), ints(steps.empty() ? Dims(begin.size(), 1) : steps)});
}
Endpoint Conversion::concat(const std::vector<Endpoint>& parts, int64_t along) {
  return emit("ConcatV2", {parts, integer_scalar(along)}, {{"N", static_cast<int64_t>(parts.size())}});
}
Endpoint Conversion::gather(Endpoint e, Endpoint indices, int64_t along) {
  return emit("GatherV2", {e, indices, integer_scalar(along)}, {{"negative_index_support", true}});
}

}  // namespace updraft::onnx
