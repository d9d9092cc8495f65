// acl: descriptions of tensors, and buffers.
#include "binding.h"

namespace pyacl {
namespace {

aclTensorDesc* create(aclDataType type, const List<int64_t>& dims, aclFormat format) {
  return aclCreateTensorDesc(type, dims.count(), dims.data(), format);
}
aclError set_shape(aclTensorDesc* desc, const List<int64_t>& dims) {
  return aclSetTensorShape(desc, dims.count(), dims.data());
}
aclError set_storage_shape(aclTensorDesc* desc, const List<int64_t>& dims) {
  return aclSetTensorStorageShape(desc, dims.count(), dims.data());
}
aclError set_origin_shape(aclTensorDesc* desc, const List<int64_t>& dims) {
  return aclSetTensorOriginShape(desc, dims.count(), dims.data());
}

using Ranges = List<List<int64_t>>;
template <aclError (*kSet)(aclTensorDesc*, size_t, int64_t (*)[2])>
aclError set_ranges(aclTensorDesc* desc, const Ranges& ranges) {
  std::vector<int64_t> flat;
  for (const List<int64_t>& range : ranges.values) {
    if (range.values.size() != 2) {
      PyErr_SetString(PyExc_ValueError, "acl: a range has two numbers, the least and the most: [[1, 10], [3, 3]]");
      return ACL_ERROR_INVALID_PARAM;
    }
    flat.insert(flat.end(), range.values.begin(), range.values.end());
  }
  return kSet(desc, ranges.values.size(), reinterpret_cast<int64_t(*)[2]>(flat.data()));
}
constexpr auto* set_shape_range = &set_ranges<aclSetTensorShapeRange>;
constexpr auto* set_value_range = &set_ranges<aclSetTensorValueRange>;

aclError dim_range(const aclTensorDesc* desc, size_t index, size_t count, List<int64_t>* range) {
  if (count > 1 << 16) return ACL_ERROR_INVALID_PARAM;
  range->values.resize(count);
  return aclGetTensorDescDimRange(desc, index, count, range->data());
}

constexpr Row kRows[] = {
    CALL_AS("create_tensor_desc", "aclCreateTensorDesc", create, "data_type, dims, format -> desc"),
    CALL("destroy_tensor_desc", aclDestroyTensorDesc, "desc"),
    CALL("get_tensor_desc_type", aclGetTensorDescType, "desc -> data_type"),
    CALL("get_tensor_desc_format", aclGetTensorDescFormat, "desc -> format"),
    CALL("get_tensor_desc_size", aclGetTensorDescSize, "desc -> size"),
    CALL("get_tensor_desc_element_count", aclGetTensorDescElementCount, "desc -> count"),
    CALL("get_tensor_desc_num_dims", aclGetTensorDescNumDims, "desc -> count"),
    CALL("get_tensor_desc_dim", aclGetTensorDescDim, "desc, index -> dim"),
    CALL("get_tensor_desc_dim_v2", aclGetTensorDescDimV2, "desc, index -> dim"),
    CALL_AS("get_tensor_desc_dim_range", "aclGetTensorDescDimRange", dim_range, "desc, index, range_num -> dim_range"),
    CALL("get_tensor_desc_name", aclGetTensorDescName, "desc -> name"),
    CALL("get_tensor_desc_address", aclGetTensorDescAddress, "desc -> address"),
    CALL("get_tensor_desc_by_index", aclGetTensorDescByIndex, "desc, index -> desc"),
    CALL("set_tensor_desc_name", aclSetTensorDescName, "desc, name"),
    CALL("set_tensor_const", aclSetTensorConst, "desc, data, size"),
    CALL("set_tensor_format", aclSetTensorFormat, "desc, format"),
    CALL("set_tensor_storage_format", aclSetTensorStorageFormat, "desc, format"),
    CALL("set_tensor_origin_format", aclSetTensorOriginFormat, "desc, format"),
    CALL("set_tensor_place_ment", aclSetTensorPlaceMent, "desc, mem_type"),
    CALL_AS("set_tensor_shape", "aclSetTensorShape", set_shape, "desc, dims"),
    CALL_AS("set_tensor_storage_shape", "aclSetTensorStorageShape", set_storage_shape, "desc, dims"),
    CALL_AS("set_tensor_origin_shape", "aclSetTensorOriginShape", set_origin_shape, "desc, dims"),
    row<set_shape_range, false>("set_tensor_shape_range", "aclSetTensorShapeRange", "desc, ranges"),
    row<set_value_range, false>("set_tensor_value_range", "aclSetTensorValueRange", "desc, ranges"),
    CALL("set_tensor_dynamic_input", aclSetTensorDynamicInput, "desc, name"),
    CALL("transform_tensor_desc_format", aclTransTensorDescFormat, "source, format -> desc"),

    CALL("create_data_buffer", aclCreateDataBuffer, "data, size -> buffer"),
    CALL("destroy_data_buffer", aclDestroyDataBuffer, "buffer"),
    CALL("update_data_buffer", aclUpdateDataBuffer, "buffer, data, size"),
    CALL("get_data_buffer_addr", aclGetDataBufferAddr, "buffer -> address"),
    CALL("get_data_buffer_size", aclGetDataBufferSizeV2, "buffer -> size"),
    CALL("get_data_buffer_size_v2", aclGetDataBufferSizeV2, "buffer -> size"),
};

}  // namespace
const Table kTensors{"", kRows};
}  // namespace pyacl
