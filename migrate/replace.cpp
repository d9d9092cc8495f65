#include "migrate/replace.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <string>

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
