// Notifies: a flag that one stream sets and one consumes.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>

#include "device/waits/parking.h"

namespace updraft {

struct Nothing {};

class Notify : public Parking<Nothing>, public std::enable_shared_from_this<Notify> {
 public:
  explicit Notify(uint32_t id) : id_(id) {}
  uint32_t id() const { return id_; }

  /// Puts on the stream what sets the flag, or lets go on who has waited longest.
  void record(Stream& stream);
  /// Puts on the stream what waits for the flag and takes it away, for at most `limit` (zero: for ever).
  void wait(Stream& stream, std::chrono::nanoseconds limit);
  /// Takes the flag away at once.
  void reset();

  // --- tasks ---
  void set();
  /// True when the flag was set; it is taken.
  bool take();
  Arrival arrive(Stream& stream, uint64_t ticket, Timer::Clock::time_point limit);

 private:
  const uint32_t id_;
  bool set_ = false;
};

}  // namespace updraft
