// The observer that turns what devices do into raw records. Threads collect records in buffers of their own, so that
// they meet only where a buffer is full and goes to its file.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "device/observer.h"
#include "observe/profiling/record.h"
#include "observe/profiling/settings.h"
#include "observe/profiling/writer.h"

namespace updraft::profiling {

class Recorder final : public Observer {
 public:
  static constexpr int kMostDevices = 1024;

  /// Records go to `folder`/host/data and `folder`/device_N/data.
  Recorder(std::string folder, Settings settings);
  ~Recorder() override;

  void task_ended(const TaskEvent& task) override;
  void call_ended(const ApiCall& call) override;

  /// What the observer wants to be told, as bits of watch.
  uint32_t wants() const;
  const Settings& settings() const { return settings_; }
  const std::string& folder() const { return folder_; }

  /// The number of a text, which is kept.
  uint64_t text(std::string_view text);
  void report(ReportKind what, const void* data, size_t bytes);
  void marker(MarkerRecord marker);
  void step(const StepRecord& step);
  void memory(MemoryRecord record);
  void host_sample(const HostSampleRecord& sample);
  /// Bytes that the tasks of a device have moved.
  uint64_t moved(int device) const { return moved_[static_cast<size_t>(device)].load(std::memory_order_relaxed); }
  /// Files of records that went since there was no room.
  uint64_t aged() const { return store_->aged(); }
  /// What could not be written, and errno of the first time.
  struct Loss {
    uint64_t pieces = 0;
    int error = 0;
  };
  Loss loss() const { return {lost_in_all_.load(), lost_error_.load()}; }
  /// True when the profile is about that device.
  bool records(int device) const;

  /// Writes what the threads have collected. Records of calls that go on meanwhile may come later.
  void flush();
  /// The same, and the files are complete. What comes later begins others.
  void close();
  /// The process was forked: the child has no profile.
  static void forget_in_child();

 private:
  struct Buffer;
  Buffer& buffer();
  RecordFile& file(int device);
  void append(int device, Kind kind, const void* head, size_t head_bytes, const void* tail = nullptr,
              size_t tail_bytes = 0);
  void write(int device, std::string& bytes);
  void lose();
  uint64_t describe_tensors(Buffer& buffer, const TaskEvent& task);
  uint64_t describe_collective(const TaskEvent& task);

  const std::string folder_;
  const Settings settings_;
  const uint64_t serial_;  ///< tells the buffers of this recorder from those of earlier ones
  std::shared_ptr<Store> store_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Buffer>> buffers_;
  std::map<int, std::unique_ptr<RecordFile>> files_;
  std::unique_ptr<RecordFile> texts_;
  std::mutex text_mutex_;
  std::unordered_set<uint64_t> known_texts_;
  std::vector<std::atomic<uint64_t>> moved_;
  std::atomic<uint64_t> lost_{0}, lost_in_all_{0};  ///< pieces: since the last flush that told of them, and ever
  std::atomic<int> lost_error_{0};
};

}  // namespace updraft::profiling
