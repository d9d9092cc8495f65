#include "collective/transport/receiver.h"

#include <cstring>
#include <utility>

#include "collective/error.h"

namespace updraft::collective {
namespace {
PeerFailure broken(const char* what, uint64_t number) {
  return {Error(result::kRemote, "it sent {} ({})", what, number), true};
}
}  // namespace

bool Receiver::take_posted(uint64_t tag, Posted& posted) {
  const auto found = tags_.find(tag);
  if (found == tags_.end() || found->second.posted.empty()) return false;
  posted = std::move(found->second.posted.front());
  found->second.posted.pop_front();
  if (found->second.posted.empty()) tags_.erase(found);
  return true;
}

void Receiver::check_size(Posted& posted, size_t bytes, uint64_t tag) {
  if (posted.bytes == bytes) return;
  const PeerFailure failure{Error(result::kPara,
                                  "a message of {} bytes was sent where {} bytes are received (tag {:#x}): the "
                                  "ranks' arguments differ",
                                  bytes, posted.bytes, tag),
                            true};
  mismatched_.push_back(std::exchange(posted, {}));
  throw failure;
}

void Receiver::free_window(size_t bytes) {
  used_ -= window_of(bytes);
  freed_ += window_of(bytes);
  if (freed_ < kEagerWindow / 4) return;
  outbox.push({Frame::Credit, 0, freed_, 0});
  freed_ = 0;
}

void Receiver::accept(uint64_t number, Posted posted) {
  outbox.push({Frame::Ready, 0, number, 0});
  if (posted.bytes == 0) {
    if (posted.done) posted.done(nullptr);
    return;
  }
  active_.emplace(number, Active{std::move(posted), 0});
}

void Receiver::receive(uint64_t tag, void* data, size_t bytes, Completion done) {
  Posted posted{static_cast<char*>(data), bytes, std::move(done)};
  const auto found = tags_.find(tag);
  if (found == tags_.end() || found->second.arrived.empty()) {
    tags_[tag].posted.push_back(std::move(posted));
    return;
  }
  Arrived arrived = std::move(found->second.arrived.front());
  found->second.arrived.pop_front();
  if (found->second.arrived.empty()) tags_.erase(found);
  if (arrived.whole) free_window(arrived.bytes);
  else --waiting_;
  check_size(posted, arrived.bytes, tag);
  if (!arrived.whole) return accept(arrived.number, std::move(posted));
  if (bytes > 0) std::memcpy(data, arrived.payload.get(), bytes);
  if (posted.done) posted.done(nullptr);
}

bool Receiver::take_arrived(uint64_t tag, void* data, size_t bytes, Completion& done) {
  const auto found = tags_.find(tag);
  if (found == tags_.end() || found->second.arrived.empty() || !found->second.arrived.front().whole ||
      found->second.arrived.front().bytes != bytes)
    return false;
  if (bytes > 0) std::memcpy(data, found->second.arrived.front().payload.get(), bytes);
  found->second.arrived.pop_front();
  if (found->second.arrived.empty()) tags_.erase(found);
  if (done) done(nullptr);
  return true;
}

FrameSink::Body Receiver::begin(const FrameHeader& header) {
  header_ = header;
  switch (header.type) {
    case Frame::Eager: {
      if (header.length > kEagerBytes) throw broken("an unannounced message that is too large", header.length);
      if (used_ + window_of(header.length) > kEagerWindow) throw broken("more than its window", header.length);
      used_ += window_of(header.length);
      direct_ = take_posted(header.a, eager_);
      if (direct_) {
        check_size(eager_, header.length, header.a);
        return {eager_.data, header.length};
      }
      payload_ = header.length > 0 ? std::make_unique_for_overwrite<char[]>(header.length) : nullptr;
      return {payload_.get(), header.length};
    }
    case Frame::Announce: {
      if (header.length != 0) throw broken("an announcement with a payload", header.length);
      const uint64_t number = announced_++;
      Posted posted;
      if (take_posted(header.a, posted)) {
        check_size(posted, header.b, header.a);
        accept(number, std::move(posted));
      } else {
        if (++waiting_ > kAnnounced) throw broken("too many announcements", waiting_);
        tags_[header.a].arrived.push_back({header.b, false, nullptr, number});
      }
      return {nullptr, 0};
    }
    case Frame::Data: {
      const auto found = active_.find(header.a);
      if (found == active_.end()) throw broken("data of a message that is not wanted", header.a);
      Active& to = found->second;
      if (header.length == 0 || header.length > to.to.bytes - to.have)
        throw broken("more data than the message has", header.length);
      return {to.to.data + to.have, header.length};
    }
    case Frame::Alive:
      if (header.length != 0) throw broken("a sign of life with a payload", header.length);
      return {nullptr, 0};
    case Frame::Failed:
      if (header.length > kTextBytes) throw broken("a failure with too long a text", header.length);
      return {text_, header.length};
    default: throw broken("a frame of a kind that is not known here", static_cast<uint64_t>(header.type));
  }
}

void Receiver::end() {
  const FrameHeader header = std::exchange(header_, FrameHeader{Frame::Alive});
  switch (header.type) {
    case Frame::Eager:
      if (!direct_ && !take_posted(header.a, eager_)) {
        tags_[header.a].arrived.push_back({header.length, true, std::move(payload_), 0});
        return;
      }
      free_window(header.length);
      if (!direct_) {  // posted while it arrived
        direct_ = true;
        check_size(eager_, header.length, header.a);
        if (header.length > 0) std::memcpy(eager_.data, payload_.get(), header.length);
        payload_.reset();
      }
      direct_ = false;
      if (const Completion done = std::exchange(eager_, {}).done) done(nullptr);
      return;
    case Frame::Data: {
      const auto found = active_.find(header.a);
      found->second.have += header.length;
      if (found->second.have < found->second.to.bytes) return;
      const Completion done = std::move(found->second.to.done);
      active_.erase(found);
      if (done) done(nullptr);
      return;
    }
    case Frame::Failed:
      throw PeerFailure{Error(header.a == result::kPara ? result::kPara : result::kRemote, "it gave up: {}",
                              std::string(text_, header.length)),
                        false};
    default: return;
  }
}

void Receiver::fail(const Error& error, const Error* tell, bool keep_arrived) {
  auto tags = std::exchange(tags_, {});
  auto active = std::exchange(active_, {});
  auto mismatched = std::exchange(mismatched_, {});
  const Posted eager = std::exchange(eager_, {});
  header_ = {Frame::Alive};
  payload_.reset();
  outbox.fail(error, tell);
  if (std::exchange(direct_, false) && eager.done) eager.done(&error);
  for (auto& posted : mismatched)
    if (posted.done) posted.done(&error);
  for (auto& [number, message] : active)
    if (message.to.done) message.to.done(&error);
  for (auto& [tag, waiting] : tags) {
    for (auto& posted : waiting.posted)
      if (posted.done) posted.done(&error);
    if (!keep_arrived) continue;
    std::erase_if(waiting.arrived, [](const Arrived& a) { return !a.whole; });
    if (!waiting.arrived.empty()) tags_[tag].arrived = std::move(waiting.arrived);
  }
}

}  // namespace updraft::collective
