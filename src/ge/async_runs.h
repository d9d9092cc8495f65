// Runs that a thread of a session makes one after the other, in the order in which they were given.
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace ge {

class AsyncRuns {
 public:
  AsyncRuns() = default;
  ~AsyncRuns() { finish(); }
  AsyncRuns(const AsyncRuns&) = delete;
  /// Waits until all are over; none may be added any more.
  void finish();
  void add(std::function<void()> run);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> runs_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace ge
