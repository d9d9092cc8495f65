// Descriptors from rank to rank: many ranks, limits of open files, those who are silent, strangers, other users.
#include "collective/shared/fd_exchange.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <functional>
#include <future>
#include <string>
#include <thread>

#include "../sanitizers.h"
#include "base/error.h"

namespace updraft::collective {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;
using std::chrono::seconds;
const Check kNothing = [] {};
const std::string kKey = "a key of the test";
constexpr uid_t kNobody = 65534;

std::string own_name() {
  static std::atomic<int> count{0};
  return "updraft-fd-test-" + std::to_string(getpid()) + "-" + std::to_string(count++);
}

/// A file that can be told from others.
OwnedFd file() { return OwnedFd(memfd_create("fd-exchange", MFD_CLOEXEC)); }
ino_t number_of(int fd) {
  struct stat info {};
  return fstat(fd, &info) == 0 ? info.st_ino : 0;
}

/// A raw connection to the hub; it says nothing by itself.
OwnedFd connect_to(const std::string& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  OwnedFd fd(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const auto bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return connect(fd.get(), reinterpret_cast<sockaddr*>(&address), bytes) == 0 ? std::move(fd) : OwnedFd();
}

/// Soft limit of open files while it lives.
class SoftLimit {
 public:
  explicit SoftLimit(rlim_t files) {
    getrlimit(RLIMIT_NOFILE, &before_);
    rlimit now{files, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &now);
  }
  ~SoftLimit() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

/// What `body` gives in a process of its own, 0 to 127.
int in_child(const std::function<int()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    alarm(60);
    int result = 99;
    try {
      result = body();
    } catch (const std::exception& e) { fprintf(stderr, "%s\n", e.what()); }
    _exit(result);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void exchange(int ranks) {
  const std::string name = own_name();
  const OwnedFd shared = file();
  const auto deadline = Clock::now() + seconds(60);
  std::vector<OwnedFd> files;
  for (int i = 0; i < 2 * ranks; ++i) files.push_back(file());
  const auto own = [&](int r) {
    return OwnFds{files[static_cast<size_t>(2 * r)].get(), files[static_cast<size_t>(2 * r + 1)].get()};
  };
  FdHub hub(name);
  std::vector<std::future<std::vector<OwnedFd>>> others;
  for (int r = 1; r < ranks; ++r)
    others.push_back(std::async(std::launch::async,
                                [&, r] { return exchange_fds(name, kKey, r, ranks, own(r), deadline, kNothing); }));
  std::vector<std::vector<OwnedFd>> all;
  all.push_back(hub.serve(kKey, ranks, shared.get(), own(0), deadline, kNothing));
  for (auto& other : others) all.push_back(other.get());
  for (const auto& fds : all) {
    ASSERT_EQ(fds.size(), static_cast<size_t>(1 + 2 * ranks));
    ASSERT_EQ(number_of(fds[0].get()), number_of(shared.get()));
    for (size_t i = 0; i < files.size(); ++i) ASSERT_EQ(number_of(fds[1 + i].get()), number_of(files[i].get())) << i;
  }
}

TEST(FdExchange, AFewRanks) {
  for (const int ranks : {2, 3, 16}) exchange(ranks);
}

// 141 descriptors for each rank: two messages.
TEST(FdExchange, MoreThanAMessageHolds) { exchange(70); }

TEST(FdExchange, TheSoftLimitIsRaisedToTheHardOne) {
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  if (limit.rlim_max < 8000) GTEST_SKIP() << "a hard limit of " << limit.rlim_max << " open files";
  const SoftLimit low(300);
  exchange(40);  // 40 times 81 of them, in one process
}

// What the kernel leaves out when a process may have no more files open is missed, and said.
TEST(FdExchange, TooManyForTheHardLimit) {
#ifdef UPDRAFT_SANITIZED
  GTEST_SKIP() << "the checks of the sanitizer open a pipe, for which this leaves no descriptor";
#endif
  const std::string name = own_name();
  const OwnedFd shared = file(), one = file(), two = file();
  FdHub hub(name);
  const auto deadline = Clock::now() + seconds(30);
  std::thread server([&] {
    try {
      hub.serve(kKey, 2, shared.get(), {one.get(), two.get()}, deadline, kNothing);
    } catch (const Error&) {}  // its peer goes away
  });
  const int result = in_child([&] {
    int highest = dup(0);
    const rlimit limit{static_cast<rlim_t>(highest) + 4, static_cast<rlim_t>(highest) + 4};
    setrlimit(RLIMIT_NOFILE, &limit);
    try {
      exchange_fds(name, kKey, 1, 2, {0, 1}, deadline, kNothing);
    } catch (const Error& e) {
      const bool good = e.text().find("the limit is " + std::to_string(limit.rlim_cur)) != std::string::npos &&
                        e.text().find("ulimit -n") != std::string::npos;
      if (!good) fprintf(stderr, "%s\n", e.text().c_str());
      return good ? 0 : 1;
    }
    return 2;
  });
  server.join();
  EXPECT_EQ(result, 0);
}

// The kernel counts what is on its way against the sender's limit, but for root: then one waits until some is taken.
TEST(FdExchange, TooManyOnTheirWay) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to become somebody whom the kernel counts";
  constexpr int kRanks = 20, kLimit = 100;  // 19 times 41 descriptors
  EXPECT_EQ(in_child([] {
              if (setgid(kNobody) != 0 || setuid(kNobody) != 0) return 3;
              const std::string name = own_name();
              FdHub hub(name);
              const auto deadline = Clock::now() + seconds(30);
              std::vector<pid_t> ranks;
              for (int r = 1; r < kRanks; ++r)
                if (const pid_t child = fork(); child == 0) {
                  alarm(40);
                  bool good = false;
                  try {
                    int looks = 0;
                    // Late, so that the others' descriptors wait as well.
                    const auto check = [&] { std::this_thread::sleep_for(milliseconds(looks++ ? 0 : 300)); };
                    good = exchange_fds(name, kKey, r, kRanks, {0, 1}, deadline, check).size() == 1 + 2 * kRanks;
                  } catch (const Error& e) { fprintf(stderr, "rank %d: %s\n", r, e.text().c_str()); }
                  _exit(good ? 0 : 1);
                } else {
                  ranks.push_back(child);
                }
              const rlimit limit{kLimit, kLimit};
              setrlimit(RLIMIT_NOFILE, &limit);
              int result = 0;
              try {
                hub.serve(kKey, kRanks, 0, {0, 1}, deadline, kNothing);
              } catch (const Error& e) {
                fprintf(stderr, "%s\n", e.text().c_str());
                result = 1;
              }
              for (const pid_t rank : ranks) {
                int status = -1;
                waitpid(rank, &status, 0);
                if (status != 0) result = 2;
              }
              return result;
            }),
            0);
}

// Each of them would have cost five seconds, one after the other.
TEST(FdExchange, TheSilentKeepNobodyWaiting) {
  const std::string name = own_name();
  const OwnedFd shared = file(), one = file(), two = file();
  FdHub hub(name);
  std::vector<OwnedFd> silent;
  for (int i = 0; i < 30; ++i) silent.push_back(connect_to(name));
  const auto start = Clock::now(), deadline = start + seconds(120);
  auto other = std::async(std::launch::async, [&] {
    return exchange_fds(name, kKey, 1, 2, {one.get(), two.get()}, deadline, kNothing);
  });
  EXPECT_EQ(hub.serve(kKey, 2, shared.get(), {one.get(), two.get()}, deadline, kNothing).size(), 5u);
  EXPECT_EQ(other.get().size(), 5u);
  EXPECT_LT(Clock::now() - start, seconds(50));
}

TEST(FdExchange, WhoDoesNotKnowTheKeyGetsNothing) {
  const std::string name = own_name();
  const OwnedFd shared = file(), one = file(), two = file();
  FdHub hub(name);
  const auto deadline = Clock::now() + seconds(60);
  auto stranger = std::async(std::launch::async, [&] {
    return exchange_fds(name, "another key", 1, 2, {one.get(), two.get()}, deadline, kNothing);
  });
  std::future<std::vector<OwnedFd>> other;
  std::thread late([&] {
    EXPECT_THROW(stranger.get(), Error);
    other = std::async(std::launch::async, [&] {
      return exchange_fds(name, kKey, 1, 2, {one.get(), two.get()}, deadline, kNothing);
    });
  });
  hub.serve(kKey, 2, shared.get(), {one.get(), two.get()}, deadline, kNothing);
  late.join();
  EXPECT_EQ(other.get().size(), 5u);
}

TEST(FdExchange, OtherUsersGetNothing) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  const std::string name = own_name();
  const OwnedFd shared = file(), one = file(), two = file();
  FdHub hub(name);
  const auto deadline = Clock::now() + seconds(60);
  // It even knows the key.
  const auto as_nobody = [&] {
    if (setuid(kNobody) != 0) return 3;
    try {
      exchange_fds(name, kKey, 1, 2, {0, 1}, deadline, kNothing);
    } catch (const Error& e) { return e.text().find("belongs to user 0") != std::string::npos ? 0 : 1; }
    return 2;
  };
  EXPECT_EQ(in_child(as_nobody), 0) << "who asks sees whom";
  // And one that does not look at whom it asks.
  std::atomic<bool> refused{false};
  std::thread other([&] {
    const int result = in_child([&] {
      if (setuid(kNobody) != 0) return 3;
      const OwnedFd fd = connect_to(name);
      char byte;
      return recv(fd.get(), &byte, 1, 0) == 0 ? 0 : 1;
    });
    EXPECT_EQ(result, 0);
    refused = true;
    EXPECT_EQ(exchange_fds(name, kKey, 1, 2, {one.get(), two.get()}, deadline, kNothing).size(), 5u);
  });
  hub.serve(kKey, 2, shared.get(), {one.get(), two.get()}, deadline, kNothing);
  EXPECT_TRUE(refused);
  other.join();
}

}  // namespace
}  // namespace updraft::collective
