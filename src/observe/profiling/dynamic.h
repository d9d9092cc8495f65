// PROFILING_MODE=dynamic: the program waits for `msprof --dynamic=on`, which starts and stops its profiles.
#pragma once

namespace updraft::profiling {

/// Begins to wait, in a thread of its own that lives as long as the process. Throws 500005 where it cannot.
void wait_for_msprof();

}  // namespace updraft::profiling
