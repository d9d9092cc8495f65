#include "collective/shared/fd_exchange.h"

#include <fcntl.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>

#include "base/log.h"
#include "base/sha256.h"
#include "collective/error.h"

namespace updraft::collective {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(5);  // with one who has connected and says nothing
constexpr size_t kStrangers = 1024;

struct Greeting {
  uint32_t rank;
  uint8_t proof[32];
};

Digest proof_of(const std::string& key, uint32_t rank) {
  std::string text = "local" + std::to_string(rank);
  return hmac_sha256(key.data(), key.size(), text.data(), text.size());
}

/// Descriptors of a group of so many ranks in one of its processes: those of all, connections, copies that stay.
size_t descriptors_of(int ranks) { return 4 * static_cast<size_t>(ranks) + 64; }

OwnedFd copy_of(int fd) {
  OwnedFd copy(fcntl(fd, F_DUPFD_CLOEXEC, 0));
  if (copy.get() < 0) throw Error(result::kSyscall, "EI0015: a descriptor cannot be copied: {}", std::strerror(errno));
  return copy;
}

/// The connections of the other ranks, from the first to the last.
class Guests {
 public:
  Guests(const std::string& key, int listener, std::vector<OwnedFd>& all, size_t ranks)
      : key_(key), listener_(listener), all_(all), connections_(ranks) {}

  std::vector<OwnedFd> gather(SocketTime deadline, const Check& check) {
    for (auto next_check = Clock::now() + kSocketLook; missing() > 0;) {
      const auto now = Clock::now();
      if (now >= deadline)
        throw Error(result::kTimeout,
                    "EI0015: {} of {} ranks of this host did not hand over their device memory in time", missing(),
                    connections_.size());
      if (now >= next_check) {
        check();
        next_check = now + kSocketLook;
      }
      wait(std::min(deadline, next_check));
    }
    return std::move(connections_);
  }

 private:
  struct Stranger {
    OwnedFd connection;
    SocketTime since;
  };

  size_t missing() const { return connections_.size() - 1 - joined_; }

  void wait(SocketTime until) {
    std::vector<pollfd> fds{{listener_, POLLIN, 0}};
    for (const Stranger& s : strangers_) fds.push_back({s.connection.get(), POLLIN, 0});
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count();
    if (poll(fds.data(), fds.size(), static_cast<int>(std::max<int64_t>(left, 0))) < 0) return;  // a signal
    const auto now = Clock::now();
    size_t i = 1;
    for (auto s = strangers_.begin(); s != strangers_.end(); ++i) {
      const bool stays = fds[i].revents == 0 && now < s->since + kPatience;
      if (fds[i].revents) greet(*s);
      s = stays ? std::next(s) : strangers_.erase(s);
    }
    if (!fds[0].revents) return;
    for (OwnedFd guest; strangers_.size() < kStrangers && (guest = accept_locally(listener_)).get() >= 0;)
      strangers_.push_back({std::move(guest), now});
  }

  void greet(Stranger& stranger) {
    Greeting greeting{};
    std::vector<OwnedFd> fds;
    const size_t each = std::tuple_size_v<OwnFds>;
    const bool complete = receive_with_fds(stranger.connection.get(), &greeting, sizeof greeting, &fds, {}, [] {});
    const Digest want = proof_of(key_, greeting.rank);
    if (!complete || fds.size() != each || greeting.rank == 0 || greeting.rank >= connections_.size() ||
        !equal_in_constant_time(want.data(), greeting.proof, want.size())) {
      UPDRAFT_LOG(kWarning, "HCCL", "a process that does not know the key was refused at the host's socket");
      return;
    }
    if (connections_[greeting.rank].get() >= 0) {
      UPDRAFT_LOG(kWarning, "HCCL", "a second process that says it is local rank {} was refused", greeting.rank);
      return;
    }
    ++joined_;
    connections_[greeting.rank] = std::move(stranger.connection);
    for (size_t i = 0; i < each; ++i) all_[1 + greeting.rank * each + i] = std::move(fds[i]);
  }

  const std::string& key_;
  const int listener_;
  std::vector<OwnedFd>& all_;
  std::vector<OwnedFd> connections_;  // by local rank; [0] stays empty
  std::list<Stranger> strangers_;
  size_t joined_ = 0;
};

}  // namespace

FdHub::FdHub(const std::string& name) : listener_(listen_locally(name)) {}

std::vector<OwnedFd> FdHub::serve(const std::string& key, int ranks, int shared, const OwnFds& own, SocketTime deadline,
                                  const Check& check) {
  make_room_for_fds(descriptors_of(ranks));
  const auto n = static_cast<size_t>(ranks);
  std::vector<OwnedFd> all(1 + n * own.size());
  all[0] = copy_of(shared);
  for (size_t i = 0; i < own.size(); ++i) all[1 + i] = copy_of(own[i]);
  const std::vector<OwnedFd> connections = Guests(key, listener_.get(), all, n).gather(deadline, check);
  std::vector<int> raw;
  for (const OwnedFd& d : all) raw.push_back(d.get());
  for (size_t r = 1; r < n; ++r)
    for (size_t at = 0; at < raw.size(); at += kFdBatch) {
      const uint32_t first = static_cast<uint32_t>(at);
      const int count = static_cast<int>(std::min<size_t>(kFdBatch, raw.size() - at));
      if (!send_with_fds(connections[r].get(), &first, sizeof first, raw.data() + at, count, deadline, check))
        throw Error(result::kRemote, "EI0015: local rank {} went away while the communicator was set up", r);
    }
  return all;
}

std::vector<OwnedFd> exchange_fds(const std::string& name, const std::string& key, int rank, int ranks,
                                  const OwnFds& own, SocketTime deadline, const Check& check) {
  make_room_for_fds(descriptors_of(ranks));
  const OwnedFd connection = connect_locally(name, "the first rank of this host", deadline, check);
  Greeting greeting{static_cast<uint32_t>(rank), {}};
  const Digest proof = proof_of(key, greeting.rank);
  std::memcpy(greeting.proof, proof.data(), proof.size());
  if (!send_with_fds(connection.get(), &greeting, sizeof greeting, own.data(), static_cast<int>(own.size()), deadline,
                     check))
    throw Error(result::kRemote, "EI0015: the first rank of this host went away while the communicator was set up");
  std::vector<OwnedFd> all;
  const auto want = static_cast<size_t>(ranks) * own.size() + 1;
  while (all.size() < want) {
    uint32_t first = 0;
    const size_t before = all.size();
    if (!receive_with_fds(connection.get(), &first, sizeof first, &all, deadline, check) || first != before ||
        all.size() == before || all.size() > want)
      throw Error(result::kRemote, "EI0015: the first rank of this host did not hand over the device memory of all");
  }
  return all;
}

}  // namespace updraft::collective
