// What observers listen to, as one word: whoever could tell them something asks it first, and pays a load and a branch
// when nobody listens. The observers themselves are in device/observer.h.
#pragma once
#include <atomic>
#include <cstdint>

namespace updraft {

/// What an observer wants, as bits.
namespace watch {
inline constexpr uint32_t kTasks = 1;      ///< begin and end of tasks, and of copies that are no task
inline constexpr uint32_t kArguments = 2;  ///< the arguments of both, and of operator calls
inline constexpr uint32_t kCalls = 4;      ///< calls of the C interface
inline constexpr uint32_t kRawTimes = 8;   ///< CLOCK_MONOTONIC_RAW beside CLOCK_MONOTONIC in every stamp
/// Set by subscribe() while somebody listens who does not want watch::kBrief (device/observer.h): times are taken, and
/// every task is told of when it begins and ends.
inline constexpr uint32_t kFull = 64;
/// Nobody has looked yet whether the environment asks for an observer.
inline constexpr uint32_t kUndecided = 1u << 31;
}  // namespace watch

/// What the observers want together. Written by device/observer.cpp and first_use().
inline constinit std::atomic<uint32_t> g_watched{watch::kUndecided};

/// False when nobody listens to anything. True may also mean that nobody has looked yet: ask watched_bits() then.
inline bool watched() { return g_watched.load(std::memory_order_relaxed) != 0; }
/// What is listened to. Installs what at_first_use() was given before.
uint32_t watched_bits();
/// True when arguments are to be recorded. For tasks that are planned now and run later.
inline bool observing_arguments() { return watched() && (watched_bits() & watch::kArguments); }

/// `install` runs once: at the library's first call or first device, not when it is loaded. For observers that
/// variables of the environment ask for. Called while the library is loaded.
void at_first_use(void (*install)());
/// Runs what at_first_use() was given, when it has not run yet.
void first_use();

/// A moment in ns. What is 0 was not taken.
struct Stamp {
  uint64_t monotonic = 0;  ///< CLOCK_MONOTONIC
  uint64_t raw = 0;        ///< CLOCK_MONOTONIC_RAW, with watch::kRawTimes
};
/// Now, with the clocks that `bits` ask for.
Stamp stamp(uint32_t bits);
/// The same, nothing where those who listen want no times.
inline Stamp wanted_stamp(uint32_t bits) { return bits & watch::kFull ? stamp(bits) : Stamp{}; }

/// The kernel's number of the calling thread.
int32_t thread_number();

}  // namespace updraft
