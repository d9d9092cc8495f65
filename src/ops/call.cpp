#include "ops/call.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <exception>

#include "base/spelling.h"
#include "device/stream.h"
#include "ops/ir_op.h"
#include "ops/kept_arguments.h"
#include "ops/observed_arguments.h"

namespace updraft {

const Parameter* find_parameter(const OpInfo& info, std::string_view name) {
  for (const Parameter& p : info.parameters)
    if (name == p.name) return &p;
  return nullptr;
}

namespace {

constexpr const char* kKindNames[] = {"a tensor",   "a list of tensors",
                                      "a scalar",   "a list of scalars",
                                      "integers",   "floats",
                                      "bools",      "a text",
                                      "a bool",     "an integer",
                                      "an integer", "an integer",
                                      "an integer", "a number",
                                      "a number",   "a data type",
                                      "texts",      "lists of integers"};
const char* name_of(Kind kind) { return kKindNames[static_cast<int>(kind)]; }

}  // namespace

const OpInfo& operator_named(std::string_view name) {
  if (const OpInfo* found = find_any_op(name)) return *found;
  std::vector<std::pair<size_t, const char*>> near;
  for (const OpInfo* first : {first_op(), first_ir_op()})
    for (const OpInfo* op = first; op; op = op->next) near.emplace_back(edit_distance(name, op->name), op->name);
  std::sort(near.begin(), near.end(), [](auto& a, auto& b) {
    return a.first != b.first ? a.first < b.first : std::strcmp(a.second, b.second) < 0;
  });
  std::string names;
  for (size_t i = 0; i < 3 && i < near.size(); ++i) names += (i ? ", " : "") + std::string(near[i].second);
  throw Error(code::kAclnnParamInvalid, "there is no operator {}; names like it: {}", name, names);
}

class OpCall::Result {
 public:
  Result() : tensor_(tensor_pool().create()) {}
  Result(const Result&) = delete;
  ~Result() { tensor_pool().destroy(tensor_); }
  aclTensor& tensor() { return *tensor_; }

 private:
  aclTensor* tensor_;
};

OpCall::OpCall(std::string_view name) : OpCall(operator_named(name)) {}

OpCall::OpCall(const OpInfo& info) : info_(info), arguments_(info.parameters.size()) {
  if (!info.defaults) return;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Default& d = info.defaults[i];
    if (d.is == Default::Is::Required) continue;
    Argument& a = arguments_[i];
    const Kind kind = info.parameters[i].kind;
    a.given = true;
    if (d.is == Default::Is::Text) a.text = d.text;
    a.real = is_real(kind) || kind == Kind::Floats;
    for (int n = 0; n < d.count; ++n) {
      if (a.real) a.reals.push_back(d.numbers[n]);
      else a.integers.push_back(static_cast<int64_t>(d.numbers[n]));
    }
  }
}

size_t OpCall::position(std::string_view parameter) const {
  for (size_t i = 0; i < info_.parameters.size(); ++i)
    if (parameter == info_.parameters[i].name) return i;
  std::string names;
  for (const Parameter& p : info_.parameters) names += (names.empty() ? "" : ", ") + std::string(p.name);
  throw Error(code::kAclnnParamInvalid, "{} has no parameter {}; it has {}", info_.name, parameter, names);
}

OpCall::Argument& OpCall::argument(std::string_view parameter, const char* what, std::initializer_list<Kind> kinds) {
  const size_t i = position(parameter);
  const Kind kind = info_.parameters[i].kind;
  if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end())
    throw Error(code::kAclnnParamInvalid, "{} of {} is {}, got {}", parameter, info_.name, name_of(kind), what);
  arguments_[i].given = true;
  return arguments_[i];
}

