// Streams are FIFO queues of tasks. At any time a stream is idle, or exactly one party (an engine, the submitting
// thread, or what it is parked on) holds its token and is responsible for its head.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/error.h"
#include "device/task.h"

namespace updraft {

class Device;
class CapturedGraph;

class Stream {
 public:
  Stream(Device& device, int32_t id, uint32_t priority, uint32_t flags);
  ~Stream();

  /// Takes over the task. During capture it is recorded instead of run. Throws when the stream was aborted.
  void submit(Task* task);

  /// Waits until all that was submitted before the call is done; throws the stream's failure, or 107020 after
  /// `timeout` (negative: none). The failure is cleared by being reported.
  void synchronize(std::chrono::milliseconds timeout = std::chrono::milliseconds(-1));
  /// True when nothing is queued or running.
  bool idle() const;
  /// Drops what has not started; the running task finishes.
  void abort();

  /// A parked control task is over: go on with the next one.
  void resume();

  // --- engines ---
  /// Runs the head and what follows of its kind, then hands the stream on. Called with the token.
  void run_head(bool inline_run);

  Device& device() const { return device_; }
  int32_t id() const { return id_; }
  uint32_t priority() const { return priority_; }
  uint32_t flags() const { return flags_; }
  bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  /// The failure without clearing it.
  std::optional<Error> failure() const;
  void fail(const Error& e, const char* task);

  // --- capture ---
  CapturedGraph* capture() const { return capture_.load(std::memory_order_acquire); }
  void set_capture(CapturedGraph* graph) { capture_.store(graph, std::memory_order_release); }

  // --- attributes that clients set and read back ---
  std::atomic<uint32_t> overflow_switch{0};
  std::atomic<uint64_t> failure_mode{0};  ///< 0: go on after a failure is reported, 1: stop
  uint64_t callback_thread = 0;           ///< aclrtSubscribeReport; 0: none

  Stream* next_ready = nullptr;  ///< an engine's queue

 private:
  void advance(std::unique_lock<std::mutex>& lock);
  void pop(std::unique_lock<std::mutex>& lock);

  Device& device_;
  const int32_t id_;
  const uint32_t priority_, flags_;

  mutable std::mutex mutex_;
  std::condition_variable done_;
  Task* head_ = nullptr;
  Task* tail_ = nullptr;
  bool held_ = false;  ///< somebody has the token
  int waiting_ = 0;
  uint64_t submitted_ = 0;
  uint64_t completed_ = 0;
  std::atomic<bool> failed_{false};
  std::optional<Error> failure_;
  std::atomic<CapturedGraph*> capture_{nullptr};
};

}  // namespace updraft
