// Writes files in a thread of its own, so that streams go on; whoever has more than fits waits.
#pragma once
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace updraft::dump {

/// Memory from a writer's stock.
struct Buffer {
  std::unique_ptr<std::byte[]> bytes;
  size_t size = 0, capacity = 0;
};

/// Who takes pieces of files in place of the disk (acldumpRegCallback). Returns false when it failed.
struct ChunkSink {
  virtual ~ChunkSink() = default;
  virtual bool take(const std::string& path, const std::byte* bytes, size_t size, int64_t offset, bool last) = 0;
};

class FileWriter {
 public:
  /// Holds at most about `most` bytes in memory.
  explicit FileWriter(size_t most = size_t{256} << 20) : most_(most) {}
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;

  /// Larger files are not kept in memory: they are written by who has them, see Direct.
  static constexpr size_t kDirect = size_t{32} << 20;

  /// Memory for a file that add() will get. Waits while there is too much.
  Buffer take(size_t bytes);
  /// The memory is not needed after all.
  void give_back(Buffer buffer);
  /// Writes the file soon. Folders are made where they are missing.
  void add(std::string path, std::string head, Buffer body);

  /// A file that the calling thread writes piece by piece, for what is too large to be kept.
  class Direct {
   public:
    Direct(FileWriter& writer, std::string path);
    ~Direct();  ///< the end of the file
    Direct(const Direct&) = delete;
    void write(const void* bytes, size_t size);
    /// Both, in one call of the system where they go to the disk.
    void write(std::string_view head, std::string_view body);
    /// The file is taken away again.
    void cancel();

   private:
    FileWriter& writer_;
    std::string path_, error_;
    int file_ = -1;
    int64_t offset_ = 0;
    bool cancelled_ = false;
  };

  /// Returns when everything is written.
  void flush();

  /// From now on pieces go there, not to the disk; null: to the disk.
  void send_to(std::shared_ptr<ChunkSink> sink);

  struct Failures {
    uint64_t count = 0;
    std::string first;  ///< what and why
  };
  /// Files that could not be written since the last time that somebody asked.
  Failures take_failures();
  uint64_t written_files() const;

 private:
  struct Job {
    std::string path, head;
    Buffer body;
  };
  void work();
  void write(Job& job);
  /// Empty, or why it cannot be made.
  std::string make_folder_of(const std::string& path);
  void fail(const std::string& path, const std::string& why);
  std::shared_ptr<ChunkSink> sink();

  const size_t most_;
  mutable std::mutex mutex_;
  std::condition_variable work_;  ///< for the thread: there is something to write
  std::condition_variable room_;  ///< for who waits for memory
  std::condition_variable idle_;  ///< for who waits until all is written
  std::deque<Job> jobs_;
  std::vector<Buffer> stock_;      ///< the latest, which caches may still have, are taken first
  size_t stocked_ = 0;             ///< bytes of them
  std::set<std::string> folders_;  ///< that are there
  std::shared_ptr<ChunkSink> sink_;
  Failures failures_;
  uint64_t written_ = 0;
  size_t in_use_ = 0;  ///< bytes of buffers that were taken
  int waiting_ = 0;    ///< for memory
  bool writing_ = false, stop_ = false;
  std::thread thread_;
};

/// The name that a file of a dump has on the disk: names longer than the 255 bytes that file systems take are replaced
/// by a number, which mapping.csv of the folder explains. `long_name` is set where that is so.
std::string name_on_disk(const std::string& name, bool* long_name);

}  // namespace updraft::dump
