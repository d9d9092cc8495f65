#include "collective/bootstrap/event_loop.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <thread>

#include "base/log.h"
#include "base/signals_blocked.h"
#include "collective/error.h"

namespace updraft::collective {
namespace {

thread_local bool t_inside = false;

// A failure of one connection must not end the process.
template <class F>
void guarded(F&& action) {
  try {
    action();
  } catch (const std::exception& e) { UPDRAFT_LOG(kError, "HCCL", "in the thread of the rendezvous: {}", e.what()); }
}
}  // namespace

EventLoop& EventLoop::get() {
  static auto* loop = new EventLoop;
  return *loop;
}

EventLoop::EventLoop() {
  epoll_ = epoll_create1(EPOLL_CLOEXEC);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = wake_;
  if (epoll_ < 0 || wake_ < 0 || epoll_ctl(epoll_, EPOLL_CTL_ADD, wake_, &event) != 0)
    throw Error(result::kSyscall, "EI0015: epoll or eventfd is refused: {}", std::strerror(errno));
  static EventLoop* self = this;
  pthread_atfork([] { self->mutex_.lock(); }, [] { self->mutex_.unlock(); },
                 [] {
                   // A child of the child has files of its own under these numbers.
                   if (!self->forked_) {
                     for (auto& [fd, handler] : self->handlers_) close(fd);
                     close(self->epoll_);
                     close(self->wake_);
                   }
                   self->forked_ = true;
                   self->mutex_.unlock();
                 });
  const SignalsBlocked blocked;
  std::thread([this] { loop(); }).detach();
}

void EventLoop::post(std::function<void()> action) {
  {
    std::lock_guard lock(mutex_);
    if (!usable()) return;
    posted_.push_back(std::move(action));
  }
  uint64_t one = 1;
  [[maybe_unused]] ssize_t n = write(wake_, &one, sizeof one);
}

void EventLoop::run(const std::function<void()>& action) {
  if (t_inside) return action();
  if (!usable())
    throw Error(result::kNotSupport,
                "EI0015: communicators do not go on in a forked process, nor begin in one whose parent has used them; "
                "start it by spawn");
  std::mutex mutex;
  std::condition_variable done;
  bool over = false;
  std::exception_ptr thrown;
  post([&] {
    try {
      action();
    } catch (...) { thrown = std::current_exception(); }
    std::lock_guard lock(mutex);
    over = true;
    done.notify_one();
  });
  std::unique_lock lock(mutex);
  done.wait(lock, [&] { return over; });
  if (thrown) std::rethrow_exception(thrown);
}

void EventLoop::add(int fd, uint32_t events, Handler handler) {
  {
    std::lock_guard lock(mutex_);
    handlers_[fd] = std::make_shared<Handler>(std::move(handler));
  }
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0)
    UPDRAFT_LOG(kError, "HCCL", "descriptor {} cannot be watched: {}", fd, std::strerror(errno));
}

void EventLoop::modify(int fd, uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  epoll_ctl(epoll_, EPOLL_CTL_MOD, fd, &event);
}

void EventLoop::remove(int fd) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  std::lock_guard lock(mutex_);
  handlers_.erase(fd);
}

uint64_t EventLoop::at(Clock::time_point when, std::function<void()> action) {
  uint64_t id = next_timer_++;
  timers_.emplace(std::pair{when, id}, std::move(action));
  return id;
}

void EventLoop::cancel(uint64_t timer) {
  std::erase_if(timers_, [timer](const auto& entry) { return entry.first.second == timer; });
}

void EventLoop::loop() {
  t_inside = true;
  pthread_setname_np(pthread_self(), "hccl-watch");
  epoll_event events[64];
  bool postponed = false;
  while (true) {
    int timeout = -1;
    if (!timers_.empty()) {
      auto left = std::chrono::ceil<std::chrono::milliseconds>(timers_.begin()->first.first - Clock::now()).count();
      timeout = static_cast<int>(std::clamp<int64_t>(left, 0, 60'000));
    }
    int n = epoll_wait(epoll_, events, 64, timeout);
    for (int i = 0; i < n; ++i) {
      if (events[i].data.fd != wake_) continue;
      uint64_t count;
      [[maybe_unused]] ssize_t got = read(wake_, &count, sizeof count);
    }
    // After the wake-up was read: what is posted from here on rings again.
    std::vector<std::function<void()>> posted;
    {
      std::lock_guard lock(mutex_);
      posted.swap(posted_);
    }
    for (auto& action : posted) guarded(action);
    // What was posted comes first: who does not want to know of an event any more is not told. Events stay until they
    // are handled, so it costs one more look at them.
    postponed = !posted.empty() && !postponed;
    if (postponed) continue;
    for (int i = 0; i < n; ++i) {
      if (events[i].data.fd == wake_) continue;
      std::shared_ptr<Handler> handler;
      {
        std::lock_guard lock(mutex_);
        if (auto it = handlers_.find(events[i].data.fd); it != handlers_.end()) handler = it->second;
      }
      if (handler) guarded([&] { (*handler)(events[i].events); });
    }
    while (!timers_.empty() && timers_.begin()->first.first <= Clock::now()) {
      auto action = std::move(timers_.begin()->second);
      timers_.erase(timers_.begin());
      guarded(action);
    }
  }
}

}  // namespace updraft::collective
