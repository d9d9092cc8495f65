#include "ops/handles.h"

#include <cstring>
#include <utility>

#include "base/config.h"
#include "base/scratch.h"
#include "device/failure_summary.h"
#include "device/memory.h"
#include "device/soc.h"
#include "ops/kept_arguments.h"
#include "ops/observed_arguments.h"
#include "ops/op.h"
#include "ops/submitting.h"

namespace updraft {

std::string refusal_of(DType t) {
  if (!is_computable(t))
    return fmt::format("has data type {} ({}), which no operator here computes", static_cast<int>(t), name_of(t));
  if (t == DType::BFloat16 && Config::get().card_fidelity && !soc().bf16)
    return fmt::format("is {}: {} has no bfloat16 (UPDRAFT_FIDELITY=card)", name_of(t), soc().name);
  return {};
}

// Never destroyed: clients release handles in their own static destructors.
#define UPDRAFT_POOL(function, type, capacity)          \
  HandlePool<type>& function() {                        \
    static auto* pool = new HandlePool<type>(capacity); \
    return *pool;                                       \
  }
UPDRAFT_POOL(tensor_pool, aclTensor, 1 << 22)
UPDRAFT_POOL(scalar_pool, aclScalar, 1 << 22)
UPDRAFT_POOL(int_array_pool, aclIntArray, 1 << 20)
UPDRAFT_POOL(float_array_pool, aclFloatArray, 1 << 20)
UPDRAFT_POOL(bool_array_pool, aclBoolArray, 1 << 20)
UPDRAFT_POOL(tensor_list_pool, aclTensorList, 1 << 20)
UPDRAFT_POOL(scalar_list_pool, aclScalarList, 1 << 20)
#undef UPDRAFT_POOL

HandleRef<aclTensor> client_of(const aclTensor* tensor) {
  const HandleRef<aclTensor> own = tensor_pool().ref(tensor);
  return own.object || !tensor ? own : tensor->client;
}

namespace {
constexpr size_t kMostExecutors = size_t{1} << 20;
HandlePool<aclOpExecutor>& executor_pool() {
  static auto* pool = new HandlePool<aclOpExecutor>(kMostExecutors);
  return *pool;
}

// Free executors keep their buffers, so that a steady state allocates nothing. One rests until some others were given
// back after it, so that an executor that is used twice is most likely still nobody's.
constexpr size_t kRest = 32;
struct FreeList {
  std::mutex mutex;
  aclOpExecutor *first = nullptr, *last = nullptr;  ///< by Task::next
  size_t count = 0;
};
FreeList& free_list() {
  static auto* list = new FreeList;
  return *list;
}

// A few of them stay with the thread that gave them back: small work runs in the thread that plans it. They rest, too.
class OwnFree {
 public:
  ~OwnFree() {
    gone_ = true;  // what is given back later goes to the common list
    while (count_) add(oldest());
  }
  aclOpExecutor* take() { return count_ > kMost / 2 ? oldest() : nullptr; }
  bool give(aclOpExecutor* executor) {
    if (gone_ || count_ == kMost) return false;
    items_[(first_ + count_++) % kMost] = executor;
    return true;
  }
  static void add(aclOpExecutor* executor) {
    FreeList& list = free_list();
    std::lock_guard lock(list.mutex);
    executor->next = nullptr;
    if (list.count) list.last->next = executor;
    else list.first = executor;
    list.last = executor;
    ++list.count;
  }

 private:
  aclOpExecutor* oldest() {
    --count_;
    return items_[first_++ % kMost];
  }

