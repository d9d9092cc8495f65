// Channels of tensors (acltdtCreateChannel and kin) and the data sets that travel through them.
#include <vector>

#include "acl/acl_tdt.h"
#include "acl/api.h"
#include "acl/shared_handles.h"
#include "device/memory.h"
#include "device/tensor_channel.h"

using namespace updraft;
using Outcome = TensorChannel::Outcome;

namespace {

constexpr size_t kUsualCapacity = 128;  // of acltdtCreateChannel, sets of tensors

struct Channel {
  int device;
  std::shared_ptr<TensorChannel> queue;
};

}  // namespace

struct acltdtDataItem {
  ChannelItem described;  ///< its elements only where it was received
  void* data = nullptr;   ///< the client's, or those of `described`
  size_t size = 0;
  bool received = false;  ///< it is a data set's own, and ends with it
};

struct acltdtDataset {
  std::string name;                    ///< its own, or that of the channel that it came from
  std::vector<acltdtDataItem*> items;  ///< in the order in which they were added
};

namespace {

SharedHandles<Channel>& channels() {
  static auto* pool = new SharedHandles<Channel>(size_t{1} << 16);
  return *pool;
}
HandlePool<acltdtDataItem>& items() {
  static auto* pool = new HandlePool<acltdtDataItem>(size_t{1} << 20);
  return *pool;
}
HandlePool<acltdtDataset>& sets() {
  static auto* pool = new HandlePool<acltdtDataset>(size_t{1} << 18);
  return *pool;
}

std::shared_ptr<Channel> checked(const acltdtChannelHandle* handle) {
  need(handle, "handle");
  auto channel = channels().find(handle);
  if (!channel)
    throw Error(code::kAclInvalidParam, "{} is not a channel (destroyed, or never created)",
                static_cast<const void*>(handle));
  return channel;
}

acltdtDataset& checked(const acltdtDataset* handle) {
  need(handle, "dataset");
  acltdtDataset* live = sets().get(handle);
  if (!live)
    throw Error(code::kAclInvalidParam, "{} is not a data set (destroyed, or never created)",
                static_cast<const void*>(handle));
  return *live;
}

acltdtDataItem& checked(const acltdtDataItem* handle) {
  need(handle, "dataItem");
  acltdtDataItem* live = items().get(handle);
  if (!live)
    throw Error(code::kAclInvalidParam, "{} is not a data item (destroyed, or never created)",
                static_cast<const void*>(handle));
  return *live;
}
acltdtDataItem& created(const acltdtDataItem* handle) {
  acltdtDataItem& item = checked(handle);
  if (item.received)
    throw Error(code::kAclInvalidParam, "{} is a data item that was received: it ends with its data set",
                static_cast<const void*>(handle));
  return item;
}

/// Of a data set that is destroyed, or receives others.
void give_back_received(acltdtDataset& set) {
  for (acltdtDataItem* item : set.items)
    if (const acltdtDataItem* live = items().get(item); live && live->received) items().destroy(item);
  set.items.clear();
}

acltdtChannelHandle* create(const char* name, uint32_t device, const char* channel_name, size_t capacity) {
  void* made = nullptr;
  guard(name, [&] {
    need(channel_name, "name");
    if (device >= static_cast<uint32_t>(Device::count())) Device::get(static_cast<int>(device));
    if (capacity == 0) throw Error(code::kAclInvalidParam, "capacity is 0, want at least 1");
    const int index = static_cast<int>(device);
    auto queue = open_channel(index, channel_name, capacity);
    made = channels().create(std::make_shared<Channel>(index, queue));
  });
  return static_cast<acltdtChannelHandle*>(made);
}

std::chrono::milliseconds limit_of(int32_t timeout) {
  if (timeout < -1) throw Error(code::kAclInvalidParam, "timeout is {}, want -1 or milliseconds", timeout);
  return std::chrono::milliseconds(timeout);
}

/// A full or an empty queue and one that was stopped are answers, which clients poll for: they leave no text.
int answer(int failed, Outcome outcome, int timed_out) {
  if (failed || outcome == Outcome::Done) return failed;
  return outcome == Outcome::TimedOut ? timed_out : code::kAclInternal;
}

ChannelItem copy_of(const acltdtDataItem& item) {
  ChannelItem copy = item.described;
  if (item.size) {
    const auto* begin = static_cast<const std::byte*>(host_address(item.data));
    copy.bytes.assign(begin, begin + item.size);
  }
  return copy;
}

}  // namespace

