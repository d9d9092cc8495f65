#include "collective/endpoint.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <cstring>

#include "collective/error.h"

namespace updraft::collective {
namespace {

const in6_addr& in6(const Endpoint& e) { return reinterpret_cast<const sockaddr_in6&>(e.storage).sin6_addr; }
uint32_t in4(const Endpoint& e) { return ntohl(reinterpret_cast<const sockaddr_in&>(e.storage).sin_addr.s_addr); }

}  // namespace

uint16_t Endpoint::port() const {
  return ntohs(family() == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(storage).sin6_port
                                    : reinterpret_cast<const sockaddr_in&>(storage).sin_port);
}

void Endpoint::set_port(uint16_t port) {
  if (family() == AF_INET6) reinterpret_cast<sockaddr_in6&>(storage).sin6_port = htons(port);
  else reinterpret_cast<sockaddr_in&>(storage).sin_port = htons(port);
}

std::string Endpoint::ip() const {
  char text[INET6_ADDRSTRLEN] = "?";
  if (family() == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&in6(*this)))
    inet_ntop(AF_INET, in6(*this).s6_addr + 12, text, sizeof text);
  else if (family() == AF_INET6) inet_ntop(AF_INET6, &in6(*this), text, sizeof text);
  else if (family() == AF_INET)
    inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(storage).sin_addr, text, sizeof text);
  return text;
}

std::string Endpoint::text() const {
  return family() == AF_INET6 ? fmt::format("[{}]:{}", ip(), port()) : fmt::format("{}:{}", ip(), port());
}
bool Endpoint::any() const { return family() == AF_INET6 ? IN6_IS_ADDR_UNSPECIFIED(&in6(*this)) : in4(*this) == 0; }
bool Endpoint::loopback() const {
  return family() == AF_INET6 ? IN6_IS_ADDR_LOOPBACK(&in6(*this)) : in4(*this) >> 24 == 127;
}
bool Endpoint::link_local() const { return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&in6(*this)); }

std::optional<Endpoint> find_endpoint(const std::string& ip, uint16_t port) {
  Endpoint endpoint;
  auto& four = reinterpret_cast<sockaddr_in&>(endpoint.storage);
  auto& six = reinterpret_cast<sockaddr_in6&>(endpoint.storage);
  if (ip.find('\0') != std::string::npos) return {};
  if (inet_pton(AF_INET, ip.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    endpoint.bytes = sizeof four;
  } else if (inet_pton(AF_INET6, ip.c_str(), &six.sin6_addr) == 1) {
    six.sin6_family = AF_INET6;
    endpoint.bytes = sizeof six;
  } else if (ip.find('%') != std::string::npos) {  // with a scope
    addrinfo hints{}, *found = nullptr;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
    hints.ai_socktype = SOCK_STREAM;
    if (getaddrinfo(ip.c_str(), nullptr, &hints, &found) != 0) return {};
    std::memcpy(&endpoint.storage, found->ai_addr, found->ai_addrlen);
    endpoint.bytes = found->ai_addrlen;
    freeaddrinfo(found);
  } else {
    return {};
  }
  endpoint.set_port(port);
  return endpoint;
}

Endpoint make_endpoint(const std::string& ip, uint16_t port) {
  if (auto endpoint = find_endpoint(ip, port)) return *endpoint;
  throw Error(result::kPara, "\"{}\" is not a numeric IPv4 or IPv6 address", ip);
}

Endpoint own_endpoint(int fd) {
  Endpoint endpoint;
  getsockname(fd, endpoint.raw(), &endpoint.bytes);
  return endpoint;
}

Endpoint peer_endpoint(int fd) {
  Endpoint endpoint;
  getpeername(fd, endpoint.raw(), &endpoint.bytes);
  return endpoint;
}

}  // namespace updraft::collective
