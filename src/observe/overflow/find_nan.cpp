// UPDRAFT_FIND_NAN (updraft run --find-nan): the program ends at the first operator that makes a number which is not
// finite out of finite ones; what it read and the Python lines that called it are printed.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "base/boundary.h"
#include "observe/dump/names.h"
#include "observe/dump/statistics.h"
#include "observe/overflow/detection.h"

namespace updraft {
namespace {

/// Writes the calling thread's lines "FILE\tLINE\tFUNCTION", the innermost last, or other text; gives its length.
using StackCallback = int (*)(char* to, int size);
std::atomic<StackCallback> g_stack{nullptr};
/// More of a stack is cut off.
constexpr int kStackBytes = 32 << 10;
constexpr int kExitStatus = 1;

std::string take_stack() {
  const StackCallback callback = g_stack.load(std::memory_order_acquire);
  if (!callback) return {};
  std::string text(kStackBytes, '\0');
  const int n = callback(text.data(), kStackBytes);
  text.resize(n > 0 ? static_cast<size_t>(n) : 0);
  text.shrink_to_fit();
  return text;
}

std::string source_line(const std::string& file, int number) {
  std::ifstream in(file);
  std::string line;
  for (int i = 0; i < number && std::getline(in, line); ++i) {}
  if (!in) return {};
  const size_t begin = line.find_first_not_of(" \t");
  return begin == std::string::npos ? std::string() : line.substr(begin);
}

/// The lines as Python's tracebacks write them.
std::string readable(const std::string& stack) {
  std::string text;
  for (size_t begin = 0; begin < stack.size();) {
    const size_t end = std::min(stack.find('\n', begin), stack.size());
    const std::string line = stack.substr(begin, end - begin);
    begin = end + 1;
    const size_t first = line.find('\t'), second = first == std::string::npos ? first : line.find('\t', first + 1);
    if (second == std::string::npos) {
      text += line + "\n";
      continue;
    }
    const std::string file = line.substr(0, first), number = line.substr(first + 1, second - first - 1);
    text += fmt::format("    File \"{}\", line {}, in {}\n", file, number, line.substr(second + 1));
    if (const std::string source = source_line(file, std::atoi(number.c_str())); !source.empty())
      text += "      " + source + "\n";
  }
  return text;
}

std::string figures(const Argument& argument, const std::string& earlier) {
  const TensorArgument* tensor = argument.tensor();
  std::string text = "  " + describe(argument);
  if (tensor) text += ": " + (earlier.empty() ? dump::describe(dump::statistics_of(tensor->view)) : earlier);
  return text + "\n";
}

class FindNan final : public Observer {
 public:
  void task_begun(const TaskEvent& task) override {
    if (!dump::is_operator(task)) return;
    Running running;
    running.before = overflow::look_before(task);
    if (!running.before.finite) return;
    for (const Argument& argument : task.arguments)
      if (argument.direction == Direction::InOut && argument.tensor() && dump::is_input(task, argument))
        running.earlier[&argument - task.arguments.data()] =
            dump::describe(dump::statistics_of(argument.tensor()->view));
    std::lock_guard lock(mutex_);
    running_[task.id] = std::move(running);
  }

  void task_ended(const TaskEvent& task) override {
    Running running;
    bool looked = false;
    {
      std::lock_guard lock(mutex_);
      if (const auto found = running_.find(task.id); found != running_.end()) {
        running = std::move(found->second);
        running_.erase(found);
        looked = task.outcome == Outcome::Done;
      }
    }
    const auto finding = looked ? overflow::look_after(task, running.before) : std::nullopt;
    if (!finding) return forget(task.correlation);
    std::string text = tell(task, *finding, running.earlier);
    // In the thread that called it, its stack is still there.
    if (task.submitter && task.submitter == thread_number()) stop(text, take_stack());
    std::unique_lock lock(mutex_);
    const auto stack = stacks_.find(task.correlation);
    if (stack != stacks_.end() || task.correlation == 0) {
      const std::string known = stack == stacks_.end() ? std::string() : stack->second;
      lock.unlock();
      stop(text, known);
    }
    findings_.emplace(task.correlation, std::move(text));  // the call has not returned yet: it will have the stack
  }

