#include "ops/op.h"

#include <algorithm>
#include <chrono>

#include "base/config.h"
#include "device/context.h"
#include "device/device.h"
#include "device/stream.h"
#include "ops/format.h"
#include "ops/reach.h"
#include "ops/repeat.h"

namespace updraft {
namespace {
OpInfo* g_first = nullptr;
}

OpInfo* register_op(OpInfo* info) {
  info->next = g_first;
  return g_first = info;
}
const OpInfo* first_op() { return g_first; }

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
std::string describe_arguments(const aclOpExecutor& executor) {
  std::string text;
  for (const ArgumentView& a : executor.arguments)
    text += fmt::format("{}{}={} ", a.output ? "->" : "", a.name, describe(a.view));
  return text;
}
}  // namespace

int plan_op(const OpInfo& info, uint64_t* workspace, aclOpExecutor** executor, FunctionRef<void(Op&)> plan) noexcept {
  auto start = tracing() ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point();
  aclOpExecutor* made = nullptr;
  int code = 0;
  std::string detail;
  try {
    if (!workspace || !executor)
      throw Error(code::kAclnnNullptr, "{} is null", workspace ? "executor" : "workspaceSize");
    *executor = nullptr;
    *workspace = 0;
    made = take_executor();
    made->info = &info;
    made->deterministic = deterministic();
    Op op(info, *made);
    plan(op);
    made->state = aclOpExecutor::State::Planned;
    *executor = made;
    if (tracing()) detail = describe_arguments(*made);
  } catch (const Error& e) {
    code = e.code();
    report_error(info.name, code, fmt::format("{}: {}", info.name, e.text()));
  } catch (const std::exception& e) {
    code = code::kAclnnInner;
    report_error(info.name, code, fmt::format("{}: {}", info.name, e.what()));
  }
  if (code && made) recycle_executor(made);
  if (tracing())
    trace(info.name, code, std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count(),
          detail);
  return code;
}

int launch_op(const OpInfo& info, void*, uint64_t, aclOpExecutor* executor, void* stream) noexcept {
  using State = aclOpExecutor::State;
  try {
    if (!executor) throw Error(code::kAclnnNullptr, "executor is null");
    if (!find_executor(executor) || executor->info != &info || executor->state != State::Planned)
      throw Error(code::kAclnnParamInvalid, "{} is not an executor of {} (used twice, or of another operator)",
                  static_cast<void*>(executor), info.name);
    Stream& target = stream_of(stream);
    if (executor->repeatable) {
      if (executor->body) launch_repeated(*executor, target);
      return 0;
    }
    if (!executor->body) {
      executor->release();  // an empty tensor: nothing to do
      return 0;
    }
    executor->state = State::Launched;
    target.submit(executor);
    return 0;
  } catch (const Error& e) {
    int code = e.code() == code::kRtInvalidHandle || e.code() == code::kRtContextNull ? code::kAclnnRuntime : e.code();
    report_error(info.name, code, fmt::format("{}: {}", info.name, e.text()));
    return code;
  } catch (const std::exception& e) {
    report_error(info.name, code::kAclnnInner, fmt::format("{}: {}", info.name, e.what()));
    return code::kAclnnInner;
  }
}

void Op::tensor(const char* name, const aclTensor* handle, bool optional, bool output) {
  if (!handle) {
    if (optional) return;
    throw Error(code::kAclnnNullptr, "{} is null", name);
  }
  if (!tensor_pool().get(handle))
    throw Error(code::kAclnnParamInvalid, "{} is not a tensor handle (destroyed, or never created)", name);
  if (Config::get().card_fidelity)
    if (std::string why = card_refusal(info_, name, handle->view.dtype, soc()); !why.empty())
      throw Error(code::kAclnnParamInvalid, "{}", why);
  if (std::string why = refusal_of(handle->view.dtype); !why.empty())
    throw Error(code::kAclnnParamInvalid, "{} {}", name, why);
  check_reach(name, handle->view, handle->storage, handle->offset);
  check_format(info_, name, *handle, output);
  const int64_t elements = handle->view.numel();
  work_ = std::max(work_, elements);
  bytes_ += elements * static_cast<int64_t>(size_of(handle->view.dtype));
  if (tracing()) executor_.arguments.push_back({name, output, handle->view});
}

namespace {
template <class Pool, class Handle>
void check_handle(Pool& pool, const char* name, const Handle* handle, const char* what) {
  if (!handle) throw Error(code::kAclnnNullptr, "{} is null", name);
  if (!pool.get(handle))
    throw Error(code::kAclnnParamInvalid, "{} is not {} handle (destroyed, or never created)", name, what);
}
template <class Pool>
void check_element(Pool& pool, const char* name, const typename Pool::Ref& item, const char* what) {
  if (!item.object) throw Error(code::kAclnnNullptr, "{} holds null, want {}", name, what);
  if (!pool.get(item)) throw Error(code::kAclnnParamInvalid, "{} holds {} handle that was destroyed", name, what);
}
}  // namespace

void Op::argument(const char* name, Scalar v) { check_handle(scalar_pool(), name, v.handle, "a scalar"); }
void Op::argument(const char* name, Ints v) { check_handle(int_array_pool(), name, v.handle, "an int array"); }
void Op::argument(const char* name, Bools v) { check_handle(bool_array_pool(), name, v.handle, "a bool array"); }
void Op::argument(const char* name, Scalars v) {
  check_handle(scalar_list_pool(), name, v.handle, "a scalar list");
  for (const auto& s : v.handle->items) check_element(scalar_pool(), name, s, "a scalar");
}
void Op::argument(const char* name, Tensors v) {
  check_handle(tensor_list_pool(), name, v.handle, "a tensor list");
  for (const auto& t : v.handle->items) {
    if (!t.object) continue;
    check_element(tensor_pool(), name, t, "a tensor");
    tensor(name, t, true, false);
  }
}

void Op::require_shape(const char* name, const TensorView& v, const int64_t* dims, int rank) const {
  if (v.rank != rank || !std::equal(dims, dims + rank, v.dims))
    refuse("{} is {}, want shape {}", name, describe(v), describe_shape(dims, rank));
}

void Op::require_same_shape(const char* a_name, const TensorView& a, const char* b_name, const TensorView& b) const {
  if (!a.same_shape(b)) refuse("{} is {} and {} is {}: want equal shapes", a_name, describe(a), b_name, describe(b));
}

void Op::require_broadcast(const TensorView& a, const TensorView& b, const TensorView& out) const {
  int64_t dims[kMaxDims];
  int rank = broadcast_shape(a.dims, a.rank, b.dims, b.rank, dims);
  require_shape("out", out, dims, rank);
}

}  // namespace updraft
