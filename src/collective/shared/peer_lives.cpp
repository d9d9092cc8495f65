#include "collective/shared/peer_lives.h"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <utility>

#include "base/log.h"
#include "collective/bootstrap/event_loop.h"
#include "collective/error.h"

namespace updraft::collective {

OwnedFd own_life() {
  // Since Linux 5.3; seccomp may refuse it.
  OwnedFd life(static_cast<int>(syscall(SYS_pidfd_open, getpid(), 0)));
  if (life.get() >= 0) return life;
  UPDRAFT_LOG(kInfo, "HCCL", "pidfd_open: {}: only the root notices how this process ends", std::strerror(errno));
  life = OwnedFd(eventfd(0, EFD_CLOEXEC));
  if (life.get() < 0) throw Error(result::kSyscall, "EI0015: no eventfd: {}", std::strerror(errno));
  return life;
}

namespace {

// The process behind a pidfd as this one numbers it; 0 when there is none, or none that it can see.
pid_t process_of(int fd) {
  std::ifstream info("/proc/self/fdinfo/" + std::to_string(fd));
  for (std::string word; info >> word;)
    if (pid_t pid = 0; word == "Pid:" && info >> pid) return std::max(pid, 0);
  return 0;
}

bool over(int fd) {
  pollfd poll{fd, POLLIN, 0};
  return ::poll(&poll, 1, 0) != 0;
}

}  // namespace

// A process that communicators watch. Only the event loop's thread touches it.
class PeerLives::Life {
 public:
  Life(OwnedFd fd, pid_t pid) : fd_(std::move(fd)), pid_(pid) {
    EventLoop::get().add(fd_.get(), EPOLLIN, [this](uint32_t) { end(); });
  }
  ~Life() {
    if (!ended_) EventLoop::get().remove(fd_.get());
    if (const auto it = known().find(pid_); it != known().end() && it->second.expired()) known().erase(it);
  }
  Life(const Life&) = delete;

  /// By process. A number is another process's only after the one before has ended.
  static std::map<pid_t, std::weak_ptr<Life>>& known() {
    static auto* lives = new std::map<pid_t, std::weak_ptr<Life>>;
    return *lives;
  }
  bool alive() const { return !ended_ && !over(fd_.get()); }
  uint64_t watch(std::function<void()> ended) {
    watchers_[++last_] = std::move(ended);
    return last_;
  }
  void forget(uint64_t watcher) { watchers_.erase(watcher); }

 private:
  void end() {
    EventLoop::get().remove(fd_.get());
    ended_ = true;
    for (const auto& [id, tell] : std::exchange(watchers_, {})) tell();
  }

  OwnedFd fd_;
  const pid_t pid_;
  bool ended_ = false;
  uint64_t last_ = 0;
  std::map<uint64_t, std::function<void()>> watchers_;
};

std::shared_ptr<PeerLives::Life> PeerLives::life_of(OwnedFd fd) {
  const pid_t pid = process_of(fd.get());
  if (pid == 0) return std::make_shared<Life>(std::move(fd), pid);
  std::weak_ptr<Life>& known = Life::known()[pid];
  if (auto life = known.lock(); life && life->alive()) return life;
  auto life = std::make_shared<Life>(std::move(fd), pid);
  known = life;
  return life;
}

PeerLives::PeerLives(std::vector<OwnedFd> lives, const std::function<void(int index)>& ended) {
  EventLoop::get().run([&] {
    for (size_t i = 0; i < lives.size(); ++i) {
      if (lives[i].get() < 0) continue;
      auto life = life_of(std::move(lives[i]));
      const uint64_t watcher = life->watch([ended, i] { ended(static_cast<int>(i)); });
      watched_.emplace_back(std::move(life), watcher);
    }
  });
}

PeerLives::~PeerLives() {
  auto* watched = new auto(std::move(watched_));
  // A forked child leaves it: the descriptors are closed, their numbers may be others'.
  EventLoop::get().post([watched] {
    for (const auto& [life, watcher] : *watched) life->forget(watcher);
    delete watched;
  });
}

}  // namespace updraft::collective
