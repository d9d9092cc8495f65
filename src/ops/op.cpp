#include "ops/op.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>

#include "base/api_call.h"
#include "base/config.h"
#include "base/fork.h"
#include "device/context.h"
#include "device/device.h"
#include "device/memory.h"
#include "device/observer.h"
#include "device/soc.h"
#include "device/stream.h"
#include "kernels/pipeline.h"
#include "ops/exchange.h"
#include "ops/format.h"
#include "ops/kept_arguments.h"
#include "ops/observed_arguments.h"
#include "ops/op_table.h"
#include "ops/reach.h"
#include "ops/repeat.h"
#include "ops/submitting.h"

namespace updraft {
namespace {
constinit OpTable g_ops;
}

OpInfo* register_op(OpInfo* info) { return g_ops.add(info); }
const OpInfo* first_op() { return g_ops.first(); }
const OpInfo* find_op(std::string_view name) { return g_ops.find(name); }

void too_short(size_t size, size_t i) {
  throw Error(code::kAclnnParamInvalid, "an array has {} elements, element {} is wanted", size, i);
}

const TensorView& view_of(const aclTensorList& list, size_t i) {
  if (i >= list.items.size())
    throw Error(code::kAclnnParamInvalid, "a list has {} tensors, tensor {} is wanted", list.items.size(), i);
  if (!list.items[i]) throw Error(code::kAclnnNullptr, "tensor {} of a list is null", i);
  return list.items[i]->view;
}

void fail_kernel(const std::string& text) { throw Error(code::kRtAicoreException, text); }

namespace {

template <class Pool>
void check_handle(Pool& pool, const Parameter& p, const void* handle, const char* what) {
  if (!pool.get(handle))
    throw Error(code::kAclnnParamInvalid, "{} is not {} handle (destroyed, or never created)", p.name, what);
}

/// An element of a list, which must be the object that was there when the list was made.
template <class Pool>
void check_element(Pool& pool, const Parameter& p, const typename Pool::Ref& item, const char* what) {
  if (!pool.get(item)) throw Error(code::kAclnnParamInvalid, "{} holds {} handle that was destroyed", p.name, what);
}

void require_scalars(const Parameter& p, const aclScalarList& list) {
  for (const aclScalar* s : list.items)
    if (!s) throw Error(code::kAclnnNullptr, "{} holds null, want a scalar", p.name);
}

void check_live(const Parameter& p, const Value& v) {
  switch (p.kind) {
    case Kind::Tensor: return check_handle(tensor_pool(), p, v.pointer(), "a tensor");
    case Kind::Tensors:
      check_handle(tensor_list_pool(), p, v.pointer(), "a tensor list");
      for (const auto& t : v.tensors()->items)
        if (t.object) check_element(tensor_pool(), p, t, "a tensor");
      return;
    case Kind::Scalar: return check_handle(scalar_pool(), p, v.pointer(), "a scalar");
    case Kind::Scalars:
      check_handle(scalar_list_pool(), p, v.pointer(), "a scalar list");
      require_scalars(p, *v.scalars());
      for (const auto& s : v.scalars()->items) check_element(scalar_pool(), p, s, "a scalar");
      return;
    case Kind::Ints: return check_handle(int_array_pool(), p, v.pointer(), "an int array");
    case Kind::Floats: return check_handle(float_array_pool(), p, v.pointer(), "a float array");
    case Kind::Bools: return check_handle(bool_array_pool(), p, v.pointer(), "a bool array");
    default: return;
  }
}

}  // namespace

void check_handles(const OpInfo& info, const Value* values) {
  for (size_t i = 0; i < info.parameters.size(); ++i) {
    const Parameter& p = info.parameters[i];
    if (!is_handle(p.kind)) continue;
    if (values[i].pointer()) check_live(p, values[i]);
    else if (!p.optional) throw Error(code::kAclnnNullptr, "{} is null", p.name);
  }
}

namespace {

/// What observers and the stream know of work that is the steps'.
void add_up_steps(aclOpExecutor& made) {
  if (!made.body) {
    made.work = 0;
    made.cost = {0, 0, made.info->about ? made.info->about->unit : Unit::Other};
  }
  for (const aclOpExecutor* step : made.steps) {
    if (__builtin_add_overflow(made.work, step->work, &made.work)) made.work = INT64_MAX;
    made.cost.flops += step->cost.flops;
    made.cost.bytes += step->cost.bytes;
    if (made.cost.unit == Unit::Other) made.cost.unit = step->cost.unit;
    if (step->unaddressed) made.unaddressed = step->unaddressed;
  }
}

/// Tensors of the host are the client's only during the call: the plan gets copies.
void copy_host_tensors(aclOpExecutor& made, const KeptArguments& kept) {
  for (size_t i = 0; i < made.info->parameters.size(); ++i) {
    if (!is_tensor(made.info->parameters[i].kind) || !made.info->parameters[i].read()) continue;
    kept.each_tensor(i, [&](aclTensor& t) {
      if (!t.on_host || !t.view.data) return;
      const size_t bytes = t.view.bytes();
      auto& copy = made.temporaries.emplace_back(new std::byte[bytes + 1]);
      std::memcpy(copy.get(), t.view.data, bytes);
      set_address(t, copy.get());
    });
  }
}

/// A plan that waits for values: it is made when its stream comes to it.
void defer(aclOpExecutor& made, std::unique_ptr<KeptArguments> kept) {
  made.body.reset();
  made.flat_work = nullptr;
  for (aclOpExecutor* step : std::exchange(made.steps, {})) recycle_executor(step);
  copy_host_tensors(made, *kept);
  made.kernel_bytes = 0;
  made.prepare = nullptr;
  made.body.emplace([&info = *made.info, kept = std::shared_ptr<KeptArguments>(std::move(kept))] {
    run_deferred(info, kept->values());
  });
  made.work = INT64_MAX;
  made.cost = {0, 0, made.info->about ? made.info->about->unit : Unit::Other};
}

/// From so much work on, in element operations, arguments are kept for the message of a failure, whoever observes: it
/// costs less than 1 % of the work. Less work is mostly run while the client's handles are still there
/// (aclOpExecutor::arguments).
constexpr int64_t kWorthSummary = 64 << 10;

void keep_for_summary(aclOpExecutor& made, const OpInfo& info, const Value* values) {
  if (!made.observed.empty() || made.work < kWorthSummary) return;
  made.observed.push_back({kForSummary, Direction::In, -1, AbsentArgument{}});
  observe_arguments(made.observed, info, values);
}

void plan_into(aclOpExecutor& made, const OpInfo& info, const Value* values, bool handles) {
  made.info = &info;
  made.deterministic = deterministic();
  made.values.assign(values, values + info.parameters.size());
  Op op(info, &made, values);
  op.check_arguments(handles);
  if (observing_arguments()) observe_arguments(made.observed, info, values);
  if (!info.defaults) {
    info.plan(op, values);
    keep_for_summary(made, info, values);
    return;
  }
  // A graph operator: its plan may need values, and its host tensors belong to the client.
  auto kept = std::make_unique<KeptArguments>(info, values);
  try {
    Op graph_op(info, &made, kept->values());
    copy_host_tensors(made, *kept);
    graph_op.check_arguments(false);
    info.plan(graph_op, kept->values());
    add_up_steps(made);
    keep_for_summary(made, info, values);
  } catch (const ValuesNeeded&) { defer(made, std::move(kept)); }
}

}  // namespace

aclOpExecutor* make_plan(const OpInfo& info, const Value* values, bool handles) {
  aclOpExecutor* made = take_executor();
  try {
    plan_into(*made, info, values, handles);
    made->state = aclOpExecutor::State::Planned;
    return made;
  } catch (...) {
    recycle_executor(made);
    throw;
  }
}

void run_deferred(const OpInfo& info, const Value* values) {
  aclOpExecutor* made = take_executor();
  struct Recycle {
    aclOpExecutor* executor;
    ~Recycle() { recycle_executor(executor); }
  } recycle{made};
  made->info = &info;
  made->deterministic = deterministic();
  Op op(info, made, values);
  op.running_ = true;
  const OwnScratch own;  // copies of what the host gave
  op.check_arguments(false);
  const NodePlace* const node = watched() ? NodeScope::current() : nullptr;
  if (node && observing_arguments()) observe_arguments(made->observed, info, values);
  info.plan(op, values);
  if (!node) return made->run();
  const NodeScope inside(nullptr);  // what it calls is no node
  run_observed_in_graph(*node, *made, [&] { made->run(); });
}

namespace {

/// In a catch clause: keeps the text of what an operator refuses, with its name, and returns the code. A stream or a
/// context that is not there is an error of the runtime to who launches.
int report_refusal(const OpInfo& info, bool launching) noexcept {
  auto report = [&](int code, const char* text) {
    if (launching && (code == code::kRtInvalidHandle || code == code::kRtContextNull)) code = code::kAclnnRuntime;
    try {
      report_error(info.name, code, fmt::format("{}: {}", info.name, text));
    } catch (...) { report_error(info.name, code, text); }
    return code;
  };
  try {
    throw;
  } catch (const Error& e) { return report(e.code(), e.what()); } catch (const std::bad_alloc&) {
    return report(code::kAclnnInner, "the host is out of memory");
  } catch (const std::exception& e) { return report(code::kAclnnInner, e.what()); } catch (...) {
    return report(code::kAclnnInner, "unknown exception");
  }
}

}  // namespace

namespace {
void tell_planned(const aclOpExecutor& executor) {
  OrderEvent event{
      .what = OrderEvent::What::Made, .object = &executor, .name = "executor", .text = executor.info->name};
  event.left = [](const void* object, uint64_t) {
    const aclOpExecutor* live = find_executor(object);
    return live && live->state == aclOpExecutor::State::Planned && live->info ? std::string(live->info->name)
                                                                              : std::string();
  };
  tell_order(event);
}
}  // namespace

int plan_op(const OpInfo& info, const Value* values, uint64_t* workspace, aclOpExecutor** executor) noexcept {
  ApiScope call(info.name, ApiCall::Phase::Plan);
  int code = 0;
  try {
    check_not_forked();
    if (!workspace || !executor)
      throw Error(code::kAclnnNullptr, "{} is null", workspace ? "executor" : "workspaceSize");
    *executor = nullptr;
    *workspace = 0;
    *executor = make_plan(info, values, true);
    *workspace = (*executor)->kernel_bytes;
    if (watched()) [[unlikely]] {
      if (observing_arguments()) call.arguments((*executor)->observed.data(), (*executor)->observed.size());
      tell_planned(**executor);
    }
  } catch (...) { code = report_refusal(info, false); }
  call.code(code);
  return code;
}

namespace {

/// Where the work may put what it needs beside its arguments; null: in memory of its own.
void* workspace_for(const aclOpExecutor& executor, void* workspace, uint64_t bytes, const Stream& stream) {
  const size_t want = executor.kernel_bytes;
  // A captured graph runs again when the client's memory has another use.
  if (want == 0 || (!workspace && bytes == 0) || stream.capturing()) return nullptr;
  const auto* begin = static_cast<const char*>(workspace);
  if (!workspace || bytes < want)
    throw Error(code::kAclnnParamInvalid,
                "workspace is {} of {} bytes, want the {} bytes that the first phase asked for", workspace, bytes,
                want);
  if (Device* owner = Device::owner(begin); owner && !owner->memory().covers(begin, begin + want))
    throw Error(code::kAclnnParamInvalid, "workspace {} does not have {} bytes of one allocation of device {}",
                workspace, want, owner->index());
  return workspace;
}

void require_addressed(const aclOpExecutor& executor) {
  if (executor.unaddressed)
    throw Error(code::kAclnnNullptr,
                "{} has elements and its data is null: give it memory (aclCreateTensor, or aclSetTensorAddr for a "
                "repeatable executor)",
                executor.unaddressed);
}

/// Hands the task to the stream, or releases it where there is nothing to do.
void start(aclOpExecutor& task, Stream& stream) {
  if (task.idle()) return task.release();
  if (waits_for_ranks(task)) return start_between_ranks(task, stream);
  task.state = aclOpExecutor::State::Launched;
  const Submitting submitting(&task);
  stream.submit(&task);
}

}  // namespace

void launch_plan(aclOpExecutor& plan, Stream& stream) {
  try {
    require_addressed(plan);
  } catch (...) {
    plan.release();
    throw;
  }
  start(plan, stream);
}

namespace {

/// One run of an executor whose addresses changed. A plan holds addresses, so other ones want another plan; runs of
/// earlier plans may still be on streams.
void launch_readdressed(const aclOpExecutor& executor, void* workspace, uint64_t bytes, Stream& stream) {
  aclOpExecutor* task = make_plan(*executor.info, executor.kept->values());
  try {
    require_addressed(*task);
    // Tensors may overlap at the new addresses as they did not before: what the kernels then take beyond the client's
    // memory is the engine's.
    task->kernel_bytes = std::min<size_t>(task->kernel_bytes, bytes);
    task->workspace = workspace_for(*task, workspace, bytes, stream);
  } catch (...) {
    task->release();
    throw;
  }
  start(*task, stream);
}

}  // namespace

int launch_op(const OpInfo& info, void* workspace, uint64_t bytes, aclOpExecutor* executor, void* stream) noexcept {
  ApiScope call(info.name, ApiCall::Phase::Launch);
  try {
    check_not_forked();
    if (!executor) throw Error(code::kAclnnNullptr, "executor is null");
    if (!find_executor(executor) || executor->info != &info || executor->state != aclOpExecutor::State::Planned)
      throw Error(code::kAclnnParamInvalid, "{} is not an executor of {} (used twice, or of another operator)",
                  static_cast<void*>(executor), info.name);
    Stream& target = stream_of(stream);
    if (executor->kept && executor->kept->readdressed()) {
      launch_readdressed(*executor, workspace, bytes, target);
      return 0;
    }
    require_addressed(*executor);
    if (executor->repeatable) {
      // Runs may overlap, so none uses the client's memory.
      if (!executor->idle()) launch_repeated(*executor, target);
      return 0;
    }
    executor->workspace = workspace_for(*executor, workspace, bytes, target);
    start(*executor, target);
    return 0;
  } catch (...) {
    const int code = report_refusal(info, true);
    call.code(code);
    return code;
  }
}

void Op::check_arguments(bool handles) {
  const Value* v = values_;
  for (const Parameter& p : info_.parameters) {
    const Value& value = *v++;
    if (!is_handle(p.kind)) continue;
    if (!value.pointer()) {
      if (p.optional) continue;
      throw Error(code::kAclnnNullptr, "{} is null", p.name);
    }
    if (handles) check_live(p, value);
    else if (p.kind == Kind::Scalars) require_scalars(p, *value.scalars());
    if (p.kind == Kind::Tensor) {
      check_tensor(p, *value.tensor());
    } else if (p.kind == Kind::Tensors) {
      for (const aclTensor* t : value.tensors()->items)
        if (t) check_tensor(p, *t);
    }
  }
}

void Op::check_tensor(const Parameter& p, const aclTensor& tensor) {
  const TensorView& view = tensor.view;
  if (inferring() && p.direction == Direction::Out && view.dtype == DType::Undefined) return;
  if (Config::get().card_fidelity)
    if (std::string why = card_refusal(info_, p.name, view.dtype, soc()); !why.empty())
      throw Error(code::kAclnnParamInvalid, "{}", why);
  if (std::string why = refusal_of(view.dtype); !why.empty())
    throw Error(code::kAclnnParamInvalid, "{} {}", p.name, why);
  if (inferring()) return;
  if (!tensor.storage && !view.empty()) executor_->unaddressed = p.name;  // clients that plan ahead give memory later
  else if (!tensor.on_host) check_reach(p.name, tensor);
  check_format(info_, p.name, tensor, p.written());
  const int64_t elements = view.numel();
  work_ = std::max(work_, elements);
  bytes_ += elements * static_cast<int64_t>(size_of(view.dtype));
}

void Op::step(const OpInfo& info, const Value* values) {
  if (inferring()) {
    Op op(info, values, open_);
    op.check_arguments(false);
    info.plan(op, values);
  } else {
    const OwnScratch own;  // memory between steps is the library's
    executor_->steps.push_back(make_plan(info, values));
  }
}

TensorView Op::temporary(DType type, const int64_t* dims, int rank) {
  TensorView view = TensorView::contiguous(nullptr, type, dims, rank);
  if (inferring()) return view;
  view.data = executor_->temporaries.emplace_back(new std::byte[view.bytes() + 1]).get();
  return view;
}

std::vector<int64_t> Op::integers(const char* name, const aclTensor* tensor) const {
  require_pointer(tensor, name);
  const TensorView& from = tensor->view;
  require(is_integral(from.dtype), "{} is {}, want integers", name, describe(from));
  if (!from.empty() && (!from.data || (!tensor->on_host && !running_))) throw ValuesNeeded{name};
  std::vector<int64_t> values(static_cast<size_t>(from.numel()));
  if (!values.empty()) gather_to(values.data(), DType::Int64, from);
  return values;
}

void Op::kernel_scratch(size_t bytes) {
  if (executor_ && bytes >= kLeastWorkspace) executor_->kernel_bytes = std::max(executor_->kernel_bytes, bytes);
}

void prepare_constants(const aclOpExecutor& plan) {
  for (const aclOpExecutor* step : plan.steps) prepare_constants(*step);
  if (!plan.prepare) return;
  require_addressed(plan);
  FixedSplit split(plan.deterministic);
  plan.prepare();
}

TensorView* Op::inferred(const TensorView& out) const {
  if (!inferring() || out.dtype != DType::Undefined) return nullptr;
  for (size_t i = 0; i < info_.parameters.size(); ++i) {
    if (!info_.parameters[i].written()) continue;
    if (info_.parameters[i].kind == Kind::Tensor) {
      if (const aclTensor* t = values_[i].tensor(); t && &t->view == &out) return &const_cast<aclTensor*>(t)->view;
    } else if (const aclTensorList* list = values_[i].tensors()) {
      for (aclTensor* t : list->items)
        if (t && &t->view == &out) return &t->view;
    }
  }
  throw Error(code::kAclnnInner, "the rule of an output was given a copy of its view");
}

void Op::assign(const TensorView& out, const int64_t* dims, int rank, DType type, int open) const {
  TensorView* view = inferred(out);
  if (!view) return;
  require(rank <= kMaxDims, "a result has {} dimensions, the most is {}", rank, kMaxDims);
  if (std::string why = refusal_of(type); !why.empty()) refuse("a result {}", why);
  int64_t bytes = static_cast<int64_t>(std::max<size_t>(1, size_of(type)));
  bool fits = true;
  for (int d = 0; d < rank; ++d)
    fits = fits && dims[d] >= 0 && !__builtin_mul_overflow(bytes, std::max<int64_t>(dims[d], 1), &bytes);
  require(fits, "a result has shape {}: no tensor has it", describe_shape(dims, rank));
  *view = TensorView::contiguous(nullptr, type, dims, rank);
  if (open >= 0 && open_) open_->push_back({view, open});
}

void Op::result(const char* name, const TensorView& out, const int64_t* dims, int rank, DType type) const {
  if (inferring() && out.dtype == DType::Undefined) assign(out, dims, rank, type, -1);
  else require_shape(name, out, dims, rank);
}

void Op::result_broadcast(const char* name, const TensorView& out, const TensorView& a, const TensorView& b,
                          DType type) const {
  int64_t dims[kMaxDims];
  const int rank = broadcast_shape(a.dims, a.rank, b.dims, b.rank, dims);
  result(name, out, dims, rank, type);
}

void Op::require_shape(const char* name, const TensorView& v, const int64_t* dims, int rank) const {
  if (v.rank != rank || !std::equal(dims, dims + rank, v.dims))
    refuse("{} is {}, want shape {}", name, describe(v), describe_shape(dims, rank));
}

void Op::require_same_shape(const char* a_name, const TensorView& a, const char* b_name, const TensorView& b) const {
  if (!a.same_shape(b)) refuse("{} is {} and {} is {}: want equal shapes", a_name, describe(a), b_name, describe(b));
}

}  // namespace updraft
