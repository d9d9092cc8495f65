#include "base/log_to_stdout.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

#include "base/folders.h"
#include "base/fork.h"
#include "base/wall_clock.h"

namespace updraft::log {
namespace {

constexpr size_t kFileBytes = 20u << 20;
constexpr int kFiles = 10;
constexpr const char* kNames[] = {"DEBUG", "INFO", "WARNING", "ERROR", "NULL"};

int parse_level(const char* text, int fallback) {
  if (!text || !*text) return fallback;
  int n = std::atoi(text);
  return n >= 0 && n <= 4 ? n : fallback;
}

std::string log_root() {
  if (const char* p = std::getenv("ASCEND_PROCESS_LOG_PATH"); p && *p) return p;
  if (const char* p = std::getenv("ASCEND_WORK_PATH"); p && *p) return std::string(p) + "/log";
  if (const char* p = std::getenv("HOME"); p && *p) return std::string(p) + "/ascend/log";
  return {};
}

}  // namespace

Settings read_settings() {
  Settings s;
  s.level = parse_level(std::getenv("ASCEND_GLOBAL_LOG_LEVEL"), kError);
  if (const char* text = std::getenv("ASCEND_MODULE_LOG_LEVEL")) {
    std::string rest = text;  // GE=0:RUNTIME=1
    while (!rest.empty()) {
      auto colon = rest.find(':');
      std::string item = rest.substr(0, colon);
      rest = colon == std::string::npos ? "" : rest.substr(colon + 1);
      if (auto equal = item.find('='); equal != std::string::npos)
        s.modules[item.substr(0, equal)] = parse_level(item.c_str() + equal + 1, s.level);
    }
  }
  const char* out = std::getenv("ASCEND_SLOG_PRINT_TO_STDOUT");
  s.to_stdout = out && std::string(out) == "1";
  s.folder = log_root();
  return s;
}

namespace {

Settings& settings() {
  static Settings s = read_settings();
  return s;
}

// A log that cannot be written must never disturb the program: the file is tried once and then given up.
class File {
 public:
  File() { hold_at_fork(HeldAtFork::Log, mutex_); }
  void write(std::string_view text) {
    std::lock_guard lock(mutex_);
    pid_t pid = getpid();
    if (fd_ < 0 || size_ > kFileBytes || pid != pid_) open_next(pid);
    if (fd_ < 0) return;
    ssize_t n = ::write(fd_, text.data(), text.size());
    if (n > 0) size_ += static_cast<size_t>(n);
  }

 private:
  void open_next(pid_t pid) {
    if (failed_) return;
    if (fd_ >= 0 && pid == pid_) close(fd_);
    fd_ = -1;
    size_ = 0;
    pid_ = pid;
    std::string folder = settings().folder.empty() ? "" : settings().folder + "/debug/plog";
    if (folder.empty() || !make_folders(folder, 0750)) {
      failed_ = true;
      return;
    }
    const WallClock now = wall_clock("%Y%m%d%H%M%S");
    std::string path = fmt::format("{}/plog-{}_{}{:03}.log", folder, pid, now.text, now.milliseconds);
    std::string& oldest = paths_[next_++ % kFiles];
    if (!oldest.empty()) unlink(oldest.c_str());
    oldest = path;
    fd_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
    failed_ = fd_ < 0;
  }

  std::mutex mutex_;
  int fd_ = -1;
  pid_t pid_ = 0;
  size_t size_ = 0;
  bool failed_ = false;
  size_t next_ = 0;
  std::string paths_[kFiles];
};

File& plog() {
  static File* file = new File;  // outlives static destruction: threads may still log
  return *file;
}
// Both are made when the library is loaded: were they made at the first line of the log, a fork of another thread just
// then would leave them half made in the child, which waits for them for ever.
[[maybe_unused]] const bool g_made = (settings(), plog(), true);

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
  const char* program = program_invocation_short_name;
  const WallClock now = wall_clock("%Y-%m-%d-%H:%M:%S");
  const char* base = std::strrchr(file, '/');
  std::string entry = fmt::format("[{}] {}({},{}):{}.{:03}.{:03} [{}:{}]{}\n", kNames[level], module, getpid(), program,
                                  now.text, now.milliseconds, now.microseconds, base ? base + 1 : file, line, text);
  if (settings().to_stdout) {
    [[maybe_unused]] ssize_t n = ::write(STDOUT_FILENO, entry.data(), entry.size());
  } else {
    plog().write(entry);
  }
}

}  // namespace updraft::log
