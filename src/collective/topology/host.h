// Which processes are on one host.
#pragma once
#include <string>

namespace updraft::collective {

/// Processes with the same text can hand descriptors to each other: same kernel, same network namespace, same user.
/// Where the kernel does not tell which boot it is, what else tells hosts apart; where nothing does, the process is a
/// host of its own. `root` is in front of the files that are read.
std::string host_identity(const std::string& root = "");

}  // namespace updraft::collective
