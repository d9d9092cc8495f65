#include "migrate/report/write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <system_error>

#include "base/error.h"

namespace updraft::migrate::report {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, int error) {
  const char* advice = error == EACCES || error == EPERM || error == EROFS
                           ? "take a folder that you may write to (--report DIR)"
                       : error == ENOSPC || error == EDQUOT ? "free some space, or take another folder (--report DIR)"
                       : error == EISDIR                    ? "a folder has that name: take another one (--report DIR)"
                       : error == ENOTDIR      ? "a part of the path is a file, wanted a folder (--report DIR)"
                       : error == ENAMETOOLONG ? "take a shorter path (--report DIR)"
                                               : "take another folder (--report DIR)";
  throw Error(code::kAclInvalidFile, "the report {} cannot be written: {}; {}", path.string(), std::strerror(error),
              advice);
}

/// The new file beside the place of a report; it goes again unless it was renamed.
class Beside {
 public:
  explicit Beside(const fs::path& path) : path_(path) {
    static std::atomic<unsigned> number{0};
    do {
      beside_ = path.parent_path() / (".updraft-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
      file_ = ::open(beside_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file_ < 0 && (errno == EEXIST || errno == EINTR));
    if (file_ < 0) refuse(path_, errno);
  }
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  ~Beside() {
    if (file_ >= 0) ::close(file_);
    if (!beside_.empty()) ::unlink(beside_.c_str());
  }

  void write(std::string_view text) {
    while (!text.empty()) {
      const ssize_t written = ::write(file_, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) refuse(path_, errno);
      text.remove_prefix(static_cast<std::size_t>(written));
    }
  }

  void take_place() {
    const int closed = ::close(file_);  // network file systems report a full disk here
    file_ = -1;
    if (closed != 0 && errno != EINTR) refuse(path_, errno);
    if (::rename(beside_.c_str(), path_.c_str()) != 0) refuse(path_, errno);
    beside_.clear();
  }

 private:
  fs::path path_, beside_;
  int file_ = -1;
};

}  // namespace

void write_file(const fs::path& path, std::string_view text) {
  struct stat at {};
  if (::stat(path.c_str(), &at) == 0 && S_ISDIR(at.st_mode)) refuse(path, EISDIR);
  Beside beside(path);
  beside.write(text);
  beside.take_place();
}

void write_files(const fs::path& folder, std::span<const ReportFile> files) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error(code::kAclInvalidFile,
                "the folder for the reports, {}, cannot be made: {}; take another one (--report DIR)", folder.string(),
                error.message());
  for (const ReportFile& file : files) {
    const fs::path path = folder / file.name;
    if (!file.only_with_text || !file.text.empty()) {
      write_file(path, file.text);
    } else if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
      refuse(path, errno);
    }
  }
}

}  // namespace updraft::migrate::report
