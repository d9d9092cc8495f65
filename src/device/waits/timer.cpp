#include "device/waits/timer.h"

#include "device/threads/service_thread.h"

namespace updraft {

Timer& Timer::get() {
  static auto* timer = new Timer;  // outlives static destruction: its thread goes on
  return *timer;
}

Timer::Key Timer::at(Clock::time_point time, std::function<void()> action) {
  std::lock_guard lock(mutex_);
  if (!started_) {
    start_service_thread("npu-timer", [this] { loop(); });
    started_ = true;
  }
  const Key key{time, ++count_};
  auto it = actions_.emplace(key, std::move(action)).first;
  if (it == actions_.begin()) wake_.notify_one();
  return key;
}

void Timer::cancel(const Key& key) {
  std::function<void()> dropped;  // what it owns goes without the lock
  std::lock_guard lock(mutex_);
  if (auto it = actions_.find(key); it != actions_.end()) {
    dropped.swap(it->second);
    actions_.erase(it);
  }
}

void Timer::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    if (actions_.empty()) {
      wake_.wait(lock);
      continue;
    }
    auto first = actions_.begin();
    if (first->first.first > Clock::now()) {
      const auto time = first->first.first;
      wake_.wait_until(lock, time);
      continue;
    }
    {
      auto action = std::move(first->second);
      actions_.erase(first);
      lock.unlock();
      action();
    }
    lock.lock();
  }
}

}  // namespace updraft
