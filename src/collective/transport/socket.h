// Sockets of the transports: non-blocking, closed in programs that the process starts and in children that it forks.
#pragma once
#include <cstdint>
#include <utility>

#include "collective/endpoint.h"

namespace updraft::collective {

/// A descriptor that forked children do not keep: a DataLoader worker that outlives a killed rank would hold the rank's
/// connections open, and nobody would notice its death.
class Descriptor {
 public:
  Descriptor() = default;
  /// Opens by `open()`, which returns a descriptor or -1; no fork comes between that and the note that it is ours.
  template <class Open>
  static Descriptor from(Open&& open) {
    Guard guard;
    return Descriptor(guard.keep(open()));
  }
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void close();
  /// In a forked child, where the number is closed and may be somebody else's by now.
  void forget() { fd_ = -1; }

 private:
  struct Guard {
    Guard();
    ~Guard();
    int keep(int fd);
  };
  explicit Descriptor(int fd) : fd_(fd) {}
  int fd_ = -1;
};

Descriptor open_stream_socket(int family);
/// Throws Error (HCCL_E_TCP_CONNECT) when none of the ports is free; `at` gets the port.
Descriptor listen_at(Endpoint& at, uint16_t first_port, uint16_t ports);
/// Small messages leave at once.
void set_connection_options(int fd);

}  // namespace updraft::collective
