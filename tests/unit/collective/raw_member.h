// A peer of the rendezvous that does what it wants: it knows the handshake, and frames are its own affair.
#pragma once
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <string>

#include "collective/bootstrap/address.h"
#include "collective/bootstrap/protocol.h"

namespace updraft::collective {

class RawMember {
 public:
  struct Received {
    uint8_t type;
    std::string payload;
  };

  /// Takes over a connected descriptor.
  explicit RawMember(int fd) : fd_(fd) { fcntl(fd_, F_SETFL, fcntl(fd_, F_GETFL) & ~O_NONBLOCK); }
  /// Connects to 127.0.0.1.
  explicit RawMember(uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const Endpoint to = make_endpoint("127.0.0.1", port);
    connected_ = ::connect(fd_, to.raw(), to.bytes) == 0;
  }
  RawMember(const RawMember&) = delete;
  ~RawMember() { close(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  int fd() const { return fd_; }
  bool connected() const { return connected_; }

  bool write(std::string_view data) {
    while (!data.empty()) {
      const ssize_t n = ::send(fd_, data.data(), data.size(), MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      data.remove_prefix(static_cast<size_t>(n));
    }
    return true;
  }
  static std::string frame_of(uint8_t type, std::string_view payload) {
    return Writer().u32(static_cast<uint32_t>(payload.size() + 1)).bytes({reinterpret_cast<char*>(&type), 1}).text() +
           std::string(payload);
  }
  bool frame(uint8_t type, std::string_view payload = "") { return write(frame_of(type, payload)); }

  /// Nothing at the end of the connection, or when nothing comes for 20 s.
  std::optional<Received> read() {
    uint32_t length = 0;
    if (!take(&length, 4) || length == 0 || length > 256u << 20) return {};
    std::string text(length, '\0');
    if (!take(text.data(), length)) return {};
    return Received{static_cast<uint8_t>(text[0]), text.substr(1)};
  }
  /// Reads up to a frame of this type.
  std::optional<std::string> await(uint8_t type) {
    while (auto f = read())
      if (f->type == type) return f->payload;
    return {};
  }
  /// The text with which the root refuses; "" when it closes without a word.
  std::string refusal() {
    const auto payload = await(kRefused);
    return payload ? payload->substr(4) : "";
  }
  /// True when the other end closes within 20 s, whatever it sends before.
  bool closed() {
    while (readable()) {
      char bytes[4096];
      const ssize_t n = ::recv(fd_, bytes, sizeof bytes, 0);
      if (n == 0 || (n < 0 && errno != EINTR)) return true;
    }
    return false;
  }

  /// The member's side.
  void hello(const std::string& key, uint32_t rank, uint32_t ranks) {
    challenge_ = await(kChallenge).value_or(std::string(32, '\0'));
    nonce_ = std::string(32, 'n');
    frame(kHello, Writer()
                      .u32(rank)
                      .u32(ranks)
                      .bytes(nonce_)
                      .bytes(proof_of(key, "member", challenge_, nonce_, rank, ranks))
                      .text());
  }
  bool join(const std::string& key, uint32_t rank, uint32_t ranks) {
    hello(key, rank, ranks);
    const auto answer = read();
    return answer && answer->type == kWelcome &&
           answer->payload == proof_of(key, "root", nonce_, challenge_, rank, ranks);
  }
  /// The root's side, on a connection that came in.
  bool welcome(const std::string& key) {
    const std::string nonce(32, 'r');
    frame(kChallenge, nonce);
    const auto hello = await(kHello);
    if (!hello || hello->size() != 72) return false;
    Reader reader(*hello);
    const uint32_t rank = reader.u32(), ranks = reader.u32();
    const std::string theirs(reader.bytes(32));
    return frame(kWelcome, proof_of(key, "root", theirs, nonce, rank, ranks));
  }

 private:
  bool readable() const {
    pollfd wait{fd_, POLLIN, 0};
    int n;
    do n = ::poll(&wait, 1, 20000);
    while (n < 0 && errno == EINTR);
    return n == 1;
  }
  bool take(void* data, size_t bytes) {
    char* p = static_cast<char*>(data);
    while (bytes > 0) {
      if (!readable()) return false;
      const ssize_t n = ::recv(fd_, p, bytes, 0);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      p += n;
      bytes -= static_cast<size_t>(n);
    }
    return true;
  }

  int fd_;
  bool connected_ = true;
  std::string challenge_, nonce_;
};

/// Something that listens where a root would.
class RawRoot {
 public:
  RawRoot() : fd_(listen_on("127.0.0.1", 0, &port_)) {}
  RawRoot(const RawRoot&) = delete;
  ~RawRoot() { close(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  uint16_t port() const { return port_; }
  int accept() const {
    pollfd wait{fd_, POLLIN, 0};
    while (::poll(&wait, 1, 20000) < 0 && errno == EINTR) {}
    return ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  }

 private:
  uint16_t port_ = 0;
  int fd_;
};

}  // namespace updraft::collective
