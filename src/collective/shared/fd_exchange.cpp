#include "collective/shared/fd_exchange.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>

#include "base/log.h"
#include "base/sha256.h"
#include "collective/error.h"

namespace updraft::collective {
namespace {

using Time = std::chrono::steady_clock::time_point;
constexpr int kBatch = 128;  // the kernel takes 253 descriptors a message
constexpr int kLook = 50;    // milliseconds between two checks

struct Greeting {
  uint32_t rank;
  uint8_t proof[32];
};

Digest proof_of(const std::string& key, uint32_t rank) {
  std::string text = "local" + std::to_string(rank);
  return hmac_sha256(key.data(), key.size(), text.data(), text.size());
}

socklen_t abstract_address(const std::string& name, sockaddr_un* address) {
  std::memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  // A leading zero byte: no file, and gone with the process.
  std::memcpy(address->sun_path + 1, name.data(), std::min(name.size(), sizeof address->sun_path - 2));
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 +
                                std::min(name.size(), sizeof address->sun_path - 2));
}

bool wait_for(int fd, short events, Time deadline, const Check& check) {
  pollfd wait{fd, events, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
    const int n = poll(&wait, 1, static_cast<int>(std::clamp<int64_t>(left, 0, kLook)));
    if (n > 0) return true;
    if (n == 0 && left <= 0) return false;
    check();
  }
}

bool send_with_fds(int socket, const void* data, size_t bytes, const int* fds, int count, Time deadline,
                   const Check& check) {
  if (!wait_for(socket, POLLOUT, deadline, check)) return false;
  iovec part{const_cast<void*>(data), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(kBatch * sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (count) {
    message.msg_control = control;
    message.msg_controllen = CMSG_SPACE(static_cast<size_t>(count) * sizeof(int));
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(static_cast<size_t>(count) * sizeof(int));
    std::memcpy(CMSG_DATA(head), fds, static_cast<size_t>(count) * sizeof(int));
  }
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

bool receive_with_fds(int socket, void* data, size_t bytes, std::vector<OwnedFd>* fds, Time deadline,
                      const Check& check) {
  if (!wait_for(socket, POLLIN, deadline, check)) return false;
  iovec part{data, bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(kBatch * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof fd);
      fds->emplace_back(fd);
    }
  }
  return n == static_cast<ssize_t>(bytes);
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

FdHub::FdHub(const std::string& name) : listener_(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  sockaddr_un address;
  socklen_t length = abstract_address(name, &address);
  if (listener_.get() < 0 || bind(listener_.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(listener_.get(), 1024) != 0)
    throw Error(result::kSyscall, "EI0015: no Unix socket for the ranks of this host: {}", std::strerror(errno));
}

std::vector<OwnedFd> FdHub::serve(const std::string& key, int ranks, int shared, const OwnFds& own, Time deadline,
                                  const Check& check) {
  const auto n = static_cast<size_t>(ranks);
  std::vector<OwnedFd> connections(n), all(1 + n * own.size());
  all[0] = OwnedFd(fcntl(shared, F_DUPFD_CLOEXEC, 0));
  for (size_t i = 0; i < own.size(); ++i) all[1 + i] = OwnedFd(fcntl(own[i], F_DUPFD_CLOEXEC, 0));
  for (int joined = 1; joined < ranks;) {
    if (!wait_for(listener_.get(), POLLIN, deadline, check))
      throw Error(result::kTimeout, "EI0015: {} of {} ranks of this host did not hand over their device memory in time",
                  ranks - joined, ranks);
    OwnedFd connection(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (connection.get() < 0) continue;
    Greeting greeting{};
    std::vector<OwnedFd> fds;
    const Time patience = std::min(deadline, std::chrono::steady_clock::now() + std::chrono::seconds(5));
    const bool complete = receive_with_fds(connection.get(), &greeting, sizeof greeting, &fds, patience, check);
    const Digest want = proof_of(key, greeting.rank);
    if (!complete || fds.size() != own.size() || greeting.rank == 0 || greeting.rank >= n ||
        !equal_in_constant_time(want.data(), greeting.proof, want.size())) {
      UPDRAFT_LOG(kWarning, "HCCL", "a process that does not know the key was refused at the host's socket");
      continue;
    }
    if (connections[greeting.rank].get() < 0) ++joined;
    connections[greeting.rank] = std::move(connection);
    for (size_t i = 0; i < own.size(); ++i) all[1 + greeting.rank * own.size() + i] = std::move(fds[i]);
  }
  std::vector<int> raw;
  for (const OwnedFd& d : all) raw.push_back(d.get());
  for (size_t r = 1; r < n; ++r)
    for (size_t at = 0; at < raw.size(); at += kBatch) {
      const uint32_t first = static_cast<uint32_t>(at);
      const int count = static_cast<int>(std::min<size_t>(kBatch, raw.size() - at));
      if (!send_with_fds(connections[r].get(), &first, sizeof first, raw.data() + at, count, deadline, check))
        throw Error(result::kRemote, "EI0015: local rank {} went away while the communicator was set up", r);
    }
  return all;
}

std::vector<OwnedFd> exchange_fds(const std::string& name, const std::string& key, int rank, int ranks,
                                  const OwnFds& own, Time deadline, const Check& check) {
  sockaddr_un address;
  socklen_t length = abstract_address(name, &address);
  OwnedFd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  while (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    if (std::chrono::steady_clock::now() > deadline)
      throw Error(result::kTimeout, "EI0015: the first rank of this host cannot be reached by its Unix socket: {}",
                  std::strerror(errno));
    check();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
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
