// The threads that share work with the thread that called it: ranges of a parallel_for, of which each owns some and
// takes from the others' ends when its own is done, so nobody waits for a thread that the system has not let run yet;
// and regions of oneDNN and OpenBLAS (base/openmp.cpp), in which each thread has its part.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/parallel.h"

namespace updraft {

class Team {
 public:
  /// Of up to `most` threads, the calling one included. Throws 207001 where the system gives no more threads.
  explicit Team(int most);
  /// Ends the threads. In a forked child, which has none of them, it does nothing.
  ~Team();
  Team(const Team&) = delete;

  /// Threads, the calling one included.
  int most() const { return most_; }
  /// False in a forked child.
  bool alive() const;

  /// Calls body with disjoint ranges that cover [0, n), n < 2^31, one for each of `width` threads to begin with.
  void run(int64_t n, int width, FunctionRef<void(int64_t, int64_t)> body);

  /// Calls part(data, index) in the threads 1 to width - 1, each at once; the caller does part 0 itself and then waits
  /// in finish(). Nothing else runs in between.
  void start(void (*part)(void* data, int index), void* data, int width);
  void finish();
  /// In a part: waits until all `width` threads are here.
  void barrier(int width);

 private:
  struct alignas(64) Share {
    std::atomic<uint64_t> range{0};  ///< begin << 32 | end
  };
  void work(int self);
  void wait_for_none(std::atomic<uint32_t>& count) const;
  void take_part(int self);
  bool enter();
  void leave();
  void publish(int awake);
  void keep_apart();

  const int most_;
  const unsigned forks_;
  int home_ = -1;       ///< the CPU that is left to the caller
  int64_t looked_ = 0;  ///< when it was chosen, in nanoseconds
  std::vector<Share> shares_;
  FunctionRef<void(int64_t, int64_t)>* body_ = nullptr;
  uint64_t least_ = 0;
  int width_ = 1;  ///< of the ranges

  void (*part_)(void*, int) = nullptr;
  void* data_ = nullptr;
  std::atomic<uint64_t> region_{0};  ///< the value of published_ that it belongs to << 32 | width

  alignas(64) std::atomic<uint32_t> published_{0};  ///< changes with each piece of work; the others sleep on it
  std::atomic<uint32_t> sleepers_{0};
  std::atomic<bool> over_{false};
  std::atomic<int64_t> patience_{kTeamPatience};
  alignas(64) std::atomic<uint32_t> state_{0};      ///< open, awaited, and how many others are inside
  alignas(64) std::atomic<uint32_t> remaining_{0};  ///< awaited, and how many others have not ended their part
  alignas(64) std::atomic<uint32_t> arrived_{0};
  std::atomic<uint32_t> passed_{0};  ///< barriers
  std::atomic<uint32_t> waiting_{0};
  std::vector<std::thread> threads_;
};

/// This thread's team, of `width` threads at least; it stays from one call to the next.
Team& team_of(int width);

/// While one lives, this thread's team, and this thread where it waits for it, look so many nanoseconds for what comes
/// before they sleep: for calculations that consist of many short regions.
class TeamPatience {
 public:
  explicit TeamPatience(int64_t nanoseconds);
  ~TeamPatience();
  TeamPatience(const TeamPatience&) = delete;

 private:
  int64_t before_;
};

/// Says whether this thread does a part of a range or a region: whatever it calls then has one thread. Returns what was
/// said before.
bool set_inside_team(bool inside);

/// Looks for `reached` for about that long, without giving the core away. True when it came.
bool spin_until(int64_t nanoseconds, FunctionRef<bool()> reached);

}  // namespace updraft
