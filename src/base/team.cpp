#include "base/team.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <climits>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/pause.h"
#include "base/signals_blocked.h"

namespace updraft {
namespace {

constexpr uint32_t kOpen = 1u << 31, kAwaited = 1u << 30, kInside = kAwaited - 1;

void futex_wait(std::atomic<uint32_t>& word, uint32_t seen) {
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, seen, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<uint32_t>& word, int n) {
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, n, nullptr, nullptr, 0);
}

int64_t now() {
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

void count_down(std::atomic<uint32_t>& count) {
  const uint32_t before = count.fetch_sub(1, std::memory_order_acq_rel);
  if ((before & kAwaited) && (before & kInside) == 1) futex_wake(count, 1);
}

thread_local int64_t t_patience = kTeamPatience;

std::atomic<unsigned> g_forks{0};

unsigned forks() {
  static const int watching = pthread_atfork(nullptr, nullptr, [] { g_forks.fetch_add(1, std::memory_order_relaxed); });
  (void)watching;
  return g_forks.load(std::memory_order_relaxed);
}

}  // namespace

bool spin_until(int64_t nanoseconds, FunctionRef<bool()> reached) {
  const int64_t end = now() + nanoseconds;
  do {
    for (int i = 0; i < 16; ++i) {
      if (reached()) return true;
      pause_briefly();
    }
  } while (now() < end);
  return reached();
}

Team::Team(int most) : most_(most), forks_(forks()), shares_(static_cast<size_t>(most)) {
  const SignalsBlocked blocked;
  try {
    for (int i = 1; i < most_; ++i) threads_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error& e) {
    over_.store(true, std::memory_order_release);
    publish(INT_MAX);
    for (auto& thread : threads_) thread.join();
    throw Error(code::kRtMemoryAllocation, "no thread {} of {} for operators: {} (UPDRAFT_THREADS sets the number)",
                threads_.size() + 1, most_, e.what());
  }
}

bool Team::alive() const { return forks_ == g_forks.load(std::memory_order_relaxed); }

Team::~Team() {
  if (!alive()) {
    for (auto& thread : threads_) thread.detach();
    return;
  }
  over_.store(true, std::memory_order_release);
  publish(INT_MAX);
  for (auto& thread : threads_) thread.join();
}

// A count of others, with kAwaited while somebody sleeps until it is 0.
void Team::wait_for_none(std::atomic<uint32_t>& count) const {
  uint32_t seen = count.load(std::memory_order_acquire);
  auto none = [&] { return ((seen = count.load(std::memory_order_acquire)) & kInside) == 0; };
  if ((seen & kInside) == 0 || spin_until(patience_.load(std::memory_order_relaxed), none)) return;
  seen = count.fetch_or(kAwaited, std::memory_order_acq_rel) | kAwaited;
  while (seen & kInside) {
    futex_wait(count, seen);
    seen = count.load(std::memory_order_acquire);
  }
}

TeamPatience::TeamPatience(int64_t nanoseconds) : before_(std::exchange(t_patience, nanoseconds)) {}
TeamPatience::~TeamPatience() { t_patience = before_; }

void Team::publish(int awake) {
  if (patience_.load(std::memory_order_relaxed) != t_patience) patience_.store(t_patience, std::memory_order_relaxed);
  published_.fetch_add(1);
  if (sleepers_.load() > 0) futex_wake(published_, awake);
}

void Team::run(int64_t n, int width, FunctionRef<void(int64_t, int64_t)> body) {
  width_ = std::min(width, most_);
  for (int64_t i = 0; i < width_; ++i)
    shares_[static_cast<size_t>(i)].range.store(
        range_of(static_cast<uint64_t>(n * i / width_), static_cast<uint64_t>(n * (i + 1) / width_)),
        std::memory_order_relaxed);
  least_ = static_cast<uint64_t>(n / width_ / 8);  // short ranges have their price
  body_ = &body;
  keep_apart();
  state_.store(kOpen, std::memory_order_release);
  publish(static_cast<int>(std::min<int64_t>(n, width_) - 1));
  take_part(0);
  state_.fetch_and(~kOpen, std::memory_order_acq_rel);
  wait_for_none(state_);
}

void Team::take_part(int self) {
  for (int i = 0; i < width_; ++i) {
    Share& share = shares_[static_cast<size_t>((self + i) % width_)];
    int64_t begin, end;
    while (claim(share.range, least_, i == 0 && self < width_, begin, end)) (*body_)(begin, end);
  }
}

bool Team::enter() {
  uint32_t state = state_.load(std::memory_order_relaxed);
  while (state & kOpen)
    if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return true;
  return false;
}

void Team::leave() { count_down(state_); }

void Team::start(void (*part)(void*, int), void* data, int width) {
  part_ = part;
  data_ = data;
  arrived_.store(0, std::memory_order_relaxed);
  remaining_.store(static_cast<uint32_t>(width - 1), std::memory_order_relaxed);
  keep_apart();
  const uint64_t number = published_.load(std::memory_order_relaxed) + 1u;  // only this thread changes it
  region_.store((number & 0xffffffffu) << 32 | static_cast<uint64_t>(width), std::memory_order_release);
  publish(INT_MAX);
}

void Team::finish() { wait_for_none(remaining_); }

void Team::barrier(int width) {
  const uint32_t before = passed_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) + 1 == static_cast<uint32_t>(width)) {
    arrived_.store(0, std::memory_order_relaxed);
    passed_.fetch_add(1);
    if (waiting_.load() > 0) futex_wake(passed_, INT_MAX);
    return;
  }
  auto passed = [&] { return passed_.load(std::memory_order_acquire) != before; };
  if (spin_until(patience_.load(std::memory_order_relaxed), passed)) return;
  waiting_.fetch_add(1);
  while (passed_.load() == before) futex_wait(passed_, before);
  waiting_.fetch_sub(1);
}

// A kernel may wake a thread on the CPU of whoever wakes it, behind that one's own part of the work, with others idle:
// virtual machines that show no shared cache do so most of the time, and two threads take turns instead of sharing. So
// the others may run wherever the caller may, but not where it is.
void Team::keep_apart() {
  constexpr int64_t kInterval = 100'000;  // nanoseconds for each thread: who is moved about gets little done
  const int cpu = sched_getcpu();
  if (cpu == home_ || cpu < 0 || cpu >= CPU_SETSIZE) return;
  const int64_t time = now();
  if (time - looked_ < kInterval * (most_ - 1)) return;
  looked_ = time;
  home_ = cpu;
  cpu_set_t allowed;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2) return;
  CPU_CLR(cpu, &allowed);
  for (auto& thread : threads_) pthread_setaffinity_np(thread.native_handle(), sizeof allowed, &allowed);
}

void Team::work(int self) {
  uint32_t seen = 0;
  auto news = [&] { return published_.load(std::memory_order_acquire) != seen; };
  while (true) {
    if (!spin_until(patience_.load(std::memory_order_relaxed), news)) {
      sleepers_.fetch_add(1);
      while (published_.load() == seen) futex_wait(published_, seen);
      sleepers_.fetch_sub(1);
    }
    seen = published_.load(std::memory_order_acquire);
    if (over_.load(std::memory_order_acquire)) return;
    const uint64_t region = region_.load(std::memory_order_acquire);
    if (region >> 32 == seen) {
      if (static_cast<uint64_t>(self) >= (region & 0xffffffffu)) continue;
      part_(data_, self);
      count_down(remaining_);
    } else if (enter()) {
      take_part(self);
      leave();
    }
  }
}

}  // namespace updraft
