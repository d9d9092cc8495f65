#include "graph/node_call.h"

#include <algorithm>
#include <cctype>

#include "ops/ir_op.h"

namespace updraft::graph {

const OpInfo* operator_of(const Node& node) { return find_ir_op(node.type()); }

bool is_control_flow(const Node& node) {
  static constexpr std::string_view kTypes[] = {"If",    "StatelessIf",    "Case",           "StatelessCase",
                                                "While", "StatelessWhile", "PartitionedCall"};
  return std::ranges::find(kTypes, std::string_view(node.type())) != std::end(kTypes);
}

namespace {

const OpInfo& registered(const Node& node) {
  if (const OpInfo* info = operator_of(node)) return *info;
  throw Error(code::kAclnnParamInvalid,
              "{}: the virtual NPU has no operator of type {} (docs/reference/operators.md lists the graph operators)",
              node.name(), node.type());
}

std::vector<int64_t> integers_of(const std::vector<DType>& types) {
  std::vector<int64_t> numbers;
  for (DType t : types) numbers.push_back(static_cast<int64_t>(t));
  return numbers;
}

/// Gives the attribute to the call; false when its kind is not the parameter's.
bool give(OpCall& call, const Parameter& p, const Attribute& attribute) {
  if (!takes(p.kind, attribute)) return false;
  const auto name = p.name;
  const auto* integer = attribute.get<int64_t>();
  const auto* real = attribute.get<float>();
  const auto* boolean = attribute.get<bool>();
  const auto* type = attribute.get<DType>();
  const auto* integers = attribute.get<std::vector<int64_t>>();
  switch (p.kind) {
    case Kind::Bool:
      if (boolean) call.set(name, *boolean);
      else if (integer) call.set(name, *integer != 0);
      else return false;
      return true;
    case Kind::Int:
    case Kind::UInt:
    case Kind::Int32:
    case Kind::Int8:
    case Kind::Type:
      if (integer) call.set(name, *integer);
      else if (type) call.set(name, static_cast<int64_t>(*type));
      else if (boolean) call.set(name, static_cast<int64_t>(*boolean));
      else return false;
      return true;
    case Kind::Double:
    case Kind::Float:
      if (real) call.set(name, static_cast<double>(*real));
      else if (integer) call.set(name, static_cast<double>(*integer));
      else return false;
      return true;
    case Kind::Text:
      if (const auto* text = attribute.get<std::string>()) call.set(name, *text);
      else return false;
      return true;
    case Kind::Ints:
    case Kind::Bools:
      if (integers) call.set(name, *integers);
      else if (const auto* bools = attribute.get<std::vector<bool>>())
        call.set(name, std::vector<int64_t>(bools->begin(), bools->end()));
      else if (const auto* types = attribute.get<std::vector<DType>>()) call.set(name, integers_of(*types));
      else if (attribute.is<std::monostate>()) call.set(name, std::vector<int64_t>());
      else return false;
      return true;
    case Kind::Floats:
      if (const auto* reals = attribute.get<std::vector<float>>())
        call.set(name, std::vector<double>(reals->begin(), reals->end()));
      else if (integers) call.set(name, *integers);
      else if (attribute.is<std::monostate>()) call.set(name, std::vector<double>());
      else return false;
      return true;
    case Kind::Texts:
      if (const auto* texts = attribute.get<std::vector<std::string>>()) call.set(name, *texts);
      else if (attribute.is<std::monostate>()) call.set(name, std::vector<std::string>());
      else return false;
      return true;
    case Kind::IntLists:
      if (const auto* lists = attribute.get<Attribute::IntegerLists>()) call.set(name, *lists);
      else if (attribute.is<std::monostate>()) call.set(name, Attribute::IntegerLists());
      else return false;
      return true;
    default: return false;
  }
}

}  // namespace

bool takes(Kind kind, const Attribute& value) {
  const bool integer = value.is<int64_t>(), integers = value.is<Attribute::Integers>(),
             none = value.is<std::monostate>();
  switch (kind) {
    case Kind::Bool: return integer || value.is<bool>();
    case Kind::Int:
    case Kind::UInt:
    case Kind::Int32:
    case Kind::Int8:
    case Kind::Type: return integer || value.is<DType>() || value.is<bool>();
    case Kind::Double:
    case Kind::Float: return integer || value.is<float>();
    case Kind::Text: return value.is<std::string>();
    case Kind::Ints:
    case Kind::Bools: return integers || none || value.is<std::vector<bool>>() || value.is<std::vector<DType>>();
    case Kind::Floats: return integers || none || value.is<std::vector<float>>();
    case Kind::Texts: return none || value.is<Attribute::Texts>();
    case Kind::IntLists: return none || value.is<Attribute::IntegerLists>();
    default: return false;
  }
}

bool updates_input(const Node& node, size_t input) {
  const OpInfo* info = operator_of(node);
  if (!info) return false;
  const Parameter* p = find_parameter(*info, node.inputs()[input].name);
  if (!p || !p->read()) {  // a client with other names
    const auto inputs = ir_inputs(*info);
    p = input < inputs.size() ? inputs[input] : nullptr;
  }
  return p && p->kind == Kind::Tensor && p->direction == Direction::InOut;
}

bool is_updated_input(Endpoint from) {
  const int input = from.node->find_input(from.node->output(from.index).name);
  return input >= 0 && updates_input(*from.node, static_cast<size_t>(input));
}

void throw_of(const Node& node, const Error& error) {
  if (error.text().starts_with(node.name())) throw error;
  throw Error(error.code(), "{} ({}): {}", node.name(), node.type(), error.text());
}

NodeCall::NodeCall(const Node& node) : call_(registered(node)) {
  set_attributes(node);
  find_places(node);
}

void NodeCall::set_attributes(const Node& node) {
  for (const Parameter& p : call_.info().parameters) {
    if (is_tensor(p.kind)) continue;
    const auto found = node.attributes.find(p.name);
    if (found == node.attributes.end()) continue;
    if (!give(call_, p, found->second))
      throw Error(code::kAclnnParamInvalid, "{} ({}): attribute {} is {}, want {}", node.name(), node.type(), p.name,
                  found->second.kind(), p.type);
  }
}

namespace {

bool fits(const Parameter* p, bool list, bool read) {
  return p && p->kind == (list ? Kind::Tensors : Kind::Tensor) && (read ? p->read() : p->written());
}

/// Places by the names of the parameters; false where one of them is another name.
bool places_by_name(const OpInfo& info, const std::vector<std::string_view>& names, bool read,
                    std::vector<CallPlace>& places) {
  std::map<std::string_view, size_t> items;
  for (const std::string_view name : names) {
    const Parameter* p = find_parameter(info, name);
    if (fits(p, false, read)) {
      places.push_back({p, 0});
      continue;
    }
    // "x12" is place 12 of the list x, or place 2 of the list x1: the one that is next in its list
    bool found = false;
    for (size_t digits = 1;
         !found && digits < name.size() && std::isdigit(static_cast<unsigned char>(name[name.size() - digits]));
         ++digits) {
      p = find_parameter(info, name.substr(0, name.size() - digits));
      found = fits(p, true, read) && name.substr(name.size() - digits) == std::to_string(items[p->name]);
    }
    if (!found) return false;
    places.push_back({p, items[p->name]++});
  }
  return true;
}

/// Places by the order of the parameters, for clients with other names; what is named x0, x1, … is one list.
bool places_by_order(const std::vector<const Parameter*>& parameters, const std::vector<std::string_view>& names,
                     std::vector<CallPlace>& places) {
  size_t next = 0;
  for (const Parameter* p : parameters) {
    if (next == names.size()) break;
    if (p->kind == Kind::Tensor) {
      places.push_back({p, 0});
      ++next;
      continue;
    }
    if (!names[next].ends_with('0')) return false;
    const std::string list(names[next].substr(0, names[next].size() - 1));
    for (size_t item = 0; next < names.size() && names[next] == list + std::to_string(item); ++item, ++next)
      places.push_back({p, item});
  }
  return next == names.size();
}

template <class T>
std::vector<CallPlace> places_of(const Node& node, const OpInfo& info, const std::vector<T>& all, bool read) {
  std::vector<std::string_view> names;
  for (const T& item : all) names.push_back(item.name);
  std::vector<CallPlace> places;
  if (places_by_name(info, names, read, places)) return places;
  places.clear();
  const auto parameters = read ? ir_inputs(info) : ir_outputs(info);
  if (places_by_order(parameters, names, places)) return places;
  std::string has;
  for (const Parameter* p : parameters) has += (has.empty() ? "" : ", ") + std::string(p->name);
  throw Error(code::kAclnnParamInvalid, "{} ({}) has the {} {}; the operator has {}", node.name(), node.type(),
              read ? "inputs" : "outputs", fmt::join(names, ", "), has);
}

}  // namespace

void NodeCall::find_places(const Node& node) {
  inputs_ = places_of(node, call_.info(), node.inputs(), true);
  outputs_ = places_of(node, call_.info(), node.outputs(), false);
}

void NodeCall::set_output(size_t i, CallTensor tensor) {
  if (!updates(i)) call_.add_tensor(outputs_[i].parameter->name, std::move(tensor));
}

void NodeCall::ask_output(size_t i) {
  if (!updates(i)) call_.ask(outputs_[i].parameter->name);
}

const CallTensor& NodeCall::output(size_t i) const {
  return call_.tensors(outputs_[i].parameter->name).at(outputs_[i].item);
}

}  // namespace updraft::graph
