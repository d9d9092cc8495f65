#include "device/threads/host_threads.h"

#include <chrono>
#include <string>

#include "base/error.h"
#include "base/log.h"
#include "base/parallel.h"
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
  queue_.push(stream);
  ++queued_;
  lock.unlock();
  wake_.notify_one();
}

void HostThreads::loop() {
  set_parallel_threads(1);
  std::unique_lock lock(mutex_);
  while (true) {
    ++idle_;
    const bool work = wake_.wait_for(lock, kKept, [&] { return queue_.front() != nullptr; });
    --idle_;
    if (!work) break;
    Stream* stream = queue_.take(queue_.front(), nullptr);
    --queued_;
    lock.unlock();
    stream->run_head(false);
    lock.lock();
  }
  --threads_;
}

}  // namespace updraft
