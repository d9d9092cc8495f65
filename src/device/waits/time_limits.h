// Limits of waits and of operators that clients set for the process (aclrtSetOpWaitTimeout, aclrtSetOpExecuteTimeOut*).
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

#include "device/task.h"

namespace updraft {

/// Of waits for events that are put on a stream from now on; zero: none.
std::chrono::nanoseconds wait_limit();
void set_wait_limit(std::chrono::nanoseconds limit);

/// Of one operator; zero: none. An operator on a CPU cannot be stopped from outside: when it has run for longer it
/// fails with 507014 once it ends.
void set_execution_limit(std::chrono::nanoseconds limit);

namespace detail {
extern std::atomic<int64_t> execution_limit;  // nanoseconds
void run_under_limit(Task& task);
}  // namespace detail

/// True where operators have so short a limit that somebody measures: then each runs by itself. Clients set minutes.
inline bool has_close_limit() {
  constexpr int64_t kLong = 10'000'000'000;  // nanoseconds
  const int64_t limit = detail::execution_limit.load(std::memory_order_relaxed);
  return limit != 0 && limit < kLong;
}

/// Runs the task under the limit of operators, if it is one.
inline void run_in_time(Task& task) {
  if (detail::execution_limit.load(std::memory_order_relaxed) == 0) [[likely]]
    task.run();
  else detail::run_under_limit(task);
}

}  // namespace updraft
