#include "collective/transport/sender.h"

#include <utility>

#include "collective/error.h"

namespace updraft::collective {

void Sender::send(uint64_t tag, const void* data, size_t bytes, Completion done) {
  if (bytes <= kEagerBytes && used_ + window_of(bytes) <= kEagerWindow) {
    used_ += window_of(bytes);
    outbox.push({Frame::Eager, static_cast<uint32_t>(bytes), tag, 0}, data, std::move(done));
    return;
  }
  waiting_.emplace(announced_++, Waiting{data, bytes, std::move(done)});
  outbox.push({Frame::Announce, 0, tag, bytes});
}

FrameSink::Body Sender::begin(const FrameHeader& header) {
  const auto broken = [&](const char* what) {
    return PeerFailure{Error(result::kRemote, "it sent {} ({})", what, header.a), true};
  };
  header_ = header;
  if (header.type == Frame::Failed) {
    if (header.length > kTextBytes) throw broken("a failure with too long a text");
    return {text_, header.length};
  }
  if (header.length != 0) throw broken("a frame with an unexpected payload");
  switch (header.type) {
    case Frame::Ready: {
      const auto found = waiting_.find(header.a);
      if (found == waiting_.end()) throw broken("a go-ahead for a message that was not announced");
      Waiting message = std::move(found->second);
      waiting_.erase(found);
      if (message.bytes > 0) outbox.transfer(header.a, message.data, message.bytes, std::move(message.done));
      else if (message.done) message.done(nullptr);
      break;
    }
    case Frame::Credit:
      if (header.a > used_) throw broken("more credit than was used");
      used_ -= header.a;
      break;
    case Frame::Alive: break;
    default: throw broken("a frame of a kind that is not known here");
  }
  return {nullptr, 0};
}

void Sender::end() {
  if (header_.type == Frame::Failed)
    throw PeerFailure{Error(header_.a == result::kPara ? result::kPara : result::kRemote, "it gave up: {}",
                            std::string(text_, header_.length)),
                      false};
}

void Sender::fail(const Error& error, const Error* tell) {
  auto waiting = std::exchange(waiting_, {});
  outbox.fail(error, tell);
  for (auto& [number, message] : waiting)
    if (message.done) message.done(&error);
}

}  // namespace updraft::collective
