#include "collective/shared/local_socket.h"

#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/log.h"
#include "collective/error.h"

namespace updraft::collective {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kRetry = std::chrono::milliseconds(5);

socklen_t abstract_address(const std::string& name, sockaddr_un* address) {
  std::memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  // A leading zero byte makes it abstract.
  const size_t bytes = std::min(name.size(), sizeof address->sun_path - 2);
  std::memcpy(address->sun_path + 1, name.data(), bytes);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + bytes);
}

/// Who connected, or who listens: as the kernel noted it then.
uid_t user_of_peer(int socket) {
  ucred who{};
  socklen_t bytes = sizeof who;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) return static_cast<uid_t>(-1);
  return who.uid;
}

uint64_t open_files_limit() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return limit.rlim_cur;
}

}  // namespace

OwnedFd::~OwnedFd() {
  if (fd_ >= 0) close(fd_);
}

OwnedFd listen_locally(const std::string& name) {
  OwnedFd listener(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  sockaddr_un address;
  const socklen_t length = abstract_address(name, &address);
  if (listener.get() < 0 || bind(listener.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 ||
      listen(listener.get(), 1024) != 0)
    throw Error(result::kSyscall, "EI0015: no Unix socket for the ranks of this host: {}", std::strerror(errno));
  return listener;
}

OwnedFd connect_locally(const std::string& name, const std::string& whose, SocketTime deadline, const Check& check) {
  sockaddr_un address;
  const socklen_t length = abstract_address(name, &address);
  OwnedFd connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  while (connect(connection.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    if (Clock::now() > deadline)
      throw Error(result::kTimeout, "EI0015: {} cannot be reached by its Unix socket: {}", whose, std::strerror(errno));
    check();
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  if (const uid_t user = user_of_peer(connection.get()); user != geteuid())
    throw Error(result::kRemote,
                "EI0015: what listens on the Unix socket of {} belongs to user {}, this rank to user {}: start all "
                "ranks of a job as one user",
                whose, static_cast<int64_t>(user), geteuid());
  return connection;
}

OwnedFd accept_locally(int listener) {
  OwnedFd connection(accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (connection.get() < 0) {
    if (errno == EINTR || errno == ECONNABORTED || errno == EAGAIN || errno == EWOULDBLOCK) return connection;
    UPDRAFT_LOG(kError, "HCCL", "a rank of this host cannot be let in: {} (open files: {} at most)",
                std::strerror(errno), open_files_limit());
    std::this_thread::sleep_for(kRetry);  // it is still there and would wake us again and again
    return connection;
  }
  const uid_t user = user_of_peer(connection.get());
  if (user == geteuid()) return connection;
  UPDRAFT_LOG(kWarning, "HCCL", "a process of user {} was refused at a Unix socket of the ranks of user {}",
              static_cast<int64_t>(user), geteuid());
  return OwnedFd();
}

bool wait_for(int fd, short events, SocketTime deadline, const Check& check) {
  pollfd wait{fd, events, 0};
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    const int n = poll(&wait, 1, static_cast<int>(std::clamp<int64_t>(left, 0, kSocketLook.count())));
    if (n > 0) return true;
    if (n == 0 && left <= 0) return false;
    check();
  }
}

bool send_with_fds(int socket, const void* data, size_t bytes, const int* fds, int count, SocketTime deadline,
                   const Check& check) {
  iovec part{const_cast<void*>(data), bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(kFdBatch * sizeof(int))] = {};
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
  while (wait_for(socket, POLLOUT, deadline, check)) {
    const ssize_t n = sendmsg(socket, &message, MSG_NOSIGNAL);
    if (n >= 0) return n == static_cast<ssize_t>(bytes);
    if (errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK) continue;
    if (errno != ETOOMANYREFS) return false;
    if (Clock::now() >= deadline)
      throw Error(
          result::kSyscall,
          "EI0015: the ranks of this host have too many descriptors on their way to each other for the limit of "
          "open files, {}: raise it (ulimit -n; LimitNOFILE of a service) for all of them",
          open_files_limit());
    check();
    std::this_thread::sleep_for(kRetry);  // until the others have taken theirs
  }
  return false;
}

bool receive_with_fds(int socket, void* data, size_t bytes, std::vector<OwnedFd>* fds, SocketTime deadline,
                      const Check& check) {
  if (!wait_for(socket, POLLIN, deadline, check)) return false;
  iovec part{data, bytes};
  alignas(cmsghdr) char control[CMSG_SPACE(kFdBatch * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (n < 0) return false;
  for (cmsghdr* head = CMSG_FIRSTHDR(&message); head; head = CMSG_NXTHDR(&message, head)) {
    if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd;
      std::memcpy(&fd, CMSG_DATA(head) + i * sizeof(int), sizeof fd);
      fds->emplace_back(fd);
    }
  }
  if (message.msg_flags & MSG_CTRUNC)
    throw Error(result::kSyscall,
                "EI0015: this process may not have as many open files as the ranks of this host hand it: the limit is "
                "{}. Raise it (ulimit -n; LimitNOFILE of a service) for all ranks",
                open_files_limit());
  return n == static_cast<ssize_t>(bytes);
}

void make_room_for_fds(size_t more) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= limit.rlim_max) return;
  std::error_code error;
  size_t open = 0;
  for (std::filesystem::directory_iterator at("/proc/self/fd", error), end; !error && at != end; at.increment(error))
    ++open;
  // Other threads open files as well, and those that are on their way count, too.
  if ((open + more) * 2 <= limit.rlim_cur) return;
  const auto before = limit.rlim_cur;
  limit.rlim_cur = limit.rlim_max;
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0)
    UPDRAFT_LOG(kInfo, "HCCL", "the limit of open files is raised from {} to {}", before, limit.rlim_cur);
}

}  // namespace updraft::collective
