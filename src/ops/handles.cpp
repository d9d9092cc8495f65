#include "ops/handles.h"

#include <cstring>
#include <utility>

#include "base/config.h"
#include "base/scratch.h"
#include "device/memory.h"
#include "device/soc.h"
#include "ops/kept_arguments.h"
#include "ops/op.h"

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

namespace {
thread_local char* t_workspace = nullptr;

HandlePool<aclOpExecutor>& executor_pool() {
  static auto* pool = new HandlePool<aclOpExecutor>(1 << 20);
  return *pool;
}

// Free executors keep their buffers, so that a steady state allocates nothing.
struct FreeList {
  std::mutex mutex;
  std::vector<aclOpExecutor*> items;
};
FreeList& free_list() {
  static auto* list = new FreeList;
  return *list;
}
}  // namespace

char* workspace_of_running() { return t_workspace; }

aclOpExecutor* take_executor() {
  FreeList& list = free_list();
  {
    std::lock_guard lock(list.mutex);
    if (!list.items.empty()) {
      aclOpExecutor* executor = list.items.back();
      list.items.pop_back();
      return executor;
    }
  }
  return executor_pool().create();
}

void recycle_executor(aclOpExecutor* executor) {
  for (aclOpExecutor* step : executor->steps) recycle_executor(step);
  executor->steps.clear();
  executor->temporaries.clear();
  executor->body.reset();
  executor->arguments.clear();
  executor->values.clear();
  executor->scratch_bytes = 0;
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
  FreeList& list = free_list();
  std::lock_guard lock(list.mutex);
  list.items.push_back(executor);
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
  if (!workspace && !scratch_bytes) return body();
  ScratchScope scope;
  char* memory = workspace ? static_cast<char*>(host_address(workspace)) : scope.take<char>(scratch_bytes);
  struct Restore {
    char* value;
    ~Restore() { t_workspace = value; }
  } restore{std::exchange(t_workspace, memory)};
  if (!workspace || !kernel_bytes) return body();
  LentScratch lent(memory + scratch_bytes, kernel_bytes);
  body();
}

void aclOpExecutor::release() { recycle_executor(this); }

const char* aclOpExecutor::name() const { return info ? info->name : "(operator)"; }

namespace {
// NaN and what does not fit give the smallest number, as the CPU's conversion does.
int64_t to_int64(double d) { return d >= -0x1p63 && d < 0x1p63 ? static_cast<int64_t>(d) : INT64_MIN; }
}  // namespace

complex128 aclScalar::to_complex() const {
  complex128 value;
  visit_type(dtype, [&]<class T>() {
    T v;
    std::memcpy(&v, bytes, sizeof v);
    if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) value = complex128(v);
    else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) value = static_cast<float>(v);
    else value = static_cast<double>(v);
  });
  return value;
}

double aclScalar::to_double() const { return to_complex().real(); }

int64_t aclScalar::to_int() const {
  int64_t value = 0;
  visit_type(dtype, [&]<class T>() {
    T v;
    std::memcpy(&v, bytes, sizeof v);
    if constexpr (std::is_integral_v<T>) value = static_cast<int64_t>(v);
    else value = to_int64(to_double());
  });
  return value;
}
