// The time of day as logs and error texts write it.
#pragma once
#include <string>

namespace updraft {

struct WallClock {
  std::string text;  ///< local time by strftime's format
  long milliseconds, microseconds;
};
WallClock wall_clock(const char* format);

}  // namespace updraft