extern "C" {

UPDRAFT_API acltdtChannelHandle* acltdtCreateChannel(uint32_t device, const char* name) {
  return create("acltdtCreateChannel", device, name, kUsualCapacity);
}
UPDRAFT_API acltdtChannelHandle* acltdtCreateChannelWithCapacity(uint32_t device, const char* name, size_t capacity) {
  return create("acltdtCreateChannelWithCapacity", device, name, capacity);
}
UPDRAFT_API int acltdtStopChannel(acltdtChannelHandle* handle) {
  return guard("acltdtStopChannel", [&] { checked(handle)->queue->stop(); });
}
UPDRAFT_API int acltdtDestroyChannel(acltdtChannelHandle* handle) {
  return guard("acltdtDestroyChannel", [&] {
    const auto channel = checked(handle);
    close_channel(channel->device, *channel->queue);
    channels().destroy(handle);
  });
}
UPDRAFT_API int acltdtCleanChannel(acltdtChannelHandle* handle) {
  return guard("acltdtCleanChannel", [&] { checked(handle)->queue->clear(); });
}
UPDRAFT_API int acltdtQueryChannelSize(const acltdtChannelHandle* handle, size_t* size) {
  return guard("acltdtQueryChannelSize", [&] {
    need(size, "size");
    *size = checked(handle)->queue->size();
  });
}

UPDRAFT_API int acltdtSendTensor(const acltdtChannelHandle* handle, const acltdtDataset* dataset, int32_t timeout) {
  Outcome outcome = Outcome::Done;
  const int failed = guard("acltdtSendTensor", [&] {
    const auto channel = checked(handle);
    ChannelItems all;
    for (const acltdtDataItem* item : checked(dataset).items) all.push_back(copy_of(checked(item)));
    outcome = channel->queue->send(std::move(all), limit_of(timeout));
  });
  return answer(failed, outcome, ACL_ERROR_RT_QUEUE_FULL);
}

UPDRAFT_API int acltdtReceiveTensor(const acltdtChannelHandle* handle, acltdtDataset* dataset, int32_t timeout) {
  Outcome outcome = Outcome::Done;
  const int failed = guard("acltdtReceiveTensor", [&] {
    const auto channel = checked(handle);
    checked(dataset);
    ChannelItems came;
    outcome = channel->queue->receive(came, limit_of(timeout));
    if (outcome != Outcome::Done) return;
    acltdtDataset& to = checked(dataset);
    give_back_received(to);
    to.name = came.empty() || came[0].set_name.empty() ? channel->queue->name() : came[0].set_name;
    for (ChannelItem& item : came) {
      acltdtDataItem* made = items().create();
      made->described = std::move(item);
      made->data = made->described.bytes.data();
      made->size = made->described.bytes.size();
      made->received = true;
      to.items.push_back(made);
    }
  });
  return answer(failed, outcome, ACL_ERROR_RT_QUEUE_EMPTY);
}

UPDRAFT_API acltdtDataset* acltdtCreateDataset() {
  acltdtDataset* made = nullptr;
  guard("acltdtCreateDataset", [&] { made = sets().create(); });
  return made;
}
/// Items of acltdtCreateDataItem stay the client's.
UPDRAFT_API int acltdtDestroyDataset(acltdtDataset* dataset) {
  return guard("acltdtDestroyDataset", [&] {
    give_back_received(checked(dataset));
    sets().destroy(dataset);
  });
}
UPDRAFT_API int acltdtAddDataItem(acltdtDataset* dataset, acltdtDataItem* item) {
  return guard("acltdtAddDataItem", [&] { checked(dataset).items.push_back(&created(item)); });
}
UPDRAFT_API acltdtDataItem* acltdtGetDataItem(const acltdtDataset* dataset, size_t index) {
  acltdtDataItem* item = nullptr;
  guard("acltdtGetDataItem", [&] {
    const auto& all = checked(dataset).items;
    if (index >= all.size())
      throw Error(code::kAclInvalidParam, "index is {}, the data set has {} items", index, all.size());
    item = all[index];
  });
  return item;
}
UPDRAFT_API size_t acltdtGetDatasetSize(const acltdtDataset* dataset) {
  size_t size = 0;
  guard("acltdtGetDatasetSize", [&] { size = checked(dataset).items.size(); });
  return size;
}
UPDRAFT_API const char* acltdtGetDatasetName(const acltdtDataset* dataset) {
  const char* name = nullptr;
  guard("acltdtGetDatasetName", [&] { name = checked(dataset).name.c_str(); });
  return name;
}

/// The elements stay the client's until the data set was sent.
UPDRAFT_API acltdtDataItem* acltdtCreateDataItem(acltdtTensorType what, const int64_t* dims, size_t rank,
                                                 aclDataType dtype, void* data, size_t size) {
  acltdtDataItem* made = nullptr;
  guard("acltdtCreateDataItem", [&] {
    if (what < ACL_TENSOR_DATA_TENSOR || what > ACL_TENSOR_DATA_END_TENSOR)
      throw Error(code::kAclInvalidParam, "tensor type {} is unknown, want 0 to 4", static_cast<int>(what));
    if (rank) need(dims, "dims");
    if (size) need(data, "data");
    made = items().create();
    made->described.what = what;
    made->described.dtype = dtype;
    made->described.dims.assign(dims, dims + rank);
    made->data = data;
    made->size = size;
  });
  return made;
}
UPDRAFT_API int acltdtDestroyDataItem(acltdtDataItem* item) {
  return guard("acltdtDestroyDataItem", [&] {
    created(item);
    items().destroy(item);
  });
}

UPDRAFT_API acltdtTensorType acltdtGetTensorTypeFromItem(const acltdtDataItem* item) {
  const acltdtDataItem* live = items().get(item);
  return live ? static_cast<acltdtTensorType>(live->described.what) : ACL_TENSOR_DATA_UNDEFINED;
}
UPDRAFT_API aclDataType acltdtGetDataTypeFromItem(const acltdtDataItem* item) {
  const acltdtDataItem* live = items().get(item);
  return live ? static_cast<aclDataType>(live->described.dtype) : ACL_DT_UNDEFINED;
}
/// Of a tensor that travels in slices; those that do not are one slice.
UPDRAFT_API int acltdtGetSliceInfoFromItem(const acltdtDataItem* item, size_t* count, size_t* index) {
  return guard("acltdtGetSliceInfoFromItem", [&] {
    checked(item);
    need(count, "sliceNum");
    need(index, "sliceId");
    *count = 1;
    *index = 0;
  });
}
UPDRAFT_API void* acltdtGetDataAddrFromItem(const acltdtDataItem* item) {
  const acltdtDataItem* live = items().get(item);
  return live ? live->data : nullptr;
}
UPDRAFT_API size_t acltdtGetDataSizeFromItem(const acltdtDataItem* item) {
  const acltdtDataItem* live = items().get(item);
  return live ? live->size : 0;
}
UPDRAFT_API size_t acltdtGetDimNumFromItem(const acltdtDataItem* item) {
  const acltdtDataItem* live = items().get(item);
  return live ? live->described.dims.size() : 0;
}
UPDRAFT_API int acltdtGetDimsFromItem(const acltdtDataItem* item, int64_t* dims, size_t rank) {
  return guard("acltdtGetDimsFromItem", [&] {
    const auto& all = checked(item).described.dims;
    if (all.empty()) return;
    need(dims, "dims");
    if (rank < all.size())
      throw Error(code::kAclInvalidParam, "dimNum is {}, the tensor has {} dimensions", rank, all.size());
    std::copy(all.begin(), all.end(), dims);
  });
}

}  // extern "C"