  void call_ended(const ApiCall& call) override {
    if (call.depth || call.code || call.phase == ApiCall::Phase::Plan || !submits(call)) return;
    {
      std::lock_guard lock(mutex_);
      if (ended_.erase(call.correlation)) return;
    }
    std::string stack = take_stack();
    std::unique_lock lock(mutex_);
    if (ended_.erase(call.correlation)) return;
    const auto finding = findings_.find(call.correlation);
    if (finding == findings_.end()) {
      stacks_[call.correlation] = std::move(stack);
      return;
    }
    const std::string text = finding->second;
    lock.unlock();
    stop(text, stack);
  }

  /// What was found and has no stack.
  void finish() {
    std::unique_lock lock(mutex_);
    if (findings_.empty()) return;
    const std::string text = findings_.begin()->second;
    lock.unlock();
    stop(text, {});
  }

 private:
  struct Running {
    overflow::Before before;
    std::map<ptrdiff_t, std::string> earlier;  ///< figures of what is written over, by place
  };

  static bool submits(const ApiCall& call) {
    const std::string_view name = call.name;
    return call.phase == ApiCall::Phase::Launch || name.starts_with("aclop") || name.starts_with("aclmdl") ||
           name.starts_with("Hccl");
  }

  void forget(uint64_t correlation) {
    if (!correlation) return;
    std::lock_guard lock(mutex_);
    if (!stacks_.erase(correlation)) ended_.insert(correlation);
    if (ended_.size() > kMostEnded) ended_.clear();
  }

  static std::string tell(const TaskEvent& task, const overflow::Finding& finding,
                          const std::map<ptrdiff_t, std::string>& earlier) {
    const TensorArgument* output = finding.output ? finding.output->tensor() : nullptr;
    std::string what = "a number that is too large";
    if (output) {
      const dump::Statistics s = dump::statistics_of(output->view);
      if (!s.finite())
        what = s.nan ? fmt::format("{} NaN", s.nan) : fmt::format("{} Inf", s.positive_infinity + s.negative_infinity);
    }
    std::string name = task.name;
    if (*task.node) name += fmt::format(" ({} of graph {})", task.node, task.graph);
    std::string text =
        fmt::format("updraft find-nan: {}, task {} of stream {}, device {}, makes {} out of finite inputs\n", name,
                    task.id, task.stream, task.device, what);
    for (size_t i = 0; i < task.arguments.size(); ++i) {
      const Argument& argument = task.arguments[i];
      const auto was = earlier.find(static_cast<ptrdiff_t>(i));
      if (was != earlier.end()) text += figures(argument, "before it " + was->second);
      if (was == earlier.end() || is_written(argument.direction)) text += figures(argument, {});
    }
    return text;
  }

  [[noreturn]] static void stop(const std::string& text, const std::string& stack) {
    static std::mutex once;
    once.lock();  // the first that is found is told, and nobody goes on
    const std::string lines = readable(stack);
    std::fprintf(stderr, "%s%s%s", text.c_str(), lines.empty() ? "" : "  called from (the innermost last):\n",
                 lines.c_str());
    std::fflush(nullptr);
    _exit(kExitStatus);
  }

  static constexpr size_t kMostEnded = 1 << 20;
  std::mutex mutex_;
  std::unordered_map<uint64_t, Running> running_;
  std::unordered_map<uint64_t, std::string> stacks_;    ///< of calls whose tasks run, by correlation
  std::unordered_map<uint64_t, std::string> findings_;  ///< whose call has not returned
  std::unordered_set<uint64_t> ended_;                  ///< calls that have not returned, all of whose tasks ended well
};

FindNan* g_observer = nullptr;  // never freed: engines outlive static destruction

[[maybe_unused]] const bool g_installed = [] {
  at_first_use([] {
    const char* wanted = std::getenv("UPDRAFT_FIND_NAN");
    if (!wanted || !*wanted || std::string_view(wanted) == "0") return;
    auto observer = std::make_shared<FindNan>();
    g_observer = observer.get();
    subscribe(std::move(observer), watch::kTasks | watch::kArguments | watch::kCalls);
    std::atexit([] { g_observer->finish(); });
  });
  return true;
}();

}  // namespace
}  // namespace updraft

/// Who gives the Python stack of the calling thread (python/updraft/_find_nan.py).
extern "C" UPDRAFT_API void updraft_find_nan_stack(int (*callback)(char* to, int size)) {
  updraft::g_stack.store(callback, std::memory_order_release);
}
