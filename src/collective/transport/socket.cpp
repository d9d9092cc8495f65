#include "collective/transport/socket.h"

#include <netinet/tcp.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <vector>

#include "collective/error.h"

namespace updraft::collective {
namespace {

/// The descriptors that forked children close. Never destroyed: forks happen until the very end.
struct Ours {
  std::mutex mutex;
  std::vector<int> fds;
};
Ours& ours() {
  static Ours* const all = [] {
    auto* made = new Ours;
    pthread_atfork([] { ours().mutex.lock(); }, [] { ours().mutex.unlock(); },
                   [] {
                     for (const int fd : ours().fds) ::close(fd);
                     ours().fds.clear();
                     ours().mutex.unlock();
                   });
    return made;
  }();
  return *all;
}

}  // namespace

Descriptor::Guard::Guard() { ours().mutex.lock(); }
Descriptor::Guard::~Guard() { ours().mutex.unlock(); }
int Descriptor::Guard::keep(int fd) {
  if (fd >= 0) ours().fds.push_back(fd);
  return fd;
}

void Descriptor::close() {
  if (fd_ < 0) return;
  Guard guard;
  std::erase(ours().fds, fd_);
  ::close(std::exchange(fd_, -1));
}

Descriptor open_stream_socket(int family) {
  return Descriptor::from([&] { return ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0); });
}

Descriptor listen_at(Endpoint& at, uint16_t first_port, uint16_t ports) {
  const int tries = first_port == 0 ? 1 : std::max<int>(ports, 1);
  int error = 0;
  for (int i = 0; i < tries && first_port + i <= UINT16_MAX; ++i) {
    Descriptor socket = open_stream_socket(at.family());
    const int on = 1;
    if (socket) setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (socket && at.family() == AF_INET6) setsockopt(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    at.set_port(static_cast<uint16_t>(first_port + i));
    if (socket && ::bind(socket.get(), at.raw(), at.bytes) == 0 && ::listen(socket.get(), 1024) == 0) {
      getsockname(socket.get(), at.raw(), &at.bytes);
      return socket;
    }
    error = errno;
    if (error != EADDRINUSE) break;
  }
  const std::string wanted = first_port == 0 ? "a free port"
                             : tries == 1    ? fmt::format("port {}", first_port)
                                             : fmt::format("a port from {} to {}", first_port, first_port + tries - 1);
  throw Error(
      result::kTcpConnect,
      "no listening at {} of {}: {}; free one, or choose others with HCCL_IF_BASE_PORT, or another address with "
      "HCCL_IF_IP",
      wanted, at.ip(), std::strerror(error));
}

void set_connection_options(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace updraft::collective
