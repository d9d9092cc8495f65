#include "device/threads/host_threads.h"

#include <chrono>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
#include "device/stream.h"
#include "device/threads/service_thread.h"

namespace updraft {
namespace {
constexpr auto kKept = std::chrono::seconds(5);
}

void HostThreads::push(Stream& stream) {
  std::unique_lock lock(mutex_);
  if (queued_ >= idle_) {
    try {
      start_service_thread("npu" + std::to_string(device_) + "-host", [this] { loop(); });
      ++threads_;
    } catch (const Error& e) {
      if (threads_ == 0) throw;
      UPDRAFT_LOG(kWarning, "RUNTIME", "a host function waits until another one is over: {}", e.text());
    }
  }
  stream.next_ready = nullptr;
  if (tail_) {
    tail_->next_ready = &stream;
  } else {
    head_ = &stream;
  }
  tail_ = &stream;
  ++queued_;
  lock.unlock();
  wake_.notify_one();
}

void HostThreads::loop() {
  set_parallel_threads(1);
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    const bool work = wake_.wait_for(lock, kKept, [&] { return head_ != nullptr; });
    --idle_;
    if (!work) break;
    Stream* stream = head_;
    head_ = stream->next_ready;
    if (!head_) tail_ = nullptr;
    --queued_;
    lock.unlock();
    stream->run_head(false);
    lock.lock();
  }
  --threads_;
}

}  // namespace updraft
