#include "atc/progress.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace updraft::atc {

Progress::Progress() {
  if (isatty(STDERR_FILENO)) thread_ = std::thread([this] { show(); });
}

Progress::~Progress() {
  if (!thread_.joinable()) return;
  {
    std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Progress::show() {
  using namespace std::chrono_literals;
  int seconds = 0;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, 1s, [this] { return done_; }))
    if (++seconds >= 2) std::fprintf(stderr, "\r\033[K  %s … %d s", what_.load(), seconds);
  if (seconds >= 2) std::fprintf(stderr, "\r\033[K");
}

}  // namespace updraft::atc
