// Entry points of profiling that clients call at import and exit. Collection itself is not part of this stage: starting
// it says so (aclprofInit, aclmdlInitDump and their kin are stubs that fail).
#include <time.h>

#include <functional>
#include <string_view>

#include "acl/api.h"
#include "base/accepted.h"
#include "base/config.h"

using namespace updraft;

#define NOT_COLLECTED "nothing is collected yet: what clients report of the host reaches no profile"
#define NOT_COLLECTED_ZH "尚不采集性能数据：客户端上报的主机侧事件不会进入任何 profile"
ACCEPTED(MsprofRegisterCallback, "it is told of no start of profiling, since none can be started yet",
         "尚不能启动 profiling，回调不会被触发")
ACL_API MsprofRegisterCallback(uint32_t, int (*)(uint32_t, void*, uint32_t)) { return 0; }
ACCEPTED(MsprofReportApi, NOT_COLLECTED, NOT_COLLECTED_ZH)
ACL_API MsprofReportApi(uint32_t, const void*) { return 0; }
ACCEPTED(MsprofReportCompactInfo, NOT_COLLECTED, NOT_COLLECTED_ZH)
ACL_API MsprofReportCompactInfo(uint32_t, const void*, uint32_t) { return 0; }
ACCEPTED(MsprofReportAdditionalInfo, NOT_COLLECTED, NOT_COLLECTED_ZH)
ACL_API MsprofReportAdditionalInfo(uint32_t, const void*, uint32_t) { return 0; }
extern "C" UPDRAFT_API uint64_t MsprofGetHashId(const char* text, size_t length) {
  return text ? std::hash<std::string_view>{}({text, length}) : 0;
}
extern "C" UPDRAFT_API uint64_t MsprofSysCycleTime() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC_RAW, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1000000000u + static_cast<uint64_t>(t.tv_nsec);
}

// A device API version below 0x071905 makes clients stamp with CLOCK_MONOTONIC_RAW, as we do. halGetDeviceInfo is a
// stub that fails: there is no driver whose figures it could give.
ACL_API halGetAPIVersion(int* version) {
  return guard("halGetAPIVersion", [&] {
    need(version, "halAPIVersion");
    *version = 0x071800;
  });
}
// How many there are on the machine, whatever ASCEND_RT_VISIBLE_DEVICES leaves of them.
ACL_API drvGetDevNum(uint32_t* count) {
  return guard("drvGetDevNum", [&] {
    need(count, "count");
    *count = static_cast<uint32_t>(Config::get().installed);
  });
}
