#include "collective/bootstrap/address.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>

namespace updraft::collective {

int listen_on(const std::string& ip, uint16_t port, uint16_t* bound) {
  const auto at = find_endpoint(ip, port);
  if (!at) {
    errno = EINVAL;
    return -1;
  }
  int fd = socket(at->family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd, at->raw(), at->bytes) != 0 || listen(fd, 1024) != 0) {
    int before = errno;
    close(fd);
    errno = before;
    return -1;
  }
  *bound = own_endpoint(fd).port();
  return fd;
}

bool meets_itself(int fd, const Endpoint& peer) { return own_endpoint(fd).text() == peer.text(); }

void set_rendezvous_options(int fd) {
  int one = 1, idle = 5, count = 5;
  unsigned lost = 30'000;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &idle, sizeof idle);
  setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
  setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &lost, sizeof lost);
}

}  // namespace updraft::collective
