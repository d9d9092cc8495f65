#include "ops/ir_op.h"

#include <cmath>
#include <cstring>
#include <memory>
#include <unordered_map>

#include "ops/kept_arguments.h"

namespace updraft {
namespace {
OpInfo* g_first = nullptr;
}

OpInfo* register_ir_op(OpInfo* info) {
  info->next = g_first;
  return g_first = info;
}
const OpInfo* first_ir_op() { return g_first; }

const OpInfo* find_ir_op(std::string_view type) {
  static const auto* all = [] {
    auto* map = new std::unordered_map<std::string_view, const OpInfo*>;
    for (const OpInfo* op = g_first; op; op = op->next) map->emplace(op->name, op);
    return map;
  }();
  const auto it = all->find(type);
  return it == all->end() ? nullptr : it->second;
}

/// Handles of a step's arguments, for as long as its plan is made.
class StepValues {
 public:
  StepValues(const OpInfo& info, std::span<const StepArgument> arguments) {
    if (arguments.size() != info.parameters.size())
      throw Error(code::kAclnnInner, "a step calls {} with {} arguments, it has {}", info.name, arguments.size(),
                  info.parameters.size());
    for (size_t i = 0; i < arguments.size(); ++i) values_.push_back(make(info, info.parameters[i], arguments[i]));
  }
  const Value* values() const { return values_.data(); }

 private:
  using Is = StepArgument::Is;

  aclTensor& tensor(const TensorView& view) {
    aclTensor& t = tensors_.emplace_back();
    t.view = view;
    t.storage = view.data;
    return t;
  }

  aclScalar& scalar(const StepArgument& a) {
    aclScalar& s = scalars_.emplace_back();
    s.dtype = a.is_ == Is::Real ? DType::Double : a.is_ == Is::Bool ? DType::Bool : DType::Int64;
    if (a.is_ == Is::Real) std::memcpy(s.bytes, &a.real_, sizeof a.real_);
    else std::memcpy(s.bytes, &a.integer_, sizeof a.integer_);
    return s;
  }

  Value make(const OpInfo& info, const Parameter& p, const StepArgument& a) {
    switch (p.kind) {
      case Kind::Tensor:
        if (a.is_ == Is::Pointer) return a.view_ ? Value(&tensor(*a.view_)) : Value(a.pointer_);
        break;
      case Kind::Tensors:
        if (a.is_ == Is::Pointer && !a.view_) return Value(a.pointer_);
        if (a.is_ == Is::Views) {
          aclTensorList& list = lists_.emplace_back();
          for (const TensorView* v : a.views_) list.items.push_back({v ? &tensor(*v) : nullptr});
          return Value(&list);
        }
        break;
      case Kind::Scalar:
        if (a.is_ == Is::Pointer && !a.view_) return Value(a.pointer_);
        if (a.is_ <= Is::Real) return Value(&scalar(a));
        break;
      case Kind::Ints:
        if (a.is_ == Is::Pointer && !a.view_) return Value(a.pointer_);
        if (a.is_ == Is::Integers) return Value(&ints_.emplace_back(aclIntArray{a.integers_}));
        break;
      case Kind::Bools:
        if (a.is_ == Is::Pointer && !a.view_) return Value(a.pointer_);
        if (a.is_ == Is::Integers)
          return Value(&bools_.emplace_back(aclBoolArray{{a.integers_.begin(), a.integers_.end()}}));
        break;
      case Kind::Text:
      case Kind::Scalars:
      case Kind::Floats:
        if (a.is_ == Is::Pointer && !a.view_) return Value(a.pointer_);
        break;
      case Kind::Double:
      case Kind::Float:
        if (a.is_ == Is::Real) return Value(a.real_);
        if (a.is_ == Is::Integer) return Value(static_cast<double>(a.integer_));
        break;
      case Kind::Texts:
      case Kind::IntLists: break;
      default:
        if (a.is_ == Is::Bool || a.is_ == Is::Integer) return Value(a.integer_);
    }
    throw Error(code::kAclnnInner, "a step calls {} with an argument that {} does not take", info.name, p.name);
  }

  std::vector<Value> values_;
  std::deque<aclTensor> tensors_;
  std::deque<aclTensorList> lists_;
  std::deque<aclScalar> scalars_;
  std::deque<aclIntArray> ints_;
  std::deque<aclBoolArray> bools_;
};

void call_step(Op& op, const char* name, std::span<const StepArgument> arguments) {
  const OpInfo* info = find_op(name);
  if (!info) info = find_ir_op(name);
  if (!info) throw Error(code::kAclnnInner, "a step calls {}, which is no operator", name);
  const StepValues values(*info, arguments);
  op.step(*info, values.values());
}

}  // namespace updraft
