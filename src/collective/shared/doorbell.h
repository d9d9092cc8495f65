// What a communicator's thread sleeps on: a futex in memory that processes share.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>

namespace updraft::collective {

struct alignas(64) Doorbell {
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleeping{0};

  /// Read before looking at what one waits for; pass it to wait().
  uint32_t read() const { return value.load(std::memory_order_acquire); }

  void ring() {
    value.fetch_add(1, std::memory_order_seq_cst);
    if (sleeping.load(std::memory_order_seq_cst)) syscall(SYS_futex, &value, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  }

  /// Returns when the bell was rung after `seen` was read, or after `timeout` (negative: none), or for no reason.
  void wait(uint32_t seen, std::chrono::nanoseconds timeout) {
    sleeping.store(1, std::memory_order_seq_cst);
    if (value.load(std::memory_order_seq_cst) == seen) {
      timespec t{static_cast<time_t>(timeout.count() / 1'000'000'000),
                 static_cast<long>(timeout.count() % 1'000'000'000)};
      syscall(SYS_futex, &value, FUTEX_WAIT, seen, timeout.count() < 0 ? nullptr : &t, nullptr, 0);
    }
    sleeping.store(0, std::memory_order_relaxed);
  }
};

}  // namespace updraft::collective
