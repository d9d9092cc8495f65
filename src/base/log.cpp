#include "base/log_to_stdout.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/folders.h"
#include "base/fork.h"
#include "base/wall_clock.h"

namespace updraft::log {
namespace {

constexpr size_t kFileBytes = 20u << 20;
constexpr const char* kConfiguration = "/var/log/npu/conf/slog/slog.conf";
constexpr const char* kModules[] = {"ADUMP", "APP",   "ASCENDCL", "FE",        "FMK",     "GE",
                                    "HCCL",  "IDEDD", "OP",       "PROFILING", "RUNTIME", "TDT"};

/// The number in a text that is one and lies in the range, else `otherwise`.
int number_in(const char* text, int least, int most, int otherwise) {
  if (!text) return otherwise;
  int n = 0;
  const char* end = text + std::strlen(text);
  const auto [rest, error] = std::from_chars(text, end, n);
  return error == std::errc() && rest == end && n >= least && n <= most ? n : otherwise;
}

/// What stands where a level is wanted and is none.
std::vector<std::string>& not_levels() {
  static auto* all = new std::vector<std::string>;
  return *all;
}

/// The level in a text, `otherwise` where there is none.
int level_in(const char* text, int otherwise, const std::string& where) {
  constexpr int kWrong = -1;
  const int n = number_in(text, kDebug, kNone, kWrong);
  if (n == kWrong && text && *text) not_levels().push_back(where + text);
  return n == kWrong ? otherwise : n;
}

std::string log_root() {
  if (const char* p = std::getenv("ASCEND_PROCESS_LOG_PATH"); p && *p) return p;
  if (const char* p = std::getenv("ASCEND_WORK_PATH"); p && *p) return std::string(p) + "/log";
  if (const char* p = std::getenv("HOME"); p && *p) return std::string(p) + "/ascend/log";
  return {};
}

/// LogAgentMaxFileNum of the host's configuration, where there is one.
int configured_files(int otherwise) {
  std::ifstream file(kConfiguration);
  for (std::string line; std::getline(file, line);) {
    std::erase_if(line, [](unsigned char c) { return std::isspace(c); });
    constexpr std::string_view kKey = "LogAgentMaxFileNum=";
    if (line.starts_with(kKey)) return number_in(line.c_str() + kKey.size(), 1, 1000, otherwise);
  }
  return otherwise;
}

}  // namespace

Settings read_settings() {
  Settings s;
  s.level = level_in(std::getenv("ASCEND_GLOBAL_LOG_LEVEL"), kError, "ASCEND_GLOBAL_LOG_LEVEL=");
  if (const char* text = std::getenv("ASCEND_MODULE_LOG_LEVEL")) {
    std::string rest = text;  // GE=0:RUNTIME=1
    while (!rest.empty()) {
      auto colon = rest.find(':');
      std::string item = rest.substr(0, colon);
      rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
      if (auto equal = item.find('='); equal != std::string::npos)
        s.modules[item.substr(0, equal)] =
            level_in(item.c_str() + equal + 1, s.level, "ASCEND_MODULE_LOG_LEVEL=" + item.substr(0, equal + 1));
    }
  }
  s.to_stdout = number_in(std::getenv("ASCEND_SLOG_PRINT_TO_STDOUT"), 0, 1, 0) == 1;
  s.events = number_in(std::getenv("ASCEND_GLOBAL_EVENT_ENABLE"), 0, 1, 0) == 1;
  s.files = number_in(std::getenv("ASCEND_HOST_LOG_FILE_NUM"), 1, 1000, configured_files(s.files));
  s.folder = log_root();
  return s;
}

namespace {

Settings& settings() {
  static Settings s = read_settings();
  return s;
}

/// Where a variable says where the log goes, somebody wants it. Told once a process, on stderr; it is called with the
/// lock of the files.
void tell_unwritable(const std::string& what, int why) {
  static bool told = false;
  if (told) return;
  told = true;
  const char* chosen = std::getenv("ASCEND_PROCESS_LOG_PATH");
  const char* variable = chosen && *chosen ? "ASCEND_PROCESS_LOG_PATH" : "ASCEND_WORK_PATH";
  const char* path = std::getenv(variable);
  if (!path || !*path) return;
  const std::string line = fmt::format("updraft: the log is not written, the program goes on: {}: {} ({})\n", what,
                                       std::strerror(why), variable);
  [[maybe_unused]] ssize_t n = ::write(STDERR_FILENO, line.data(), line.size());
}

// A log that cannot be written must never disturb the program: the file is tried once and then given up.
class File {
 public:
  /// The files folder/PREFIX-<pid>_<time>.log below the log's root.
  File(std::string folder, const char* prefix) : folder_(std::move(folder)), prefix_(prefix) {}
  void write(std::string_view text) {
    const pid_t pid = getpid();
    if (fd_ < 0 || size_ > kFileBytes || pid != pid_) open_next(pid);
    if (fd_ < 0) return;
    ssize_t n = ::write(fd_, text.data(), text.size());
    if (n > 0) size_ += static_cast<size_t>(n);
    else if (n < 0) tell_unwritable(paths_.back(), errno);
  }

