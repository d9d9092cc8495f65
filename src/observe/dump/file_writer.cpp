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

/// Who waits for memory gets it when so much of a writer's is free again: to wake it for each file costs as much as the
/// file.
constexpr size_t room_of(size_t most) { return most / 4 * 3; }

/// Memory comes in powers of two, so that the stock fits.
constexpr size_t capacity_for(size_t bytes) { return std::bit_ceil(std::max<size_t>(bytes, 64)); }

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

std::string write_all(int file, std::string_view head, std::string_view body) {
  const iovec parts[] = {{const_cast<char*>(head.data()), head.size()}, {const_cast<char*>(body.data()), body.size()}};
  ssize_t n = 0;
  do n = ::writev(file, parts, 2);
  while (n < 0 && errno == EINTR);
  if (n < 0) return std::strerror(errno);
  auto done = static_cast<size_t>(n);
  for (std::string_view* part : {&head, &body}) {
    const size_t of_it = std::min(done, part->size());
    part->remove_prefix(of_it);
    done -= of_it;
    if (auto why = write_all(file, reinterpret_cast<const std::byte*>(part->data()), part->size()); !why.empty())
      return why;
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
  work_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Buffer FileWriter::take(size_t bytes) {
  std::unique_lock lock(mutex_);
  if (in_use_ && in_use_ + capacity_for(bytes) > most_) {
    ++waiting_;
    // Where nothing is in use there is nobody to wait for.
    room_.wait(lock, [&] { return in_use_ == 0 || in_use_ + capacity_for(bytes) <= most_; });
    --waiting_;
  }
  const auto fits = std::find_if(stock_.rbegin(), stock_.rend(), [&](const Buffer& b) { return b.capacity >= bytes; });
  Buffer buffer;
  if (fits != stock_.rend()) {
    buffer = std::move(*fits);
    stock_.erase(std::next(fits).base());
    stocked_ -= buffer.capacity;
  } else {
    buffer.capacity = capacity_for(bytes);
  }
  in_use_ += buffer.capacity;
  lock.unlock();
  if (!buffer.bytes) {
    try {
      buffer.bytes.reset(new std::byte[buffer.capacity]);
    } catch (...) {
      std::lock_guard again(mutex_);
      in_use_ -= buffer.capacity;
      room_.notify_all();
      throw;
    }
  }
  buffer.size = bytes;
  return buffer;
}

void FileWriter::give_back(Buffer buffer) {
  if (!buffer.bytes) return;
  bool room = false;
  {
    std::lock_guard lock(mutex_);
    in_use_ -= buffer.capacity;
    if (stocked_ + buffer.capacity <= most_ / 4) {
      stocked_ += buffer.capacity;
      stock_.push_back(std::move(buffer));
    }
    room = waiting_ && (in_use_ <= room_of(most_) || jobs_.empty());
  }
  if (room) room_.notify_all();
}

void FileWriter::add(std::string path, std::string head, Buffer body) {
  {
    std::lock_guard lock(mutex_);
    if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
    jobs_.push_back({std::move(path), std::move(head), std::move(body)});
    if (writing_) return;  // it looks again
  }
  work_.notify_one();
}

void FileWriter::flush() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [&] { return jobs_.empty() && !writing_; });
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
    if (jobs_.empty()) {
      writing_ = false;
      idle_.notify_all();
      work_.wait(lock, [&] { return stop_ || !jobs_.empty(); });
    }
    if (jobs_.empty()) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    writing_ = true;
    lock.unlock();
    write(job);
    give_back(std::move(job.body));
    lock.lock();
  }
}

void FileWriter::write(Job& job) {
  Direct file(*this, std::move(job.path));
  file.write(job.head, {reinterpret_cast<const char*>(job.body.bytes.get()), job.body.size});
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

void FileWriter::Direct::write(std::string_view head, std::string_view body) {
  if (!error_.empty()) return;
  if (writer_.sink()) {
    write(head.data(), head.size());
    write(body.data(), body.size());
    return;
  }
  error_ = write_all(file_, head, body);
  offset_ += static_cast<int64_t>(head.size() + body.size());
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
