#include "ops/ir_op.h"

#include <algorithm>
#include <cstring>

#include "kernels/pipeline.h"
#include "ops/infer.h"
#include "ops/op_table.h"
#include "ops/owned_arguments.h"

namespace updraft {
namespace {
constinit OpTable g_ops;
}

OpInfo* register_ir_op(OpInfo* info) { return g_ops.add(info); }
const OpInfo* first_ir_op() { return g_ops.first(); }
const OpInfo* find_ir_op(std::string_view type) { return g_ops.find(type); }

const OpInfo* find_any_op(std::string_view name) {
  const OpInfo* found = find_op(name);
  return found ? found : find_ir_op(name);
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
  require_pointer(tensor, name);
  const DType type = tensor->view.dtype;
  if (is_integral(type)) {
    const std::vector<int64_t> values = op.integers(name, tensor);
    return {values.begin(), values.end()};
  }
  op.require(is_floating(type) || type == DType::Bool, "{} is {}, want numbers", name, describe(tensor->view));
  aclTensor bits = *tensor;  // whether the values are there is known for integers
  bits.view.dtype = size_of(type) == 1   ? DType::Int8
                    : size_of(type) == 2 ? DType::Int16
                    : size_of(type) == 4 ? DType::Int32
                                         : DType::Int64;
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
    t.constant = a.constant_;
    if (!a.output_) return t;
    if (a.temporary_) t.view.dtype = DType::Undefined;
    found_.push_back({&t, a.output_, a.temporary_});
    return t;
  }

  aclTensor& tensor(const TensorView& view) {
    aclTensor& t = own_.tensors.emplace_back();
    t.view = view;
    t.storage = view.data;
    return t;
  }

  aclScalar& scalar(const StepArgument& a) {
    return a.is_ == Is::Real ? own_.scalar(a.real_) : own_.scalar(a.integer_, a.is_ == Is::Bool);
  }

  Value make(const OpInfo& info, const Parameter& p, const StepArgument& a) {
    switch (p.kind) {
      case Kind::Tensor:
        if (a.is_ == Is::Pointer) return a.view_ ? Value(&tensor(a)) : Value(a.pointer_);
        break;
      case Kind::Tensors:
        if (a.is_ == Is::Pointer && !a.view_) return Value(a.pointer_);
        if (a.is_ == Is::Views) {
          aclTensorList& list = own_.lists.emplace_back();
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
        if (a.is_ == Is::Integers) return Value(&own_.ints.emplace_back(aclIntArray{a.integers_}));
        break;
      case Kind::Bools:
        if (a.is_ == Is::Pointer && !a.view_) return Value(a.pointer_);
        if (a.is_ == Is::Integers)
          return Value(&own_.bools.emplace_back(aclBoolArray{{a.integers_.begin(), a.integers_.end()}}));
        break;
      case Kind::Floats:
        if (a.is_ == Is::Reals)
          return Value(&own_.floats.emplace_back(aclFloatArray{{a.reals_.begin(), a.reals_.end()}}));
        [[fallthrough]];
      case Kind::Text:
        if (a.is_ == Is::Pointer && !a.view_) return Value(a.pointer_);
        break;
      case Kind::Scalars: {
        if (a.is_ == Is::Pointer && !a.view_) return Value(a.pointer_);
        if (a.is_ != Is::Reals && a.is_ != Is::Integers) break;
        aclScalarList& list = own_.scalar_lists.emplace_back();
        for (double v : a.reals_) list.items.push_back({&own_.scalar(v)});
        for (int64_t v : a.integers_) list.items.push_back({&own_.scalar(v, false)});
        return Value(&list);
      }
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
  OwnedArguments own_;
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

StepArgument::StepArgument(Pointer p) : pointer_(p.value) {}
StepArgument::StepArgument(const TensorView& v) : view_(&v) {}
StepArgument::StepArgument(const ViewOf& v) : view_(&v.view), constant_(v.constant) {}
StepArgument::StepArgument(TensorView* v) : view_(v), output_(v) {}
StepArgument::StepArgument(Temp& t) : view_(&t.view), output_(&t.view), temporary_(true) {}
StepArgument::StepArgument(bool v) : is_(Is::Bool), integer_(v) {}
StepArgument::StepArgument(int v) : is_(Is::Integer), integer_(v) {}
StepArgument::StepArgument(int64_t v) : is_(Is::Integer), integer_(v) {}
StepArgument::StepArgument(DType v) : is_(Is::Integer), integer_(static_cast<int64_t>(v)) {}
StepArgument::StepArgument(Type v) : is_(Is::Integer), integer_(v.value) {}
StepArgument::StepArgument(double v) : is_(Is::Real), real_(v) {}
StepArgument::StepArgument(float v) : is_(Is::Real), real_(static_cast<double>(v)) {}
StepArgument::StepArgument(std::vector<int64_t> v) : is_(Is::Integers), integers_(std::move(v)) {}
StepArgument::StepArgument(std::initializer_list<int64_t> v) : is_(Is::Integers), integers_(v) {}
StepArgument::StepArgument(std::vector<bool> v) : is_(Is::Integers), integers_(v.begin(), v.end()) {}
StepArgument::StepArgument(std::vector<double> v) : is_(Is::Reals), reals_(std::move(v)) {}
StepArgument::StepArgument(std::vector<const TensorView*> v) : is_(Is::Views), views_(std::move(v)) {}
StepArgument::~StepArgument() = default;

void call_step(Op& op, const char* name, std::span<const StepArgument> arguments) {
  const OpInfo* info = find_any_op(name);
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
