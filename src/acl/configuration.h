// The JSON file that aclInit takes.
#pragma once
#include <string>

namespace updraft {

/// What the file asks for and we do.
struct AclConfiguration {
  int default_device = -1;         ///< defaultDevice.default_device: threads that set none have this one; -1: none
  bool thread_error_text = false;  ///< err_msg_mode 1: aclGetRecentErrMsg tells a thread its own failures only
  std::string dump;                ///< the section "dump" as JSON, empty where there is none
  std::string profiler;            ///< the object "profiler" when its switch is on, as JSON
};

/// Profiling stands outside the levels (src/observe): it says what aclInit and aclFinalize tell it.
struct ProfilerHook {
  /// aclInit: `json` is the file's object "profiler", "" when it asks for none. Throws what aclInit is to return.
  void (*initialize)(const char* file, const std::string& json) = nullptr;
  /// aclFinalize: what initialize() began is over.
  void (*finalize)() = nullptr;
};
void set_profiler_hook(const ProfilerHook& hook);
const ProfilerHook& profiler_hook();

/// Throws what aclInit returns: 100003 when the file cannot be read, 100006 when it is no JSON object or a value is not
/// what its key takes. What dump and profiling ask for is checked by them. Keys that have nothing to change here are
/// accepted; unknown ones are told to the log.
AclConfiguration read_acl_configuration(const char* path);

}  // namespace updraft