 private:
  void open_next(pid_t pid) {
    if (failed_) return;
    if (pid != pid_) paths_.clear();  // those of the parent stay
    if (fd_ >= 0 && pid == pid_) close(fd_);
    fd_ = -1;
    size_ = 0;
    pid_ = pid;
    const std::string& root = settings().folder;
    const std::string folder = root.empty() ? "" : root + "/" + folder_;
    if (folder.empty() || !make_folders(folder, 0750)) {
      failed_ = true;
      if (!folder.empty()) tell_unwritable(folder, errno);
      return;
    }
    if (paths_.size() >= static_cast<size_t>(settings().files)) {
      unlink(paths_.front().c_str());
      paths_.pop_front();
    }
    const WallClock now = wall_clock("%Y%m%d%H%M%S");
    paths_.push_back(fmt::format("{}/{}-{}_{}{:03}.log", folder, prefix_, pid, now.text, now.milliseconds));
    fd_ = ::open(paths_.back().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    failed_ = fd_ < 0;
    if (failed_) tell_unwritable(paths_.back(), errno);
  }

  const std::string folder_;
  const char* const prefix_;
  int fd_ = -1;
  pid_t pid_ = 0;
  size_t size_ = 0;
  bool failed_ = false;
  std::deque<std::string> paths_;
};

/// All files of the process, behind one lock: lines are few.
class Files {
 public:
  Files() { hold_at_fork(HeldAtFork::Log, mutex_); }
  void plog(std::string_view text) {
    std::lock_guard lock(mutex_);
    plog_.write(text);
  }
  void event(std::string_view text) {
    std::lock_guard lock(mutex_);
    events_.write(text);
  }
  void device(int device, std::string_view text) {
    std::lock_guard lock(mutex_);
    devices_.try_emplace(device, fmt::format("debug/device-{}", device), "device").first->second.write(text);
  }

 private:
  std::mutex mutex_;
  File plog_{"debug/plog", "plog"}, events_{"run/plog", "plog"};
  std::map<int, File> devices_;
};

Files& files() {
  static Files* all = new Files;  // outlives static destruction: threads may still log
  return *all;
}

std::string entry(const char* level, const char* module, const char* file, int line, std::string_view text) {
  const WallClock now = wall_clock("%Y-%m-%d-%H:%M:%S");
  const char* base = std::strrchr(file, '/');
  return fmt::format("[{}] {}({},{}):{}.{:03}.{:03} [{}:{}]{}\n", level, module, getpid(),
                     program_invocation_short_name, now.text, now.milliseconds, now.microseconds,
                     base ? base + 1 : file, line, text);
}

/// True when the line went to the screen.
bool printed(std::string_view line) {
  if (!settings().to_stdout) return false;
  [[maybe_unused]] ssize_t n = ::write(STDOUT_FILENO, line.data(), line.size());
  return true;
}

constexpr const char* kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR", "NULL"};

void name_what_is_wrong() {
  for (const std::string& text : not_levels())
    write(kWarning, "APP", __FILE__, __LINE__, fmt::format("{} is not a level, want 0 to 4", text));
  for (const auto& [name, level] : settings().modules)
    if (std::ranges::find(kModules, name) == std::end(kModules))
      write(kWarning, "APP", __FILE__, __LINE__,
            fmt::format("ASCEND_MODULE_LOG_LEVEL names {}, a module that writes nothing here (these do: {})", name,
                        fmt::join(kModules, ", ")));
}

// All is made when the library is loaded: were it made at the first line of the log, a fork of another thread just then
// would leave it half made in the child, which waits for it for ever.
[[maybe_unused]] const bool g_made = (settings(), files(), name_what_is_wrong(), true);

}  // namespace

void print_from(Level level) {
  settings().level = level;
  settings().modules.clear();
  settings().to_stdout = true;
}

bool enabled(Level level, const char* module) {
  const Settings& s = settings();
  if (s.modules.empty()) return level >= s.level;
  auto it = s.modules.find(module);
  return level >= (it == s.modules.end() ? s.level : it->second);
}

void write(Level level, const char* module, const char* file, int line, std::string_view text) {
  const std::string made = entry(kNames[level], module, file, line, text);
  if (!printed(made)) files().plog(made);
}

void write_of_device(int device, Level level, const char* module, const char* file, int line, std::string_view text) {
  if (!enabled(level, module)) return;
  const std::string made = entry(kNames[level], module, file, line, text);
  if (!printed(made)) files().device(device, made);
}

bool events_enabled() { return settings().events; }

void write_event(const char* module, const char* file, int line, std::string_view text) {
  const std::string made = entry("EVENT", module, file, line, text);
  if (!printed(made)) files().event(made);
}

}  // namespace updraft::log
