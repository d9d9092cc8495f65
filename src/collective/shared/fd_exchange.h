// Descriptors go from process to process by SCM_RIGHTS over a Unix socket of the host's first rank.
#pragma once
#include <array>
#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace updraft::collective {

/// A descriptor that closes itself.
class OwnedFd {
 public:
  explicit OwnedFd(int fd = -1) : fd_(fd) {}
  OwnedFd(OwnedFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  OwnedFd& operator=(OwnedFd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~OwnedFd();
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

/// What a rank hands over: its device memory and its life (peer_lives.h).
using OwnFds = std::array<int, 2>;

/// Called now and then while one waits; throws when waiting has no sense any more.
using Check = std::function<void()>;

/// The listening end, made by the host's first rank before the others connect. `name` is unique to communicator and
/// host.
class FdHub {
 public:
  explicit FdHub(const std::string& name);
  /// Takes two descriptors of every other rank (1 … ranks-1) and gives all of them to all: element 0 is `shared`,
  /// elements 1 + 2 r and 2 + 2 r are rank r's. Throws EI0015 when they do not come until the deadline.
  std::vector<OwnedFd> serve(const std::string& key, int ranks, int shared, const OwnFds& own,
                             std::chrono::steady_clock::time_point deadline, const Check& check);

 private:
  OwnedFd listener_;
};

/// The same for the other ranks.
std::vector<OwnedFd> exchange_fds(const std::string& name, const std::string& key, int rank, int ranks,
                                  const OwnFds& own, std::chrono::steady_clock::time_point deadline,
                                  const Check& check);

}  // namespace updraft::collective
