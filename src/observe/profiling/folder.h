// The folder of a profile, PROF_NNNNNN_TIME_LETTERS, and what says when and where it was made.
#pragma once
#include <string>

#include "observe/profiling/settings.h"

namespace updraft::profiling {

/// ACL_ERROR_PROFILING_FAILURE: there is no profile since it cannot be written. Wrong options have another code.
inline constexpr int kFailure = 500005;

/// Makes PROF_* in `output` and gives its path. Throws 500005.
std::string make_profile_folder(const std::string& output);
/// host/start_info, host/info.json, device_N/start_info.N, device_N/info.json.N, and host/sample.json: the settings.
void write_start(const std::string& folder, const Settings& settings);
/// host/end_info.
void write_end(const std::string& folder, const Settings& settings);

}  // namespace updraft::profiling
