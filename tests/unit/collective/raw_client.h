// A client of the TCP transport that does what it wants: it knows the handshake, and frames are its own affair.
#pragma once
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "collective/transport/frame.h"
#include "collective/transport/handshake.h"
#include "collective/transport/socket.h"

namespace updraft::collective {

/// Waits until there is something to read; libFuzzer's alarms interrupt it.
inline bool readable(int fd) {
  pollfd wait{fd, POLLIN, 0};
  int n;
  do n = ::poll(&wait, 1, 20000);
  while (n < 0 && errno == EINTR);
  return n == 1;
}

class RawClient {
 public:
  explicit RawClient(int fd) : fd_(fd) {}
  /// Connects to a transport on 127.0.0.1.
  explicit RawClient(const std::string& address) : RawClient(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    Endpoint to =
        make_endpoint("127.0.0.1", static_cast<uint16_t>(std::stoi(address.substr(address.find(' ', 4) + 1))));
    connected_ = ::connect(fd_, to.raw(), to.bytes) == 0;
    set_connection_options(fd_);
  }
  RawClient(const RawClient&) = delete;
  ~RawClient() {
    if (fd_ >= 0) ::close(fd_);
  }
  /// Ends as a process does that has not read all that came: the other end can read what is there, and write no more.
  void reset() {
    const linger none{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    ::close(std::exchange(fd_, -1));
  }

  int fd() const { return fd_; }
  bool connected() const { return connected_; }
  bool write(const void* data, size_t bytes) {
    const char* p = static_cast<const char*>(data);
    while (bytes > 0) {
      const ssize_t n = ::send(fd_, p, bytes, MSG_NOSIGNAL);
      if (n <= 0) return false;
      p += n;
      bytes -= static_cast<size_t>(n);
    }
    return true;
  }
  bool write(const std::string& data) { return write(data.data(), data.size()); }
  /// False at the end of the connection, or when nothing comes for 20 s.
  bool read(void* data, size_t bytes) {
    char* p = static_cast<char*>(data);
    while (bytes > 0) {
      if (!readable(fd_)) return false;
      const ssize_t n = ::recv(fd_, p, bytes, 0);
      if (n <= 0) return false;
      p += n;
      bytes -= static_cast<size_t>(n);
    }
    return true;
  }
  /// True when the other end closes within 20 s, whatever it sends before.
  bool closed() {
    char byte;
    while (true) {
      if (!readable(fd_)) return false;
      if (::recv(fd_, &byte, 1, 0) <= 0) return true;
    }
  }
  bool frame(Frame type, uint64_t a, uint64_t b, const std::string& payload = "") {
    const FrameHeader header{type, static_cast<uint32_t>(payload.size()), a, b};
    return write(&header, sizeof header) && write(payload);
  }

  /// The initiator's side, with what is said of the key and what is really used.
  bool authenticate(const std::string& key, const std::string& used, const std::string& mine,
                    const std::string& theirs) {
    const Hello hello{kMagic, id_of(key), make_nonce()};
    Challenge challenge;
    if (!write(&hello, sizeof hello) || !read(&challenge, sizeof challenge)) return false;
    Proof proof;
    proof.proof = initiator_proof(used, hello.nonce, challenge.nonce, mine, theirs);
    std::memcpy(proof.address.data(), mine.data(), std::min(mine.size(), proof.address.size()));
    Welcome welcome;
    return write(&proof, sizeof proof) && read(&welcome, sizeof welcome) && welcome.status == Welcome::kGoOn;
  }
  /// The acceptor's side, on a connection that came in.
  bool welcome(const std::string& key) {
    Hello hello;
    if (!read(&hello, sizeof hello)) return false;
    Challenge challenge;
    challenge.nonce = make_nonce();
    challenge.proof = acceptor_proof(key, hello.nonce, challenge.nonce);
    Proof proof;
    const Welcome go_on;
    return write(&challenge, sizeof challenge) && read(&proof, sizeof proof) && write(&go_on, sizeof go_on);
  }

 private:
  int fd_;
  bool connected_ = false;
};

/// Something that listens where a transport would.
class RawServer {
 public:
  RawServer() : at_(make_endpoint("127.0.0.1", 0)), fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    [[maybe_unused]] const int code = ::bind(fd_, at_.raw(), at_.bytes) | ::listen(fd_, 16);
    getsockname(fd_, at_.raw(), &at_.bytes);
  }
  RawServer(const RawServer&) = delete;
  ~RawServer() { ::close(fd_); }
  std::string address() const { return fmt::format("tcp 127.0.0.1 {} 0123456789abcdef", at_.port()); }
  int accept() { return readable(fd_) ? ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC) : -1; }

 private:
  Endpoint at_;
  int fd_;
};

}  // namespace updraft::collective
