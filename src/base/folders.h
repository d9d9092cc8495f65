#pragma once
#include <sys/types.h>

#include <string>

namespace updraft {

/// Makes a folder and those above it with that mode, but for the umask; false when one cannot be made.
bool make_folders(const std::string& path, mode_t mode);

}  // namespace updraft
