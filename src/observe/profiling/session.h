// The profile of a process: at most one at a time, whoever has asked for it.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "observe/profiling/recorder.h"
#include "observe/profiling/settings.h"

namespace updraft::profiling {

/// Where profiles go; a folder PROF_* is made in it by the first start. Throws 100042 when one is prepared already.
void prepare(const std::string& output);
/// Begins to record. Throws 100043 without prepare(), 100042 while one runs, 500005 when the folder cannot be made.
void start(Settings settings);
/// Ends recording, when all that devices have begun is recorded and written. Throws 100043 when none runs.
void stop();
/// What prepare() began is over. A profile that still runs is stopped. Throws 100043 when none was prepared.
void finish();
bool prepared();
bool running();

/// The recorder while a profile runs, else null.
std::shared_ptr<Recorder> recorder();
/// The same without counting: for a quick look whether there is one.
bool recording_markers();

/// What PROFILING_MODE and acl.json ask for: prepares and starts, and stops when the process ends.
void run_until_exit(Settings settings);

/// Told of starts and stops: by `switches`, the bits of what is recorded (0 when it ends).
using Listener = std::function<void(bool start, uint64_t switches, const Settings& settings)>;
/// A profile that runs is told of at once.
void listen(Listener listener);

}  // namespace updraft::profiling
