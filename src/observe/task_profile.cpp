// UPDRAFT_PROFILE: what the time of a program's tasks goes to, as a table at exit.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/config.h"
#include "device/observer.h"

namespace updraft {
namespace {

class TaskProfile final : public Observer {
 public:
  explicit TaskProfile(std::string path) : path_(std::move(path)) {}

  void task_ended(const TaskEvent& task) override {
    if (task.outcome == Outcome::Skipped || task.outcome == Outcome::Dropped) return;
    if (task.model && task.index < 0) return;  // the tasks of the graph have rows of their own
    // Records and waits take no time of an engine; collectives do work.
    if (task.kind == TaskKind::Control && task.cost.unit == Unit::Other) return;
    std::lock_guard lock(mutex_);
    if (rows_.empty()) first_ = task.begun.monotonic;
    first_ = std::min(first_, task.begun.monotonic);
    last_ = std::max(last_, task.ended.monotonic);
    Row& row = rows_[task.name];
    ++row.count;
    row.nanoseconds += task.ended.monotonic - task.begun.monotonic;
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
    std::sort(rows.begin(), rows.end(), [](auto& a, auto& b) { return a.second.nanoseconds > b.second.nanoseconds; });
    uint64_t busy = 0;
    for (auto& [name, row] : rows) busy += row.nanoseconds;
    std::fprintf(file, "task\tcount\ttotal_ms\tshare_percent\tengine\tflops\tbytes\tGF/s\tGB/s\n");
    for (auto& [name, row] : rows) {
      const double nanoseconds = std::max(static_cast<double>(row.nanoseconds), 1.0);
      std::fprintf(file, "%s\t%ld\t%.6g\t%.1f\t%s\t%.0f\t%.0f\t%.2f\t%.2f\n", name.c_str(), row.count,
                   milliseconds(row.nanoseconds),
                   100 * milliseconds(row.nanoseconds) / std::max(milliseconds(busy), 1e-9), name_of(row.unit),
                   row.flops, row.bytes, row.flops / nanoseconds, row.bytes / nanoseconds);
    }
    // Engines may work at the same time: busy time can exceed the span.
    std::fprintf(file, "# busy %.3f ms in a span of %.3f ms\n", milliseconds(busy), milliseconds(last_ - first_));
    std::fclose(file);
  }

 private:
  struct Row {
    long count = 0;
    uint64_t nanoseconds = 0;
    Unit unit = Unit::Other;
    double flops = 0, bytes = 0;
  };
  static double milliseconds(uint64_t nanoseconds) { return static_cast<double>(nanoseconds) * 1e-6; }

  const std::string path_;
  std::mutex mutex_;
  std::unordered_map<std::string, Row> rows_;
  uint64_t first_ = 0, last_ = 0;
};

/// "%p" becomes the process id: ranks of one program must not overwrite each other's table.
std::string expand(std::string path) {
  const size_t at = path.find("%p");
  if (at != std::string::npos) path.replace(at, 2, std::to_string(getpid()));
  return path;
}

TaskProfile* g_profile = nullptr;  // never freed: engines outlive static destruction

[[maybe_unused]] const bool g_installed = [] {
  at_first_use([] {
    if (Config::get().profile.empty()) return;
    auto profile = std::make_shared<TaskProfile>(expand(Config::get().profile));
    g_profile = profile.get();
    subscribe(std::move(profile), watch::kTasks);
    std::atexit([] { g_profile->write(); });
  });
  return true;
}();

}  // namespace
}  // namespace updraft
