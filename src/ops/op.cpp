#include "ops/op.h"

#include <algorithm>
#include <string_view>

#include "base/config.h"
#include "device/context.h"
#include "device/device.h"
#include "device/stream.h"
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

int plan_op(const OpInfo& info, uint64_t* workspace, aclOpExecutor** executor, FunctionRef<void(Op&)> plan) noexcept {
  ApiScope call(info.name, ApiCall::Phase::Plan);
  aclOpExecutor* made = nullptr;
  int code = 0;
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
    call.arguments(made->observed.data(), made->observed.size());
  } catch (const Error& e) {
    code = e.code();
    report_error(info.name, code, fmt::format("{}: {}", info.name, e.text()));
  } catch (const std::exception& e) {
    code = code::kAclnnInner;
    report_error(info.name, code, fmt::format("{}: {}", info.name, e.what()));
  }
  if (code && made) recycle_executor(made);
  call.code(code);
  return code;
}

int launch_op(const OpInfo& info, void*, uint64_t, aclOpExecutor* executor, void* stream) noexcept {
  using State = aclOpExecutor::State;
  ApiScope call(info.name, ApiCall::Phase::Launch);
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
    const int code =
        e.code() == code::kRtInvalidHandle || e.code() == code::kRtContextNull ? code::kAclnnRuntime : e.code();
    report_error(info.name, code, fmt::format("{}: {}", info.name, e.text()));
    call.code(code);
    return code;
  } catch (const std::exception& e) {
    report_error(info.name, code::kAclnnInner, fmt::format("{}: {}", info.name, e.what()));
    call.code(code::kAclnnInner);
    return code::kAclnnInner;
  }
}

Direction Op::direction_of(const char* name) const {
  // "(In, self), (InOut, state), (Out, out)"
  const std::string_view signature = info_.signature, wanted = name;
  size_t at = signature.find(fmt::format(", {})", name));
  const size_t open = signature.rfind('(', at);
  const std::string_view type = signature.substr(open + 1, at - open - 1);
  if (wanted.ends_with("Ref") || type.find("InOut") != type.npos) return Direction::InOut;
  return type.find("Out") == type.npos ? Direction::In : Direction::Out;
}

void Op::tensor(const char* name, const aclTensor* handle, bool optional) {
  if (handle) check_tensor(name, handle);
  else if (!optional) throw Error(code::kAclnnNullptr, "{} is null", name);
  if (observing_arguments()) observe_argument(executor_.observed, name, direction_of(name), handle);
}

void Op::check_tensor(const char* name, const aclTensor* handle) {
  if (!tensor_pool().get(handle))
    throw Error(code::kAclnnParamInvalid, "{} is not a tensor handle (destroyed, or never created)", name);
  if (Config::get().card_fidelity)
    if (std::string why = card_refusal(info_, name, handle->view.dtype, soc()); !why.empty())
      throw Error(code::kAclnnParamInvalid, "{}", why);
  if (std::string why = refusal_of(handle->view.dtype); !why.empty())
    throw Error(code::kAclnnParamInvalid, "{} {}", name, why);
  check_reach(name, handle->view, handle->storage, handle->offset);
  const int64_t elements = handle->view.numel();
  work_ = std::max(work_, elements);
  bytes_ += elements * static_cast<int64_t>(size_of(handle->view.dtype));
}

namespace {
template <class Pool, class Handle>
void check_handle(Pool& pool, const char* name, const Handle* handle, const char* what) {
  if (!handle) throw Error(code::kAclnnNullptr, "{} is null", name);
  if (!pool.get(handle))
    throw Error(code::kAclnnParamInvalid, "{} is not {} handle (destroyed, or never created)", name, what);
}
}  // namespace

void Op::argument(const char* name, Scalar v) {
  check_handle(scalar_pool(), name, v.handle, "a scalar");
  if (observing_arguments()) observe_argument(executor_.observed, name, v.handle);
}
void Op::argument(const char* name, Ints v) {
  check_handle(int_array_pool(), name, v.handle, "an int array");
  if (observing_arguments()) observe_argument(executor_.observed, name, v.handle);
}
void Op::argument(const char* name, Bools v) {
  check_handle(bool_array_pool(), name, v.handle, "a bool array");
  if (observing_arguments()) observe_argument(executor_.observed, name, v.handle);
}
void Op::argument(const char* name, Scalars v) {
  check_handle(scalar_list_pool(), name, v.handle, "a scalar list");
  for (const aclScalar* s : v.handle->items) check_handle(scalar_pool(), name, s, "a scalar");
  if (observing_arguments()) observe_argument(executor_.observed, name, v.handle);
}
void Op::argument(const char* name, Tensors v) {
  check_handle(tensor_list_pool(), name, v.handle, "a tensor list");
  for (const aclTensor* t : v.handle->items)
    if (t) check_tensor(name, t);
  if (observing_arguments()) observe_argument(executor_.observed, name, direction_of(name), v.handle);
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