  static constexpr unsigned kMost = 8;
  aclOpExecutor* items_[kMost];
  unsigned first_ = 0, count_ = 0;
  bool gone_ = false;
};
thread_local OwnFree t_free;
}  // namespace

aclOpExecutor* take_executor() {
  if (aclOpExecutor* own = t_free.take()) return own;
  FreeList& list = free_list();
  {
    std::lock_guard lock(list.mutex);
    if (list.count > kRest) {
      aclOpExecutor* executor = list.first;
      list.first = static_cast<aclOpExecutor*>(executor->next);
      --list.count;
      return executor;
    }
  }
  try {
    return executor_pool().create();
  } catch (const PoolFull&) {
    throw Error(code::kAclnnInner,
                "{} executors are planned and neither launched nor destroyed: each wants its second phase or "
                "aclDestroyAclOpExecutor",
                kMostExecutors);
  }
}

void recycle_executor(aclOpExecutor* executor) {
  if (!executor->steps.empty()) {
    for (aclOpExecutor* step : executor->steps) recycle_executor(step);
    executor->steps.clear();
  }
  executor->temporaries.clear();
  executor->body.reset();
  executor->flat_work = nullptr;
  executor->observed.clear();
  executor->values.clear();
  executor->kernel_bytes = 0;
  executor->prepare = nullptr;
  executor->workspace = nullptr;
  executor->unaddressed = nullptr;
  executor->kept.reset();
  executor->info = nullptr;
  executor->work = 0;
  executor->cost = {};
  executor->repeatable = false;
  executor->state = aclOpExecutor::State::Free;
  if (!t_free.give(executor)) OwnFree::add(executor);
}

aclOpExecutor* find_executor(const void* handle) {
  aclOpExecutor* executor = executor_pool().get(handle);
  return executor && executor->state != aclOpExecutor::State::Free ? executor : nullptr;
}

}  // namespace updraft

using namespace updraft;

void aclOpExecutor::run() {
  for (aclOpExecutor* step : steps) step->run();
  if (!body) return;
  FixedSplit split(deterministic);
  if (!workspace || !kernel_bytes) return body();
  LentScratch lent(host_address(workspace), kernel_bytes);
  body();
}

void aclOpExecutor::release() { recycle_executor(this); }

const char* aclOpExecutor::name() const { return info ? info->name : "(operator)"; }

void aclOpExecutor::arguments(ArgumentList& list) const {
  const bool for_summary = !observed.empty() && observed[0].name == updraft::kForSummary;
  if (!observed.empty() && !for_summary) return list.refer_to(observed);
  if (!updraft::summarising_failure()) return;
  if (for_summary) return list.refer_to(std::span(observed).subspan(1));
  if (t_submitting != this || !info || info->defaults) return;
  updraft::check_handles(*info, values.data());  // throws where the client has destroyed one
  std::vector<updraft::Argument> now;
  updraft::observe_arguments(now, *info, values.data());
  for (updraft::Argument& one : now) list.add(one.name, one.direction, std::move(one.value), one.item);
}

namespace {
// NaN and what does not fit give the smallest number, as the CPU's conversion does.
int64_t to_int64(double d) { return d >= -0x1p63 && d < 0x1p63 ? static_cast<int64_t>(d) : INT64_MIN; }
}  // namespace

complex128 aclScalar::to_complex() const {
  complex128 value;
  const bool known = visit_storage(dtype, [&]<class T>() {
    T v;
    std::memcpy(&v, bytes, sizeof v);
    if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) value = complex128(v);
    else if constexpr (std::is_same_v<T, ComplexHalf>) value = complex128(static_cast<complex64>(v));
    else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) value = static_cast<float>(v);
    else value = static_cast<double>(v);
  });
  if (!known) no_such_type(dtype, "a scalar");
  return value;
}

double aclScalar::to_double() const { return to_complex().real(); }

int64_t aclScalar::to_int() const {
  int64_t value = 0;
  const bool known = visit_storage(dtype, [&]<class T>() {
    T v;
    std::memcpy(&v, bytes, sizeof v);
    if constexpr (std::is_integral_v<T>) value = static_cast<int64_t>(v);
    else value = to_int64(to_double());
  });
  if (!known) no_such_type(dtype, "a scalar");
  return value;
}
