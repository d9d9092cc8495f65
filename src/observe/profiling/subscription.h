// The operators of one model as they run, written into the subscriber's pipe: records of one size, in the order of
// their ends.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>

#include "device/observer.h"

namespace updraft::profiling {

/// What the subscriber reads and hands to aclprofGetOp….
struct OperatorRecord {
  static constexpr uint32_t kMark = 0x4F504431;
  static constexpr size_t kTextBytes = 976;

  uint32_t mark = kMark;
  uint32_t model = 0;
  uint64_t begin = 0, end = 0;  ///< nanoseconds of the monotonic clock; 0 without time
  int32_t thread = 0;
  uint16_t type_length = 0, name_length = 0;
  char text[kTextBytes] = {};  ///< type, then name, which is cut where it is too long

  std::string_view type() const { return {text, type_length}; }
  std::string_view name() const { return {text + type_length, name_length}; }
};
static_assert(sizeof(OperatorRecord) == 1008 && sizeof(OperatorRecord) <= 4096,
              "a pipe takes up to 4096 bytes in one piece");

class Subscription final : public Observer {
 public:
  /// `fd` stays the subscriber's.
  Subscription(uint32_t model, int fd, bool times);
  ~Subscription() override;
  void task_ended(const TaskEvent& task) override;
  /// Writes what waits. Who does not read for a second gets no more of it.
  void finish();

 private:
  void write_all();

  static constexpr size_t kMostWaiting = 65536;
  static constexpr int kPatience = 1000;  ///< milliseconds that finish() gives a reader

  const uint32_t model_;
  const int fd_;
  const bool times_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<OperatorRecord> waiting_;
  uint64_t lost_ = 0;
  bool ends_ = false, broken_ = false;
  std::thread writer_;
};

}  // namespace updraft::profiling
