#include "base/overflow.h"

namespace updraft {
namespace {
// No device was ever in saturation mode: the usual case, without a look at the thread's own data.
std::atomic<bool> g_used{false};
thread_local std::atomic<uint32_t>* t_flag = nullptr;
}  // namespace

std::atomic<uint32_t>* overflow_flag() { return g_used.load(std::memory_order_relaxed) ? t_flag : nullptr; }

OverflowScope::OverflowScope(std::atomic<uint32_t>* flag) : before_(overflow_flag()) {
  if (flag) g_used.store(true, std::memory_order_relaxed);
  if (flag != before_) t_flag = flag;
}
OverflowScope::~OverflowScope() {
  if (overflow_flag() != before_) t_flag = before_;
}

}  // namespace updraft
