#include "device/waits/time_limits.h"

#include <atomic>

#include "base/error.h"

namespace updraft {
namespace {
std::atomic<int64_t> g_wait{0};  // nanoseconds
}

std::chrono::nanoseconds wait_limit() { return std::chrono::nanoseconds(g_wait.load(std::memory_order_relaxed)); }
void set_wait_limit(std::chrono::nanoseconds limit) { g_wait = limit.count(); }

std::atomic<int64_t> detail::execution_limit{0};
void set_execution_limit(std::chrono::nanoseconds limit) { detail::execution_limit = limit.count(); }

void detail::run_under_limit(Task& task) {
  const std::chrono::nanoseconds limit(execution_limit.load(std::memory_order_relaxed));
  if (limit.count() == 0 || task.kind != TaskKind::Compute || task.composite) {
    task.run();
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  task.run();
  const auto took = std::chrono::steady_clock::now() - begin;
  if (took <= limit) return;
  const auto seconds = [](auto time) { return std::chrono::duration<double>(time).count(); };
  throw Error(
      code::kRtAicoreTimeout,
      "it ran for {:.6f} s, the limit is {:.6f} s (aclrtSetOpExecuteTimeOut sets it; a CPU needs longer than the "
      "card)",
      seconds(took), seconds(limit));
}

}  // namespace updraft
