// The meta interface of aclnn: tensors, scalars, arrays and lists as handles.
#include <cstdlib>
#include <cstring>

#include "base/accepted.h"
#include "device/observer.h"
#include "ops/exchange.h"
#include "ops/kept_arguments.h"
#include "ops/op.h"
#include "ops/repeat.h"
#include "tensor/extent.h"

using namespace updraft;

namespace {

template <class T>
T& checked(HandlePool<T>& pool, const void* handle, const char* what) {
  require_pointer(handle, what);
  if (T* object = pool.get(handle)) return *object;
  throw Error(code::kAclnnParamInvalid, "{} is not {} handle (destroyed, or never created)", handle, what);
}

// A task may be writing the shape of its result.
TensorView view_now(const aclTensor* t) {
  checked(tensor_pool(), t, "a tensor");
  TensorView view;
  tensor_pool().locked(tensor_pool().ref(t), [&](const aclTensor& live) { view = live.view; });
  return view;
}

template <class T>
int destroy(const char* name, HandlePool<T>& pool, const void* handle, const char* what) {
  return guard(name, [&] {
    if (!handle) return;  // null handles are legal
    checked(pool, handle, what);
    pool.destroy(handle);
  });
}

template <class T>
HandlePool<T>& pool_of() {
  if constexpr (std::is_same_v<T, aclTensor>) return tensor_pool();
  else if constexpr (std::is_same_v<T, aclScalar>) return scalar_pool();
  else if constexpr (std::is_same_v<T, aclIntArray>) return int_array_pool();
  else if constexpr (std::is_same_v<T, aclFloatArray>) return float_array_pool();
  else if constexpr (std::is_same_v<T, aclBoolArray>) return bool_array_pool();
  else if constexpr (std::is_same_v<T, aclTensorList>) return tensor_list_pool();
  else return scalar_list_pool();
}

// What a handle that was never destroyed holds, for the sanitizer.
std::string describe_left(const aclTensor& t) { return describe(t.view).text(); }
std::string describe_left(const aclScalar& s) { return name_of(s.dtype); }
std::string describe_left(const aclTensorList& list) { return fmt::format("{} tensors", list.items.size()); }
std::string describe_left(const aclScalarList& list) { return fmt::format("{} scalars", list.items.size()); }
template <class T>
  requires requires(const T& array) { array.values; }
std::string describe_left(const T& array) {
  return fmt::format("{} values", array.values.size());
}

template <class T, class Make>
T* create(const char* name, Make&& make) {
  T* made = nullptr;
  guard(name, [&] {
    made = make();
    if (watched()) [[unlikely]] {
      OrderEvent event{.what = OrderEvent::What::Made, .object = made};
      event.value = pool_of<T>().ref(made).generation;
      event.name = name + std::strlen("aclCreate");
      event.text = name;
      event.left = [](const void* object, uint64_t value) {
        const T* live = pool_of<T>().get({static_cast<T*>(const_cast<void*>(object)), static_cast<uint32_t>(value)});
        return live ? describe_left(*live) : std::string();
      };
      tell_order(event);
    }
  });
  return made;
}

// Every address that kernels form of the view must be a number; whether memory is there is checked when it is used.
Extent extent_in_memory(const TensorView& view, int64_t offset) {
  const auto extent = extent_of(view);
  int64_t bytes = 0;
  if (!extent || __builtin_mul_overflow(offset, int64_t{16}, &bytes) || std::abs(bytes) > kFarthest)
    throw Error(code::kAclnnParamInvalid, "shape {} with strides {} at offset {} reaches beyond any memory",
                describe_shape(view.dims, view.rank), describe_shape(view.strides, view.rank), offset);
  return *extent;
}

// One that was launched belongs to its stream, unless it is repeatable.
aclOpExecutor& planned(aclOpExecutor* executor) {
  require_pointer(executor, "executor");
  aclOpExecutor* live = find_executor(executor);
  if (!live || live->state != aclOpExecutor::State::Planned)
    throw Error(code::kAclnnParamInvalid, "{} is not an executor (launched, destroyed, or never created)",
                static_cast<void*>(executor));
  return *live;
}

KeptArguments& repeatable(aclOpExecutor* executor) {
  aclOpExecutor& live = planned(executor);
  if (!live.kept)
    throw Error(code::kAclnnParamInvalid,
                "{} is not repeatable: call aclSetAclOpExecutorRepeatable before its addresses are set",
                static_cast<void*>(executor));
  return *live.kept;
}

using Among = KeptArguments::Among;

/// The last argument is the address; before it stands, for lists, which of their tensors. `handle`: a tensor or a list.
template <class... Where>
int readdress(const char* name, aclOpExecutor* executor, size_t index, Among among, const void* handle,
              Where... where) {
  return guard(name, [&] {
    KeptArguments& kept = repeatable(executor);
    kept.readdress(kept.position_of(index, among, handle), where...);
  });
}

// What a list keeps: elements may be null, and a list must not take (or destroy) what comes later at their addresses.
template <class T>
std::vector<HandleRef<T>> elements(HandlePool<T>& pool, const T* const* values, uint64_t count, const char* what) {
  std::vector<HandleRef<T>> refs;
  refs.reserve(count);
  for (uint64_t i = 0; i < count; ++i) {
    if (values[i]) checked(pool, values[i], what);
    refs.push_back(pool.ref(values[i]));
  }
  return refs;
}

/// Operators take INT4 as eight in an INT32. The dimension whose elements lie side by side becomes that of the words;
/// what has none of eight or a multiple of it stays as it is, and operators refuse it by its type.
void pack_four_bits(TensorView& view, int64_t& offset) {
  constexpr int64_t kInWord = 8;
  TensorView words = view;
  int packed = -1;
  for (int d = view.rank - 1; d >= 0; --d) {
    if (packed < 0 && view.strides[d] == 1 && view.dims[d] > 0 && view.dims[d] % kInWord == 0) {
      packed = d;
      words.dims[d] /= kInWord;
    } else {
      if (view.dims[d] > 1 && view.strides[d] % kInWord != 0) return;
      words.strides[d] /= kInWord;
    }
  }
  if (packed < 0 || offset % kInWord != 0) return;
  words.dtype = DType::Int32;
  view = words;
  offset /= kInWord;
}

// Arrays that clients release with delete[].
void copy_out(const int64_t* from, int rank, int64_t** dims, uint64_t* count) {
  require_pointer(dims, "the array");
  require_pointer(count, "the number of dimensions");
  *count = static_cast<uint64_t>(rank);
  *dims = new int64_t[rank ? static_cast<size_t>(rank) : 1];
  std::copy_n(from, rank, *dims);
}

template <class Array, class T>
Array* create_array(const char* name, const T* values, uint64_t count) {
  return create<Array>(name, [&] {
    if (count && !values) throw Error(code::kAclnnNullptr, "value is null");
    return pool_of<Array>().create(Array{{values, values + count}});
  });
}
template <class Array>
int size_of_array(const char* name, const Array* a, const char* what, uint64_t* size) {
  return guard(name, [&] {
    require_pointer(size, "size");
    *size = checked(pool_of<Array>(), a, what).values.size();
  });
}

// Lists own their elements: destroying a list destroys them.
template <class List, class T>
List* create_list(const char* name, const T* const* values, uint64_t count, const char* what) {
  return create<List>(name, [&] {
    if (count && !values) throw Error(code::kAclnnNullptr, "value is null");
    return pool_of<List>().create(List{elements(pool_of<T>(), values, count, what)});
  });
}
template <class T, class List>
int destroy_list(const char* name, const List* list, const char* what) {
  return guard(name, [&] {
    if (!list) return;
    for (const auto& item : checked(pool_of<List>(), list, what).items) pool_of<T>().destroy(item);
    pool_of<List>().destroy(list);
  });
}
template <class List>
int size_of_list(const char* name, const List* list, const char* what, uint64_t* size) {
  return guard(name, [&] {
    require_pointer(size, "size");
    *size = checked(pool_of<List>(), list, what).items.size();
  });
}

}  // namespace

