#include "ops/observed_arguments.h"

#include <cstring>
#include <string>

#include "device/memory.h"
#include "device/observer.h"
#include "ops/op.h"

namespace updraft {
namespace {

/// A view that lies in one allocation may reach out of the storage that the client named, into its neighbour's.
void look_at_storage(const char* name, const aclTensor& t) {
  if (t.storage_rank <= 0 || t.on_host || !t.storage || t.view.empty() || t.format != 2) return;
  const auto extent = extent_of(t.view);
  const auto size = static_cast<int64_t>(size_of(t.view.dtype));
  int64_t bytes = size;
  for (int i = 0; i < t.storage_rank; ++i)
    if (__builtin_mul_overflow(bytes, t.storage_dims[i], &bytes)) return;
  if (!extent || (t.offset * size + extent->low >= 0 && t.offset * size + extent->high <= bytes)) return;
  const std::string text = fmt::format("{} is {} at offset {}, and its storage of {} bytes ends before", name,
                                       describe(t.view), t.offset, bytes);
  observe_order({.what = OrderEvent::What::OutOfReach, .object = host_address(t.storage), .text = text.c_str()});
}

Argument::Value value_of(const aclTensor* t) {
  if (!t) return AbsentArgument{};
  return TensorArgument{t->view, t->format, t->storage, t->offset, t->on_host};
}

/// Made in its place: it is large, and copies of it would cost as much as all else.
void add(std::vector<Argument>& to, const Parameter& p, const aclTensor& t) {
  Argument& argument = to.emplace_back(p.name, p.direction, -1, AbsentArgument{});
  argument.value.emplace<TensorArgument>(t.view, t.format, t.storage, t.offset, t.on_host);
}

Argument::Value value_of(const aclScalar* s) {
  if (!s) return AbsentArgument{};
  ScalarArgument value{s->dtype, {}};
  std::memcpy(value.bytes, s->bytes, sizeof value.bytes);
  return value;
}

/// What is not a list of tensors or scalars.
Argument::Value value_of(Kind kind, const Value& v) {
  if (is_handle(kind) && !v.pointer()) return AbsentArgument{};
  switch (kind) {
    case Kind::Tensor: return value_of(v.tensor());
    case Kind::Scalar: return value_of(v.scalar());
    case Kind::Ints: return v.ints()->values;
    case Kind::Floats: return std::vector<double>(v.floats()->values.begin(), v.floats()->values.end());
    case Kind::Bools: return std::vector<bool>(v.bools()->values.begin(), v.bools()->values.end());
    case Kind::Text: return v.text() ? Argument::Value(std::string(v.text())) : AbsentArgument{};
    case Kind::Texts: return v.pointer() ? Argument::Value(v.texts()) : AbsentArgument{};
    case Kind::IntLists: return v.pointer() ? Argument::Value(v.int_lists()) : AbsentArgument{};
    case Kind::Bool: return v.integer() != 0;
    case Kind::Type: return static_cast<DType>(v.integer());
    case Kind::Double:
    case Kind::Float: return v.real();
    default: return v.integer();
  }
}

}  // namespace

void observe_arguments(std::vector<Argument>& to, const OpInfo& info, const Value* values) {
  const bool ordered = watched() && watched_bits() & watch::kOrder;
  for (size_t i = 0; i < info.parameters.size(); ++i) {
    const Parameter& p = info.parameters[i];
    if (p.kind == Kind::Tensor && values[i].tensor()) {
      const aclTensor& tensor = *values[i].tensor();
      if (ordered) look_at_storage(p.name, tensor);
      add(to, p, tensor);
      continue;
    }
    auto elements = [&](const auto* list) {
      if (!list || list->items.empty()) {
        to.push_back({p.name, p.direction, -1, AbsentArgument{}});
        return;
      }
      int32_t item = 0;
      for (const auto& element : list->items) to.push_back({p.name, p.direction, item++, value_of(element.object)});
    };
    if (p.kind == Kind::Tensors) elements(values[i].tensors());
    else if (p.kind == Kind::Scalars) elements(values[i].scalars());
    else to.push_back({p.name, p.direction, -1, value_of(p.kind, values[i])});
  }
}

}  // namespace updraft