void OpCall::add_tensor(std::string_view parameter, CallTensor tensor) {
  const bool list = info_.parameters[position(parameter)].kind == Kind::Tensors;
  if (!tensor.strides.empty() && tensor.strides.size() != tensor.dims.size())
    throw Error(code::kAclnnParamInvalid, "{} of {} has {} dimensions and {} strides", parameter, info_.name,
                tensor.dims.size(), tensor.strides.size());
  if (tensor.dims.size() > kMaxDims)
    throw Error(code::kAclnnParamInvalid, "{} of {} has {} dimensions: the most is {}", parameter, info_.name,
                tensor.dims.size(), kMaxDims);
  int64_t bytes = 16;
  for (int64_t d : tensor.dims)
    if (d < -1 || __builtin_mul_overflow(bytes, std::max<int64_t>(d, 1), &bytes))
      throw Error(code::kAclnnParamInvalid, "{} of {} has shape {}: no tensor has it", parameter, info_.name,
                  describe_shape(tensor.dims.data(), static_cast<int>(tensor.dims.size())));
  Argument& a = argument(parameter, "a tensor", {Kind::Tensor, Kind::Tensors});
  if (!list) a.tensors.clear();
  a.tensors.push_back(std::move(tensor));
}

void OpCall::add_absent(std::string_view parameter) {
  Argument& a = argument(parameter, "a place of a list", {Kind::Tensors});
  a.tensors.emplace_back().absent = true;
}

void OpCall::set_empty(std::string_view parameter) {
  argument(parameter, "an empty list", {Kind::Tensors}).tensors.clear();
}

void OpCall::ask(std::string_view parameter) {
  const Parameter& p = info_.parameters[position(parameter)];
  if (p.direction != Direction::Out)
    throw Error(code::kAclnnParamInvalid, "{} of {} is no output: its shape must be given", parameter, info_.name);
  add_tensor(parameter, {});
}

void OpCall::set(std::string_view parameter, int64_t value) {
  Argument& a = argument(parameter, "an integer",
                         {Kind::Scalar, Kind::Bool, Kind::Int, Kind::UInt, Kind::Int32, Kind::Int8, Kind::Double,
                          Kind::Float, Kind::Type});
  a.integers = {value};
  a.real = a.boolean = false;
}

void OpCall::set(std::string_view parameter, double value) {
  Argument& a = argument(parameter, "a number", {Kind::Scalar, Kind::Double, Kind::Float});
  a.reals = {value};
  a.real = true;
}

void OpCall::set(std::string_view parameter, bool value) {
  Argument& a = argument(parameter, "a bool", {Kind::Scalar, Kind::Bool});
  a.integers = {value};
  a.real = false;
  a.boolean = true;
}

void OpCall::set(std::string_view parameter, std::string text) {
  argument(parameter, "a text", {Kind::Text}).text = std::move(text);
}

void OpCall::set(std::string_view parameter, std::vector<int64_t> values) {
  Argument& a = argument(parameter, "integers", {Kind::Ints, Kind::Bools, Kind::Floats, Kind::Scalars});
  a.integers = std::move(values);
  a.real = false;
}

void OpCall::set(std::string_view parameter, std::vector<double> values) {
  Argument& a = argument(parameter, "numbers", {Kind::Floats, Kind::Scalars});
  a.reals = std::move(values);
  a.real = true;
}

void OpCall::set(std::string_view parameter, std::vector<std::string> values) {
  argument(parameter, "texts", {Kind::Texts}).texts = std::move(values);
}

void OpCall::set(std::string_view parameter, std::vector<std::vector<int64_t>> values) {
  argument(parameter, "lists of integers", {Kind::IntLists}).int_lists = std::move(values);
}

struct OpCall::Handles : OwnedArguments {
  std::vector<aclTensor*> all;  ///< in order; null where absent
  std::map<const CallTensor*, std::shared_ptr<Result>> results;
  std::vector<Value> values;
  std::vector<Shape> shapes;  ///< of all tensors, in order
  bool unknown = false;

  aclTensor* add(const CallTensor& from, bool output) {
    Shape& shape = shapes.emplace_back();
    if (from.absent) return all.emplace_back(nullptr);
    aclTensor& t = handle(from);
    all.push_back(&t);
    shape.dtype = from.dtype;
    t.view.dtype = from.dtype;
    if (output && from.dtype == DType::Undefined) return &t;
    std::vector<int64_t> dims = from.dims;
    for (int64_t& d : dims) {
      if (!output) shape.dims.push_back(d < 0 ? Dim::any() : Dim(d));
      unknown = unknown || d < 0;
      d = std::max<int64_t>(d, 0);
    }
    t.view = TensorView::contiguous(nullptr, from.dtype, dims.data(), static_cast<int>(dims.size()));
    std::copy(from.strides.begin(), from.strides.end(), t.view.strides);
    t.on_host = from.on_host;
    t.constant = from.constant;
    set_address(t, from.data);
    return &t;
  }

