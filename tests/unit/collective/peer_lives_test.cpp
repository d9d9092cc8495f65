// Processes that are watched: each watcher is told once, and a process costs one descriptor however many watch it.
#include "collective/shared/peer_lives.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "collective/bootstrap/event_loop.h"

namespace updraft::collective {
namespace {

/// A process that does nothing until it is killed.
class Sleeper {
 public:
  Sleeper() : pid_(fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    while (true) pause();
  }
  ~Sleeper() { kill(); }
  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  OwnedFd life() const { return OwnedFd(static_cast<int>(syscall(SYS_pidfd_open, pid_, 0))); }

 private:
  pid_t pid_;
};

std::vector<OwnedFd> list(OwnedFd a, OwnedFd b = OwnedFd(), OwnedFd c = OwnedFd()) {
  std::vector<OwnedFd> fds;
  for (OwnedFd* fd : {&a, &b, &c}) fds.push_back(std::move(*fd));
  return fds;
}

// What was posted before is done by then.
void settle() {
  EventLoop::get().run([] {});
}

ptrdiff_t descriptors() {
  settle();
  return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
}

bool comes(const std::atomic<int>& counter, int wanted) {
  for (int i = 0; i < 2000 && counter < wanted; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  settle();
  return counter == wanted;
}

class PeerLivesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (Sleeper().life().get() < 0) GTEST_SKIP() << "no pidfd_open here: Linux 5.3, or seccomp";
    settle();
  }
};

TEST_F(PeerLivesTest, ADescriptorAProcess) {
  Sleeper one, two;
  const auto before = descriptors();
  std::atomic<int> ended{0};
  const auto count = [&](int) { ++ended; };
  {
    std::vector<std::unique_ptr<PeerLives>> all;
    for (int i = 0; i < 10; ++i) all.push_back(std::make_unique<PeerLives>(list(one.life(), two.life()), count));
    EXPECT_EQ(descriptors() - before, 2);
  }
  EXPECT_EQ(descriptors(), before);
  one.kill();
  two.kill();
  settle();
  EXPECT_EQ(ended, 0) << "nobody was left to be told";
}

TEST_F(PeerLivesTest, EveryWatcherIsToldOnce) {
  Sleeper one, two;
  const auto before = descriptors();
  std::atomic<int> first{0}, second{0}, left{0};
  {
    PeerLives a(list(OwnedFd(), one.life(), two.life()), [&](int i) { first += i == 1 ? 1 : 100; });
    PeerLives b(list(one.life()), [&](int i) { second += i == 0 ? 1 : 100; });
    {
      PeerLives gone(list(one.life()), [&](int) { ++left; });
    }
    one.kill();
    EXPECT_TRUE(comes(first, 1)) << first;
    EXPECT_TRUE(comes(second, 1)) << second;
    EXPECT_EQ(left, 0);
  }
  EXPECT_EQ(descriptors(), before);
}

// One that comes late is told as well, and does not take a dead process for a living one.
TEST_F(PeerLivesTest, AProcessThatHasEnded) {
  Sleeper one;
  OwnedFd late = one.life();
  std::atomic<int> early{0}, told{0};
  PeerLives a(list(one.life()), [&](int) { ++early; });
  one.kill();
  PeerLives b(list(std::move(late)), [&](int) { ++told; });
  EXPECT_TRUE(comes(early, 1)) << early;
  EXPECT_TRUE(comes(told, 1)) << told;
}

// A descriptor of another kind, as stands for it where there is no pidfd.
TEST_F(PeerLivesTest, WhatIsNoProcessIsNotShared) {
  int pipes[2][2];
  ASSERT_EQ(pipe(pipes[0]), 0);
  ASSERT_EQ(pipe(pipes[1]), 0);
  std::atomic<int> first{0}, second{0};
  PeerLives a(list(OwnedFd(pipes[0][0])), [&](int) { ++first; });
  PeerLives b(list(OwnedFd(pipes[1][0])), [&](int) { ++second; });
  close(pipes[0][1]);
  EXPECT_TRUE(comes(first, 1)) << first;
  EXPECT_EQ(second, 0);
  close(pipes[1][1]);
  EXPECT_TRUE(comes(second, 1)) << second;
}

}  // namespace
}  // namespace updraft::collective
