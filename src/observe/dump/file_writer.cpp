#include "observe/dump/file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <functional>

#include "base/folders.h"
#include "base/log.h"

namespace updraft::dump {
namespace {

constexpr mode_t kFileMode = 0640, kFolderMode = 0750;
constexpr size_t kLongestName = 255;
/// Pieces that a callback gets.
constexpr size_t kChunk = size_t{4} << 20;

std::string folder_of(const std::string& path) { return path.substr(0, path.rfind('/')); }

/// Empty, or why it failed.
std::string write_all(int file, const std::byte* bytes, size_t size) {
  while (size > 0) {
    const ssize_t n = ::write(file, bytes, size);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return std::strerror(errno);
    bytes += n;
    size -= static_cast<size_t>(n);
  }
  return {};
}

bool send(ChunkSink& sink, const std::string& path, const std::byte* bytes, size_t size, int64_t offset, bool last) {
  do {
    const size_t part = std::min(size, kChunk);
    if (!sink.take(path, bytes, part, offset, last && part == size)) return false;
    bytes += part;
    size -= part;
    offset += static_cast<int64_t>(part);
  } while (size > 0);
  return true;
}

}  // namespace

FileWriter::~FileWriter() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Buffer FileWriter::take(size_t bytes) {
  std::unique_lock lock(mutex_);
  // Where nothing is in use there is nobody to wait for.
  changed_.wait(lock, [&] { return in_use_ == 0 || in_use_ + bytes <= most_; });
  const auto fits = std::find_if(stock_.begin(), stock_.end(), [&](const Buffer& b) { return b.capacity >= bytes; });
  Buffer buffer;
  if (fits != stock_.end()) {
    buffer = std::move(*fits);
    stock_.erase(fits);
  }
  in_use_ += buffer.capacity ? buffer.capacity : std::bit_ceil(bytes + 1);
  lock.unlock();
  if (!buffer.bytes) {
    buffer.capacity = std::bit_ceil(bytes + 1);
    try {
      buffer.bytes.reset(new std::byte[buffer.capacity]);
    } catch (...) {
      std::lock_guard again(mutex_);
      in_use_ -= buffer.capacity;
      changed_.notify_all();
      throw;
    }
  }
  buffer.size = bytes;
  return buffer;
}

void FileWriter::give_back(Buffer buffer) {
  if (!buffer.bytes) return;
  {
    std::lock_guard lock(mutex_);
    in_use_ -= buffer.capacity;
    size_t kept = 0;
    for (const Buffer& b : stock_) kept += b.capacity;
    if (kept + buffer.capacity <= most_ / 4) stock_.push_back(std::move(buffer));
  }
  changed_.notify_all();
}

void FileWriter::add(std::string path, std::string head, Buffer body) {
  {
    std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    jobs_.push_back({std::move(path), std::move(head), std::move(body)});
  }
  changed_.notify_all();
}

void FileWriter::flush() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.empty() && !writing_; });
}

void FileWriter::send_to(std::shared_ptr<ChunkSink> sink) {
  flush();
  std::lock_guard lock(mutex_);
  sink_ = std::move(sink);
}

std::shared_ptr<ChunkSink> FileWriter::sink() {
  std::lock_guard lock(mutex_);
  return sink_;
}

FileWriter::Failures FileWriter::take_failures() {
  std::lock_guard lock(mutex_);
  return std::exchange(failures_, {});
}

uint64_t FileWriter::written_files() const {
  std::lock_guard lock(mutex_);
  return written_;
}

void FileWriter::fail(const std::string& path, const std::string& why) {
  bool first = false;
  {
    std::lock_guard lock(mutex_);
    first = failures_.count++ == 0;
    if (first) failures_.first = path + ": " + why;
  }
  if (first) UPDRAFT_LOG(kError, "IDEDD", "dump: {} is not written: {}; the program goes on", path, why);
}

std::string FileWriter::make_folder_of(const std::string& path) {
  const std::string folder = folder_of(path);
  {
    std::lock_guard lock(mutex_);
    if (folders_.contains(folder)) return {};
  }
  if (!make_folders(folder, kFolderMode)) return fmt::format("the folder cannot be made ({})", std::strerror(errno));
  std::lock_guard lock(mutex_);
  folders_.insert(folder);
  return {};
}

void FileWriter::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    writing_ = true;
    lock.unlock();
    write(job);
    give_back(std::move(job.body));
    lock.lock();
    writing_ = false;
    changed_.notify_all();
  }
}

void FileWriter::write(Job& job) {
  Direct file(*this, std::move(job.path));
  file.write(job.head.data(), job.head.size());
  file.write(job.body.bytes.get(), job.body.size);
}

FileWriter::Direct::Direct(FileWriter& writer, std::string path) : writer_(writer), path_(std::move(path)) {
  if (writer_.sink()) return;
  const size_t slash = path_.rfind('/');
  bool is_long = false;
  const std::string name = path_.substr(slash + 1), short_name = name_on_disk(name, &is_long);
  error_ = writer_.make_folder_of(path_);
  if (!error_.empty()) return;
  if (is_long) {
    const std::string mapping = path_.substr(0, slash) + "/mapping.csv";
    const std::string line = short_name + "," + name + "\n";
    const int to = open(mapping.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, kFileMode);
    error_ =
        to < 0 ? std::strerror(errno) : write_all(to, reinterpret_cast<const std::byte*>(line.data()), line.size());
    if (to >= 0) close(to);
    if (!error_.empty()) return;
    path_ = path_.substr(0, slash + 1) + short_name;
  }
  file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  if (file_ < 0 && errno == ENOENT) {  // the folder is gone since it was made
    {
      std::lock_guard lock(writer_.mutex_);
      writer_.folders_.clear();
    }
    error_ = writer_.make_folder_of(path_);
    if (error_.empty()) file_ = open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  }
  if (file_ < 0 && error_.empty()) error_ = std::strerror(errno);
}

void FileWriter::Direct::write(const void* bytes, size_t size) {
  if (!error_.empty() || size == 0) return;
  const auto* begin = static_cast<const std::byte*>(bytes);
  if (const auto sink = writer_.sink()) {
    if (!send(*sink, path_, begin, size, offset_, false)) error_ = "the registered callback failed";
  } else {
    error_ = write_all(file_, begin, size);
  }
  offset_ += static_cast<int64_t>(size);
}

void FileWriter::Direct::cancel() { cancelled_ = true; }

FileWriter::Direct::~Direct() {
  try {
    if (cancelled_) {
      if (file_ < 0) return;
      close(file_);
      unlink(path_.c_str());
      return;
    }
    if (const auto sink = writer_.sink(); sink && error_.empty() && file_ < 0) {
      if (!sink->take(path_, nullptr, 0, offset_, true)) error_ = "the registered callback failed";
    }
    if (file_ >= 0) {
      if (close(file_) != 0 && error_.empty()) error_ = std::strerror(errno);
      if (!error_.empty()) unlink(path_.c_str());  // half a file would only mislead
    }
    if (!error_.empty()) {
      writer_.fail(path_, error_);
      return;
    }
    std::lock_guard lock(writer_.mutex_);
    ++writer_.written_;
  } catch (...) {}
}

std::string name_on_disk(const std::string& name, bool* long_name) {
  *long_name = name.size() > kLongestName;
  if (!*long_name) return name;
  // Two numbers of the name, so that none is met twice; readers want digits alone.
  const size_t a = std::hash<std::string>()(name), b = std::hash<std::string>()(name + "#");
  return fmt::format("{}{:020}", a, b);
}

}  // namespace updraft::dump
