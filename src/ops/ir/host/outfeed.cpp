// Tensors and texts that steps send to whoever listens on the host: what MindSpore prints, and writes into files.
#include <algorithm>
#include <cstring>

#include "device/device.h"
#include "device/tensor_channel.h"
#include "kernels/pipeline.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

constexpr int kTensor = 0;     // acltdtTensorType
constexpr int32_t kText = 13;  // ACL_STRING

/// A text as tensors hold it: where its characters begin, from here, and how many there are.
struct TextHead {
  uint64_t offset, size;
};

std::string text_of(const TensorView& x) {
  TextHead head;
  const auto bytes = static_cast<uint64_t>(x.numel());
  if (bytes >= sizeof(head)) std::memcpy(&head, x.data, sizeof(head));
  if (bytes < sizeof(head) || head.offset > bytes || head.size > bytes - head.offset)
    throw Error(code::kRtAicpuException,
                "OutfeedEnqueueOpV2: a text of {} bytes says that it has more: want 8 bytes with the offset of its "
                "characters, 8 with their number, then these",
                bytes);
  return {static_cast<const char*>(x.data) + head.offset, head.size};
}

ChannelItem item_of(const TensorView& x, bool is_text) {
  if (is_text) {
    ChannelItem item{kTensor, kText, {}, {}, {}};
    const std::string text = text_of(x);
    const auto* characters = reinterpret_cast<const std::byte*>(text.data());
    item.bytes.assign(characters, characters + text.size());
    return item;
  }
  ChannelItem item{kTensor, static_cast<int32_t>(x.dtype), {x.dims, x.dims + x.rank}, {}, {}};
  item.bytes.resize(static_cast<size_t>(x.numel()) * size_of(x.dtype));
  if (!item.bytes.empty()) copy_elements(TensorView::contiguous(item.bytes.data(), x.dtype, x.dims, x.rank), x);
  return item;
}

void send(const std::string& name, ChannelItems items) {
  const Device* device = executing_device();
  const auto channel = device ? find_channel(device->index(), name) : nullptr;
  if (!channel)
    throw Error(code::kRtAicpuException,
                "OutfeedEnqueueOpV2: there is no channel '{}': create it (acltdtCreateChannel) before the step", name);
  if (channel->send(std::move(items), TensorChannel::kForever) == TensorChannel::Outcome::Stopped)
    throw Error(code::kRtAicpuException, "OutfeedEnqueueOpV2: channel '{}' was stopped, nobody reads it", name);
}

}  // namespace

ABOUT(OutfeedEnqueueOpV2, AICPU,
      "Sends x as one set, called tensor_name, to a channel of the device; waits while it is full",
      "将 x 作为名为 tensor_name 的一组张量发送到设备的通道，通道满时等待")
IR_OP(OutfeedEnqueueOpV2, OutfeedEnqueueOpV2, (Tensors, x), (In, tensor_name), (Text, channel_name, ""),
      (Ints, texts, nullptr)) {
  op.require(*channel_name, "attribute channel_name is empty, want the name of a channel");
  op.require(x.size() > 0, "x is empty, want a tensor or more");
  std::vector<TensorView> tensors;
  std::vector<bool> is_text;
  for (size_t i = 0; i < x.size(); ++i) {
    tensors.push_back(x[i]);
    is_text.push_back(std::ranges::find(*texts, static_cast<int64_t>(i)) != texts->end());
  }
  op.launch([tensors, is_text, set = *tensor_name, name = std::string(channel_name)] {
    ChannelItems items;
    for (size_t i = 0; i < tensors.size(); ++i) items.push_back(item_of(tensors[i], is_text[i]));
    items[0].set_name = text_of(set);
    send(name, std::move(items));
  });
}

}  // namespace updraft