  /// In the pool where a size is still to come.
  aclTensor& handle(const CallTensor& from) {
    if (from.bounds.empty()) return tensors.emplace_back();
    auto& result = results[&from];
    result = std::make_shared<Result>();
    return result->tensor();
  }
};

void OpCall::fill(Handles& h) const {
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Parameter& p = info_.parameters[i];
    const Argument& a = arguments_[i];
    if (!a.given) {
      if (!p.optional) throw Error(code::kAclnnParamInvalid, "{} wants {}: {}", info_.name, p.name, name_of(p.kind));
      if (p.kind == Kind::Tensor) h.shapes.emplace_back();
      h.values.emplace_back(static_cast<const void*>(nullptr));
      continue;
    }
    const bool output = p.direction == Direction::Out;
    const double real = a.real && !a.reals.empty() ? a.reals[0]
                        : a.integers.empty()       ? 0
                                                   : static_cast<double>(a.integers[0]);
    const int64_t integer = a.integers.empty() ? 0 : a.integers[0];
    switch (p.kind) {
      case Kind::Tensor: h.values.emplace_back(h.add(a.tensors[0], output)); break;
      case Kind::Tensors: {
        aclTensorList& list = h.lists.emplace_back();
        for (const CallTensor& t : a.tensors) list.items.push_back({h.add(t, output)});
        h.values.emplace_back(&list);
        break;
      }
      case Kind::Scalar: h.values.emplace_back(a.real ? &h.scalar(a.reals[0]) : &h.scalar(integer, a.boolean)); break;
      case Kind::Scalars: {
        aclScalarList& list = h.scalar_lists.emplace_back();
        if (a.real)
          for (double v : a.reals) list.items.push_back({&h.scalar(v)});
        else
          for (int64_t v : a.integers) list.items.push_back({&h.scalar(v, false)});
        h.values.emplace_back(&list);
        break;
      }
      case Kind::Ints: h.values.emplace_back(&h.ints.emplace_back(aclIntArray{a.integers})); break;
      case Kind::Floats: {
        aclFloatArray& array = h.floats.emplace_back();
        if (a.real)
          for (double v : a.reals) array.values.push_back(static_cast<float>(v));
        else
          for (int64_t v : a.integers) array.values.push_back(static_cast<float>(v));
        h.values.emplace_back(&array);
        break;
      }
      case Kind::Bools: {
        aclBoolArray& array = h.bools.emplace_back();
        for (int64_t v : a.integers) array.values.push_back(v != 0);
        h.values.emplace_back(&array);
        break;
      }
      case Kind::Texts: h.values.emplace_back(static_cast<const void*>(&a.texts)); break;
      case Kind::IntLists: h.values.emplace_back(static_cast<const void*>(&a.int_lists)); break;
      case Kind::Text: h.values.emplace_back(static_cast<const void*>(a.text.c_str())); break;
      case Kind::Double:
      case Kind::Float: h.values.emplace_back(real); break;
      case Kind::Bool: h.values.emplace_back(integer != 0); break;
      default: h.values.emplace_back(integer); break;
    }
  }
}

void OpCall::infer() {
  Handles h;
  fill(h);
  std::vector<Shape> found;
  std::vector<OpenDim> open;
  if (h.unknown) found = updraft::infer(info_, h.values.data(), h.shapes);
  else updraft::infer(info_, h.values.data(), &open);
  size_t index = 0, made = 0;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const Parameter& p = info_.parameters[i];
    if (!is_tensor(p.kind)) continue;
    if (!arguments_[i].given) {
      index += p.kind == Kind::Tensor;
      continue;
    }
    for (CallTensor& t : arguments_[i].tensors) {
      const aclTensor* handle = h.all[made++];
      const size_t at = index++;
      if (!handle || p.direction != Direction::Out || t.dtype != DType::Undefined) continue;
      const TensorView& view = handle->view;
      t.dims.clear();
      if (h.unknown) {
        t.dtype = found[at].dtype;
        for (const Dim& d : found[at].dims) t.dims.push_back(d.known() ? d.low : -1);
        if (!found[at].known()) t.bounds = found[at].dims;
        continue;
      }
      t.dtype = view.dtype;
      t.dims.assign(view.dims, view.dims + view.rank);
      for (const OpenDim& o : open)
        if (o.view == &view) {
          t.bounds.assign(t.dims.begin(), t.dims.end());
          t.bounds[static_cast<size_t>(o.dim)].low = 0;
        }
    }
  }
}

