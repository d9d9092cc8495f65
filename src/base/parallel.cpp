#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "base/config.h"
#include "base/overflow.h"
#include "base/team.h"

// libgomp's functions; omp.h would bring clang's own runtime (cmake/openmp.cmake).
extern "C" {
int omp_in_parallel();
int omp_get_max_threads();
void omp_set_num_threads(int);
}

namespace updraft {
namespace {
thread_local bool t_serial = false;
thread_local int t_threads = 0;
thread_local bool t_inside = false;  // in the range of a team
thread_local bool t_engine = false;  // a thread of ours: nobody else's OpenMP code runs in it
thread_local std::unique_ptr<Team> t_team;

// Inside of a team OpenMP code (oneDNN's) has one thread.
bool inside() { return t_inside || (!t_team && omp_in_parallel()); }

// Says so where the team is no OpenMP region.
struct OneOfTeam {
  const int before = kTeamIsRegion ? 0 : omp_get_max_threads();
  OneOfTeam() {
    if (before) omp_set_num_threads(1);
  }
  ~OneOfTeam() {
    if (before) omp_set_num_threads(before);
  }
  OneOfTeam(const OneOfTeam&) = delete;
};
}  // namespace

SerialSection::SerialSection() : before_(t_serial) { t_serial = true; }
SerialSection::~SerialSection() { t_serial = before_; }

namespace {
std::atomic<bool> g_deterministic{false};
}
void set_deterministic(bool on) { g_deterministic.store(on, std::memory_order_relaxed); }
bool deterministic() { return g_deterministic.load(std::memory_order_relaxed); }

LibraryWidth::LibraryWidth(int threads) {
  if (!threads || threads == omp_get_max_threads()) return;
  end_team();  // the number belongs to the region
  before_ = omp_get_max_threads();
  omp_set_num_threads(threads);
}
LibraryWidth::~LibraryWidth() {
  if (!before_) return;
  end_team();
  omp_set_num_threads(before_);
}
EngineSplit::EngineSplit() : LibraryWidth(deterministic() ? kFixedSplit : Config::get().threads) {}

void set_parallel_threads(int n) {
  end_team();
  t_threads = n;
  t_engine = true;
  omp_set_num_threads(n);  // oneDNN asks OpenMP for its width
}

int library_width() {
  end_team();
  return inside() ? 1 : omp_get_max_threads();
}

void end_team() {
  if (t_inside) return;
  if (!t_team) spread_team();  // oneDNN's regions follow each other without a team: nobody else would look
  t_team.reset();
}

void spread_team() {
  constexpr auto kInterval = std::chrono::milliseconds(4);
  thread_local std::chrono::steady_clock::time_point looked;
  const int width = parallel_width();
  if (!t_engine || t_team || width < 2) return;
  const auto now = std::chrono::steady_clock::now();
  if (now - looked < kInterval) return;
  looked = now;
  Team team(width);
}

int parallel_width() {
  if (t_serial || inside()) return 1;
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
  // Ranges of a team are counted in 31 bits.
  const int64_t unit = grain * ((grains >> 31) + 1);
  auto part = [&, overflow = overflow_flag()](int64_t first, int64_t last) {
    SerialSection nested;
    OverflowScope scope(overflow);
    const bool before = std::exchange(t_inside, true);
    try {
      body(first * unit, std::min(n, last * unit));
    } catch (...) {
      std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
    }
    t_inside = before;
  };
  const int team = t_engine ? parallel_width() : width;
  if (t_team && t_team->width() != team) end_team();
  if (!t_team) t_team = std::make_unique<Team>(team);
  {
    OneOfTeam one;
    t_team->run((n + unit - 1) / unit, part);
  }
  if (!t_engine) end_team();  // the client's own OpenMP code is next
  if (failure) std::rethrow_exception(failure);
}

}  // namespace updraft
