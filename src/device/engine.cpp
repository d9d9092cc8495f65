#include "device/engine.h"

#include <pthread.h>
#include <signal.h>

#include <string>
#include <thread>

#include "base/parallel.h"
#include "base/team.h"
#include "device/stream.h"

namespace updraft {
namespace {
constexpr int64_t kSpin = 3'000;  // nanoseconds
}

Engine::Engine(const char* name, int device, int width) : name_(name), device_(device), width_(width) {}

void Engine::push(Stream& stream) {
  std::unique_lock lock(mutex_);
  if (!started_) {
    started_ = true;
    // Detached: engines live as long as the process and an exit in any order must not wait for them.
    std::thread([this] { loop(); }).detach();
  }
  stream.next_ready = nullptr;
  if (tail_) {
    tail_->next_ready = &stream;
  } else {
    head_ = &stream;
  }
  tail_ = &stream;
  waiting_.fetch_add(1, std::memory_order_relaxed);
  lock.unlock();
  wake_.notify_one();
}

void Engine::loop() {
  pthread_setname_np(pthread_self(),
                     (std::string("npu") + std::to_string(device_) + "-" + name_).substr(0, 15).c_str());
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals belong to the client's threads
  set_parallel_threads(width_);
  while (true) {
    // Steady training finds the next stream within microseconds: look a little before sleeping. It never yields: who
    // does is put behind everybody who has work for milliseconds, and this thread's work is about to come.
    spin_until(kSpin, [&] { return waiting_.load(std::memory_order_relaxed) != 0; });
    std::unique_lock lock(mutex_);
    wake_.wait(lock, [&] { return head_ != nullptr; });
    Stream* stream = head_;
    head_ = stream->next_ready;
    if (!head_) tail_ = nullptr;
    waiting_.fetch_sub(1, std::memory_order_relaxed);
    lock.unlock();
    stream->run_head(false);
  }
}

}  // namespace updraft
