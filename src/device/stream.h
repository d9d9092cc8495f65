// Streams are FIFO queues of tasks. At any time a stream is idle, or exactly one party (an engine, the submitting
// thread, or what it is parked on) holds its token and is responsible for its head. docs/internals/streams.md has the
// whole protocol.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"
#include "device/task.h"

namespace updraft {

class Device;
class CapturedGraph;

class Stream {
 public:
  Stream(Device& device, int32_t id, uint32_t priority, uint32_t flags);
  /// Waits until the stream is idle and nobody has pinned it.
  ~Stream();

  /// Takes over the task. During capture it is recorded instead of run. Blocks while some thousand tasks are queued and
  /// the stream makes progress.
  void submit(Task* task);

  /// Waits until all that was submitted before the call is done; throws the stream's failure, 107022 when an abort
  /// dropped some of it meanwhile, or 107020 after `timeout` (negative: none). The failure is cleared by being
  /// reported.
  void synchronize(std::chrono::milliseconds timeout = std::chrono::milliseconds(-1));
  /// True when nothing is queued or running, or nothing but a last record whose event is over already: who has seen the
  /// event finds the stream idle.
  bool idle() const;
  /// Drops what has not started, and a head that is parked; a running task finishes.
  void abort();
  /// Of several streams: none of them goes on because of what another one drops.
  static void abort(std::span<Stream* const> streams);

  /// By a control task in control(): what it does is done, before anybody can see it. It has yet to leave the stream.
  void head_is_over();
  /// A parked control task is over: go on with the next one.
  void resume();
  /// True while an abort drops the head: it must not park.
  bool dropping() const { return dropping_.load(std::memory_order_acquire); }

  // --- engines ---
  /// Runs the head and what follows of its kind, then hands the stream on. Called with the token.
  void run_head(bool inline_run);

  Device& device() const { return device_; }
  int32_t id() const { return id_; }
  uint32_t priority() const { return priority_.load(std::memory_order_relaxed); }
  void set_priority(uint32_t priority) { priority_.store(priority, std::memory_order_relaxed); }
  uint32_t flags() const { return flags_; }
  bool has_failed() const { return failed_.load(std::memory_order_acquire); }
  /// A task has failed and the stream is to stop then: later tasks are skipped until the failure is reported.
  bool stopped() const { return has_failed() && failure_mode.load(std::memory_order_relaxed) != 0; }
  /// The failure without clearing it.
  std::optional<Error> failure() const;
  void fail(int code, std::string_view text, const char* task) noexcept;
  void fail(const Error& e, const char* task) noexcept { fail(e.code(), e.text(), task); }

  // --- capture ---
  bool capturing() const { return capturing_.load(std::memory_order_acquire); }
  std::shared_ptr<CapturedGraph> capture() const;
  void set_capture(std::shared_ptr<CapturedGraph> graph);

  // --- attributes that clients set and read back ---
  std::atomic<uint32_t> overflow_switch{0};  ///< 1: overflows in saturation mode are noted
  std::atomic<uint64_t> failure_mode{0};     ///< 0: go on after a failure, 1: stop
  std::atomic<uint64_t> callback_thread{0};  ///< aclrtSubscribeReport; 0: none

  Stream* next_ready = nullptr;  ///< an engine's queue

 private:
  friend class StreamPin;
  void advance(std::unique_lock<std::mutex>& lock);
  void pop(std::unique_lock<std::mutex>& lock);
  bool run_chain(std::unique_lock<std::mutex>& lock);
  void wait_for_room(std::unique_lock<std::mutex>& lock);
  void fail_by_exception(const char* task);
  Task* take_dropped();

  Device& device_;
  const int32_t id_;
  std::atomic<uint32_t> priority_;
  const uint32_t flags_;

  mutable std::mutex mutex_;
  std::condition_variable done_, room_;
  Task* head_ = nullptr;
  Task* tail_ = nullptr;
  bool held_ = false;  ///< somebody has the token
  std::atomic<bool> dropping_{false};
  size_t with_head_ = 0;  ///< tasks behind the head that run together with it, or have run
  int waiting_ = 0;       ///< threads in synchronize() or the destructor
  int throttled_ = 0;     ///< threads in wait_for_room()
  int pins_ = 0;
  uint64_t submitted_ = 0;
  uint64_t completed_ = 0;
  uint64_t over_ = 0;               ///< as completed_, but with a head that has said that it is over
  uint64_t stuck_at_ = UINT64_MAX;  ///< the count of completed tasks at which the head was found to wait for others
  uint64_t aborts_ = 0;
  std::atomic<bool> failed_{false};
  std::optional<Error> failure_;
  std::atomic<bool> capturing_{false};
  std::shared_ptr<CapturedGraph> capture_;
};

/// Keeps a stream from being destroyed while somebody waits for it. Made by Device::pin() and Device::streams().
class StreamPin {
 public:
  StreamPin() = default;
  explicit StreamPin(Stream& stream);
  StreamPin(StreamPin&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  StreamPin& operator=(StreamPin&&) = delete;
  ~StreamPin();

  explicit operator bool() const { return stream_ != nullptr; }
  operator Stream*() const { return stream_; }  // NOLINT: loops over streams read as if there were no pins
  Stream* operator->() const { return stream_; }
  Stream& operator*() const { return *stream_; }

 private:
  Stream* stream_ = nullptr;
};

}  // namespace updraft
