#include "device/threads/engine.h"

#include <string>

#include "base/parallel.h"
#include "base/team.h"
#include "device/threads/service_thread.h"

namespace updraft {
namespace {
constexpr int64_t kSpin = 3'000;  // nanoseconds
constexpr int kMostPassedOver = 16;
}  // namespace

Engine::Engine(const char* name, int device, int width) : name_(name), device_(device), width_(width) {}

void Engine::push(Stream& stream) {
  std::unique_lock lock(mutex_);
  if (!started_) {
    start_service_thread("npu" + std::to_string(device_) + "-" + name_, [this] { loop(); });
    started_ = true;
  }
  queue_.push(stream);
  waiting_.fetch_add(1, std::memory_order_relaxed);
  lock.unlock();
  wake_.notify_one();
}

// With the lock and somebody in the queue.
Stream* Engine::take() {
  Stream *best = queue_.front(), *before_best = nullptr;
  if (passed_over_ < kMostPassedOver)
    for (Stream *before = best, *stream = best->next_ready; stream; before = stream, stream = stream->next_ready)
      if (stream->priority() < best->priority()) {
        best = stream;
        before_best = before;
      }
  passed_over_ = before_best ? passed_over_ + 1 : 0;
  return queue_.take(best, before_best);
}

void Engine::loop() {
  set_parallel_threads(width_);
  while (true) {
    // Steady training finds the next stream within microseconds: look a little before sleeping. It never yields: who
    // does is put behind everybody who has work for milliseconds, and this thread's work is about to come.
    spin_until(kSpin, [&] { return waiting_.load(std::memory_order_relaxed) != 0; });
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return queue_.front() != nullptr; });
    Stream* stream = take();
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    lock.unlock();
    stream->run_head(false);
  }
}

}  // namespace updraft
