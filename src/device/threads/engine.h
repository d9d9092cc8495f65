// A thread that runs what is ready: the compute and the copy engine of a device.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>

#include "device/threads/stream_queue.h"

namespace updraft {

class Engine {
 public:
  /// `width`: workers that kernels of this engine may use.
  Engine(const char* name, int device, int width);
  /// Queues the stream. Those of higher priority (a lower number) are taken first, but the oldest is passed over some
  /// times only. Throws 207005 when the engine's thread cannot be started; the stream is the caller's then.
  void push(Stream& stream);
  /// True when another stream waits for this engine.
  bool contended() const { return waiting_.load(std::memory_order_relaxed) != 0; }

 private:
  void loop();
  Stream* take();

  const char* name_;
  int device_, width_;
  bool started_ = false;
  int passed_over_ = 0;  ///< so often the oldest has let others go first
  std::atomic<int> waiting_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  StreamQueue queue_;
};

}  // namespace updraft
