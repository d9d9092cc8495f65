// aclTensorDesc, aclDataBuffer and aclopAttr.
#include "acl/tensor_desc.h"

#include "acl/api.h"

using namespace updraft;

namespace {
HandlePool<aclTensorDesc>& descs() {
  static auto* p = new HandlePool<aclTensorDesc>(1 << 20);
  return *p;
}
HandlePool<aclDataBuffer>& buffers() {
  static auto* p = new HandlePool<aclDataBuffer>(1 << 20);
  return *p;
}
HandlePool<aclopAttr>& attributes() {
  static auto* p = new HandlePool<aclopAttr>(1 << 18);
  return *p;
}
template <class T>
T& checked(HandlePool<T>& pool, const void* handle, const char* name) {
  need(handle, name);
  if (T* object = pool.get(handle)) return *object;
  throw Error(code::kAclInvalidParam, "{} {} is not a live handle", name, handle);
}
aclTensorDesc& desc(const aclTensorDesc* handle) { return checked(descs(), handle, "desc"); }

// A list of the client: null only when it has no elements, and of a size that a list can have.
constexpr int kLongest = 1 << 16;
template <class T>
std::vector<T> list(int n, const T* values) {
  if (n < 0 || n > kLongest || (n > 0 && !values))
    throw Error(code::kAclInvalidParam, "a list has {} elements at {}, want 0 to {}", n,
                static_cast<const void*>(values), kLongest);
  return {values, values + n};
}
std::vector<std::string> strings(int n, const char* const* values) {
  std::vector<std::string> all;
  for (const char* text : list(n, values)) all.emplace_back(text ? text : "");
  return all;
}
}  // namespace

namespace updraft {
aclTensorDesc& live(const aclTensorDesc* handle) { return desc(handle); }
const aclDataBuffer& live(const aclDataBuffer* handle) { return checked(buffers(), handle, "dataBuffer"); }
const aclopAttr& live(const aclopAttr* handle) { return checked(attributes(), handle, "attr"); }
}  // namespace updraft

extern "C" {

UPDRAFT_API aclTensorDesc* aclCreateTensorDesc(int32_t type, int rank, const int64_t* dims, int32_t format) {
  aclTensorDesc* made = nullptr;
  guard("aclCreateTensorDesc", [&] {
    aclTensorDesc description;
    description.dtype = static_cast<DType>(type);
    description.dims = list(rank, dims);
    description.format = format;
    made = descs().create(std::move(description));
  });
  return made;
}
UPDRAFT_API void aclDestroyTensorDesc(const aclTensorDesc* d) {
  guard("aclDestroyTensorDesc", [&] { descs().destroy(d); });
}

UPDRAFT_API int aclSetTensorShape(aclTensorDesc* d, int rank, const int64_t* dims) {
  return guard("aclSetTensorShape", [&] { desc(d).storage_dims = list(rank, dims); });
}
UPDRAFT_API int aclSetTensorFormat(aclTensorDesc* d, int32_t format) {
  return guard("aclSetTensorFormat", [&] { desc(d).storage_format = format; });
}
UPDRAFT_API int aclSetTensorStorageFormat(aclTensorDesc* d, int32_t format) { return aclSetTensorFormat(d, format); }
UPDRAFT_API int aclSetTensorStorageShape(aclTensorDesc* d, int rank, const int64_t* dims) {
  return aclSetTensorShape(d, rank, dims);
}
UPDRAFT_API int aclSetTensorOriginFormat(aclTensorDesc* d, int32_t format) {
  return guard("aclSetTensorOriginFormat", [&] { desc(d).format = format; });
}
UPDRAFT_API int aclSetTensorOriginShape(aclTensorDesc* d, int rank, const int64_t* dims) {
  return guard("aclSetTensorOriginShape", [&] { desc(d).dims = list(rank, dims); });
}
UPDRAFT_API int aclSetTensorPlaceMent(aclTensorDesc* d, int32_t placement) {
  return guard("aclSetTensorPlaceMent", [&] { desc(d).placement = placement; });
}
UPDRAFT_API int aclSetTensorConst(aclTensorDesc* d, void* data, size_t bytes) {
  return guard("aclSetTensorConst", [&] {
    if (bytes) need(data, "dataBuffer");
    desc(d).constant.assign(static_cast<const char*>(data), bytes);
  });
}
UPDRAFT_API int aclSetTensorShapeRange(aclTensorDesc* d, size_t rank, int64_t (*range)[2]) {
  return guard("aclSetTensorShapeRange", [&] {
    if (rank > kLongest || (rank && !range)) throw Error(code::kAclInvalidParam, "dimsCount is {}", rank);
    desc(d).range.clear();
    for (size_t i = 0; i < rank; ++i) desc(d).range.emplace_back(range[i][0], range[i][1]);
  });
}
UPDRAFT_API void aclSetTensorDescName(aclTensorDesc* d, const char* name) {
  guard("aclSetTensorDescName", [&] { desc(d).name = name ? name : ""; });
}
UPDRAFT_API const char* aclGetTensorDescName(aclTensorDesc* d) {
  aclTensorDesc* live = descs().get(d);
  return live ? live->name.c_str() : "";
}
UPDRAFT_API int32_t aclGetTensorDescType(const aclTensorDesc* d) {
  aclTensorDesc* live = descs().get(d);
  return live ? static_cast<int32_t>(live->dtype) : -1;
}
UPDRAFT_API int32_t aclGetTensorDescFormat(const aclTensorDesc* d) {
  aclTensorDesc* live = descs().get(d);
  return live ? live->format : -1;
}
UPDRAFT_API size_t aclGetTensorDescNumDims(const aclTensorDesc* d) {
  aclTensorDesc* live = descs().get(d);
  return live ? live->dims.size() : 0;
}
UPDRAFT_API int aclGetTensorDescDimV2(const aclTensorDesc* d, size_t index, int64_t* size) {
  return guard("aclGetTensorDescDimV2", [&] {
    need(size, "dimSize");
    const aclTensorDesc& t = desc(d);
    if (index >= t.dims.size())
      throw Error(code::kAclInvalidParam, "index {} is out of range: the tensor has {} dimensions", index,
                  t.dims.size());
    *size = t.dims[index];
  });
}
UPDRAFT_API int64_t aclGetTensorDescDim(const aclTensorDesc* d, size_t index) {
  aclTensorDesc* live = descs().get(d);
  return live && index < live->dims.size() ? live->dims[index] : -1;
}
UPDRAFT_API size_t aclGetTensorDescElementCount(const aclTensorDesc* d) {
  aclTensorDesc* live = descs().get(d);
  if (!live) return 0;
  size_t n = 1;
  for (int64_t dim : live->dims) n *= dim < 0 ? 0 : static_cast<size_t>(dim);
  return n;
}
UPDRAFT_API size_t aclGetTensorDescSize(const aclTensorDesc* d) {
  aclTensorDesc* live = descs().get(d);
  return live ? aclGetTensorDescElementCount(d) * size_of(live->dtype) : 0;
}
UPDRAFT_API size_t aclDataTypeSize(int32_t type) { return size_of(static_cast<DType>(type)); }
UPDRAFT_API uint16_t aclFloatToFloat16(float value) { return float_to_half(value); }
UPDRAFT_API float aclFloat16ToFloat(uint16_t value) { return half_to_float(value); }

UPDRAFT_API aclDataBuffer* aclCreateDataBuffer(void* data, size_t size) {
  aclDataBuffer* made = nullptr;
  guard("aclCreateDataBuffer", [&] { made = buffers().create(data, size); });
  return made;
}
UPDRAFT_API int aclDestroyDataBuffer(const aclDataBuffer* b) {
  return guard("aclDestroyDataBuffer", [&] {
    checked(buffers(), b, "dataBuffer");
    buffers().destroy(b);
  });
}
UPDRAFT_API int aclUpdateDataBuffer(aclDataBuffer* b, void* data, size_t size) {
  return guard("aclUpdateDataBuffer", [&] { checked(buffers(), b, "dataBuffer") = {data, size}; });
}
UPDRAFT_API void* aclGetDataBufferAddr(const aclDataBuffer* b) {
  aclDataBuffer* live = buffers().get(b);
  return live ? live->data : nullptr;
}
UPDRAFT_API size_t aclGetDataBufferSizeV2(const aclDataBuffer* b) {
  aclDataBuffer* live = buffers().get(b);
  return live ? live->size : 0;
}
UPDRAFT_API uint32_t aclGetDataBufferSize(const aclDataBuffer* b) {
  return static_cast<uint32_t>(aclGetDataBufferSizeV2(b));
}

UPDRAFT_API aclopAttr* aclopCreateAttr() {
  aclopAttr* made = nullptr;
  guard("aclopCreateAttr", [&] { made = attributes().create(); });
  return made;
}
UPDRAFT_API void aclopDestroyAttr(const aclopAttr* a) {
  guard("aclopDestroyAttr", [&] { attributes().destroy(a); });
}

#define UPDRAFT_SET(function, parameters, value)                               \
  UPDRAFT_API int function parameters {                                        \
    return guard(#function, [&] {                                              \
      need(name, "attrName");                                                  \
      checked(attributes(), a, "attr").values[name] = aclopAttr::Value(value); \
    });                                                                        \
  }
