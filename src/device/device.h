// A virtual NPU: memory, engines and the streams on them.
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "device/memory.h"
#include "device/stream.h"
#include "device/task.h"
#include "device/threads/engine.h"
#include "device/threads/host_threads.h"

namespace updraft {

class Device {
 public:
  /// Device `index`, created on first use; throws 107001 that names UPDRAFT_DEVICES when there is none.
  static Device& get(int index);
  /// The device if it is open already, else null.
  static Device* find(int index);
  static int count();
  /// The open device whose memory holds p, else null.
  static Device* owner(const void* p);

  explicit Device(int index);

  int index() const { return index_; }
  DeviceMemory& memory() { return memory_; }

  Stream* create_stream(uint32_t priority, uint32_t flags);
  void destroy_stream(Stream* stream);
  /// Waits for all streams of the device; throws the first failure.
  void synchronize(std::chrono::milliseconds timeout = std::chrono::milliseconds(-1));
  /// All streams, which stay while the pins live. Who waits for one stream after another pins them one by one instead.
  std::vector<StreamPin> streams() const;
  /// Empty when `handle` is no stream of this device.
  StreamPin pin(const void* handle) const;
  /// Drops what has not started, on all streams.
  void abort();

  // --- called by streams ---
  void ready(Stream& stream, TaskKind kind);
  bool contended(TaskKind kind) const;
  void execute(Stream& stream, Task& task);
  /// A parked stream may go on (called by the thread that ended the wait; the head is popped elsewhere).
  void unpark(Stream& stream);

  std::atomic<int> saturation{0};         ///< 1: saturation mode (aclrtSetDeviceSatMode 0)
  std::atomic<uint32_t> float_status{0};  ///< sticky overflow flag of saturation mode

 private:
  const int index_;
  DeviceMemory memory_;
  Engine compute_, copy_;
  HostThreads host_;
  mutable std::mutex mutex_;
  std::vector<Stream*> streams_;
  std::atomic<uint32_t> unwatched_{0};  ///< for overflows of streams whose switch is off
  std::atomic<int> next_stream_{0};
};

/// The device on which the calling engine thread runs a task (null elsewhere): for kernels that need its modes.
Device* executing_device();
/// The stream whose task that is.
const Stream* executing_stream();

}  // namespace updraft
