// Descriptors go from process to process over a Unix socket of the host's first rank.
#pragma once
#include <array>
#include <chrono>
#include <string>
#include <vector>

#include "collective/shared/local_socket.h"

namespace updraft::collective {

/// What a rank hands over: its device memory and its life (peer_lives.h).
using OwnFds = std::array<int, 2>;

/// The listening end, made by the host's first rank before the others connect. `name` is unique to communicator and
/// host.
class FdHub {
 public:
  explicit FdHub(const std::string& name);
  /// Takes two descriptors of every other rank (1 … ranks-1) and gives all of them to all: element 0 is `shared`,
  /// elements 1 + 2 r and 2 + 2 r are rank r's. Processes of other users, and such as do not know the key, are refused;
  /// nobody who is silent keeps others waiting. Throws EI0015 when they do not come until the deadline.
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
