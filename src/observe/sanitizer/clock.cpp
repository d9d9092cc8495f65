#include "observe/sanitizer/clock.h"

#include <algorithm>

namespace updraft::sanitizer {

void VectorClock::raise(uint32_t slot, uint64_t to) {
  if (slot >= counts_.size()) counts_.resize(slot + 1);
  counts_[slot] = std::max(counts_[slot], to);
}

bool VectorClock::join(const VectorClock& other) {
  bool news = other.blind && !blind;
  blind |= other.blind;
  if (other.counts_.size() > counts_.size()) counts_.resize(other.counts_.size());
  for (size_t i = 0; i < other.counts_.size(); ++i) {
    if (other.counts_[i] <= counts_[i]) continue;
    counts_[i] = other.counts_[i];
    news = true;
  }
  return news;
}

bool ordered(const Moment& a, const Moment& b) {
  if (a.slot == b.slot) return true;
  if (!a.known || !b.known || a.known->blind || b.known->blind) return true;
  return b.known->at(a.slot) >= a.count || a.known->at(b.slot) >= b.count;
}

Clocks::Stream& Clocks::stream(StreamKey key) {
  const auto found = streams_.find(key);
  if (found != streams_.end()) return found->second;
  return streams_.emplace(key, Stream{next_slot_++, 0, {}, nullptr, 0}).first->second;
}

VectorClock Clocks::now(const Stream& stream) const {
  VectorClock clock = stream.known;
  clock.join(host_);
  clock.raise(stream.slot, stream.count);
  return clock;
}

void Clocks::learn(Stream& stream, const VectorClock& what) {
  if (stream.known.join(what)) stream.shared.reset();
}

void Clocks::host_learns(const VectorClock& what) {
  VectorClock seen = what;
  seen.blind = false;  // it is over, whatever it was
  if (!host_.join(seen)) return;
  host_shared_.reset();
  ++host_version_;
}

Moment Clocks::task(StreamKey key) {
  Stream& s = stream(key);
  if (s.host_seen != host_version_) {
    learn(s, host_);
    s.host_seen = host_version_;
  }
  if (!s.shared) s.shared = std::make_shared<const VectorClock>(s.known);
  return {s.slot, ++s.count, s.shared};
}

Moment Clocks::host() {
  const uint64_t count = host_.at(0) + 1;
  if (!host_shared_) host_shared_ = std::make_shared<const VectorClock>(host_);
  const Moment moment{0, count, host_shared_};
  host_.raise(0, count);
  ++host_version_;
  return moment;
}

void Clocks::record(const void* event, StreamKey key) { events_[event] = now(stream(key)); }

void Clocks::wait(const void* event, StreamKey key) {
  if (const auto found = events_.find(event); found != events_.end()) learn(stream(key), found->second);
}

void Clocks::event_reached(const void* event) {
  if (const auto found = events_.find(event); found != events_.end()) host_learns(found->second);
}

void Clocks::stream_reached(StreamKey key) {
  Stream& s = stream(key);
  host_learns(now(s));
  if (!s.known.blind) return;
  s.known.blind = false;
  s.shared.reset();
}

void Clocks::reached(const Moment& moment) {
  if (!moment.known) return;
  VectorClock clock = *moment.known;
  clock.raise(moment.slot, moment.count);
  host_learns(clock);
}

void Clocks::set_notify(const void* notify, StreamKey key) {
  Notify& n = notifies_[notify];
  const VectorClock clock = now(stream(key));
  if (n.wanted.empty()) {
    n.set.push_back(clock);
    return;
  }
  Stream& waits = stream(n.wanted.front());
  n.wanted.pop_front();
  waits.known.blind = false;
  waits.shared.reset();
  learn(waits, clock);
}

void Clocks::take_notify(const void* notify, StreamKey key) {
  Notify& n = notifies_[notify];
  if (!n.set.empty()) {
    learn(stream(key), n.set.front());
    n.set.pop_front();
    return;
  }
  n.wanted.push_back(key);
  wait_for_others(key);
}

void Clocks::write_value(const void* at, StreamKey key, uint64_t value) {
  Value& v = values_[at];
  v.written.join(now(stream(key)));
  v.value = value;
}

void Clocks::await_value(const void* at, StreamKey key, FunctionRef<bool(uint64_t)> met) {
  const auto found = values_.find(at);
  if (found != values_.end() && met(found->second.value)) learn(stream(key), found->second.written);
  else wait_for_others(key);
}

void Clocks::wait_for_others(StreamKey key) {
  Stream& s = stream(key);
  s.known.blind = true;
  s.shared.reset();
}

void Clocks::forget(const void* object) {
  events_.erase(object);
  notifies_.erase(object);
  values_.erase(object);
}

}  // namespace updraft::sanitizer
