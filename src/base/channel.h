// A queue between threads: who sends waits while it is full, who receives waits while it is empty.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <utility>

namespace updraft {

template <class T>
class Channel {
 public:
  static constexpr std::chrono::milliseconds kForever{-1};
  enum class Outcome : uint8_t { Done, TimedOut, Stopped };

  /// `capacity`: what it holds before a sender waits.
  explicit Channel(size_t capacity) : capacity_(capacity) {}

  /// Waits while it is full; a time limit below 0: for ever.
  Outcome send(T item, std::chrono::milliseconds limit = kForever) {
    std::unique_lock lock(mutex_);
    if (!wait(lock, limit, [&] { return stopped_ || queue_.size() < capacity_; })) return Outcome::TimedOut;
    if (stopped_) return Outcome::Stopped;
    queue_.push_back(std::move(item));
    changed_.notify_all();
    return Outcome::Done;
  }
  /// Waits while it is empty. What was sent before a stop is still received.
  Outcome receive(T& item, std::chrono::milliseconds limit = kForever) {
    std::unique_lock lock(mutex_);
    if (!wait(lock, limit, [&] { return stopped_ || !queue_.empty(); })) return Outcome::TimedOut;
    if (queue_.empty()) return Outcome::Stopped;
    item = std::move(queue_.front());
    queue_.pop_front();
    changed_.notify_all();
    return Outcome::Done;
  }
  /// Ends all waits; from now on nothing is sent.
  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  /// Drops what was sent and not received.
  void clear() {
    const std::lock_guard lock(mutex_);
    queue_.clear();
    changed_.notify_all();
  }
  /// What it holds from now on; more than that stays where it is there already.
  void set_capacity(size_t capacity) {
    const std::lock_guard lock(mutex_);
    capacity_ = capacity;
    changed_.notify_all();
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return queue_.size();
  }

 private:
  /// Waits until `ready`; false when the limit passed before.
  template <class Ready>
  bool wait(std::unique_lock<std::mutex>& lock, std::chrono::milliseconds limit, Ready&& ready) {
    if (limit >= limit.zero()) return changed_.wait_for(lock, limit, ready);
    changed_.wait(lock, ready);
    return true;
  }

  size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> queue_;
  bool stopped_ = false;
};

}  // namespace updraft
