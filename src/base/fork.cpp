#include "base/fork.h"

#include <pthread.h>

#include "base/error.h"

namespace updraft {

std::atomic<bool> detail::in_forked_child{false};

void detail::throw_forked() {
  throw Error(
      code::kRtFeatureNotSupport,
      "this process was forked from one that uses devices, whose threads and memory it does not have: start "
      "processes by spawn (multiprocessing.set_start_method(\"spawn\")), or fork before the first device is used");
}

namespace {

constexpr int kMost = 8;
std::mutex g_mutex;
std::mutex* g_held[3];  // by HeldAtFork
void (*g_actions[kMost])();
int g_children = 0;
std::atomic<bool> g_opened{false};

void before() {
  g_mutex.lock();
  for (std::mutex* mutex : g_held)
    if (mutex) mutex->lock();
}
void after() {
  for (std::mutex* mutex : g_held)
    if (mutex) mutex->unlock();
  g_mutex.unlock();
}
void in_child() {
  after();
  if (!g_opened) return;
  detail::in_forked_child = true;
  for (int i = 0; i < g_children; ++i) g_actions[i]();
}

void watch() {
  static const int watching = pthread_atfork(before, after, in_child);
  (void)watching;
}

}  // namespace

void refuse_forked_children() {
  watch();
  g_opened = true;
}

void hold_at_fork(HeldAtFork which, std::mutex& mutex) {
  watch();
  std::lock_guard lock(g_mutex);
  g_held[static_cast<int>(which)] = &mutex;
}

void at_fork_in_child(void (*action)()) {
  watch();
  std::lock_guard lock(g_mutex);
  for (int i = 0; i < g_children; ++i)
    if (g_actions[i] == action) return;
  if (g_children < kMost) g_actions[g_children++] = action;
}

}  // namespace updraft
