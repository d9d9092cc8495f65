// A thread that runs what is ready: the compute, copy and host engines of a device.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>

namespace updraft {

class Stream;

class Engine {
 public:
  /// `width`: workers that kernels of this engine may use.
  Engine(const char* name, int device, int width);
  void push(Stream& stream);
  /// True when another stream waits for this engine.
  bool contended() const { return waiting_.load(std::memory_order_relaxed) != 0; }

 private:
  void loop();

  const char* name_;
  int device_, width_;
  bool started_ = false;
  std::atomic<int> waiting_{0};
  std::mutex mutex_;
  std::condition_variable wake_;
  Stream* head_ = nullptr;
  Stream* tail_ = nullptr;
};

}  // namespace updraft
