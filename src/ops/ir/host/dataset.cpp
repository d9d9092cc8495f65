// Steps that are fed by a channel of the device (acltdtCreateChannel): data sets that a host thread sends ahead.
#include <cstring>
#include <string>

#include "device/device.h"
#include "device/tensor_channel.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

constexpr int kTensor = 0, kEndOfSequence = 1;  // acltdtTensorType

/// The next set of tensors, which must be what the outputs are.
void receive(const std::string& name, const std::vector<TensorView>& outputs) {
  const Device* device = executing_device();  // outputs may lie on the host between nodes
  const auto channel = device ? find_channel(device->index(), name) : nullptr;
  if (!channel)
    throw Error(code::kRtAicpuException, "GetNext: there is no channel '{}': start the data set before the step", name);
  ChannelItems items;
  if (channel->receive(items, TensorChannel::kForever) == TensorChannel::Outcome::Stopped)
    throw Error(code::kRtAicpuException, "GetNext: channel '{}' was stopped, and all that was sent is read", name);
  if (!items.empty() && items[0].what == kEndOfSequence)
    throw Error(code::kRtAicpuException, "GetNext: the data set of channel '{}' is at its end", name);
  if (items.size() != outputs.size())
    throw Error(code::kRtAicpuException, "GetNext: channel '{}' brought {} tensors, want {}", name, items.size(),
                outputs.size());
  for (size_t i = 0; i < items.size(); ++i) {
    const ChannelItem& item = items[i];
    const TensorView& to = outputs[i];
    const auto size = static_cast<size_t>(to.numel()) * size_of(to.dtype);
    if (item.what != kTensor || static_cast<DType>(item.dtype) != to.dtype || item.bytes.size() != size)
      throw Error(code::kRtAicpuException, "GetNext: tensor {} of channel '{}' is {}{} of {} bytes, want {}", i, name,
                  name_of(static_cast<DType>(item.dtype)),
                  describe_shape(item.dims.data(), static_cast<int>(item.dims.size())), item.bytes.size(),
                  describe(to));
    TensorView from = to;
    from.data = const_cast<std::byte*>(item.bytes.data());
    int64_t stride = 1;
    for (int d = from.rank; d-- > 0; stride *= from.dims[d]) from.strides[d] = stride;
    if (size) copy_elements(to, from);
  }
}

}  // namespace

ABOUT(InitData, AICPU, "Says which channel feeds the steps that follow", "声明后续步骤的数据通道")
IR_OP(InitData, InitData, (Text, channel_name, "")) {
  op.require(*channel_name, "attribute channel_name is empty");
  op.launch([] {});  // channels are there before steps read them, see GetNext
}
ABOUT(GetNext, AICPU, "The next set of tensors of a channel; waits for it", "从通道取下一组张量，必要时等待")
IR_OP(GetNext, GetNext, (OutTensors, y), (Ints, output_types, nullptr), (IntLists, output_shapes, nullptr),
      (Int, output_num, 1), (Text, channel_name, "")) {
  op.require(*channel_name && y.size() > 0,
             "attribute channel_name is \"{}\" and there are {} outputs, want one or more", channel_name, y.size());
  op.require(output_num == static_cast<int64_t>(y.size()), "attribute output_num is {}, there are {} outputs",
             output_num, y.size());
  std::vector<TensorView> outputs;
  for (size_t i = 0; i < y.size(); ++i) {
    if (i < (*output_shapes).size() && i < output_types.size())
      ir::suggest(op, y.handle->items[i]->view, (*output_shapes)[i], static_cast<DType>(output_types[i]));
    outputs.push_back(y.handle->items[i]->view);
  }
  op.launch([outputs, name = std::string(channel_name)] { receive(name, outputs); });
}

}  // namespace updraft
