// Unix sockets between processes of one user on one host, and descriptors in their messages (SCM_RIGHTS).
#pragma once
#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "collective/shared/owned_fd.h"

namespace updraft::collective {

/// Called now and then while one waits; throws when waiting has no sense any more.
using Check = std::function<void()>;
using SocketTime = std::chrono::steady_clock::time_point;

/// The most descriptors of a message; the kernel takes 253.
constexpr int kFdBatch = 128;
constexpr auto kSocketLook = std::chrono::milliseconds(50);  ///< between two checks

/// Listens (SOCK_SEQPACKET, nonblocking) at an abstract name of this network namespace: no file, and gone with the
/// process. Throws EI0015 when somebody has the name.
OwnedFd listen_locally(const std::string& name);
/// Connects to it, again and again until the deadline while nobody listens. Throws EI0015 at the deadline, and when it
/// is another user who listens: `whose` says what the socket is, "the first rank of this host".
OwnedFd connect_locally(const std::string& name, const std::string& whose, SocketTime deadline, const Check& check);
/// The next connection of the same user, nonblocking; none: nobody waits, or who did is of another user and was
/// refused, with a line in the log. Pauses for a moment when there are no descriptors left.
OwnedFd accept_locally(int listener);

/// False when the deadline has passed.
bool wait_for(int fd, short events, SocketTime deadline, const Check& check);
/// False when the other end is gone or the deadline has passed. While too many descriptors are under way (the kernel
/// counts those of a user against RLIMIT_NOFILE) it tries again.
bool send_with_fds(int socket, const void* data, size_t bytes, const int* fds, int count, SocketTime deadline,
                   const Check& check);
/// The same for one message that is there or comes; its descriptors are appended. Throws EI0015 when they are more
/// than this process may have open.
bool receive_with_fds(int socket, void* data, size_t bytes, std::vector<OwnedFd>* fds, SocketTime deadline,
                      const Check& check);

/// Raises the soft limit of open files to the hard one when so many more do not fit comfortably.
void make_room_for_fds(size_t more);

}  // namespace updraft::collective
