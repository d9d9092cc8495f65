// Values in memory that streams write and wait for (aclrtValueWrite, aclrtValueWait).
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>

#include "device/waits/parking.h"

namespace updraft {

/// When 8 bytes of memory are what a stream waits for.
enum class ValueTest : uint32_t { GreaterOrEqual, Equal, And, Nor };

struct ValueCondition {
  const std::atomic<uint64_t>* at;
  uint64_t value;
  ValueTest test;
  std::shared_ptr<const void> owner = nullptr;  ///< of the memory, while somebody waits
  bool met() const;
};

/// Puts a write on the stream, in order with its tasks.
void write_value(Stream& stream, std::atomic<uint64_t>* at, uint64_t value);
/// Makes the stream wait. The memory is looked at when a stream of this process writes a value, and every 20 us to 1 ms
/// for what the host, another process or an operator writes. After `limit` (zero: never) the stream fails with 107019.
void wait_for_value(Stream& stream, const ValueCondition& condition, std::chrono::nanoseconds limit = {});
/// Lets streams go on that wait for what has just been written.
void values_changed();

}  // namespace updraft
