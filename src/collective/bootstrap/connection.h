// Framed messages over a stream socket, in the event loop's thread: u32 length (little endian, of what follows), u8
// type, payload.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "collective/bootstrap/event_loop.h"

namespace updraft::collective {

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using OnFrame = std::function<void(uint8_t type, std::string payload)>;
  using OnClose = std::function<void(const std::string& why)>;

  /// Takes over the descriptor (nonblocking, close-on-exec). Call start() once it is in a shared_ptr.
  explicit Connection(int fd) : fd_(fd) {}
  ~Connection();
  void start(OnFrame on_frame, OnClose on_close);

  void send(uint8_t type, const std::string& payload);
  /// Sends what is queued, then closes; neither on_frame nor on_close is called any more. It keeps itself until the
  /// other end has closed, 2 s at most: to close while bytes come in would take back what is still on its way.
  void finish();
  /// Closes at once; on_close is not called.
  void close();
  bool open() const { return fd_ >= 0; }
  /// Longest frame that is taken; a longer one closes the connection. Small until the peer has proven itself.
  void set_limit(uint32_t bytes) { limit_ = bytes; }
  /// "10.0.0.1:4711"
  std::string peer_name() const;

 private:
  void on_events(uint32_t events);
  void flush();
  void discard();
  void fail(const std::string& why);

  int fd_;
  uint32_t limit_ = 4096;
  bool finishing_ = false, writing_ = false;
  std::string in_;
  std::deque<std::string> out_;
  size_t sent_ = 0;     // of the first of out_
  uint64_t timer_ = 0;  // while finishing
  OnFrame on_frame_;
  OnClose on_close_;
};

}  // namespace updraft::collective
