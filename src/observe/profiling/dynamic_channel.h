// How `msprof --dynamic=on` talks to a program that runs with PROFILING_MODE=dynamic: lines of text over a local
// socket.
//
//   start OPTIONS   OPTIONS is a JSON object as in PROFILING_OPTIONS, in one line
//   stop
//   quit            a profile that runs is stopped
//
// Each is answered by one line: "ok FOLDER" (PROF_*, of start and stop), or "error TEXT". Who breaks off ends a profile
// that runs. One msprof at a time is served; others are told so and go.
#pragma once
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <cstddef>
#include <cstring>
#include <string>

namespace updraft::profiling {

/// Who enters and starts nothing for that long is sent away.
inline constexpr int kIdleMinutes = 30;
/// Longer lines are refused.
inline constexpr size_t kLongestLine = 1 << 20;

struct DynamicAddress {
  sockaddr_un address{};
  socklen_t size = 0;
};
/// The socket of a process. Its name is abstract: no file is left behind when the process is killed.
inline DynamicAddress dynamic_address(pid_t process) {
  DynamicAddress made;
  made.address.sun_family = AF_UNIX;
  const std::string name = "updraft-msprof-" + std::to_string(process);
  std::memcpy(made.address.sun_path + 1, name.data(), name.size());
  made.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return made;
}

}  // namespace updraft::profiling
