// UPDRAFT_PROFILE: what the time of a program's tasks goes to, as a table at exit.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/config.h"
#include "device/device.h"

namespace updraft {
namespace {

using Clock = std::chrono::steady_clock;

class TaskProfile : public TaskObserver {
 public:
  explicit TaskProfile(std::string path) : path_(std::move(path)) {}

  // A thread runs one task at a time.
  void before(Stream&, Task&) override { started() = Clock::now(); }

  void after(Stream&, Task& task) override {
    const Clock::time_point end = Clock::now(), begin = started();
    std::lock_guard lock(mutex_);
    if (rows_.empty()) first_ = begin;
    last_ = end;
    Row& row = rows_[task.name()];
    ++row.count;
    row.time += end - begin;
    row.unit = task.cost.unit;
    row.flops += static_cast<double>(task.cost.flops);
    row.bytes += static_cast<double>(task.cost.bytes);
  }

  void write() {
    std::lock_guard lock(mutex_);
    if (rows_.empty()) return;
    std::FILE* file = std::fopen(path_.c_str(), "w");
    if (!file) {
      std::fprintf(stderr, "updraft: UPDRAFT_PROFILE=%s cannot be written\n", path_.c_str());
      return;
    }
    std::vector<std::pair<std::string, Row>> rows(rows_.begin(), rows_.end());
    std::sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.second.time > b.second.time; });
    Clock::duration busy{};
    for (auto& [name, row] : rows) busy += row.time;
    std::fprintf(file, "task\tcount\ttotal_ms\tshare_percent\tengine\tflops\tbytes\tGF/s\tGB/s\n");
    for (auto& [name, row] : rows) {
      const double nanoseconds = std::max(1e6 * milliseconds(row.time), 1.0);
      std::fprintf(file, "%s\t%ld\t%.3f\t%.1f\t%s\t%.0f\t%.0f\t%.2f\t%.2f\n", name.c_str(), row.count,
                   milliseconds(row.time), 100 * milliseconds(row.time) / std::max(milliseconds(busy), 1e-9),
                   name_of(row.unit), row.flops, row.bytes, row.flops / nanoseconds, row.bytes / nanoseconds);
    }
    // Engines may work at the same time: busy time can exceed the span.
    std::fprintf(file, "# busy %.3f ms in a span of %.3f ms\n", milliseconds(busy), milliseconds(last_ - first_));
    std::fclose(file);
  }

 private:
  struct Row {
    long count = 0;
    Clock::duration time{};
    Unit unit = Unit::Other;
    double flops = 0, bytes = 0;
  };
  static double milliseconds(Clock::duration d) { return std::chrono::duration<double, std::milli>(d).count(); }
  static Clock::time_point& started() {
    thread_local Clock::time_point t;
    return t;
  }

  const std::string path_;
  std::mutex mutex_;
  std::unordered_map<std::string, Row> rows_;
  Clock::time_point first_, last_;
};

/// "%p" becomes the process id: ranks of one program must not overwrite each other's table.
std::string expand(std::string path) {
  const size_t at = path.find("%p");
  if (at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
  return path;
}

TaskProfile* g_profile = nullptr;  // never freed: engines outlive static destruction

[[maybe_unused]] const bool g_installed = [] {
  Device::on_creation([](Device& device) {
    static const bool wanted = [] {
      if (Config::get().profile.empty()) return false;
      g_profile = new TaskProfile(expand(Config::get().profile));
      std::atexit([] { g_profile->write(); });
      return true;
    }();
    if (wanted) device.observe(g_profile);
  });
  return true;
}();

}  // namespace
}  // namespace updraft
