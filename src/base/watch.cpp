#include "base/watch.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <mutex>
#include <vector>

namespace updraft {
namespace {

std::vector<void (*)()>& installers() {
  static auto* list = new std::vector<void (*)()>;
  return *list;
}

uint64_t nanoseconds(clockid_t clock) {
  timespec t;
  clock_gettime(clock, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

thread_local int32_t t_number = 0;

}  // namespace

void at_first_use(void (*install)()) { installers().push_back(install); }

void first_use() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] { t_number = 0; });  // the child's thread is another one
    for (auto* install : installers()) {
      try {
        install();
      } catch (const std::exception& e) {  // the client's call goes on
        std::fprintf(stderr, "updraft: an observer cannot be installed: %s\n", e.what());
      }
    }
    g_watched.fetch_and(~watch::kUndecided);
  });
}

uint32_t watched_bits() {
  uint32_t bits = g_watched.load(std::memory_order_relaxed);
  if (bits & watch::kUndecided) {
    first_use();
    bits = g_watched.load(std::memory_order_relaxed);
  }
  return bits;
}

Stamp stamp(uint32_t bits) {
  return {nanoseconds(CLOCK_MONOTONIC), bits & watch::kRawTimes ? nanoseconds(CLOCK_MONOTONIC_RAW) : 0};
}

int32_t thread_number() {
  if (!t_number) t_number = static_cast<int32_t>(syscall(SYS_gettid));
  return t_number;
}

}  // namespace updraft
