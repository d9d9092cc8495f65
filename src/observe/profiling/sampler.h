// A thread that looks at memory and at the host at regular times, while a profile wants it.
#pragma once
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "observe/profiling/recorder.h"

namespace updraft::profiling {

class Sampler {
 public:
  /// Starts the thread when the recorder's settings want samples.
  explicit Sampler(std::shared_ptr<Recorder> recorder);
  ~Sampler();
  Sampler(const Sampler&) = delete;

 private:
  void run();
  void sample_memory();
  void sample_host();

  std::shared_ptr<Recorder> recorder_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace updraft::profiling
