// Limits of waits and of operators that clients set for the process (aclrtSetOpWaitTimeout, aclrtSetOpExecuteTimeOut*).
#pragma once
#include <chrono>

#include "device/task.h"

namespace updraft {

/// Of waits for events that are put on a stream from now on; zero: none.
std::chrono::nanoseconds wait_limit();
void set_wait_limit(std::chrono::nanoseconds limit);

/// Of one operator; zero: none. An operator on a CPU cannot be stopped from outside: when it has run for longer it
/// fails with 507014 once it ends.
std::chrono::nanoseconds execution_limit();
void set_execution_limit(std::chrono::nanoseconds limit);

/// Runs the task under the limit of operators, if it is one.
void run_in_time(Task& task);

}  // namespace updraft
