// Files of raw records: slices of a few MiB, of which the oldest go when the profile outgrows its limit.
#pragma once
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace updraft::profiling {

/// What all files of one profile may hold together.
class Store {
 public:
  static constexpr uint64_t kSlice = 8u << 20;    ///< bytes after which a file is closed and the next begun
  static constexpr uint64_t kMargin = 20u << 20;  ///< the oldest slice goes when no more than this is left

  /// Bytes that are free on the disk of a folder.
  using Free = std::function<uint64_t(const std::string&)>;

  /// `limit` in bytes; 0: 90 % of what is free on the disk of `folder`. `free` is for tests.
  Store(const std::string& folder, uint64_t limit, Free free = {});

  uint64_t limit() const { return limit_; }
  /// `bytes` were written.
  void grown(uint64_t bytes);
  /// A slice is complete and may go when there is no room.
  void closed(std::string path, uint64_t bytes);
  /// Files that went.
  uint64_t aged() const;

 private:
  bool crowded() const;  // with the lock
  void age();            // with the lock

  const std::string folder_;
  const Free free_;
  uint64_t limit_;
  mutable std::mutex mutex_;
  uint64_t bytes_ = 0, aged_ = 0;
  struct Slice {
    std::string path;
    uint64_t bytes;
  };
  std::deque<Slice> slices_;  ///< oldest first
};

/// Slices of one sort of records, "FOLDER/NAME.slice_0", …. Threads may write at once; a record is never split.
class RecordFile {
 public:
  /// Makes the folder, or the first write does. `ages` false: its slices stay.
  RecordFile(std::shared_ptr<Store> store, std::string folder, std::string name, int32_t device, bool ages = true);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;

  /// Appends whole records, all or none; false when they could not be written (said in the log, once), errno says why.
  bool write(std::string_view records);
  void close();

 private:
  bool open();  // with the lock

  const std::shared_ptr<Store> store_;
  const std::string folder_, name_;
  const int32_t device_;
  const bool ages_;
  bool made_ = false;  ///< the folder
  std::mutex mutex_;
  int fd_ = -1;
  int number_ = 0;
  uint64_t bytes_ = 0;
  std::string path_;
  bool complained_ = false;
};

}  // namespace updraft::profiling
