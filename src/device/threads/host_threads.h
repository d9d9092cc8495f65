// Threads for host functions: as many as run at the same time, since one may wait for what another stream's does. A
// thread that has had nothing to do for some seconds ends.
#pragma once
#include <condition_variable>
#include <mutex>

#include "device/threads/stream_queue.h"

namespace updraft {

class HostThreads {
 public:
  explicit HostThreads(int device) : device_(device) {}
  /// Runs the stream's head. Throws 207005 when there is no thread and none can be started; the stream is the caller's
  /// then.
  void push(Stream& stream);

 private:
  void loop();

  const int device_;
  std::mutex mutex_;
  std::condition_variable wake_;
  int threads_ = 0, idle_ = 0, queued_ = 0;
  StreamQueue queue_;
};

}  // namespace updraft
