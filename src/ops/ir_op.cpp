#include "ops/ir_op.h"

#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "kernels/pipeline.h"
#include "ops/infer.h"

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

namespace {

bool is_ref(const Parameter& p) { return std::strcmp(p.type, "Ref") == 0; }

/// True for an updated input that has a place of its own among the outputs.
bool is_referred_to(const OpInfo& info, const Parameter& p) {
  return std::ranges::any_of(
      info.parameters, [&](const Parameter& q) { return is_ref(q) && &q != &p && std::strcmp(q.name, p.name) == 0; });
}

}  // namespace

std::vector<const Parameter*> ir_inputs(const OpInfo& info) {
  std::vector<const Parameter*> found;
  for (const Parameter& p : info.parameters)
    if (is_tensor(p.kind) && p.read()) found.push_back(&p);
  return found;
}

std::vector<const Parameter*> ir_outputs(const OpInfo& info) {
  std::vector<const Parameter*> found;
  for (const Parameter& p : info.parameters)
    if (is_tensor(p.kind) && p.written() && !is_referred_to(info, p)) found.push_back(&p);
  return found;
}

std::vector<double> numbers_of(const Op& op, const char* name, const aclTensor* tensor) {
  if (!tensor) throw Error(code::kAclnnNullptr, "{} is null", name);
  const DType type = tensor->view.dtype;
  if (is_integral(type)) {
    const std::vector<int64_t> values = op.integers(name, tensor);
    return {values.begin(), values.end()};
  }
  op.require(is_floating(type), "{} is {}, want numbers", name, describe(tensor->view));
  aclTensor bits = *tensor;  // whether the values are there is known for integers
  bits.view.dtype = size_of(type) == 2 ? DType::Int16 : size_of(type) == 4 ? DType::Int32 : DType::Int64;
  std::vector<double> values(op.integers(name, &bits).size());
  if (!values.empty()) gather_to(values.data(), DType::Double, tensor->view);
  return values;
}

double number_of(const Op& op, const char* name, const aclTensor* tensor) {
  const std::vector<double> values = numbers_of(op, name, tensor);
  op.require(values.size() == 1, "{} is {}, want one element", name, describe(tensor->view));
  return values[0];
}

int64_t integer_of(const Op& op, const char* name, const aclTensor* tensor) {
  const std::vector<int64_t> values = op.integers(name, tensor);
  op.require(values.size() == 1, "{} is {}, want one element", name, describe(tensor->view));
  return values[0];
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
  /// Tensors whose shape the step finds, and where it is wanted.
  struct Found {
    aclTensor* tensor;
    TensorView* view;
    bool temporary;
  };
  const std::vector<Found>& found() const { return found_; }

 private:
  using Is = StepArgument::Is;

  aclTensor& tensor(const StepArgument& a) {
    aclTensor& t = tensor(*a.view_);
    if (!a.output_) return t;
    if (a.temporary_) t.view.dtype = DType::Undefined;
    found_.push_back({&t, a.output_, a.temporary_});
    return t;
  }

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
        if (a.is_ == Is::Pointer) return a.view_ ? Value(&tensor(a)) : Value(a.pointer_);
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
      case Kind::Floats:
        if (a.is_ == Is::Reals) return Value(&floats_.emplace_back(aclFloatArray{{a.reals_.begin(), a.reals_.end()}}));
        [[fallthrough]];
      case Kind::Text:
      case Kind::Scalars:
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
  std::deque<aclFloatArray> floats_;
  std::deque<aclBoolArray> bools_;
  std::vector<Found> found_;
};

namespace {

/// Shapes of the tensors between this step and later ones, and memory for them.
void make_temporaries(Op& op, const OpInfo& info, const StepValues& values) {
  if (std::ranges::none_of(values.found(), &StepValues::Found::temporary)) return;
  infer(info, values.values());
  for (const StepValues::Found& f : values.found()) {
    if (!f.temporary) continue;
    const DType type = f.view->dtype == DType::Undefined ? f.tensor->view.dtype : f.view->dtype;
    *f.view = op.temporary(type, f.tensor->view.dims, f.tensor->view.rank);
    f.tensor->view = *f.view;
    f.tensor->storage = f.view->data;
  }
}

}  // namespace

void call_step(Op& op, const char* name, std::span<const StepArgument> arguments) {
  const OpInfo* info = find_op(name);
  if (!info) info = find_ir_op(name);
  if (!info) throw Error(code::kAclnnInner, "a step calls {}, which is no operator", name);
  const StepValues values(*info, arguments);
  try {
    make_temporaries(op, *info, values);
    op.step(*info, values.values());
  } catch (const Error& e) { throw Error(e.code(), "as {}: {}", info->name, e.text()); }
  if (!op.inferring()) return;
  for (const StepValues::Found& f : values.found()) {
    if (f.tensor->view.dtype == DType::Undefined)
      throw Error(code::kAclnnNoKernel, "{} has no rule for the shape of its output", info->name);
    *f.view = f.tensor->view;
  }
}

}  // namespace updraft
