// What the private copies of oneDNN and OpenBLAS call in the place of libgomp (cmake/libraries.cmake and
// third_party/openblas/runtime.c give their calls these names).
// Its regions run in the threads that parallel_for has, so the device has one set of threads, which waits as
// base/team.h says, and not libgomp's, whose number and patience depend on what else the process does.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/team.h"

namespace updraft {
namespace {

/// A loop whose iterations are dealt out: in parts of `chunk`, or (0) one part for each thread.
struct Loop {
  long first = 0, step = 0, count = 0, chunk = 0;
  long next = 0;  ///< iteration
};

struct Region {
  Team* team = nullptr;  ///< null: of one thread
  int index = 0, width = 1;
  bool inside = false;  ///< what set_inside_team() said before
  void (*function)(void*) = nullptr;
  void* data = nullptr;
  Loop loop;
};

/// What this thread is in. Regions within a region have one thread.
struct Regions {
  std::array<Region, 8> all;
  size_t depth = 0;

  Region& enter(const Region& region) {
    if (depth == all.size()) throw Error(code::kAclInternal, "more than {} regions in each other", all.size());
    return all[depth++] = region;
  }
  void leave() { --depth; }
  /// Without one: a region of one thread.
  Region& current() {
    if (depth == 0) all[0] = {};
    return all[depth ? depth - 1 : 0];
  }
};
thread_local Regions t_regions;

void do_part(void* data, int index) {
  const Region& of = *static_cast<const Region*>(data);
  const bool before = set_inside_team(true);
  t_regions.enter({of.team, index, of.width, false, nullptr, nullptr, {}});
  of.function(of.data);
  t_regions.leave();
  set_inside_team(before);
}

bool next_part(Region& region, long* from, long* to) {
  Loop& loop = region.loop;
  if (loop.next >= loop.count) return false;
  long end = loop.next + loop.chunk, following = loop.next + loop.chunk * region.width;
  if (loop.chunk == 0) {
    const long each = loop.count / region.width, more = loop.count % region.width, i = region.index;
    loop.next = i * each + std::min(i, more);
    end = loop.next + each + (i < more);
    following = loop.count;
    if (loop.next == end) return false;
  }
  *from = loop.first + loop.next * loop.step;
  *to = loop.first + std::min(end, loop.count) * loop.step;
  loop.next = following;
  return true;
}

}  // namespace
}  // namespace updraft

#define LIBGOMP(result, name) extern "C" __attribute__((visibility("default"))) result updraft_##name

LIBGOMP(void, GOMP_parallel_start)(void (*function)(void*), void* data, unsigned threads) {
  using namespace updraft;
  const int most = library_width();
  const int width = most == 1 ? 1 : threads ? static_cast<int>(threads) : most;
  if (width == 1) {
    t_regions.enter({});
    return;
  }
  Team& team = team_of(width);
  Region& region = t_regions.enter({&team, 0, width, false, function, data, {}});
  region.inside = set_inside_team(true);
  team.start(do_part, &region, width);
}

LIBGOMP(void, GOMP_parallel_end)() {
  using namespace updraft;
  const Region& region = t_regions.current();
  if (region.team) {
    region.team->finish();
    set_inside_team(region.inside);
  }
  t_regions.leave();
}

LIBGOMP(void, GOMP_parallel)(void (*function)(void*), void* data, unsigned threads, unsigned) {
  updraft_GOMP_parallel_start(function, data, threads);
  function(data);
  updraft_GOMP_parallel_end();
}

LIBGOMP(void, GOMP_barrier)() {
  updraft::Region& region = updraft::t_regions.current();
  if (region.team) region.team->barrier(region.width);
}

LIBGOMP(bool, GOMP_loop_static_start)(long first, long end, long step, long chunk, long* from, long* to) {
  using namespace updraft;
  Region& region = t_regions.current();
  const long count = step > 0 ? (end - first + step - 1) / step : (first - end - step - 1) / -step;
  region.loop = {first, step, std::max(count, 0L), chunk, chunk * region.index};
  return next_part(region, from, to);
}

LIBGOMP(bool, GOMP_loop_static_next)(long* from, long* to) {
  return updraft::next_part(updraft::t_regions.current(), from, to);
}

LIBGOMP(void, GOMP_loop_end_nowait)() {}

LIBGOMP(int, omp_get_max_threads)() { return updraft::library_width(); }
LIBGOMP(int, omp_get_num_threads)() { return updraft::t_regions.current().width; }
LIBGOMP(int, omp_get_thread_num)() { return updraft::t_regions.current().index; }
LIBGOMP(int, omp_in_parallel)() { return updraft::library_width() == 1; }
