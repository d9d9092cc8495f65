#include "collective/topology/host.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "base/log.h"
#include "base/random_bytes.h"
#include "collective/error.h"

namespace updraft::collective {
namespace {

std::string line_of(const std::string& path, const std::string& word = "") {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(word)) return line;
  return "";
}

// A random number stands for a process that cannot tell: it then talks to all others by the network.
std::string lonely() {
  static const std::string name = [] {
    uint64_t number = 0;
    fill_random(&number, sizeof number, result::kSyscall);
    UPDRAFT_LOG(kWarning, "HCCL",
                "neither /proc/sys/kernel/random/boot_id nor /etc/machine-id can be read: this process is taken for a "
                "host of its own, and shares no memory with other ranks");
    return fmt::format("process {:016x}", number);
  }();
  return name;
}

}  // namespace

std::string host_identity(const std::string& root) {
  std::string boot = line_of(root + "/proc/sys/kernel/random/boot_id");
  if (boot.empty()) {
    const std::string machine = line_of(root + "/etc/machine-id");
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    if (!machine.empty()) boot = fmt::format("{} {} {}", machine, name, line_of(root + "/proc/stat", "btime"));
  }
  struct stat info {};
  // The number of the first namespace is the same everywhere; who cannot even see it is alone as well.
  if (boot.empty() || stat((root + "/proc/self/ns/net").c_str(), &info) != 0) boot = lonely();
  return fmt::format("{}:{}:{}", boot, info.st_ino, getuid());
}

}  // namespace updraft::collective
