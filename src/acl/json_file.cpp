#include "acl/json_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/error.h"
#include "base/json_text.h"

namespace updraft {

nlohmann::json read_json_object(const char* path) {
  using Json = nlohmann::json;
  struct stat info;
  if (stat(path, &info) != 0 || S_ISDIR(info.st_mode))
    throw Error(code::kAclInvalidFile, "configuration file {}: {}", path,
                S_ISDIR(info.st_mode) ? "it is a folder" : std::strerror(errno));
  if (info.st_size > (10 << 20))
    throw Error(code::kAclInvalidFile, "configuration file {} has {} bytes, the most is 10 MiB", path, info.st_size);
  if (info.st_size == 0) return Json::object();
  std::ifstream in(path);
  Json json = try_json(in);
  if (json.is_discarded() || !json.is_object())
    throw Error(code::kAclParseFile, "configuration file {} is not a JSON object", path);
  return json;
}

}  // namespace updraft
