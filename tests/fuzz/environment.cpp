// The variables UPDRAFT_* and ASCEND_*: one line of the input each, in the order below.
#include <sstream>

#include "base/config.h"
#include "base/log.h"
#include "input.h"

using namespace updraft;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const char* const names[] = {
      "UPDRAFT_MEMORY",           "UPDRAFT_DEVICES",         "ASCEND_RT_VISIBLE_DEVICES",
      "UPDRAFT_THREADS",          "UPDRAFT_STRICT",          "UPDRAFT_SOC",
      "UPDRAFT_FIDELITY",         "UPDRAFT_MAX_ISA",         "LOCAL_WORLD_SIZE",
      "ASCEND_GLOBAL_LOG_LEVEL",  "ASCEND_MODULE_LOG_LEVEL", "ASCEND_PROCESS_LOG_PATH",
      "ASCEND_RT_VISIBLE_DEVICES"};
  std::istringstream lines(std::string(reinterpret_cast<const char*>(data), size));
  for (const char* name : names) {
    std::string line;
    if (std::getline(lines, line)) setenv(name, line.c_str(), 1);
    else unsetenv(name);
  }
  Config c = Config::read();
  if (c.installed < 1 || c.installed > 1024) fuzz::wrong("installed devices", c.installed);
  for (const int device : c.visible)
    if (device < 0 || device >= c.installed) fuzz::wrong("a visible device", device);
  if (c.threads < 1 || c.threads > 4096) fuzz::wrong("threads", c.threads);
  if (c.memory == 0 || c.memory >= size_t{1} << 62) fuzz::wrong("memory", static_cast<int64_t>(c.memory));
  log::Settings s = log::read_settings();
  if (s.level < 0 || s.level > 4) fuzz::wrong("log level", s.level);
  for (const auto& [module, level] : s.modules)
    if (level < 0 || level > 4) fuzz::wrong("log level of a module", level);
  return 0;
}