const std::vector<CallTensor>& OpCall::tensors(std::string_view parameter) const {
  return arguments_[position(parameter)].tensors;
}

const CallTensor& OpCall::tensor(std::string_view parameter, size_t i) const {
  const std::vector<CallTensor>& all = tensors(parameter);
  if (i >= all.size())
    throw Error(code::kAclnnParamInvalid, "{} of {} has {} tensors, tensor {} is wanted", parameter, info_.name,
                all.size(), i);
  return all[i];
}

Shape OpCall::shape(std::string_view parameter, size_t i) const {
  const CallTensor& t = tensor(parameter, i);
  Shape shape{t.dtype, t.bounds};
  if (const auto ran = results_.find(&t); ran != results_.end()) {
    const TensorView& view = ran->second->tensor().view;
    shape.dims.assign(view.dims, view.dims + view.rank);
  } else if (t.bounds.empty()) {
    for (int64_t d : t.dims) shape.dims.push_back(d < 0 ? Dim::any() : Dim(d));
  }
  return shape;
}

void OpCall::place(std::string_view parameter, size_t i, void* data) {
  const_cast<CallTensor&>(tensor(parameter, i)).data = data;
}

void OpCall::plan() const { recycle_executor(make()); }

aclOpExecutor* OpCall::make() const {
  Handles h;
  fill(h);
  return make_plan(info_, h.values.data());
}

void OpCall::run_here() {
  Handles h;
  fill(h);
  if (h.unknown) throw Error(code::kAclnnParamInvalid, "{} has tensors of unknown size: it cannot run", info_.name);
  run_deferred(info_, h.values.data());
  results_ = std::move(h.results);
}

/// The work of a call that waits for it. What it refuses is the caller's, not the stream's.
class OpCall::WaitedTask final : public Task {
 public:
  struct State {
    Handles handles;
    std::exception_ptr refusal;
  };
  WaitedTask(const OpInfo& info, std::shared_ptr<State> state) : info_(info), state_(std::move(state)) {
    work = INT64_MAX;
    cost.unit = info.about ? info.about->unit : Unit::Other;
  }
  void run() override {
    try {
      run_deferred(info_, state_->handles.values.data());
    } catch (...) { state_->refusal = std::current_exception(); }
  }
  void release() override { delete this; }
  const char* name() const override { return info_.name; }
  void arguments(ArgumentList& list) const override {
    std::vector<updraft::Argument> now;
    observe_arguments(now, info_, state_->handles.values.data());
    for (updraft::Argument& one : now) list.add(one.name, one.direction, std::move(one.value), one.item);
  }

 private:
  const OpInfo& info_;
  std::shared_ptr<State> state_;
};

void OpCall::run_and_wait(Stream& stream) {
  const auto state = std::make_shared<WaitedTask::State>();
  fill(state->handles);
  if (state->handles.unknown)
    throw Error(code::kAclnnParamInvalid, "{} has tensors of unknown size: it cannot run", info_.name);
  stream.submit(new WaitedTask(info_, state));
  stream.synchronize();
  if (state->refusal) std::rethrow_exception(state->refusal);
  results_ = std::move(state->handles.results);
}

void OpCall::run(Stream& stream) {
  Handles h;
  fill(h);
  if (h.unknown) throw Error(code::kAclnnParamInvalid, "{} has tensors of unknown size: it cannot run", info_.name);
  launch_plan(*make_plan(info_, h.values.data()), stream);
  results_ = std::move(h.results);
}

}  // namespace updraft
