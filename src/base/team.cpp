#include "base/team.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

// libgomp's entry points for regions that begin in one function and end in another.
extern "C" {
void GOMP_parallel_start(void (*)(void*), void*, unsigned);
void GOMP_parallel_end();
int omp_get_thread_num();
void omp_set_num_threads(int);
}

namespace updraft {
namespace {

constexpr uint32_t kOpen = 1u << 31, kAwaited = 1u << 30, kInside = kAwaited - 1;
// About what waking a thread costs. Longer spins would take the core from the threads that bring the next work.
constexpr int64_t kSpin = 20'000;
constexpr int64_t kMoveInterval = 2'000'000;  // a busy machine moves threads back: do not fight with it

void futex_wait(std::atomic<uint32_t>& word, uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<uint32_t>& word, int n) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, n, nullptr, nullptr, 0);
}

void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

int64_t nanoseconds_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

uint64_t range_of(uint64_t begin, uint64_t end) { return begin << 32 | end; }

// Half of what is left, but not less than `least`, from the front (the owner) or from the back.
bool claim(std::atomic<uint64_t>& range, uint64_t least, bool own, int64_t& begin, int64_t& end) {
  uint64_t seen = range.load(std::memory_order_relaxed);
  while (true) {
    const uint64_t first = seen >> 32, last = seen & 0xffffffffu;
    if (first >= last) return false;
    const uint64_t take = std::min(last - first, std::max((last - first + 1) / 2, least));
    const uint64_t rest = own ? range_of(first + take, last) : range_of(first, last - take);
    if (!range.compare_exchange_weak(seen, rest, std::memory_order_relaxed)) continue;
    begin = static_cast<int64_t>(own ? first : last - take);
    end = static_cast<int64_t>(own ? first + take : last);
    return true;
  }
}

}  // namespace

bool spin_until(int64_t nanoseconds, FunctionRef<bool()> reached) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::nanoseconds(nanoseconds);
  do {
    for (int i = 0; i < 16; ++i) {
      if (reached()) return true;
      pause_briefly();
    }
  } while (Clock::now() < end);
  return reached();
}

Team::Team(int width) : width_(width), process_(getpid()), shares_(static_cast<size_t>(width)) {
  if (const int cpu = sched_getcpu(); cpu >= 0 && static_cast<size_t>(cpu) < kCpus)
    taken_[cpu / 64].store(uint64_t{1} << cpu % 64, std::memory_order_relaxed);
  if (kTeamIsRegion) {
    GOMP_parallel_start(
        [](void* team) {
          if (const int self = omp_get_thread_num()) static_cast<Team*>(team)->work(self);
        },
        this, static_cast<unsigned>(width_));
    return;
  }
  for (int i = 1; i < width_; ++i)
    threads_.emplace_back([this, i] {
      omp_set_num_threads(1);  // what omp_in_parallel() says elsewhere: oneDNN has one thread inside of a range
      work(i);
    });
}

Team::~Team() {
  if (getpid() != process_) {
    for (auto& thread : threads_) thread.detach();
    return;
  }
  over_.store(true, std::memory_order_release);
  published_.fetch_add(1);
  if (sleepers_.load() > 0) futex_wake(published_, width_);
  for (auto& thread : threads_) thread.join();
  if (kTeamIsRegion) GOMP_parallel_end();
}

void Team::run(int64_t n, FunctionRef<void(int64_t, int64_t)> body) {
  const int64_t width = width_;
  for (int64_t i = 0; i < width; ++i)
    shares_[static_cast<size_t>(i)].range.store(
        range_of(static_cast<uint64_t>(n * i / width), static_cast<uint64_t>(n * (i + 1) / width)),
        std::memory_order_relaxed);
  least_ = static_cast<uint64_t>(n / width / 8);  // short ranges have their price
  body_ = &body;
  state_.store(kOpen, std::memory_order_release);
  published_.fetch_add(1);
  if (sleepers_.load() > 0) futex_wake(published_, static_cast<int>(std::min(n, width) - 1));
  take_part(0);
  uint32_t state = state_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  auto alone = [&] { return ((state = state_.load(std::memory_order_acquire)) & kInside) == 0; };
  if ((state & kInside) == 0 || spin_until(kSpin, alone)) return;
  state = state_.fetch_or(kAwaited, std::memory_order_acq_rel) | kAwaited;
  while (state & kInside) {
    futex_wait(state_, state);
    state = state_.load(std::memory_order_acquire);
  }
}

void Team::take_part(int self) {
  for (int i = 0; i < width_; ++i) {
    Share& share = shares_[static_cast<size_t>((self + i) % width_)];
    int64_t begin, end;
    while (claim(share.range, least_, i == 0, begin, end)) (*body_)(begin, end);
  }
}

bool Team::enter() {
  uint32_t state = state_.load(std::memory_order_relaxed);
  while (state & kOpen)
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return true;
  return false;
}

void Team::leave() {
  const uint32_t before = state_.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kAwaited) && (before & kInside) == 1) futex_wake(state_, 1);
}

// Some kernels (of virtual machines that show no shared cache) wake a thread where it slept last, and leave two threads
// that wait for each other on one CPU for good, with others idle: twice the time. Who finds its CPU taken leaves it
// once; where it may run is as before, so the system can still move it.
void Team::settle() {
  const int cpu = sched_getcpu();
  if (cpu < 0 || static_cast<size_t>(cpu) >= kCpus) return;
  const uint64_t bit = uint64_t{1} << cpu % 64;
  if (!(taken_[cpu / 64].fetch_or(bit, std::memory_order_relaxed) & bit)) return;
  thread_local int64_t moved = 0;
  const int64_t now = nanoseconds_now();
  if (now - moved < kMoveInterval) return;
  moved = now;
  cpu_set_t allowed, free;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  free = allowed;
  for (size_t i = 0; i < kCpus; ++i)
    if (taken_[i / 64].load(std::memory_order_relaxed) >> i % 64 & 1) CPU_CLR(i, &free);
  if (CPU_COUNT(&free) == 0) return;
  if (sched_setaffinity(0, sizeof free, &free) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
  if (const int found = sched_getcpu(); found >= 0 && static_cast<size_t>(found) < kCpus)
    taken_[found / 64].fetch_or(uint64_t{1} << found % 64, std::memory_order_relaxed);
}

void Team::work(int self) {
  settle();
  uint32_t seen = 0;
  auto news = [&] { return published_.load(std::memory_order_acquire) != seen; };
  while (true) {
    if (!spin_until(kSpin, news)) {
      sleepers_.fetch_add(1);
      while (published_.load() == seen) futex_wait(published_, seen);
      sleepers_.fetch_sub(1);
    }
    seen = published_.load(std::memory_order_acquire);
    if (over_.load(std::memory_order_acquire)) return;
    if (enter()) {
      take_part(self);
      leave();
    }
  }
}

}  // namespace updraft
