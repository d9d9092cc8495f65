// Forked children have one thread and none of the device memory. What would hang or crash there refuses with a
// sentence.
#pragma once
#include <atomic>
#include <mutex>

namespace updraft {

/// Called when a device is opened: children that are forked from now on have no use of it.
void refuse_forked_children();

namespace detail {
extern std::atomic<bool> in_forked_child;
[[noreturn]] void throw_forked();
}  // namespace detail

/// Throws 207000 in a child of a process that had opened a device.
inline void check_not_forked() {
  if (detail::in_forked_child.load(std::memory_order_relaxed)) [[unlikely]]
    detail::throw_forked();
}

/// What a child needs to say why it is refused, in the order in which a thread takes them.
enum class HeldAtFork { Errors, Log, Clock };

/// The mutex is free in forked children: a fork waits for it.
void hold_at_fork(HeldAtFork which, std::mutex& mutex);

/// Called in forked children of a process that had opened a device; only what a signal handler may do.
void at_fork_in_child(void (*action)());

}  // namespace updraft
