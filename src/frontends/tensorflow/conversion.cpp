#include "frontends/tensorflow/conversion.h"

#include <algorithm>

namespace updraft::tensorflow {

using Kind = AttrValue::Kind;

std::vector<Endpoint> Conversion::all(size_t from, size_t behind) const {
  require(from + behind <= inputs_.size(), "{} inputs, want {} or more", inputs_.size(), from + behind);
  return {inputs_.begin() + static_cast<std::ptrdiff_t>(from), inputs_.end() - static_cast<std::ptrdiff_t>(behind)};
}

int64_t Conversion::integer_in(size_t i, const char* what) const {
  const auto values = integers_in(i, what);
  require(values.size() == 1, "{} has {} values, want one", what, values.size());
  return values[0];
}

const AttrValue* Conversion::find(std::string_view attribute) const {
  asked_.emplace(attribute);
  const auto found = proto.attributes.find(attribute);
  return found == proto.attributes.end() ? nullptr : &found->second;
}

const AttrValue& Conversion::attribute(std::string_view name, Kind kind) const {
  const AttrValue* a = find(name);
  require(a, "attribute {} is missing", name);
  require(a->kind == kind, "attribute {} is {}, want {}", name, name_of(a->kind), name_of(kind));
  return *a;
}

int64_t Conversion::integer(std::string_view name, std::optional<int64_t> other) const {
  return other && !find(name) ? *other : attribute(name, Kind::Integer).integer;
}
float Conversion::real(std::string_view name, std::optional<float> other) const {
  return other && !find(name) ? *other : attribute(name, Kind::Real).real;
}
bool Conversion::flag(std::string_view name, bool other) const {
  return find(name) ? attribute(name, Kind::Flag).flag : other;
}
std::string Conversion::text(std::string_view name, std::string_view other) const {
  return std::string(find(name) ? attribute(name, Kind::Text).text : other);
}
std::vector<int64_t> Conversion::integers(std::string_view name) const {
  return find(name) ? attribute(name, Kind::List).integers : std::vector<int64_t>();
}
DType Conversion::element_type(std::string_view name) const {
  const ElementType type = attribute(name, Kind::Type).type;
  const DType dtype = dtype_of(type);
  require(dtype != DType::Undefined, "attribute {} is {}, a type of elements that the virtual NPU has not", name,
          tensorflow::name_of(type));
  return dtype;
}

void Conversion::check_attributes() const {
  /// What changes how, and not what, is computed, and what graphs say of themselves.
  static constexpr std::string_view kHow[] = {"use_cudnn_on_gpu", "validate_indices",
                                              "use_locking",      "parallel_iterations",
                                              "swap_memory",      "incompatible_shape_error",
                                              "validate_shape",   "grad_a",
                                              "grad_b",           "fast"};
  for (const auto& [name, a] : proto.attributes) {
    if (name.starts_with("_") || asked_.contains(name) || std::ranges::find(kHow, name) != std::end(kHow)) continue;
    bool says = false;
    switch (a.kind) {
      case Kind::Integer: says = a.integer != 0; break;
      case Kind::Real: says = a.real != 0; break;
      case Kind::Flag: says = a.flag; break;
      case Kind::Text: says = !a.text.empty(); break;
      case Kind::List: says = !a.integers.empty() || !a.reals.empty() || !a.flags.empty() || !a.texts.empty(); break;
      default: break;  // types and shapes are known from the tensors
    }
    // How many inputs of a list there are is told by the inputs.
    if (a.kind == Kind::Integer && (name == "N" || name == "num")) continue;
    require(!says, "attribute {} is not implemented", name);
  }
}

graph::Node& Conversion::result(std::string_view type, const std::vector<Operand>& operands, Attributes attributes,
                                size_t outputs) {
  graph::Node& made = build.node(type, name, operands, std::move(attributes), outputs);
  for (size_t i = 0; i < made.outputs().size(); ++i) give(made.out(static_cast<int>(i)));
  return made;
}

namespace {

/// What to do about an operator that has no converter.
std::string_view remedy_of(std::string_view type) {
  static constexpr std::string_view kLoops[] = {"Enter", "Exit", "LoopCond", "Merge", "NextIteration", "Switch"};
  static constexpr std::string_view kVariables[] = {
      "VarHandleOp", "VarIsInitializedOp", "ReadVariableOp", "AssignVariableOp", "VariableV2", "Variable", "Assign"};
  if (std::ranges::find(kLoops, type) != std::end(kLoops))
    return "branches and loops of TensorFlow 1 (Switch, Enter, NextIteration) are not converted; freeze the model with "
           "convert_variables_to_constants_v2(function, lower_control_flow=False)";
  if (std::ranges::find(kVariables, type) != std::end(kVariables))
    return "variables are not converted; freeze the model, which makes constants of them "
           "(convert_variables_to_constants_v2)";
  if (type.starts_with("TensorList"))
    return "lists of tensors are not converted; write recurrent layers out (unroll=True in Keras)";
  return "there is no converter for this operator (docs/reference/tensorflow-operators.md lists those that there are)";
}

}  // namespace

std::vector<Endpoint> Conversion::convert(const NodeDef& node, const std::string& name, std::vector<Endpoint> inputs,
                                          graph::Builder& builder, Functions& functions) {
  const Row* row = find_row(node.type);
  if (!row) throw Error(code::kAclnnParamInvalid, "{} ({}): {}", name, node.type, remedy_of(node.type));
  try {
    Conversion c(node, *row, builder, functions, name, std::move(inputs));
    row->convert(c);
    c.check_attributes();
    return c.given();
  } catch (const Error& e) { frontends::throw_of_node(name, node.type, e); }
}

bool Conversion::channels_last() const {
  const std::string format = text("data_format", "NHWC");
  require(format == "NHWC" || format == "NCHW" || format == "NDHWC" || format == "NCDHW",
          "attribute data_format is \"{}\", want NHWC, NCHW, NDHWC or NCDHW", format);
  return format == "NHWC" || format == "NDHWC";
}

}  // namespace updraft::tensorflow
