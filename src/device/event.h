// Events: points in streams that can be waited for. Tasks share them, so a client may destroy an event that is
// still on a stream.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "base/error.h"

namespace updraft {

class Stream;
class CapturedGraph;

class Event : public std::enable_shared_from_this<Event> {
 public:
  explicit Event(uint32_t flags) : flags_(flags) {}

  /// Puts a record of this event on the stream.
  void record(Stream& stream);
  /// Makes the stream wait for the latest record; an event that was never recorded does not hold it.
  void wait(Stream& stream);
  void reset(Stream& stream);
  /// True when the latest record is done (or there is none).
  bool query() const;
  /// True when every wait that was put on a stream is over.
  bool waits_done() const;
  /// Blocks the host; throws 107019 after timeout_ms (negative: none), or what the recording stream had failed with.
  void synchronize(int32_t timeout_ms = -1);
  /// CLOCK_MONOTONIC ns of the latest completed record; throws 107006 when there is none.
  uint64_t timestamp() const;
  uint32_t flags() const { return flags_; }

  // --- tasks ---
  /// `failure`: what the recording stream had failed with; the streams that wait fail with it, too, so that nothing is
  /// computed from results that were never made.
  void complete(uint64_t generation, const std::optional<Error>& failure);
  /// The failure that came with the latest completed record.
  std::optional<Error> failure() const;
  /// True when `generation` is done; else the stream is resumed once it is.
  bool done_or_park(uint64_t generation, Stream& stream);
  void wait_over();

 private:
  /// The capture that the latest record belongs to, while it goes on. With the lock.
  std::shared_ptr<CapturedGraph> capturing() const;

  const uint32_t flags_;
  mutable std::mutex mutex_;
  std::condition_variable done_;
  uint64_t recorded_ = 0;   ///< generations put on streams
  uint64_t completed_ = 0;  ///< the latest generation that was reached
  uint64_t time_ = 0;
  uint64_t waits_ = 0;
  std::optional<Error> failure_;
  std::weak_ptr<CapturedGraph> capture_;  ///< recorded last on a captured stream
  std::vector<std::pair<uint64_t, Stream*>> parked_;
};

}  // namespace updraft
