// Who knows of whose work: vector clocks of streams, events and the host, in the order of the calls.
#pragma once
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/parallel.h"

namespace updraft::sanitizer {

/// For each stream (by its slot) how many of its tasks are known to be done. Slot 0 is the host.
class VectorClock {
 public:
  uint64_t at(uint32_t slot) const { return slot < counts_.size() ? counts_[slot] : 0; }
  void raise(uint32_t slot, uint64_t to);
  /// True when something was not known before.
  bool join(const VectorClock& other);

  /// Something was waited for that is not known (another process, a notify that comes later): what is not known to be
  /// ordered may be ordered.
  bool blind = false;

 private:
  std::vector<uint64_t> counts_;
};

/// When a task runs: the number `count` of its slot, after all that `known` tells.
struct Moment {
  uint32_t slot = 0;
  uint64_t count = 0;
  std::shared_ptr<const VectorClock> known;
};

/// True unless the two may run at the same time.
bool ordered(const Moment& a, const Moment& b);

/// A stream: its device and number.
using StreamKey = std::pair<int32_t, int32_t>;

/// All threads of the host count as one: what one of them has waited for, the others know. They tell each other by
/// means that are not seen.
class Clocks {
 public:
  /// The next task of the stream.
  Moment task(StreamKey stream);
  /// Something that the host does itself, at once.
  Moment host();

  void record(const void* event, StreamKey stream);
  void wait(const void* event, StreamKey stream);
  /// The host knows that the latest record is done, that the stream is, that a task is.
  void event_reached(const void* event);
  void stream_reached(StreamKey stream);
  void reached(const Moment& moment);
  /// A flag that one set and one taking share. A stream that takes one before it is set is blind until it is.
  void set_notify(const void* notify, StreamKey stream);
  void take_notify(const void* notify, StreamKey stream);
  /// A value at an address. A stream that waits for another value than the latest is blind.
  void write_value(const void* at, StreamKey stream, uint64_t value);
  void await_value(const void* at, StreamKey stream, FunctionRef<bool(uint64_t)> met);
  void wait_for_others(StreamKey stream);
  void forget(const void* object);

  /// True when the host knows that it is done; all that comes later comes after it.
  bool past(const Moment& moment) const { return host_.at(moment.slot) >= moment.count; }

 private:
  struct Stream {
    uint32_t slot;
    uint64_t count = 0;
    VectorClock known;
    std::shared_ptr<const VectorClock> shared;  ///< a copy of `known`; null: it has changed
    uint64_t host_seen = 0;
  };
  struct Notify {
    std::deque<VectorClock> set;   ///< and not taken yet
    std::deque<StreamKey> wanted;  ///< taken, and not set yet
  };
  struct Value {
    VectorClock written;
    uint64_t value = 0;
  };
  Stream& stream(StreamKey key);
  VectorClock now(const Stream& stream) const;
  void learn(Stream& stream, const VectorClock& what);
  void host_learns(const VectorClock& what);

  std::map<StreamKey, Stream> streams_;
  std::unordered_map<const void*, VectorClock> events_;
  std::unordered_map<const void*, Notify> notifies_;
  std::unordered_map<const void*, Value> values_;
  VectorClock host_;
  std::shared_ptr<const VectorClock> host_shared_;
  uint64_t host_version_ = 1;
  uint32_t next_slot_ = 1;
};

}  // namespace updraft::sanitizer
