// Socket addresses as text.
#pragma once
#include <sys/socket.h>

#include <cstdint>
#include <string>

namespace updraft::collective {

/// "10.0.0.1:4711", "[::1]:4711"
std::string text_of(const sockaddr_storage& address);
/// "10.0.0.1", "::1"; IPv4 in IPv6 is written as IPv4
std::string ip_of(const sockaddr_storage& address);
uint16_t port_of(const sockaddr_storage& address);
/// Numeric IPv4 or IPv6; false when it is neither.
bool parse_address(const std::string& ip, uint16_t port, sockaddr_storage* address, socklen_t* length);

/// A listening socket on ip (nonblocking, close-on-exec); `port` 0: any free one. -1 with errno when it is refused.
int listen_on(const std::string& ip, uint16_t port, uint16_t* bound);

/// Small frames leave at once; a dead host is noticed: the kernel asks every 5 s and gives up after 30 s.
void set_rendezvous_options(int fd);

}  // namespace updraft::collective
