#include "migrate/run/file.h"

#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/error.h"
#include "migrate/replace.h"

namespace updraft::migrate::run {
namespace fs = std::filesystem;
namespace {

class File {
 public:
  File(const fs::path& path, int flags, mode_t mode = 0)
      : path_(path), fd_(::open(path.c_str(), flags | O_CLOEXEC, mode)) {
    if (fd_ < 0) fail(flags & O_CREAT ? "cannot be written" : "cannot be read");
  }
  ~File() { ::close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  int fd() const noexcept { return fd_; }
  [[noreturn]] void fail(const char* what) const {
    throw Error(code::kAclInvalidFile, "{} {}: {}", path_.string(), what, std::strerror(errno));
  }

 private:
  fs::path path_;
  int fd_;
};

mode_t mode_of(const File& file) {
  struct stat status {};
  return ::fstat(file.fd(), &status) == 0 ? status.st_mode & 07777 : 0644;
}

}  // namespace

std::string read_file(const fs::path& path) {
  const File file(path, O_RDONLY | O_NONBLOCK);
  struct stat status {};
  if (::fstat(file.fd(), &status) != 0) file.fail("cannot be read");
  std::string text;
  text.resize(static_cast<std::size_t>(status.st_size));
  std::size_t at = 0;
  while (true) {
    if (at == text.size()) text.resize(text.size() + 4096);
    const ssize_t n = ::read(file.fd(), text.data() + at, text.size() - at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) file.fail("cannot be read");
    if (n == 0) break;
    at += static_cast<std::size_t>(n);
    if (at == static_cast<std::size_t>(status.st_size)) break;
  }
  text.resize(at);
  return text;
}

void replace_file(const fs::path& path, std::string_view text, const fs::path& like) {
  struct stat status {};
  const mode_t mode = ::stat(like.c_str(), &status) == 0 ? status.st_mode & 07777 : 0644;
  if (const int error = replace_whole(path, text, mode); error != 0)
    throw Error(code::kAclInvalidFile, "{} cannot be written: {}", path.string(), std::strerror(error));
}

void copy_file(const fs::path& from, const fs::path& to) {
  const File in(from, O_RDONLY);
  const File out(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  while (true) {
    const ssize_t n = ::sendfile(out.fd(), in.fd(), nullptr, 1 << 20);
    if (n == 0) break;
    if (n < 0 && errno != EINTR) out.fail("cannot be written");
  }
  if (::fchmod(out.fd(), mode_of(in)) != 0) out.fail("cannot be given its mode");
}

}  // namespace updraft::migrate::run
