#include "collective/shared/peer_lives.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
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

PeerLives::PeerLives(std::vector<OwnedFd> lives, const std::function<void(int index)>& ended) {
  for (OwnedFd& life : lives) lives_.push_back(life.release());
  EventLoop::get().run([&] {
    for (size_t i = 0; i < lives_.size(); ++i)
      if (lives_[i] >= 0)
        EventLoop::get().add(lives_[i], EPOLLIN, [ended, fd = lives_[i], i](uint32_t) {
          EventLoop::get().remove(fd);
          ended(static_cast<int>(i));
        });
  });
}

PeerLives::~PeerLives() {
  if (!EventLoop::get().usable()) return;  // a forked child: they are closed, their numbers may be others'
  EventLoop::get().post([lives = std::move(lives_)] {
    for (const int fd : lives) {
      if (fd < 0) continue;
      EventLoop::get().remove(fd);
      ::close(fd);
    }
  });
}

}  // namespace updraft::collective
