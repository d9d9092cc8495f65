// Profiling and dump entry points that clients call at import and exit. Collection itself is not part of this stage:
// starting it says so.
#include <time.h>

#include <functional>
#include <string_view>

#include "acl/api.h"

using namespace updraft;

ACL_API MsprofRegisterCallback(uint32_t, int (*)(uint32_t, void*, uint32_t)) { return 0; }
ACL_API MsprofReportApi(uint32_t, const void*) { return 0; }
ACL_API MsprofReportCompactInfo(uint32_t, const void*, uint32_t) { return 0; }
ACL_API MsprofReportAdditionalInfo(uint32_t, const void*, uint32_t) { return 0; }
extern "C" UPDRAFT_API uint64_t MsprofGetHashId(const char* text, size_t length) {
  return text ? std::hash<std::string_view>{}({text, length}) : 0;
}
extern "C" UPDRAFT_API uint64_t MsprofSysCycleTime() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

// A device API version below 0x071905 makes clients stamp with CLOCK_MONOTONIC_RAW, as we do.
ACL_API halGetAPIVersion(int* version) {
  return guard("halGetAPIVersion", [&] {
    need(version, "halAPIVersion");
    *version = 0x071800;
  });
}
ACL_API halGetDeviceInfo(uint32_t, int32_t, int32_t, int64_t* value) {
  return guard("halGetDeviceInfo", [&] {
    need(value, "value");
    *value = 0;
  });
}

ACL_API aclmdlInitDump() { return 0; }
ACL_API aclmdlFinalizeDump() { return 0; }
