// plog: the log files that CANN tools read. Levels and folders follow the ASCEND_* variables (docs/use/logs.md).
#pragma once
#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <utility>

namespace updraft::log {

enum Level : int { kDebug = 0, kInfo = 1, kWarning = 2, kError = 3, kNone = 4 };

/// What the ASCEND_* variables say. A value that none can have counts as not set.
struct Settings {
  int level = kError;
  std::map<std::string, int> modules;
  bool to_stdout = false;
  bool events = false;
  int files = 10;  ///< of a process in each folder
  std::string folder;
};
Settings read_settings();

/// True when a line of this level and module (ASCENDCL, RUNTIME, OP, HCCL, GE, …) is kept.
bool enabled(Level level, const char* module);
void write(Level level, const char* module, const char* file, int line, std::string_view text);
/// What a device did, of this level, in its own files.
void write_of_device(int device, Level level, const char* module, const char* file, int line, std::string_view text);
/// What happens once in a run, whatever the level is; nothing unless ASCEND_GLOBAL_EVENT_ENABLE=1.
bool events_enabled();
void write_event(const char* module, const char* file, int line, std::string_view text);

template <class... Args>
void line(Level level, const char* module, const char* file, int number, fmt::format_string<Args...> format,
          Args&&... args) {
  if (enabled(level, module)) write(level, module, file, number, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace updraft::log

#define UPDRAFT_EVENT(module, ...)                                                         \
  do {                                                                                     \
    if (::updraft::log::events_enabled())                                                  \
      ::updraft::log::write_event(module, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (false)
#define UPDRAFT_LOG(level, module, ...) \
  ::updraft::log::line(::updraft::log::level, module, __FILE__, __LINE__, __VA_ARGS__)
