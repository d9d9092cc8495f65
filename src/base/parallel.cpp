#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "base/config.h"
#include "base/overflow.h"

#if defined(__clang__)
// clang would bring an OpenMP runtime of its own; these are libgomp's functions (cmake/openmp.cmake).
extern "C" {
int omp_in_parallel();
int omp_get_max_threads();
int omp_get_num_threads();
int omp_get_thread_num();
void omp_set_num_threads(int);
void GOMP_parallel(void (*)(void*), void*, unsigned, unsigned);
}
#else
#include <omp.h>
#endif

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

namespace updraft {
namespace {
thread_local bool t_serial = false;
thread_local int t_threads = 0;

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;  // it cannot see libgomp's barriers
#else
constexpr bool kThreadSanitizer = false;
#endif

// Calls body in each thread of a team.
template <class F>
void run_team(int width, F& body) {
#if defined(__clang__)
  GOMP_parallel([](void* f) { (*static_cast<F*>(f))(); }, &body, static_cast<unsigned>(width), 0);
#else
#pragma omp parallel num_threads(width)
  body();
#endif
}
}  // namespace

SerialSection::SerialSection() : before_(t_serial) { t_serial = true; }
SerialSection::~SerialSection() { t_serial = before_; }

namespace {
std::atomic<bool> g_deterministic{false};
}
void set_deterministic(bool on) { g_deterministic.store(on, std::memory_order_relaxed); }
bool deterministic() { return g_deterministic.load(std::memory_order_relaxed); }

FixedSplit::FixedSplit(bool on) {
  if (!on) return;
  before_ = omp_get_max_threads();
  omp_set_num_threads(kFixedSplit);
}
FixedSplit::~FixedSplit() {
  if (before_) omp_set_num_threads(before_);
}

void set_parallel_threads(int n) {
  t_threads = n;
  omp_set_num_threads(n);  // oneDNN asks OpenMP for its width
}

int library_width() { return omp_in_parallel() ? 1 : omp_get_max_threads(); }

int parallel_width() {
  if (t_serial || omp_in_parallel()) return 1;
  return t_threads > 0 ? t_threads : Config::get().threads;
}

void parallel_for(int64_t n, int64_t grain, FunctionRef<void(int64_t, int64_t)> body) {
  if (n <= 0) return;
  grain = std::max<int64_t>(grain, 1);
  const int64_t grains = (n + grain - 1) / grain;
  const int width = static_cast<int>(std::min<int64_t>(parallel_width(), grains));
  if (width <= 1) {
    body(0, n);
    return;
  }
  std::exception_ptr failure;
  std::mutex mutex;
  auto part = [&, overflow = overflow_flag()](int worker) {
    SerialSection nested;
    OverflowScope scope(overflow);
    const int64_t begin = grains * worker / width * grain;
    const int64_t end = std::min(n, grains * (worker + 1) / width * grain);
    if (begin >= end) return;
    try {
      body(begin, end);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
  };
  if (kThreadSanitizer) {
    // What omp_in_parallel() says elsewhere: oneDNN has one thread inside of a range.
    auto alone = [&](int worker) {
      omp_set_num_threads(1);
      part(worker);
    };
    const int before = omp_get_max_threads();
    std::vector<std::thread> team;
    for (int worker = 1; worker < width; ++worker) team.emplace_back(alone, worker);
    alone(0);
    omp_set_num_threads(before);
    for (auto& thread : team) thread.join();
  } else {
    auto share = [&] {
      // The runtime may give fewer threads than asked for.
      for (int worker = omp_get_thread_num(); worker < width; worker += omp_get_num_threads()) part(worker);
    };
    run_team(width, share);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace updraft