UPDRAFT_SET(aclopSetAttrBool, (aclopAttr * a, const char* name, uint8_t v), v != 0)
UPDRAFT_SET(aclopSetAttrInt, (aclopAttr * a, const char* name, int64_t v), v)
UPDRAFT_SET(aclopSetAttrFloat, (aclopAttr * a, const char* name, float v), v)
UPDRAFT_SET(aclopSetAttrString, (aclopAttr * a, const char* name, const char* v), std::string(v ? v : ""))
UPDRAFT_SET(aclopSetAttrDataType, (aclopAttr * a, const char* name, int32_t v), v)
UPDRAFT_SET(aclopSetAttrListBool, (aclopAttr * a, const char* name, int n, const uint8_t* v), (list(n, v)))
UPDRAFT_SET(aclopSetAttrListInt, (aclopAttr * a, const char* name, int n, const int64_t* v), (list(n, v)))
UPDRAFT_SET(aclopSetAttrListFloat, (aclopAttr * a, const char* name, int n, const float* v), (list(n, v)))
UPDRAFT_SET(aclopSetAttrListString, (aclopAttr * a, const char* name, int n, const char** v), (strings(n, v)))
#undef UPDRAFT_SET
UPDRAFT_API int aclopSetAttrListDataType(aclopAttr* a, const char* name, int n, const int32_t* v) {
  return guard("aclopSetAttrListDataType", [&] {
    need(name, "attrName");
    const std::vector<int32_t> types = list(n, v);
    checked(attributes(), a, "attr").values[name] = std::vector<int64_t>(types.begin(), types.end());
  });
}
UPDRAFT_API int aclopSetAttrListListInt(aclopAttr* a, const char* name, int n, const int* sizes,
                                        const int64_t* const* v) {
  return guard("aclopSetAttrListListInt", [&] {
    need(name, "attrName");
    std::vector<std::vector<int64_t>> lists;
    const auto lengths = list(n, sizes);
    const auto starts = list(n, v);
    for (size_t i = 0; i < lengths.size(); ++i) lists.push_back(list(lengths[i], starts[i]));
    checked(attributes(), a, "attr").values[name] = std::move(lists);
  });
}

}  // extern "C"
