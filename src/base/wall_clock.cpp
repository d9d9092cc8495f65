#include "base/wall_clock.h"

#include <sys/time.h>

#include <ctime>
#include <mutex>

#include "base/fork.h"

namespace updraft {

namespace {
// The C library locks its time zone, and a forked child would find it locked for ever.
std::mutex g_mutex;
[[maybe_unused]] const bool g_held = (hold_at_fork(HeldAtFork::Clock, g_mutex), true);
}  // namespace

WallClock wall_clock(const char* format) {
  timeval now;
  gettimeofday(&now, nullptr);
  std::lock_guard lock(g_mutex);
  tm parts;
  localtime_r(&now.tv_sec, &parts);
  char text[32];
  return {std::string(text, strftime(text, sizeof text, format, &parts)), now.tv_usec / 1000, now.tv_usec % 1000};
}

}  // namespace updraft
