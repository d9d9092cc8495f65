#include "base/parallel.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "base/config.h"
#include "base/overflow.h"
#include "base/team.h"

extern "C" int omp_in_parallel();  // libgomp's; omp.h would bring clang's own runtime (cmake/openmp.cmake)

namespace updraft {
namespace {
thread_local bool t_serial = false;
thread_local int t_threads = 0;
thread_local int t_library = 0;  // what LibraryWidth says
thread_local bool t_inside = false;
thread_local std::unique_ptr<Team> t_team;

// Also in a region of the client's own OpenMP code.
bool inside() { return t_inside || omp_in_parallel(); }
}  // namespace

SerialSection::SerialSection() : before_(t_serial) { t_serial = true; }
SerialSection::~SerialSection() { t_serial = before_; }

namespace {
std::atomic<bool> g_deterministic{false};
}
void set_deterministic(bool on) { g_deterministic.store(on, std::memory_order_relaxed); }
bool deterministic() { return g_deterministic.load(std::memory_order_relaxed); }

LibraryWidth::LibraryWidth(int threads) : before_(t_library) {
  if (threads) t_library = threads;
}
LibraryWidth::~LibraryWidth() { t_library = before_; }
EngineSplit::EngineSplit() : LibraryWidth(deterministic() ? kFixedSplit : Config::get().threads) {}

void set_parallel_threads(int n) { t_threads = n; }

int library_width() {
  if (inside()) return 1;
  return t_library ? t_library : t_threads ? t_threads : Config::get().threads;
}

bool set_inside_team(bool inside) { return std::exchange(t_inside, inside); }

Team& team_of(int width) {
  if (!t_team || t_team->most() < width || !t_team->alive()) {
    t_team.reset();
    t_team = std::make_unique<Team>(std::max(width, t_threads ? t_threads : Config::get().threads));
  }
  return *t_team;
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
  if (width <= 1 || (t_team && !t_team->alive())) {  // a forked child goes on alone
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
  team_of(width).run((n + unit - 1) / unit, width, part);
  if (failure) std::rethrow_exception(failure);
}

void parallel_copy(void* to, const void* from, size_t bytes) {
  constexpr int64_t kPiece = 256 << 10;
  parallel_for(static_cast<int64_t>(bytes), kPiece, [&](int64_t begin, int64_t end) {
    std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin,
                static_cast<size_t>(end - begin));
  });
}

}  // namespace updraft
