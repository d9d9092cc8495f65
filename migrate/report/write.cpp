#include "migrate/report/write.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "base/error.h"

namespace updraft::migrate {
namespace {

namespace fs = std::filesystem;

int put(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

int replace_whole(const fs::path& path, std::string_view text, std::optional<mode_t> mode) {
  static std::atomic<unsigned> number{0};
  fs::path beside;
  int file = -1;
  do {  // O_EXCL: no link that another user has put there is followed
    beside = path.parent_path() / (".updraft-" + std::to_string(::getpid()) + "-" + std::to_string(number++));
    file = ::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode ? 0600 : 0666);
  } while (file < 0 && (errno == EEXIST || errno == EINTR));
  if (file < 0) return errno;
  int error = put(file, text);
  if (error == 0 && mode && ::fchmod(file, *mode) != 0) error = errno;
  // network file systems report a full disk here
  if (::close(file) != 0 && errno != EINTR && error == 0) error = errno;
  if (error == 0 && ::rename(beside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) ::unlink(beside.c_str());
  return error;
}

}  // namespace updraft::migrate

namespace updraft::migrate::report {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void refuse(const fs::path& path, int error) {
  const char* advice = error == EACCES || error == EPERM || error == EROFS
                           ? "take a folder that you may write to (-o DIR)"
                       : error == ENOSPC || error == EDQUOT ? "free some space, or take another folder (-o DIR)"
                       : error == EISDIR                    ? "a folder has that name: take another one (-o DIR)"
                       : error == ENOTDIR                   ? "a part of the path is a file, wanted a folder (-o DIR)"
                       : error == ENAMETOOLONG              ? "take a shorter path (-o DIR)"
                                                            : "take another folder (-o DIR)";
  throw Error(code::kAclInvalidFile, "the report {} cannot be written: {}; {}", path.string(), std::strerror(error),
              advice);
}

}  // namespace

void write_file(const fs::path& path, std::string_view text) {
  struct stat at {};
  if (::stat(path.c_str(), &at) == 0 && S_ISDIR(at.st_mode)) refuse(path, EISDIR);
  if (const int error = replace_whole(path, text); error != 0) refuse(path, error);
}

void write_files(const fs::path& folder, std::span<const ReportFile> files) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw Error(code::kAclInvalidFile, "the folder for the reports, {}, cannot be made: {}; take another one (-o DIR)",
                folder.string(), error.message());
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
