// Host functions that hold a stream until a flag is set, or set one: aclrtLaunchCallback's and their kin's argument is
// an std::atomic<bool>.
#pragma once
#include <atomic>
#include <chrono>
#include <thread>

inline void until(const std::atomic<bool>& flag) {
  while (!flag) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}
inline void wait_for_flag(void* flag) { until(*static_cast<std::atomic<bool>*>(flag)); }
inline void set_flag(void* flag) { *static_cast<std::atomic<bool>*>(flag) = true; }
