// Saturation mode, as a kernel sees it: where the running task notes that a result overflowed.
#pragma once
#include <atomic>
#include <cstdint>

namespace updraft {

/// The sticky flag of the device whose task this thread works on; null when the device is in INF_NAN mode.
std::atomic<uint32_t>* overflow_flag();
inline bool saturating() { return overflow_flag() != nullptr; }
inline void note_overflow() {
  if (auto* flag = overflow_flag()) flag->store(1, std::memory_order_relaxed);
}

/// While one lives, overflows of this thread go to `flag` (null: INF_NAN mode). parallel_for hands it to its workers.
class OverflowScope {
 public:
  explicit OverflowScope(std::atomic<uint32_t>* flag);
  ~OverflowScope();
  OverflowScope(const OverflowScope&) = delete;

 private:
  std::atomic<uint32_t>* before_;
};

}  // namespace updraft
