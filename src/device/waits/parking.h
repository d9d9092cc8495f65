// Where streams wait: for an event, a notify, a value. The entry of a parked stream is its token: who takes it out,
// under the lock of the place, goes on with the stream. That is whoever ends the wait, the timer at the wait's limit,
// or an abort; exactly one of them finds the entry.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "device/stream.h"
#include "device/task.h"
#include "device/waits/timer.h"

namespace updraft {

class ParkingPlace {
 public:
  virtual ~ParkingPlace() = default;
  /// True when the entry was there: the token is the caller's from now on.
  virtual bool take_out(uint64_t ticket) = 0;
};

enum class Arrival : uint8_t { Over, Parked, Late };

/// A place whose entries say what they wait for.
template <class What>
class Parking : public ParkingPlace {
 public:
  bool take_out(uint64_t ticket) override {
    std::lock_guard lock(mutex_);
    return std::erase_if(parked_, [&](const Entry& entry) { return entry.ticket == ticket; }) != 0;
  }

 protected:
  struct Entry {
    uint64_t ticket;
    Stream* stream;
    What what;
  };
  /// With the lock. A stream whose head is being dropped does not park, nor one that comes after its limit.
  Arrival park(uint64_t ticket, Stream& stream, Timer::Clock::time_point limit, What what) {
    if (stream.dropping()) return Arrival::Over;
    if (limit != Timer::Clock::time_point::max() && Timer::Clock::now() >= limit) return Arrival::Late;
    parked_.push_back({ticket, &stream, std::move(what)});
    return Arrival::Parked;
  }

  mutable std::mutex mutex_;
  std::vector<Entry> parked_;
};

/// A control task that waits at a place, for at most `limit` (zero: for ever). After that its stream fails with 107019.
class WaitTask : public Task {
 public:
  Control control(Stream& stream) final;
  bool forget(Stream&) final { return place_->take_out(ticket_); }
  void release() override;

 protected:
  WaitTask(std::shared_ptr<ParkingPlace> place, std::chrono::nanoseconds limit);
  /// True when there is nothing to wait for.
  virtual bool over(Stream& stream) = 0;
  /// The same under the place's lock; parks when there is. The task may be gone as soon as it has parked.
  virtual Arrival arrive(Stream& stream, uint64_t ticket, Timer::Clock::time_point limit) = 0;
  /// The wait is over (not: ran out of time, dropped) and the token is still here.
  virtual void passed(Stream&) {}
  std::chrono::nanoseconds limit() const { return limit_; }

 private:
  const std::shared_ptr<ParkingPlace> place_;
  const uint64_t ticket_;
  const std::chrono::nanoseconds limit_;
  Timer::Key timer_{};
};

}  // namespace updraft
