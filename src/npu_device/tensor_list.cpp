#include "npu_device/tensor_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "npu_device/host_operator.h"

namespace updraft::npu_device {
namespace {

using tensorflow::AttrValue;
using tensorflow::name_of;

template <class... A>
[[noreturn]] void refuse(const tensorflow::NodeDef& def, fmt::format_string<A...> format, A&&... a) {
  throw StatusError(StatusCode::InvalidArgument,
                    fmt::format("{} ({}): {}", def.name, def.type, fmt::format(format, std::forward<A>(a)...)));
}

ElementType element_type(const tensorflow::NodeDef& def) {
  const auto found = def.attributes.find("element_dtype");
  return found == def.attributes.end() ? ElementType::Invalid : found->second.type;
}

/// A shape that a tensor says: -1 alone is no shape.
struct Said {
  bool rank_known = false;
  Dims dims;
};
Said shape_said(const Value& value) {
  Said said{!value.dims.empty(), value.on_host().integers()};
  if (!said.rank_known) said.dims.clear();
  return said;
}

Value value_of(std::shared_ptr<TensorList> list) {
  Value value;
  value.kind = Value::Kind::List;
  value.type = ElementType::Variant;
  value.list = std::move(list);
  return value;
}

bool fits(const TensorList& list, const Dims& dims) {
  if (!list.rank_known) return true;
  bool same = list.dims.size() == dims.size();
  for (size_t d = 0; same && d < dims.size(); ++d) same = list.dims[d] < 0 || list.dims[d] == dims[d];
  return same;
}

/// The shape of elements that were never written: what is said of all, or what another one has.
Dims element_dims(const tensorflow::NodeDef& def, const TensorList& list, const Said& said) {
  auto whole = [](const Dims& dims) { return std::ranges::all_of(dims, [](int64_t d) { return d >= 0; }); };
  if (said.rank_known && whole(said.dims)) return said.dims;
  if (list.rank_known && whole(list.dims)) return list.dims;
  for (const Value& item : list.items)
    if (item.kind == Value::Kind::Tensor) return item.dims;
  refuse(def, "nothing was written to the list, and the shape of its elements is not known");
}

Value zeros(const Handles& handles, ElementType type, Dims dims) {
  Value value = Value::tensor(type, std::move(dims), nullptr);
  value.memory = std::make_shared<Memory>(handles.device, value.bytes());
  std::memset(value.memory->host(), 0, value.bytes());
  return value;
}

size_t place(const tensorflow::NodeDef& def, const TensorList& list, const Value& index) {
  const int64_t at = index.integer("the index");
  if (at < 0 || at >= static_cast<int64_t>(list.items.size()))
    refuse(def, "index {} of a list with {} elements", at, list.items.size());
  return static_cast<size_t>(at);
}

void check(const tensorflow::NodeDef& def, const TensorList& list, const Value& item) {
  if (item.type != list.type) refuse(def, "the element is {}, the list has {}", name_of(item.type), name_of(list.type));
  if (!fits(list, item.dims))
    refuse(def, "the element has the shape {}, those of the list {}", graph::describe(item.dims),
           graph::describe(list.dims));
}

Value stacked(const Handles& handles, const tensorflow::NodeDef& def, const TensorList& list, const Said& said) {
  const Dims dims = element_dims(def, list, said);
  Dims all = dims;
  all.insert(all.begin(), static_cast<int64_t>(list.items.size()));
  Value value = Value::tensor(list.type, std::move(all), nullptr);
  value.memory = std::make_shared<Memory>(handles.device, value.bytes());
  const size_t each = list.items.empty() ? 0 : value.bytes() / list.items.size();
  std::byte* to = value.memory->host();
  for (const Value& item : list.items) {
    if (item.kind != Value::Kind::Tensor) std::memset(to, 0, each);
    else if (item.dims != dims)
      refuse(def, "elements have the shapes {} and {}", graph::describe(dims), graph::describe(item.dims));
    else if (each) std::memcpy(to, item.memory->host(), each);
    to += each;
  }
  return value;
}

std::shared_ptr<TensorList> new_list(ElementType type, const Said& said, size_t items) {
  auto list = std::make_shared<TensorList>();
  list->type = type;
  list->rank_known = said.rank_known;
  list->dims = said.dims;
  list->items.resize(items);
  return list;
}

bool flag(const tensorflow::NodeDef& def, std::string_view name) {
  const auto found = def.attributes.find(name);
  return found != def.attributes.end() && found->second.flag;
}

/// Operators that make a list of something else.
bool make_list(const tensorflow::NodeDef& def, const std::vector<Value>& inputs, std::vector<Value>& outputs) {
  const std::string_view type = def.type;
  if (type == "TensorListReserve" || type == "EmptyTensorList") {
    if (!on_device(element_type(def))) return false;
    const int64_t items = type == "TensorListReserve" ? inputs.at(1).integer("the number of elements") : 0;
    if (items < 0) refuse(def, "a list of {} elements", items);
    outputs = {value_of(new_list(element_type(def), shape_said(inputs.at(0)), static_cast<size_t>(items)))};
    return true;
  }
  if (type != "TensorListFromTensor" || inputs.at(0).kind != Value::Kind::Tensor) return false;
  const Value& tensor = inputs[0];
  if (tensor.dims.empty()) refuse(def, "the tensor is one value, want one dimension or more");
  auto list = new_list(tensor.type, shape_said(inputs.at(1)), static_cast<size_t>(tensor.dims[0]));
  const Dims dims(tensor.dims.begin() + 1, tensor.dims.end());
  const size_t each = list->items.empty() ? 0 : tensor.bytes() / list->items.size();
  for (size_t i = 0; i < list->items.size(); ++i)
    list->items[i] = Value::tensor(tensor.type, dims, std::make_shared<Memory>(tensor.memory, i * each, each));
  if (!list->items.empty()) check(def, *list, list->items[0]);
  outputs = {value_of(std::move(list))};
  return true;
}

}  // namespace

bool run_list_operator(const Handles& handles, const tensorflow::NodeDef& def, const std::vector<Value>& inputs,
                       std::vector<Value>& outputs) {
  const std::string_view type = def.type;
  if (!type.starts_with("TensorList") && type != "EmptyTensorList") return false;
  if (make_list(def, inputs, outputs)) return true;
  if (inputs.empty() || inputs[0].kind != Value::Kind::List) return false;
  const TensorList& list = *inputs[0].list;
  if (type == "TensorListLength") {
    const auto length = static_cast<int32_t>(list.items.size());
    outputs = {handles.make(ElementType::Int32, {}, &length)};
  } else if (type == "TensorListGetItem") {
    const Value& item = list.items[place(def, list, inputs.at(1))];
    outputs = {item.kind == Value::Kind::Tensor
                   ? item
                   : zeros(handles, list.type, element_dims(def, list, shape_said(inputs.at(2))))};
  } else if (type == "TensorListStack") {
    outputs = {stacked(handles, def, list, shape_said(inputs.at(1)))};
  } else if (type == "TensorListPopBack") {
    if (list.items.empty()) refuse(def, "the list is empty");
    auto made = std::make_shared<TensorList>(list);
    Value last = std::move(made->items.back());
    made->items.pop_back();
    if (last.kind != Value::Kind::Tensor)
      last = zeros(handles, list.type, element_dims(def, list, shape_said(inputs.at(1))));
    outputs = {value_of(std::move(made)), std::move(last)};
  } else if (type == "TensorListSetItem" || type == "TensorListPushBack") {
    const bool push = type == "TensorListPushBack";
    const Value& item = inputs.at(push ? 1 : 2);
    if (item.kind != Value::Kind::Tensor) return false;
    check(def, list, item);
    auto made = std::make_shared<TensorList>(list);
    if (push) {
      made->items.push_back(item);
    } else {
      const int64_t at = inputs.at(1).integer("the index");
      if (flag(def, "resize_if_index_out_of_bounds") && at >= static_cast<int64_t>(made->items.size()))
        made->items.resize(static_cast<size_t>(at) + 1);
      made->items[place(def, *made, inputs.at(1))] = item;
    }
    outputs = {value_of(std::move(made))};
  } else {
    return false;
  }
  return true;
}

HandlePointer list_on_cpu(const Handles& handles, const TensorList& list) {
  Dims said = list.dims;
  const auto rank = static_cast<int64_t>(said.size());
  const int64_t unknown = -1;
  const Value shape = list.rank_known ? handles.make(ElementType::Int64, {rank}, said.data())
                                      : handles.make(ElementType::Int64, {}, &unknown);
  const auto number = static_cast<int32_t>(list.items.size());
  HostCall reserve(handles, "TensorListReserve");
  reserve.set_type("element_dtype", list.type);
  reserve.set_type("shape_type", ElementType::Int64);
  reserve.add(handles.on_cpu(shape));
  reserve.add(handles.on_cpu(handles.make(ElementType::Int32, {}, &number)));
  HandlePointer made = reserve.run(1).at(0);
  for (int32_t i = 0; i < number; ++i) {
    const Value& item = list.items[static_cast<size_t>(i)];
    if (item.kind != Value::Kind::Tensor) continue;
    HostCall set(handles, "TensorListSetItem");
    set.set_type("element_dtype", list.type);
    set.add(made);
    set.add(handles.on_cpu(handles.make(ElementType::Int32, {}, &i)));
    set.add(handles.on_cpu(item));
    made = set.run(1).at(0);
  }
  return made;
}

}  // namespace updraft::npu_device
