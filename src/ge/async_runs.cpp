#include "ge/async_runs.h"

#include <utility>

namespace ge {

void AsyncRuns::finish() {
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void AsyncRuns::add(std::function<void()> run) {
  std::lock_guard lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  runs_.push_back(std::move(run));
  changed_.notify_all();
}

void AsyncRuns::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return ends_ || !runs_.empty(); });
    if (runs_.empty()) return;
    const std::function<void()> run = std::move(runs_.front());
    runs_.pop_front();
    lock.unlock();
    run();
    lock.lock();
  }
}

}  // namespace ge
