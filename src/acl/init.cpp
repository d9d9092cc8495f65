// aclInit, aclFinalize, versions and capabilities.
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "acl/api.h"
#include "acl/configuration.h"
#include "acl/dump_door.h"
#include "base/log.h"
#include "device/soc.h"

using namespace updraft;

namespace {
std::mutex g_mutex;
bool g_initialized = false;
int g_count = 0;
constexpr const char* kVersion = "9.1.0";

}  // namespace

DumpDoor& updraft::dump_door() {
  static DumpDoor door;
  return door;
}
bool updraft::acl_is_initialized() {
  std::lock_guard lock(g_mutex);
  return g_initialized;
}

ACL_API aclInit(const char* path) {
  return guard("aclInit", [&] {
    std::lock_guard lock(g_mutex);
    if (g_initialized)
      throw Error(code::kAclRepeatInitialize, "aclInit was called before: one call a process is enough");
    const AclConfiguration configuration = path && *path ? read_acl_configuration(path) : AclConfiguration();
    if (profiler_hook().initialize) profiler_hook().initialize(path, configuration.profiler);
    try {
      if (!configuration.dump.empty()) dump_door().start(configuration.dump, path);
    } catch (...) {
      if (profiler_hook().finalize) profiler_hook().finalize();  // refused means not initialised
      throw;
    }
    set_default_device(configuration.default_device);
    error_text_of_thread_only(configuration.thread_error_text);
    g_initialized = true;
    ++g_count;
    UPDRAFT_EVENT("ASCENDCL", "aclInit: version {}, {} devices, {}", kVersion, Device::count(), soc().name);
  });
}

ACL_API aclFinalize() {
  return guard("aclFinalize", [&] {
    std::lock_guard lock(g_mutex);
    if (!g_initialized)
      throw Error(g_count ? code::kAclRepeatFinalize : code::kAclUninitialized,
                  g_count ? "aclFinalize was called before" : "aclInit was not called");
    g_initialized = false;
    struct Finish {
      ~Finish() { dump_door().finish(); }
    } finish;
    for (int i = 0; i < Device::count(); ++i) {
      Device* device = Device::find(i);
      if (!device) continue;
      try {
        device->synchronize();
      } catch (const Error& e) {
        UPDRAFT_LOG(kWarning, "ASCENDCL", "aclFinalize: device {} ends with a failure: {}", i, e.text());
      }
    }
    if (profiler_hook().finalize) profiler_hook().finalize();
    UPDRAFT_EVENT("ASCENDCL", "aclFinalize");
  });
}

ACL_API aclrtGetVersion(int32_t* major, int32_t* minor, int32_t* patch) {
  return guard("aclrtGetVersion", [&] {
    need(major, "majorVersion");
    need(minor, "minorVersion");
    need(patch, "patchVersion");
    *major = 1;
    *minor = 15;
    *patch = 0;
  });
}

extern "C" UPDRAFT_API const char* aclrtGetSocName() {
  const char* name = nullptr;  // where UPDRAFT_SOC names no product
  guard("aclrtGetSocName", [&] { name = soc().name; });
  return name;
}

extern "C" UPDRAFT_API const char* aclGetRecentErrMsg() {
  const char* text = take_error_text();
  return *text ? text : nullptr;
}

ACL_API aclsysGetCANNVersion(int32_t, void* version) {
  return guard("aclsysGetCANNVersion", [&] {
    need(version, "version");
    // aclCANNPackageVersion: version[128] major[64] minor[64] release[64] patch[64] reserved[128]
    char* p = static_cast<char*>(version);
    std::memset(p, 0, 512);
    std::strcpy(p, kVersion);
    std::strcpy(p + 128, "9");
    std::strcpy(p + 192, "1");
    std::strcpy(p + 256, "0");
  });
}

ACL_API aclsysGetVersionStr(char* package, char* version) {
  return guard("aclsysGetVersionStr", [&] {
    need(package, "pkgName");
    need(version, "versionStr");
    std::strcpy(version, kVersion);
  });
}

ACL_API aclGetCannAttributeList(const int32_t** attributes, size_t* count) {
  return guard("aclGetCannAttributeList", [&] {
    need(attributes, "cannAttrList");
    need(count, "num");
    static const int32_t all[] = {0, 1, 2};  // INF_NAN, BF16, JIT_COMPILE
    static const int32_t old[] = {2};
    *attributes = soc().inf_nan ? all : old;
    *count = soc().inf_nan ? 3 : 1;
  });
}

ACL_API aclGetCannAttribute(int32_t attribute, int32_t* value) {
  return guard("aclGetCannAttribute", [&] {
    need(value, "value");
    switch (attribute) {
      case 0: *value = soc().inf_nan; break;
      case 1: *value = soc().bf16; break;
      case 2: *value = 0; break;  // operators are never compiled just in time
      default: throw Error(code::kAclInvalidParam, "cannAttr {} is unknown, want 0 to 2", attribute);
    }
  });
}

ACL_API aclGetDeviceCapability(uint32_t device, int32_t what, int64_t* value) {
  return guard("aclGetDeviceCapability", [&] {
    need(value, "value");
    Device::get(static_cast<int>(device));
    switch (what) {
      case 0: *value = soc().cube_cores; break;
      case 1: *value = soc().vector_cores; break;
      case 2: *value = static_cast<int64_t>(soc().l2_bytes); break;
      default: throw Error(code::kAclInvalidParam, "deviceInfo {} is unknown, want 0 to 2", what);
    }
  });
}

extern "C" UPDRAFT_API void aclAppLog(int32_t level, const char*, const char* file, uint32_t line, const char* format,
                                      ...) try {
  if (!format || level < log::kDebug || level > log::kError) return;
  if (!log::enabled(static_cast<log::Level>(level), "APP")) return;
  char text[1024];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  log::write(static_cast<log::Level>(level), "APP", file ? file : "?", static_cast<int>(line), text);
} catch (...) {}  // a line of the log is lost
