#include "collective/bootstrap/address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace updraft::collective {

std::string ip_of(const sockaddr_storage& address) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (address.ss_family == AF_INET) {
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(address).sin_addr, text, sizeof text);
  } else if (address.ss_family == AF_INET6) {
    const in6_addr& ip = reinterpret_cast<const sockaddr_in6&>(address).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&ip)) {
      inet_ntop(AF_INET, &ip.s6_addr[12], text, sizeof text);
    } else {
      inet_ntop(AF_INET6, &ip, text, sizeof text);
    }
  }
  return text;
}

uint16_t port_of(const sockaddr_storage& address) {
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::string text_of(const sockaddr_storage& address) {
  const std::string ip = ip_of(address), port = std::to_string(port_of(address));
  return ip.find(':') == std::string::npos ? ip + ":" + port : "[" + ip + "]:" + port;
}

bool parse_address(const std::string& ip, uint16_t port, sockaddr_storage* address, socklen_t* length) {
  std::memset(address, 0, sizeof *address);
  auto* four = reinterpret_cast<sockaddr_in*>(address);
  if (inet_pton(AF_INET, ip.c_str(), &four->sin_addr) == 1) {
    four->sin_family = AF_INET;
    four->sin_port = htons(port);
    *length = sizeof *four;
    return true;
  }
  auto* six = reinterpret_cast<sockaddr_in6*>(address);
  if (inet_pton(AF_INET6, ip.c_str(), &six->sin6_addr) == 1) {
    six->sin6_family = AF_INET6;
    six->sin6_port = htons(port);
    *length = sizeof *six;
    return true;
  }
  return false;
}

int listen_on(const std::string& ip, uint16_t port, uint16_t* bound) {
  sockaddr_storage address;
  socklen_t length;
  if (!parse_address(ip, port, &address, &length)) {
    errno = EINVAL;
    return -1;
  }
  int fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return -1;
  int one = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(fd, reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(fd, 1024) != 0 ||
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &(length = sizeof address)) != 0) {
    int before = errno;
    close(fd);
    errno = before;
    return -1;
  }
  *bound = port_of(address);
  return fd;
}

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