extern "C" {

UPDRAFT_API aclTensor* aclCreateTensor(const int64_t* dims, uint64_t rank, int32_t type, const int64_t* strides,
                                       int64_t offset, int32_t format, const int64_t* storage_dims,
                                       uint64_t storage_rank, void* data) {
  return create<aclTensor>("aclCreateTensor", [&] {
    if (rank > kMaxDims || storage_rank > kMaxDims)
      throw Error(code::kAclnnParamInvalid, "a tensor of {} dimensions (storage {}): the most is {}", rank,
                  storage_rank, kMaxDims);
    if (rank && !dims) throw Error(code::kAclnnNullptr, "viewDims is null");
    int64_t elements = 1;
    for (uint64_t i = 0; i < rank; ++i)
      if (dims[i] < 0 || __builtin_mul_overflow(elements, std::max<int64_t>(dims[i], 1), &elements))
        throw Error(code::kAclnnParamInvalid, "viewDims {} is not a shape",
                    describe_shape(dims, static_cast<int>(rank)));
    TensorView view = TensorView::contiguous(nullptr, static_cast<DType>(type), dims, static_cast<int>(rank));
    if (strides) std::copy_n(strides, rank, view.strides);
    if (view.dtype == DType::Int4) pack_four_bits(view, offset);
    const Extent extent = extent_in_memory(view, offset);
    aclTensor& t = *tensor_pool().create();
    t.view = view;
    t.extent = extent;
    t.offset = offset;
    t.format = format;
    t.storage_rank = storage_dims ? static_cast<int32_t>(storage_rank) : 0;
    std::copy_n(storage_dims, t.storage_rank, t.storage_dims);
    set_address(t, data);
    return &t;
  });
}
UPDRAFT_API int aclDestroyTensor(const aclTensor* t) {
  return destroy("aclDestroyTensor", tensor_pool(), t, "a tensor");
}

UPDRAFT_API aclScalar* aclCreateScalar(void* value, int32_t type) {
  return create<aclScalar>("aclCreateScalar", [&] {
    if (!value) throw Error(code::kAclnnNullptr, "value is null");
    size_t bytes = size_of(static_cast<DType>(type));
    if (bytes == 0 || bytes > 16) throw Error(code::kAclnnParamInvalid, "a scalar cannot have data type {}", type);
    aclScalar* s = scalar_pool().create();
    s->dtype = static_cast<DType>(type);
    std::memcpy(s->bytes, value, bytes);
    if (s->dtype == DType::Bool) s->bytes[0] = s->bytes[0] != 0;  // any other byte is no bool
    return s;
  });
}
UPDRAFT_API int aclDestroyScalar(const aclScalar* s) {
  return destroy("aclDestroyScalar", scalar_pool(), s, "a scalar");
}

UPDRAFT_API aclIntArray* aclCreateIntArray(const int64_t* values, uint64_t count) {
  return create_array<aclIntArray>("aclCreateIntArray", values, count);
}
UPDRAFT_API int aclDestroyIntArray(const aclIntArray* a) {
  return destroy("aclDestroyIntArray", int_array_pool(), a, "an int array");
}
UPDRAFT_API int aclGetIntArraySize(const aclIntArray* a, uint64_t* size) {
  return size_of_array("aclGetIntArraySize", a, "an int array", size);
}

UPDRAFT_API aclFloatArray* aclCreateFloatArray(const float* values, uint64_t count) {
  return create_array<aclFloatArray>("aclCreateFloatArray", values, count);
}
UPDRAFT_API int aclDestroyFloatArray(const aclFloatArray* a) {
  return destroy("aclDestroyFloatArray", float_array_pool(), a, "a float array");
}
UPDRAFT_API int aclGetFloatArraySize(const aclFloatArray* a, uint64_t* size) {
  return size_of_array("aclGetFloatArraySize", a, "a float array", size);
}

UPDRAFT_API aclBoolArray* aclCreateBoolArray(const bool* values, uint64_t count) {
  return create_array<aclBoolArray>("aclCreateBoolArray", values, count);
}
UPDRAFT_API int aclDestroyBoolArray(const aclBoolArray* a) {
  return destroy("aclDestroyBoolArray", bool_array_pool(), a, "a bool array");
}
UPDRAFT_API int aclGetBoolArraySize(const aclBoolArray* a, uint64_t* size) {
  return size_of_array("aclGetBoolArraySize", a, "a bool array", size);
}

UPDRAFT_API aclTensorList* aclCreateTensorList(const aclTensor* const* values, uint64_t count) {
  return create_list<aclTensorList, aclTensor>("aclCreateTensorList", values, count, "a tensor");
}
UPDRAFT_API int aclDestroyTensorList(const aclTensorList* list) {
  return destroy_list<aclTensor>("aclDestroyTensorList", list, "a tensor list");
}
UPDRAFT_API int aclGetTensorListSize(const aclTensorList* list, uint64_t* size) {
  return size_of_list("aclGetTensorListSize", list, "a tensor list", size);
}

UPDRAFT_API aclScalarList* aclCreateScalarList(const aclScalar* const* values, uint64_t count) {
  return create_list<aclScalarList, aclScalar>("aclCreateScalarList", values, count, "a scalar");
}
UPDRAFT_API int aclDestroyScalarList(const aclScalarList* list) {
  return destroy_list<aclScalar>("aclDestroyScalarList", list, "a scalar list");
}
UPDRAFT_API int aclGetScalarListSize(const aclScalarList* list, uint64_t* size) {
  return size_of_list("aclGetScalarListSize", list, "a scalar list", size);
}

UPDRAFT_API int aclGetViewShape(const aclTensor* t, int64_t** dims, uint64_t* rank) {
  return guard("aclGetViewShape", [&] {
    const TensorView view = view_now(t);
    copy_out(view.dims, view.rank, dims, rank);
  });
}
UPDRAFT_API int aclGetViewStrides(const aclTensor* t, int64_t** strides, uint64_t* rank) {
  return guard("aclGetViewStrides", [&] {
    const TensorView view = view_now(t);
    copy_out(view.strides, view.rank, strides, rank);
  });
}
UPDRAFT_API int aclGetStorageShape(const aclTensor* t, int64_t** dims, uint64_t* rank) {
  return guard("aclGetStorageShape", [&] {
    const aclTensor& live = checked(tensor_pool(), t, "a tensor");
    copy_out(live.storage_dims, live.storage_rank, dims, rank);
  });
}
UPDRAFT_API int aclGetViewOffset(const aclTensor* t, int64_t* offset) {
  return guard("aclGetViewOffset", [&] {
    require_pointer(offset, "offset");
    *offset = checked(tensor_pool(), t, "a tensor").offset;
  });
}
UPDRAFT_API int aclGetFormat(const aclTensor* t, int32_t* format) {
  return guard("aclGetFormat", [&] {
    require_pointer(format, "format");
    *format = checked(tensor_pool(), t, "a tensor").format;
  });
}
UPDRAFT_API int aclGetDataType(const aclTensor* t, int32_t* type) {
  return guard("aclGetDataType", [&] {
    require_pointer(type, "type");
    *type = static_cast<int32_t>(checked(tensor_pool(), t, "a tensor").view.dtype);
  });
}
UPDRAFT_API int aclSetAclOpExecutorRepeatable(aclOpExecutor* executor) {
  return guard("aclSetAclOpExecutorRepeatable", [&] {
    aclOpExecutor& live = planned(executor);
    if (live.repeatable) return;
    if (waits_for_ranks(live))
      throw Error(code::kAclnnParamInvalid, "{} waits for other ranks: plan each of its runs, it is not repeatable",
                  live.info->name);
    // Addresses may be set later, when the client has destroyed these handles.
    check_handles(*live.info, live.values.data());
    live.kept = std::make_unique<KeptArguments>(*live.info, live.values.data());
    live.repeatable = true;
  });
}
UPDRAFT_API int aclSetTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor, void* data) {
  return readdress("aclSetTensorAddr", executor, index, Among::All, tensor, data);
}
UPDRAFT_API int aclSetInputTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor, void* data) {
  return readdress("aclSetInputTensorAddr", executor, index, Among::Read, tensor, data);
}
UPDRAFT_API int aclSetOutputTensorAddr(aclOpExecutor* executor, size_t index, aclTensor* tensor, void* data) {
  return readdress("aclSetOutputTensorAddr", executor, index, Among::Written, tensor, data);
}
UPDRAFT_API int aclSetDynamicTensorAddr(aclOpExecutor* executor, size_t index, size_t item, aclTensorList* list,
                                        void* data) {
  return readdress("aclSetDynamicTensorAddr", executor, index, Among::All, list, item, data);
}
UPDRAFT_API int aclSetDynamicInputTensorAddr(aclOpExecutor* executor, size_t index, size_t item, aclTensorList* list,
                                             void* data) {
  return readdress("aclSetDynamicInputTensorAddr", executor, index, Among::Read, list, item, data);
}
UPDRAFT_API int aclSetDynamicOutputTensorAddr(aclOpExecutor* executor, size_t index, size_t item, aclTensorList* list,
                                              void* data) {
  return readdress("aclSetDynamicOutputTensorAddr", executor, index, Among::Written, list, item, data);
}
UPDRAFT_API int aclDestroyAclOpExecutor(aclOpExecutor* executor) {
  return guard("aclDestroyAclOpExecutor", [&] { destroy_executor(planned(executor)); });
}
ACCEPTED(aclnnInit, "operators are there from the start", "算子无需初始化")
UPDRAFT_API int aclnnInit(const char*) { return 0; }
ACCEPTED(aclnnFinalize, "operators hold nothing that would have to be given back", "算子不持有需要释放的资源")
UPDRAFT_API int aclnnFinalize() { return 0; }

}  // extern "C"
