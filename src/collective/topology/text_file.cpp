#include "collective/topology/text_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace updraft::collective {

TextFile read_text_file(const std::string& path, size_t most) {
  TextFile file;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    file.problem = std::strerror(errno);
    return file;
  }
  struct stat info;
  if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    file.problem = "it is no regular file";
  } else {
    file.others = (info.st_uid != geteuid() && info.st_uid != 0) || (info.st_mode & 077) != 0;
    char block[1 << 16];
    for (;;) {
      const ssize_t n = read(fd, block, sizeof block);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) file.problem = std::strerror(errno);
      if (n <= 0) break;
      file.text.append(block, static_cast<size_t>(n));
      if (file.text.size() > most) {
        file.problem = fmt::format("it is larger than {} bytes", most);
        break;
      }
    }
  }
  close(fd);
  return file;
}

}  // namespace updraft::collective
