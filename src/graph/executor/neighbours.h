// Executions of models in several streams of one device. Where there are several, each runs in a thread of its own with
// its share of the device's threads: steps that do not divide would leave the others without work.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <vector>

namespace updraft {
class Device;
class Stream;
}  // namespace updraft

namespace updraft::graph {

class Neighbours {
 public:
  static Neighbours& of(const Device& device);

  /// An execution is put on the stream. True when other streams have some as well, or had a moment ago.
  bool enter(const Stream& stream);
  /// It is over, or was dropped.
  void leave(const Stream& stream);

  /// While one lives, an execution runs beside others, in a thread that is no engine's: kernels have its share of the
  /// threads. Waits until fewer run than the device has threads.
  class Share {
   public:
    explicit Share(Neighbours& all);
    ~Share();
    Share(const Share&) = delete;

   private:
    Neighbours& all_;
  };

 private:
  using Clock = std::chrono::steady_clock;
  struct Entry {
    const Stream* stream;
    int in_flight;
    Clock::time_point left;  ///< by the last one
  };
  bool counts(const Entry& entry, Clock::time_point now) const;

  std::mutex mutex_;
  std::condition_variable room_;
  std::vector<Entry> streams_;
  int running_ = 0;
};

}  // namespace updraft::graph
