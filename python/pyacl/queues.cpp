// acl.tdt: what comes through channels of tensors.
#include "acl/acl_tdt.h"
#include "binding.h"

namespace pyacl {
namespace {

aclError dims_of(const acltdtDataItem* item, size_t count, List<int64_t>* dims) {
  if (count > 1 << 16) return ACL_ERROR_INVALID_PARAM;
  dims->values.resize(count);
  return acltdtGetDimsFromItem(item, dims->data(), count);
}

constexpr Row kRows[] = {
    CALL("create_channel_with_capacity", acltdtCreateChannelWithCapacity, "device_id, name, capacity -> channel"),
    WAIT("destroy_channel", acltdtDestroyChannel, "channel"),
    WAIT("receive_tensor", acltdtReceiveTensor, "channel, dataset, timeout"),
    CALL("create_dataset", acltdtCreateDataset, "-> dataset"),
    CALL("destroy_dataset", acltdtDestroyDataset, "dataset"),
    CALL("get_data_item", acltdtGetDataItem, "dataset, index -> item"),
    CALL("get_dataset_size", acltdtGetDatasetSize, "dataset -> size"),
    CALL("get_data_type_from_item", acltdtGetDataTypeFromItem, "item -> data_type"),
    CALL("get_data_addr_from_item", acltdtGetDataAddrFromItem, "item -> address"),
    CALL("get_data_size_from_item", acltdtGetDataSizeFromItem, "item -> size"),
    CALL("get_dim_num_from_item", acltdtGetDimNumFromItem, "item -> count"),
    CALL_AS("get_dims_from_item", "acltdtGetDimsFromItem", dims_of, "item, count -> dims"),
};

}  // namespace
const Table kQueues{"tdt", kRows};
}  // namespace pyacl
