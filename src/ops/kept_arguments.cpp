#include "ops/kept_arguments.h"

#include <string_view>

#include "base/error.h"
#include "device/memory.h"
#include "ops/op.h"

namespace updraft {

void set_address(aclTensor& tensor, void* storage) {
  tensor.storage = storage;
  const auto base = reinterpret_cast<uintptr_t>(host_address(storage));
  const int64_t bytes = tensor.offset * static_cast<int64_t>(size_of(tensor.view.dtype));
  // A number, not a pointer: what lies outside any memory is refused when it is used (ops/reach.h).
  tensor.view.data = base ? reinterpret_cast<void*>(base + static_cast<uintptr_t>(bytes)) : nullptr;
}

namespace {

aclTensor& copied(std::deque<aclTensor>& own, const aclTensor& given) {
  aclTensor& copy = own.emplace_back(given);
  copy.client = client_of(&given);
  return copy;
}

}  // namespace

KeptArguments::KeptArguments(const OpInfo& info, const Value* values)
    : info_(info), values_(values, values + info.parameters.size()) {
  for (size_t i = 0; i < values_.size(); ++i) {
    Value& v = values_[i];
    const Kind kind = info.parameters[i].kind;
    if (kind == Kind::Text) {
      if (v.text()) v = Value(static_cast<const void*>(texts_.emplace_back(v.text()).c_str()));
      continue;
    }
    if (kind == Kind::Texts) v = Value(static_cast<const void*>(&text_lists_.emplace_back(v.texts())));
    if (kind == Kind::IntLists) v = Value(static_cast<const void*>(&int_lists_.emplace_back(v.int_lists())));
    if (!is_handle(kind) || !v.pointer()) continue;
    switch (kind) {
      case Kind::Tensor: v = Value(&copied(own_.tensors, *v.tensor())); break;
      case Kind::Tensors: {
        lists_[i] = tensor_list_pool().ref(v.tensors());
        aclTensorList& list = own_.lists.emplace_back();
        for (const aclTensor* t : v.tensors()->items) list.items.push_back({t ? &copied(own_.tensors, *t) : nullptr});
        v = Value(&list);
        break;
      }
      case Kind::Scalar: v = Value(&own_.scalars.emplace_back(*v.scalar())); break;
      case Kind::Scalars: {
        aclScalarList& list = own_.scalar_lists.emplace_back();
        for (const aclScalar* s : v.scalars()->items)
          list.items.push_back({s ? &own_.scalars.emplace_back(*s) : nullptr});
        v = Value(&list);
        break;
      }
      case Kind::Ints: v = Value(&own_.ints.emplace_back(*v.ints())); break;
      case Kind::Floats: v = Value(&own_.floats.emplace_back(*v.floats())); break;
      default: v = Value(&own_.bools.emplace_back(*v.bools())); break;
    }
  }
}

namespace {

/// True for integers that are an input of the operator: the C interface takes them as an array, because they say how to
/// plan, but they count among the indices of addresses (a client that keeps executors skips them).
bool is_input_of_integers(const Parameter& p) {
  if (p.kind != Kind::Ints) return false;
  const std::string_view name = p.name;
  return name.starts_with("actualS") || name.starts_with("prefix") || name.ends_with("StartIdx") ||
         name.ends_with("StartIdxOptional");
}
void refuse_integers(const Parameter& p) {
  if (p.kind == Kind::Ints)
    throw Error(code::kAclnnParamInvalid, "{} is an array of integers: it has no address, plan again to change it",
                p.name);
}

}  // namespace

bool KeptArguments::is_single(size_t position) const { return info_.parameters[position].kind == Kind::Tensor; }

bool KeptArguments::is_handle_of(size_t position, const void* handle) const {
  const Value& v = values_[position];
  if (!handle || !is_tensor(info_.parameters[position].kind) || !v.pointer()) return false;
  if (is_single(position)) return v.tensor()->client.object == handle && tensor_pool().get(v.tensor()->client);
  const auto list = lists_.find(position);
  return list != lists_.end() && list->second.object == handle && tensor_list_pool().get(list->second);
}

size_t KeptArguments::position_of(size_t index, Among among, const void* handle) const {
  for (size_t i = 0; i < values_.size(); ++i) {
    if (!is_handle_of(i, handle)) continue;
    // One handle may stand for several parameters: then the index says which.
    for (size_t next = i + 1; next < values_.size(); ++next)
      if (is_handle_of(next, handle)) return position_of(index, among);
    return i;
  }
  return position_of(index, among);
}

size_t KeptArguments::position_of(size_t index, Among among) const {
  size_t seen = 0;
  for (size_t i = 0; i < values_.size(); ++i) {
    const Parameter& p = info_.parameters[i];
    if ((!is_tensor(p.kind) && !is_input_of_integers(p)) || (among == Among::Read && !p.read()) ||
        (among == Among::Written && !p.written()))
      continue;
    if (seen++ == index) return i;
  }
  throw Error(code::kAclnnParamInvalid, "index {} is out of range: {} has {} {}tensors, lists and lengths", index,
              info_.name, seen,
              among == Among::All    ? ""
              : among == Among::Read ? "input "
                                     : "output ");
}

void KeptArguments::readdress(size_t position, void* storage) {
  const Parameter& p = info_.parameters[position];
  refuse_integers(p);
  if (p.kind != Kind::Tensor)
    throw Error(code::kAclnnParamInvalid,
                "{} is a list of tensors: aclSetDynamicTensorAddr sets addresses of its tensors", p.name);
  if (!values_[position].pointer())
    throw Error(code::kAclnnParamInvalid, "{} is absent in this executor: it has no address", p.name);
  set_address(*const_cast<aclTensor*>(values_[position].tensor()), storage);
  readdressed_ = true;
}

void KeptArguments::readdress(size_t position, size_t item, void* storage) {
  const Parameter& p = info_.parameters[position];
  refuse_integers(p);
  if (p.kind != Kind::Tensors)
    throw Error(code::kAclnnParamInvalid, "{} is one tensor: aclSetTensorAddr sets its address", p.name);
  const aclTensorList* list = values_[position].tensors();
  const size_t size = list ? list->items.size() : 0;
  if (item >= size || !list->items[item])
    throw Error(code::kAclnnParamInvalid, "tensor {} of {} is absent: the list has {}", item, p.name, size);
  set_address(*list->items[item], storage);
  readdressed_ = true;
}

}  // namespace updraft
