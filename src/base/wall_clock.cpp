#include "base/wall_clock.h"

#include <sys/time.h>

#include <ctime>

namespace updraft {

WallClock wall_clock(const char* format) {
  timeval now;
  gettimeofday(&now, nullptr);
  tm parts;
  localtime_r(&now.tv_sec, &parts);
  char text[32];
  return {std::string(text, strftime(text, sizeof text, format, &parts)), now.tv_usec / 1000, now.tv_usec % 1000};
}

}  // namespace updraft
