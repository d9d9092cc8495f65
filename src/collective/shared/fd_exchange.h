// Descriptors go from process to process by SCM_RIGHTS over a Unix socket of the host's first rank.
#pragma once
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

 private:
  int fd_;
};

/// Called now and then while one waits; throws when waiting has no sense any more.
using Check = std::function<void()>;

/// The listening end, made by the host's first rank before the others connect. `name` is unique to communicator and
/// host.
class FdHub {
 public:
  explicit FdHub(const std::string& name);
  /// Takes one descriptor of every other rank (1 … ranks-1) and gives all of them to all: element 0 is `shared`,
  /// element 1 + r is rank r's. Throws EI0015 when one does not come until the deadline.
  std::vector<OwnedFd> serve(const std::string& key, int ranks, int shared, int own,
                             std::chrono::steady_clock::time_point deadline, const Check& check);

 private:
  OwnedFd listener_;
};

/// The same for the other ranks.
std::vector<OwnedFd> exchange_fds(const std::string& name, const std::string& key, int rank, int ranks, int own,
                                  std::chrono::steady_clock::time_point deadline, const Check& check);

}  // namespace updraft::collective
