#include "collective/transport/outbox.h"

#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace updraft::collective {
namespace {
constexpr int kPieces = 64;
constexpr size_t kAtOnce = 4 << 20;  // then the other connections get their turn
}  // namespace

void Outbox::push(const FrameHeader& header, const void* payload, Completion done) {
  frames_.push_back({header, payload, std::move(done), {}});
}

void Outbox::transfer(uint64_t number, const void* data, size_t bytes, Completion done) {
  transfers_.push_back({number, static_cast<const char*>(data), bytes, 0, std::move(done)});
}

void Outbox::next_part() {
  Transfer& t = transfers_.front();
  const size_t bytes = std::min(t.bytes - t.at, kPartBytes);
  const bool last = t.at + bytes == t.bytes;
  push({Frame::Data, static_cast<uint32_t>(bytes), t.number, 0}, t.data + t.at,
       last ? std::move(t.done) : Completion());
  t.at += bytes;
  if (last) transfers_.pop_front();
}

Outbox::Result Outbox::flush(int fd) {
  for (size_t total = 0; total < kAtOnce;) {
    // A part of a large message goes behind the frames of now: what comes later need not wait for the whole of it.
    if (!transfers_.empty() && frames_.size() < 2) next_part();
    if (frames_.empty()) return Result::Drained;
    iovec pieces[kPieces];
    size_t count = 0, skip = written_, wanted = 0;
    const auto add = [&](const void* data, size_t bytes) {
      const size_t n = std::min(skip, bytes);
      skip -= n;
      if (bytes > n) pieces[count++] = {static_cast<char*>(const_cast<void*>(data)) + n, bytes - n};
      wanted += bytes - n;
    };
    for (const Entry& e : frames_) {
      if (count + 2 > kPieces) break;
      add(&e.header, sizeof e.header);
      add(e.payload ? e.payload : e.owned.data(), e.header.length);
    }
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = count;
    const ssize_t n = ::sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno == EAGAIN || errno == EWOULDBLOCK ? Result::Blocked : Result::Broken;
    total += static_cast<size_t>(n);
    written_ += static_cast<size_t>(n);
    while (!frames_.empty() && written_ >= sizeof(FrameHeader) + frames_.front().header.length) {
      written_ -= sizeof(FrameHeader) + frames_.front().header.length;
      const Entry over = std::move(frames_.front());
      frames_.pop_front();
      if (over.done) over.done(nullptr);
    }
    if (static_cast<size_t>(n) < wanted) return Result::Blocked;
  }
  return empty() ? Result::Drained : Result::Blocked;
}

void Outbox::fail(const Error& error, const Error* tell) {
  // A frame that has begun and whose payload is the user's cannot be finished: the other end sees it break off.
  const bool begun = written_ > 0;
  const bool broken = begun && frames_.front().payload;
  std::deque<Entry> frames = std::exchange(frames_, {});
  std::deque<Transfer> transfers = std::exchange(transfers_, {});
  if (begun && !broken) {
    frames_.push_back(std::move(frames.front()));
    frames.pop_front();
  } else {
    written_ = 0;
  }
  if (tell && !broken) {
    Entry e{
        {Frame::Failed, 0, static_cast<uint64_t>(tell->code()), 0}, nullptr, {}, tell->text().substr(0, kTextBytes)};
    e.header.length = static_cast<uint32_t>(e.owned.size());
    frames_.push_back(std::move(e));
  }
  for (const Entry& e : frames)
    if (e.done) e.done(&error);
  for (const Transfer& t : transfers)
    if (t.done) t.done(&error);
}

}  // namespace updraft::collective
