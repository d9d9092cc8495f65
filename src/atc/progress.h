// A line on a terminal that says what a long compilation is at.
#pragma once
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>

namespace updraft::atc {

/// Nothing is printed in the first two seconds, nor where stderr is no terminal. One at a time.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  /// What is done now; a literal.
  void stage(const char* what) { what_ = what; }

 private:
  void show();

  std::atomic<const char*> what_{"reading"};
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace updraft::atc
