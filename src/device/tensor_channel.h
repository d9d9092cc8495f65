// Channels of tensors between a program and what runs on a device: datasets that feed steps, values that steps print.
// A channel is a queue of sets of tensors, found by device and name.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/channel.h"

namespace updraft {

/// A tensor on the host, with its own copy of the elements.
struct ChannelItem {
  int32_t what = 0;  ///< acltdtTensorType: a tensor, the end of the sequence, …
  int32_t dtype = -1;
  std::vector<int64_t> dims;
  std::vector<std::byte> bytes;
  std::string set_name;  ///< in the first of a set: what the set is called, if not as the channel
};
using ChannelItems = std::vector<ChannelItem>;

class TensorChannel : public Channel<ChannelItems> {
 public:
  /// `capacity`: the sets that it holds before a sender waits.
  TensorChannel(std::string name, size_t capacity) : Channel(capacity), name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
};

/// Throws 107000 when the device has a channel of that name.
std::shared_ptr<TensorChannel> open_channel(int device, const std::string& name, size_t capacity);
/// Null when there is none.
std::shared_ptr<TensorChannel> find_channel(int device, const std::string& name);
/// Stops it; its name is free.
void close_channel(int device, const TensorChannel& channel);

}  // namespace updraft
