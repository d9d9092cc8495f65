#include "base/folders.h"

#include <sys/stat.h>

#include <cerrno>

namespace updraft {

bool make_folders(const std::string& path, mode_t mode) {
  for (size_t at = 1; at <= path.size(); ++at)
    if ((at == path.size() || path[at] == '/') && mkdir(path.substr(0, at).c_str(), mode) != 0 && errno != EEXIST)
      return false;
  return true;
}

}  // namespace updraft
