#include "device/failure_summary.h"

#include <atomic>

#include "base/error.h"

namespace updraft {
namespace {
std::atomic<FailureText> g_make{nullptr};
thread_local bool t_summarising = false;
}  // namespace

void set_failure_text(FailureText make) { g_make = make; }
bool summarising_failure() { return t_summarising; }

std::string failure_summary(const Task& task) noexcept {
  const FailureText make = g_make.load();
  if (!make || t_summarising) return {};
  struct Scope {
    Scope() { t_summarising = true; }
    ~Scope() { t_summarising = false; }
  } scope;
  try {
    ArgumentList list;
    task.arguments(list);
    return list.known() ? make(list.all()) : std::string();
  } catch (...) { return {}; }
}

void rethrow_with_summary(const Task& task) {
  try {
    throw;
  } catch (const Error& e) {
    const std::string summary = failure_summary(task);
    if (summary.empty()) throw;
    throw Error(e.code(), e.text() + summary);
  }
}

}  // namespace updraft
