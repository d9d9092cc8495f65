// Channels of tensors between a program and what runs on a device: datasets that feed steps, values that steps print.
// A channel is a queue of sets of tensors, found by device and name.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

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

class TensorChannel {
 public:
  static constexpr std::chrono::milliseconds kForever{-1};
  enum class Outcome : uint8_t { Done, TimedOut, Stopped };

  /// `capacity`: the sets that it holds before a sender waits.
  TensorChannel(std::string name, size_t capacity) : name_(std::move(name)), capacity_(capacity) {}

  /// Waits while it is full; a time limit below 0: for ever.
  Outcome send(ChannelItems items, std::chrono::milliseconds limit);
  /// Waits while it is empty. What was sent before a stop is still received.
  Outcome receive(ChannelItems& items, std::chrono::milliseconds limit);
  /// Ends all waits; from now on nothing is sent.
  void stop();
  /// Drops what was sent and not received.
  void clear();
  size_t size() const;
  const std::string& name() const { return name_; }

 private:
  const std::string name_;
  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<ChannelItems> queue_;
  bool stopped_ = false;
};

/// Throws 107000 when the device has a channel of that name.
std::shared_ptr<TensorChannel> open_channel(int device, const std::string& name, size_t capacity);
/// Null when there is none.
std::shared_ptr<TensorChannel> find_channel(int device, const std::string& name);
/// Stops it; its name is free.
void close_channel(int device, const TensorChannel& channel);

}  // namespace updraft
