#include "collective/bootstrap/connection.h"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/log.h"
#include "collective/bootstrap/address.h"

namespace updraft::collective {

namespace {
constexpr auto kLinger = std::chrono::seconds(2);
}

Connection::~Connection() {
  if (fd_ >= 0) close();
}

void Connection::start(OnFrame on_frame, OnClose on_close) {
  on_frame_ = std::move(on_frame);
  on_close_ = std::move(on_close);
  EventLoop::get().add(fd_, EPOLLIN | EPOLLRDHUP, [weak = weak_from_this()](uint32_t events) {
    if (auto self = weak.lock()) self->on_events(events);
  });
}

void Connection::send(uint8_t type, const std::string& payload) {
  if (fd_ < 0 || finishing_) return;
  std::string frame(5, '\0');
  const auto length = static_cast<uint32_t>(payload.size() + 1);
  std::memcpy(frame.data(), &length, 4);
  frame[4] = static_cast<char>(type);
  frame += payload;
  out_.push_back(std::move(frame));
  flush();
}

void Connection::finish() {
  if (fd_ < 0 || finishing_) return;
  finishing_ = true;
  on_frame_ = nullptr;
  on_close_ = nullptr;
  timer_ = EventLoop::get().at(EventLoop::Clock::now() + kLinger, [self = shared_from_this()] {
    self->timer_ = 0;
    self->close();
  });
  flush();
  if (out_.empty()) shutdown(fd_, SHUT_WR);
}

void Connection::close() {
  if (fd_ < 0) return;
  if (!EventLoop::get().usable()) {  // closed already, the number may be another's
    fd_ = -1;
    return;
  }
  std::shared_ptr<Connection> keep;
  if (timer_) {
    keep = shared_from_this();
    EventLoop::get().cancel(std::exchange(timer_, 0));
  }
  EventLoop::get().remove(fd_);
  ::close(std::exchange(fd_, -1));
  on_frame_ = nullptr;
  on_close_ = nullptr;
}

void Connection::fail(const std::string& why) {
  if (fd_ < 0) return;
  auto keep = shared_from_this();
  auto on_close = std::move(on_close_);
  close();
  if (on_close) on_close(why);
}

void Connection::flush() {
  while (!out_.empty()) {
    const std::string& first = out_.front();
    ssize_t n = ::send(fd_, first.data() + sent_, first.size() - sent_, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break;
    if (n < 0) {
      // The other end has gone, and what it said last (its farewell, mostly) may wait here unread: the event that
      // follows reads it and then finds the end.
      UPDRAFT_LOG(kDebug, "HCCL", "a frame to {} is lost: {}", peer_name(), std::strerror(errno));
      shutdown(fd_, SHUT_RDWR);
      out_.clear();
      sent_ = 0;
      break;
    }
    sent_ += static_cast<size_t>(n);
    if (sent_ == first.size()) {
      out_.pop_front();
      sent_ = 0;
    }
  }
  if (writing_ != !out_.empty()) {
    writing_ = !out_.empty();
    EventLoop::get().modify(fd_, EPOLLIN | EPOLLRDHUP | (writing_ ? EPOLLOUT : 0u));
  }
}

void Connection::on_events(uint32_t events) {
  auto keep = shared_from_this();
  if (events & EPOLLOUT) {
    flush();
    if (finishing_ && out_.empty()) shutdown(fd_, SHUT_WR);
  }
  if (!(events & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR))) return;
  char buffer[16 << 10];
  while (fd_ >= 0) {
    if (finishing_) return discard();
    ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) {
      fail(n == 0 ? "the connection was closed" : std::strerror(errno));
      return;
    }
    in_.append(buffer, static_cast<size_t>(n));
    size_t at = 0;
    while (fd_ >= 0 && !finishing_ && in_.size() - at >= 5) {
      uint32_t length;
      std::memcpy(&length, in_.data() + at, 4);
      if (length == 0 || length > limit_) {
        fail("a frame of " + std::to_string(length) + " bytes is not allowed here");
        return;
      }
      if (in_.size() - at - 4 < length) break;
      auto type = static_cast<uint8_t>(in_[at + 4]);
      std::string payload = in_.substr(at + 5, length - 1);
      at += 4 + size_t{length};
      auto on_frame = on_frame_;
      if (on_frame) on_frame(type, std::move(payload));
    }
    in_.erase(0, at);
  }
}

void Connection::discard() {
  char buffer[4 << 10];
  const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);  // what is left comes with the next event
  if (n == 0 || (n < 0 && errno != EINTR && errno != EAGAIN && errno != EWOULDBLOCK)) close();
}

std::string Connection::peer_name() const { return fd_ < 0 ? "a closed connection" : peer_endpoint(fd_).text(); }

}  // namespace updraft::collective
