#include "observe/profiling/writer.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/folders.h"
#include "base/log.h"
#include "observe/profiling/record.h"

namespace updraft::profiling {
namespace {

uint64_t free_bytes(const std::string& folder) {
  struct statvfs info;
  if (statvfs(folder.c_str(), &info) != 0) return UINT64_MAX;
  return static_cast<uint64_t>(info.f_bavail) * info.f_frsize;
}

bool write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<size_t>(n));
  }
  return true;
}

}  // namespace

Store::Store(const std::string& folder, uint64_t limit, Free free)
    : folder_(folder), free_(free ? std::move(free) : Free(free_bytes)), limit_(limit) {
  if (!limit_) limit_ = free_(folder) / 10 * 9;
}

bool Store::crowded() const { return bytes_ + kMargin >= limit_ || free_(folder_) <= kMargin; }

void Store::age() {
  // The newest slice stays in any case: a profile that has nothing says nothing.
  while (slices_.size() > 1 && crowded()) {
    ::unlink(slices_.front().path.c_str());
    bytes_ -= slices_.front().bytes;
    slices_.pop_front();
    if (++aged_ == 1)
      UPDRAFT_LOG(kWarning, "PROFILING",
                  "{}: storage_limit of {} MB is reached or the disk is full, the oldest records are deleted", folder_,
                  limit_ >> 20);
  }
}

void Store::grown(uint64_t bytes) {
  std::lock_guard lock(mutex_);
  bytes_ += bytes;
}

void Store::closed(std::string path, uint64_t bytes) {
  std::lock_guard lock(mutex_);
  slices_.push_back({std::move(path), bytes});
  age();
}

uint64_t Store::aged() const {
  std::lock_guard lock(mutex_);
  return aged_;
}

RecordFile::RecordFile(std::shared_ptr<Store> store, std::string folder, std::string name, int32_t device, bool ages)
    : store_(std::move(store)), folder_(std::move(folder)), name_(std::move(name)), device_(device), ages_(ages) {
  made_ = make_folders(folder_, 0750);
}

RecordFile::~RecordFile() { close(); }

bool RecordFile::open() {
  if (!made_ && !(made_ = make_folders(folder_, 0750))) {
    path_ = folder_;
    return false;
  }
  // Another run of the same profile (stopped and started again) goes on behind the slices that are there.
  do path_ = fmt::format("{}/{}.slice_{}", folder_, name_, number_++);
  while (access(path_.c_str(), F_OK) == 0);
  fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_APPEND, 0640);
  if (fd_ < 0) return false;
  FileHeader header{};
  std::memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kVersion;
  header.device = device_;
  if (!write_all(fd_, {reinterpret_cast<const char*>(&header), sizeof(header)})) {
    const int why = errno;
    ::close(fd_);
    ::unlink(path_.c_str());
    fd_ = -1;
    errno = why;
    return false;
  }
  bytes_ = sizeof(header);
  store_->grown(bytes_);
  return true;
}

bool RecordFile::write(std::string_view records) {
  std::lock_guard lock(mutex_);
  if ((fd_ < 0 && !open()) || !write_all(fd_, records)) {
    const int why = errno;
    // A part of a record would make what comes behind it unreadable.
    if (fd_ >= 0 && ::ftruncate(fd_, static_cast<off_t>(bytes_)) != 0) {
      ::close(fd_);
      fd_ = -1;
    }
    errno = why;
    if (!complained_)
      UPDRAFT_LOG(kError, "PROFILING", "{}: records cannot be written and are lost: {}", path_, std::strerror(errno));
    complained_ = true;
    errno = why;
    return false;
  }
  bytes_ += records.size();
  store_->grown(records.size());
  if (bytes_ >= Store::kSlice && ages_) {
    ::close(fd_);
    fd_ = -1;
    store_->closed(path_, bytes_);
  }
  return true;
}

void RecordFile::close() {
  std::lock_guard lock(mutex_);
  if (fd_ < 0) return;
  ::close(fd_);
  fd_ = -1;
  if (ages_) store_->closed(path_, bytes_);
}

}  // namespace updraft::profiling
