// One thread for all that is to happen at a time: limits of waits, and the polling of values that streams wait for.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <utility>

namespace updraft {

class Timer {
 public:
  using Clock = std::chrono::steady_clock;
  using Key = std::pair<Clock::time_point, uint64_t>;

  /// The process' timer. Its thread starts with the first use and lives as long as the process.
  static Timer& get();
  /// Calls `action` in the timer's thread at `time` or soon after. It must not block: others wait for the thread.
  /// Throws 207005 when the thread cannot be started.
  Key at(Clock::time_point time, std::function<void()> action);
  /// `action` is not called any more, unless it has begun.
  void cancel(const Key& key);

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable wake_;
  bool started_ = false;
  uint64_t count_ = 0;
  std::map<Key, std::function<void()>> actions_;
};

}  // namespace updraft
