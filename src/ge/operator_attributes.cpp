// Attributes of ge::Operator: what C++ gives becomes an attribute of the graph's kinds, and back.
#include <algorithm>

#include "ge/operator_impl.h"
#include "ge/status.h"
#include "ge/tensor_impl.h"
#include "graph/node_call.h"

namespace ge {

using updraft::Default;
using updraft::Error;
using updraft::Kind;
namespace code = updraft::code;
namespace ir = updraft::graph;
using ir::Attribute;

namespace {

template <class... A>
[[noreturn]] void refuse(const OperatorImpl& op, fmt::format_string<A...> text, A&&... values) {
  throw Error(code::kAclInvalidParam, "{}: {}", op.text(), fmt::format(text, std::forward<A>(values)...));
}

/// "a list of integers": what an attribute wants.
const char* wanted(Kind kind) {
  switch (kind) {
    case Kind::Tensor: return "a tensor";
    case Kind::Bool: return "a bool";
    case Kind::Float:
    case Kind::Double: return "a number";
    case Kind::Text: return "a text";
    case Kind::Type: return "a data type";
    case Kind::Ints: return "a list of integers";
    case Kind::Floats: return "a list of numbers";
    case Kind::Bools: return "a list of bools";
    case Kind::Texts: return "a list of texts";
    case Kind::IntLists: return "a list of lists of integers";
    default: return "an integer";
  }
}

std::string names_of(const std::vector<IrAttribute>& all) {
  std::string names;
  for (const IrAttribute& a : all) names += (names.empty() ? "" : ", ") + std::string(a.name);
  return names.empty() ? "none" : names;
}

std::optional<Attribute> default_of(const IrAttribute& a) {
  const Default& d = a.other;
  if (d.is == Default::Is::Required) return {};
  if (d.is == Default::Is::Text) return Attribute(d.text);
  const double* const end = d.numbers + d.count;
  switch (a.kind) {
    case Kind::Bool: return Attribute(d.numbers[0] != 0);
    case Kind::Float:
    case Kind::Double: return Attribute(static_cast<float>(d.numbers[0]));
    case Kind::Type: return Attribute(static_cast<updraft::DType>(d.numbers[0]));
    case Kind::Ints: return Attribute(Attribute::Integers(d.numbers, end));
    case Kind::Floats: return Attribute(std::vector<float>(d.numbers, end));
    case Kind::Bools: {
      std::vector<bool> bools;
      for (const double* n = d.numbers; n < end; ++n) bools.push_back(*n != 0);
      return Attribute(Attribute::Value(std::move(bools)));
    }
    case Kind::Texts: return Attribute(Attribute::Texts());
    case Kind::IntLists: return Attribute(Attribute::IntegerLists());
    default: return Attribute(static_cast<int64_t>(d.numbers[0]));
  }
}

}  // namespace

std::optional<Attribute> OperatorImpl::attribute(std::string_view attribute_name) const {
  const auto given = attributes.find(attribute_name);
  if (given != attributes.end()) return given->second;
  const IrAttribute* a = ir ? ir->attribute(attribute_name) : nullptr;
  return a ? default_of(*a) : std::nullopt;
}

namespace {

/// Attributes by which clients say once more what others say: how they came to their pads, which dimensions inputs
/// have.
constexpr std::string_view kSaidOtherwise[] = {"padding", "pad_mode"};

}  // namespace

void OperatorImpl::set(const char* attribute_name, Attribute value) {
  const std::string_view wants = attribute_name ? attribute_name : "";
  if (!ir->attribute(wants) && std::ranges::find(kSaidOtherwise, wants) != std::end(kSaidOtherwise)) return;
  if (!wants.starts_with('_')) {
    const IrAttribute* a = ir->attribute(wants);
    if (!a)
      refuse(*this, "it has no attribute {}; its attributes are {}. Attributes of your own begin with _", wants,
             names_of(ir->attributes));
    const bool fits = a->kind == Kind::Tensor ? value.is<ir::Tensor>() : ir::takes(a->kind, value);
    if (!fits) refuse(*this, "attribute {} is {}, want {}", wants, value.kind(), wanted(a->kind));
  }
  attributes[std::string(wants)] = std::move(value);
}

namespace {

void set(const std::shared_ptr<OperatorImpl>& op, const char* name, auto&& make) {
  status("Operator::SetAttr", [&] {
    if (!op) throw Error(code::kAclInvalidParam, "the object is an operator without a type");
    try {
      op->check();
      op->set(name, Attribute(make()));
    } catch (const Error& e) {
      if (op->refusal.empty()) op->refusal = e.text();
      throw;
    }
  });
}

std::vector<int64_t> integers(const auto& values) { return {values.begin(), values.end()}; }

graphStatus get(const std::shared_ptr<OperatorImpl>& op, const char* name, auto&& take) {
  return status("Operator::GetAttr", [&] {
    if (!op) throw Error(code::kAclInvalidParam, "the object is an operator without a type");
    const auto value = op->attribute(name ? name : "");
    if (!value) refuse(*op, "attribute {} has no value", name ? name : "(null)");
    if (!take(*value)) refuse(*op, "attribute {} is {}: ask for that kind", name, value->kind());
  });
}

bool take_integer(const Attribute& from, auto& to) {
  using T = std::remove_reference_t<decltype(to)>;
  int64_t value = 0;
  if (const auto* integer = from.get<int64_t>()) value = *integer;
  else if (const auto* type = from.get<updraft::DType>()) value = static_cast<int64_t>(*type);
  else return false;
  to = static_cast<T>(value);
  return static_cast<int64_t>(to) == value;
}

bool take_integers(const Attribute& from, auto& to) {
  using T = typename std::remove_reference_t<decltype(to)>::value_type;
  const auto* integers = from.get<Attribute::Integers>();
  if (!integers && !from.is<std::monostate>()) return false;
  to.clear();
  if (integers)
    for (int64_t v : *integers) {
      if (static_cast<int64_t>(static_cast<T>(v)) != v) return false;
      to.push_back(static_cast<T>(v));
    }
  return true;
}

template <class Held>
bool take_list(const Attribute& from, auto& to, auto&& convert) {
  const auto* held = from.get<std::vector<Held>>();
  if (!held && !from.is<std::monostate>()) return false;
  to.clear();
  if (held)
    for (const auto& value : *held) to.push_back(convert(value));
  return true;
}

}  // namespace

Operator& Operator::SetAttr(const char* name, bool value) {
  return set(impl_, name, [&] { return value; }), *this;
}
Operator& Operator::SetAttr(const char* name, int32_t value) {
  return set(impl_, name, [&] { return static_cast<int64_t>(value); }), *this;
}
Operator& Operator::SetAttr(const char* name, uint32_t value) {
  return set(impl_, name, [&] { return static_cast<int64_t>(value); }), *this;
}
Operator& Operator::SetAttr(const char* name, int64_t value) {
  return set(impl_, name, [&] { return value; }), *this;
}
Operator& Operator::SetAttr(const char* name, float value) {
  return set(impl_, name, [&] { return value; }), *this;
}
Operator& Operator::SetAttr(const char* name, const char* value) {
  return set(impl_, name, [&] { return std::string(value ? value : ""); }), *this;
}
Operator& Operator::SetAttr(const char* name, const AscendString& value) { return SetAttr(name, value.GetString()); }
Operator& Operator::SetAttr(const char* name, const DataType& value) {
  return set(impl_, name, [&] { return static_cast<updraft::DType>(value); }), *this;
}
Operator& Operator::SetAttr(const char* name, const Tensor& value) {
  return set(impl_, name, [&] { return constant_of(value); }), *this;
}
Operator& Operator::SetAttr(const char* name, const std::vector<bool>& value) {
  return set(impl_, name, [&] { return Attribute::Value(value); }), *this;
}
Operator& Operator::SetAttr(const char* name, const std::vector<int32_t>& value) {
  return set(impl_, name, [&] { return integers(value); }), *this;
}
Operator& Operator::SetAttr(const char* name, const std::vector<uint32_t>& value) {
  return set(impl_, name, [&] { return integers(value); }), *this;
}
Operator& Operator::SetAttr(const char* name, const std::vector<int64_t>& value) {
  return set(impl_, name, [&] { return value; }), *this;
}
Operator& Operator::SetAttr(const char* name, const std::vector<float>& value) {
  return set(impl_, name, [&] { return value; }), *this;
}
Operator& Operator::SetAttr(const char* name, const std::vector<AscendString>& value) {
  const auto texts = [&] {
    Attribute::Texts all;
    for (const AscendString& text : value) all.emplace_back(text.GetString());
    return all;
  };
  return set(impl_, name, texts), *this;
}
Operator& Operator::SetAttr(const char* name, const std::vector<DataType>& value) {
  const auto types = [&] {
    std::vector<updraft::DType> all;
    for (DataType type : value) all.push_back(static_cast<updraft::DType>(type));
    return Attribute::Value(std::move(all));
  };
  return set(impl_, name, types), *this;
}
Operator& Operator::SetAttr(const char* name, const std::vector<std::vector<int64_t>>& value) {
  return set(impl_, name, [&] { return value; }), *this;
}

graphStatus Operator::GetAttr(const char* name, bool& value) const {
  return get(impl_, name, [&](const Attribute& a) {
    if (const bool* held = a.get<bool>()) value = *held;
    return a.is<bool>();
  });
}
graphStatus Operator::GetAttr(const char* name, int32_t& value) const {
  return get(impl_, name, [&](const Attribute& a) { return take_integer(a, value); });
}
graphStatus Operator::GetAttr(const char* name, uint32_t& value) const {
  return get(impl_, name, [&](const Attribute& a) { return take_integer(a, value); });
}
graphStatus Operator::GetAttr(const char* name, int64_t& value) const {
  return get(impl_, name, [&](const Attribute& a) { return take_integer(a, value); });
}
graphStatus Operator::GetAttr(const char* name, float& value) const {
  return get(impl_, name, [&](const Attribute& a) {
    if (const float* held = a.get<float>()) value = *held;
    else if (const int64_t* integer = a.get<int64_t>()) value = static_cast<float>(*integer);
    else return false;
    return true;
  });
}
graphStatus Operator::GetAttr(const char* name, AscendString& value) const {
  return get(impl_, name, [&](const Attribute& a) {
    if (const std::string* held = a.get<std::string>()) value = held->c_str();
    return a.is<std::string>();
  });
}
graphStatus Operator::GetAttr(const char* name, DataType& value) const {
  return get(impl_, name, [&](const Attribute& a) {
    int64_t number = 0;
    if (!take_integer(a, number)) return false;
    value = static_cast<DataType>(number);
    return true;
  });
}
graphStatus Operator::GetAttr(const char* name, Tensor& value) const {
  return get(impl_, name, [&](const Attribute& a) {
    if (const ir::Tensor* held = a.get<ir::Tensor>()) value = tensor_of(*held);
    return a.is<ir::Tensor>();
  });
}
graphStatus Operator::GetAttr(const char* name, std::vector<bool>& value) const {
  return get(impl_, name, [&](const Attribute& a) { return take_list<bool>(a, value, [](bool v) { return v; }); });
}
graphStatus Operator::GetAttr(const char* name, std::vector<int32_t>& value) const {
  return get(impl_, name, [&](const Attribute& a) { return take_integers(a, value); });
}
graphStatus Operator::GetAttr(const char* name, std::vector<uint32_t>& value) const {
  return get(impl_, name, [&](const Attribute& a) { return take_integers(a, value); });
}
graphStatus Operator::GetAttr(const char* name, std::vector<int64_t>& value) const {
  return get(impl_, name, [&](const Attribute& a) { return take_integers(a, value); });
}
graphStatus Operator::GetAttr(const char* name, std::vector<float>& value) const {
  return get(impl_, name, [&](const Attribute& a) { return take_list<float>(a, value, [](float v) { return v; }); });
}
graphStatus Operator::GetAttr(const char* name, std::vector<AscendString>& value) const {
  return get(impl_, name, [&](const Attribute& a) {
    return take_list<std::string>(a, value, [](const std::string& v) { return AscendString(v.c_str()); });
  });
}
graphStatus Operator::GetAttr(const char* name, std::vector<DataType>& value) const {
  return get(impl_, name, [&](const Attribute& a) {
    return take_list<updraft::DType>(a, value, [](updraft::DType v) { return static_cast<DataType>(v); });
  });
}
graphStatus Operator::GetAttr(const char* name, std::vector<std::vector<int64_t>>& value) const {
  return get(impl_, name, [&](const Attribute& a) {
    return take_list<std::vector<int64_t>>(a, value, [](const std::vector<int64_t>& v) { return v; });
  });
}

}  // namespace ge
