#include "collective/transport/tcp_link.h"

#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace updraft::collective {
namespace {

constexpr size_t kAtOnce = 4 << 20;      // then the other connections get their turn
constexpr size_t kLargeBody = 64 << 10;  // only the next header is read along with the end of a larger payload

TcpLink::Read outcome(ssize_t n) {
  if (n > 0) return TcpLink::Read::More;
  if (n == 0) return TcpLink::Read::End;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? TcpLink::Read::Nothing : TcpLink::Read::Broken;
}

}  // namespace

TcpLink::Read TcpLink::read_small(size_t bytes) {
  const ssize_t n = ::recv(socket.get(), small + have, bytes - have, MSG_DONTWAIT);
  if (n <= 0) return outcome(n);
  have += static_cast<size_t>(n);
  if (have < bytes) return Read::Nothing;
  have = 0;
  return Read::More;
}

bool TcpLink::write_small(const void* data, size_t bytes) {
  // The first few hundred bytes of a connection always fit into the socket's buffer.
  return ::send(socket.get(), data, bytes, MSG_NOSIGNAL | MSG_DONTWAIT) == static_cast<ssize_t>(bytes);
}

TcpLink::Read TcpLink::discard(char* scratch, size_t scratch_bytes) {
  return outcome(::recv(socket.get(), scratch, scratch_bytes, MSG_DONTWAIT));
}

void TcpLink::parse(const char* data, size_t bytes) {
  while (bytes > 0) {
    const bool payload = body.bytes > 0;
    const size_t n = std::min(bytes, payload ? body.bytes : sizeof(FrameHeader) - have);
    std::memcpy(payload ? static_cast<char*>(body.data) : small + have, data, n);
    data += n;
    bytes -= n;
    if (payload) {
      body = {static_cast<char*>(body.data) + n, body.bytes - n};
    } else if ((have += n) == sizeof(FrameHeader)) {
      have = 0;
      FrameHeader header;
      std::memcpy(&header, small, sizeof header);
      body = sink().begin(header);
    } else {
      return;
    }
    if (body.bytes == 0) sink().end();
  }
}

TcpLink::Read TcpLink::read_frames(char* scratch, size_t scratch_bytes) {
  for (size_t total = 0; total < kAtOnce;) {
    iovec pieces[2];
    int count = 0;
    size_t wanted = body.bytes;
    if (body.bytes > 0) pieces[count++] = {body.data, body.bytes};
    pieces[count++] = {scratch, body.bytes > kLargeBody ? sizeof(FrameHeader) : scratch_bytes};
    wanted += pieces[count - 1].iov_len;
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = static_cast<size_t>(count);
    const ssize_t got = ::recvmsg(socket.get(), &message, MSG_DONTWAIT);
    if (got <= 0) return outcome(got);
    const size_t n = static_cast<size_t>(got);
    total += n;
    const size_t direct = std::min(n, body.bytes);
    if (direct > 0) {
      body = {static_cast<char*>(body.data) + direct, body.bytes - direct};
      if (body.bytes == 0) sink().end();
    }
    parse(scratch, n - direct);
    if (n < wanted) return Read::Nothing;
  }
  return Read::More;
}

}  // namespace updraft::collective
