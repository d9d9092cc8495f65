#include "base/environment.h"

#include <unistd.h>

#include <map>
#include <string>
#include <string_view>

namespace updraft {
namespace {

using Environment = std::map<std::string, std::string, std::less<>>;

Environment read() {
  Environment all;
  for (char** line = environ; line && *line; ++line) {
    const std::string_view text = *line;
    const size_t end = text.find('=');
    if (end != std::string_view::npos) all.emplace(text.substr(0, end), text.substr(end + 1));  // the first one counts
  }
  return all;
}

// Never destroyed: a device's thread may still ask while the process exits.
const Environment& kept() {
  static const Environment& environment = *new Environment(read());
  return environment;
}

}  // namespace

void keep_environment() { kept(); }

}  // namespace updraft

extern "C" __attribute__((visibility("default"))) const char* updraft_getenv(const char* name) {
  const auto& all = updraft::kept();
  const auto found = all.find(std::string_view(name));
  return found == all.end() ? nullptr : found->second.c_str();
}
