#include "acl/configuration.h"

#include <charconv>
#include <string>
#include <string_view>

#include "acl/json_file.h"
#include "base/error.h"
#include "base/json_text.h"
#include "base/log.h"
#include "device/device.h"

namespace updraft {
namespace {

using Json = nlohmann::json;

ProfilerHook g_profiler;

const Json& object_at(const char* path, const Json& json, const char* key) {
  const Json& value = json.at(key);
  if (!value.is_object())
    throw Error(code::kAclParseFile, "configuration file {}: {} is {}, want an object", path, key, json_text(value));
  return value;
}

// Numbers are written as text or as numbers.
int number_at(const char* path, const Json& json, const char* key) {
  const Json& value = json.at(key);
  const std::string text = value.is_string() ? value.get<std::string>() : json_text(value);
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    throw Error(code::kAclParseFile, "configuration file {}: {} is {}, want a number", path, key, json_text(value));
  return number;
}

}  // namespace

void set_profiler_hook(const ProfilerHook& hook) { g_profiler = hook; }
const ProfilerHook& profiler_hook() { return g_profiler; }

AclConfiguration read_acl_configuration(const char* path) {
  AclConfiguration result;
  const Json json = read_json_object(path);
  for (const auto& [key, value] : json.items()) {
    if (key == "dump") {
      result.dump = json_text(object_at(path, json, "dump"));
    } else if (key == "profiler") {
      const Json& profiler = object_at(path, json, "profiler");
      if (profiler.value("switch", Json("off")) != "off") result.profiler = json_text(profiler);
    } else if (key == "defaultDevice") {
      const Json& object = object_at(path, json, "defaultDevice");
      if (!object.contains("default_device"))
        throw Error(code::kAclParseFile, "configuration file {}: defaultDevice is {}, want default_device in it", path,
                    json_text(value));
      result.default_device = number_at(path, object, "default_device");
      // Without any device the calls that want one say so.
      if (result.default_device < 0 || (Device::count() > 0 && result.default_device >= Device::count()))
        throw Error(code::kRtInvalidDevice, "configuration file {}: default_device is {}, there are {} devices", path,
                    result.default_device, Device::count());
    } else if (key == "err_msg_mode") {
      const int mode = number_at(path, json, "err_msg_mode");
      if (mode != 0 && mode != 1)
        throw Error(code::kAclParseFile, "configuration file {}: err_msg_mode is {}, want 0 or 1", path, mode);
      result.thread_error_text = mode == 1;
    } else if (key != "max_opqueue_num" && key != "StackSize") {
      // Those two bound a cache of compiled operators and a core's stack: here is neither.
      UPDRAFT_LOG(kWarning, "ASCENDCL", "{}: the key {} is not known and changes nothing", path, key);
    }
  }
  return result;
}

}  // namespace updraft
