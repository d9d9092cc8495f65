// Addresses and ports of sockets.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

namespace updraft::collective {

/// An address and a port.
struct Endpoint {
  sockaddr_storage storage{};
  socklen_t bytes = sizeof(sockaddr_storage);

  sockaddr* raw() { return reinterpret_cast<sockaddr*>(&storage); }
  const sockaddr* raw() const { return reinterpret_cast<const sockaddr*>(&storage); }
  int family() const { return storage.ss_family; }
  uint16_t port() const;
  void set_port(uint16_t port);
  std::string ip() const;    ///< numeric, without a scope; IPv4 in IPv6 as IPv4
  std::string text() const;  ///< 10.0.0.1:60000, [fe80::1]:60000
  bool any() const;
  bool loopback() const;
  bool link_local() const;
};
/// Nothing when `ip` is not a numeric IPv4 or IPv6 address.
std::optional<Endpoint> find_endpoint(const std::string& ip, uint16_t port);
/// The same; throws Error (HCCL_E_PARA).
Endpoint make_endpoint(const std::string& ip, uint16_t port);
/// This side's, and the other's, of a connected socket.
Endpoint own_endpoint(int fd);
Endpoint peer_endpoint(int fd);

}  // namespace updraft::collective
