// The threads that share a parallel_for with the thread that called it. Each owns a range of the work and takes from
// the others' ends when its own is done, so nobody waits for a thread that the system has not let run yet.
#pragma once
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "base/parallel.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

namespace updraft {

#if defined(__SANITIZE_THREAD__)
constexpr bool kTeamIsRegion = false;  // it cannot see OpenMP's barriers: std::thread
#else
constexpr bool kTeamIsRegion =
    true;  // the other threads are OpenMP's, lent from the end of one oneDNN call to the next
#endif

class Team {
 public:
  /// Of `width` threads, the calling one included. While it lives the calling thread is in an OpenMP region.
  explicit Team(int width);
  /// Gives the threads back. In a forked child, which has none of them, it does nothing.
  ~Team();
  Team(const Team&) = delete;

  int width() const { return width_; }
  /// Calls body with disjoint ranges that cover [0, n), n < 2^31, one for each thread to begin with.
  void run(int64_t n, FunctionRef<void(int64_t, int64_t)> body);

 private:
  struct alignas(64) Share {
    std::atomic<uint64_t> range{0};  ///< begin << 32 | end
  };
  void work(int self);
  void take_part(int self);
  void settle();
  bool enter();
  void leave();

  const int width_;
  const int process_;
  std::vector<Share> shares_;
  FunctionRef<void(int64_t, int64_t)>* body_ = nullptr;
  uint64_t least_ = 0;

  static constexpr size_t kCpus = 1024;
  std::atomic<uint64_t> taken_[kCpus / 64]{};  ///< CPUs that run a thread of the team

  alignas(64) std::atomic<uint32_t> published_{0};  ///< changes with each piece of work; the others sleep on it
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> over_{false};
  alignas(64) std::atomic<uint32_t> state_{0};  ///< open, awaited, and how many others are inside
  std::vector<std::thread> threads_;
};

/// Before a call of oneDNN: the threads of this thread's team, which stays from one parallel_for to the next, go back
/// to OpenMP, whose one team they are.
void end_team();

/// Moves those of this thread's workers that share a CPU with another of them, or with this thread, to one that none
/// of them uses. Cheap when called often: it looks once in some milliseconds.
void spread_team();

/// Looks for `reached` for about that long, without giving the core away. True when it came.
bool spin_until(int64_t nanoseconds, FunctionRef<bool()> reached);

}  // namespace updraft
