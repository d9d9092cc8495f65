// One thread a process that watches the descriptors of the bootstrap: sockets of rendezvous, ends of peers.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace updraft::collective {

/// A time-out of the settings as the clock counts.
inline std::chrono::steady_clock::duration seconds(double n) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(n));
}

class EventLoop {
 public:
  using Handler = std::function<void(uint32_t events)>;  ///< EPOLLIN, EPOLLOUT, EPOLLHUP …
  using Clock = std::chrono::steady_clock;

  /// Starts its thread on first use; lives as long as the process. A forked child has none and its copies of the
  /// watched descriptors are closed, so that peers see the end of this process even while its children live.
  static EventLoop& get();
  /// False in a forked child of the process that it belongs to: numbers of descriptors are others' there.
  bool usable() const { return !forked_; }

  /// Any thread. `action` runs in the loop's thread.
  void post(std::function<void()> action);
  /// Any thread: runs `action` in the loop's and waits for it. Throws HCCL_E_NOT_SUPPORT in a forked child.
  void run(const std::function<void()>& action);

  // --- in the loop's thread only ---
  void add(int fd, uint32_t events, Handler handler);
  void modify(int fd, uint32_t events);
  /// The handler is not called any more; the descriptor stays open.
  void remove(int fd);
  uint64_t at(Clock::time_point when, std::function<void()> action);
  void cancel(uint64_t timer);

 private:
  EventLoop();
  void loop();

  std::atomic<bool> forked_{false};
  int epoll_ = -1, wake_ = -1;
  std::mutex mutex_;
  std::vector<std::function<void()>> posted_;
  std::map<int, std::shared_ptr<Handler>> handlers_;  // changed under the mutex, for forks
  std::map<std::pair<Clock::time_point, uint64_t>, std::function<void()>> timers_;
  uint64_t next_timer_ = 1;
};

}  // namespace updraft::collective
