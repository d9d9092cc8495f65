// Events: points in streams that can be waited for. Tasks share them, so a client may destroy an event that is
// still on a stream.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "base/error.h"
#include "device/waits/parking.h"

namespace updraft {

class Stream;
class CapturedGraph;
class SharedEvent;

/// Streams park with the generation that they wait for.
class Event : public Parking<uint64_t>, public std::enable_shared_from_this<Event> {
 public:
  /// `shared`: what the processes have in common of an event between them (flag kIpc), which knows no times and no
  /// failures.
  explicit Event(uint32_t flags, std::shared_ptr<SharedEvent> shared = nullptr);
  ~Event() override;
  static constexpr uint32_t kIpc = 0x40;
  /// Null unless the event is one between processes.
  const SharedEvent* shared() const { return shared_.get(); }

  /// Puts a record of this event on the stream.
  void record(Stream& stream);
  /// Makes the stream wait for the latest record, for at most `limit` (zero: for ever), after which it fails with
  /// 107019. An event that was never recorded, or was reset since, does not hold it.
  void wait(Stream& stream, std::chrono::nanoseconds limit = {});
  /// Puts on the stream what makes the event one that was never recorded, unless it is recorded again meanwhile.
  void reset(Stream& stream);
  /// True when there is a record that a wait would wait for.
  bool recorded() const;
  /// True when a wait for the latest record is over at once, in a capture as well.
  bool reached() const;
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
  /// The failure that came with that record, while it is the latest that is done.
  std::optional<Error> failure(uint64_t generation) const;
  bool done(uint64_t generation) const;
  /// Over when `generation` is done; parked: the stream is resumed once it is.
  Arrival arrive(uint64_t generation, Stream& stream, uint64_t ticket, Timer::Clock::time_point limit);
  void forget_record(uint64_t generation);
  void wait_over();

 private:
  /// The capture that the latest record belongs to, while it goes on. With the lock.
  std::shared_ptr<CapturedGraph> capturing() const;
  /// With the lock.
  bool is_done(uint64_t generation) const;

  const uint32_t flags_;
  const std::shared_ptr<SharedEvent> shared_;
  std::condition_variable done_;
  uint64_t recorded_ = 0;  ///< generations put on streams
  uint64_t done_to_ = 0;   ///< this generation and all before it are done
  /// Those that are done before an earlier one, which was put on another stream: who waits for that one still waits.
  std::vector<uint64_t> done_early_;
  uint64_t latest_done_ = 0;
  uint64_t reset_ = 0;  ///< the generation that a reset has undone
  uint64_t time_ = 0;
  uint64_t waits_ = 0;
  std::optional<Error> failure_;
  std::weak_ptr<CapturedGraph> capture_;  ///< recorded last on a captured stream
  uint32_t capture_record_ = 0;           ///< which record of the capture that is
};

}  // namespace updraft
