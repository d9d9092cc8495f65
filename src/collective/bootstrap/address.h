// Sockets of the rendezvous.
#pragma once
#include <cstdint>
#include <string>

#include "collective/endpoint.h"

namespace updraft::collective {

/// A listening socket on ip (nonblocking, close-on-exec); `port` 0: any free one. -1 with errno when it is refused.
int listen_on(const std::string& ip, uint16_t port, uint16_t* bound);

/// Whether a connected socket is connected to itself: TCP does that with a port of this host that nobody listens on.
bool meets_itself(int fd, const Endpoint& peer);

/// Small frames leave at once; a dead host is noticed: the kernel asks every 5 s and gives up after 30 s.
void set_rendezvous_options(int fd);

}  // namespace updraft::collective
