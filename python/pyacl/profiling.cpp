// acl.prof: profiling.
#include "acl/acl_prof.h"

#include <cstring>

#include "binding.h"

namespace pyacl {
namespace {

aclError init(const char* path) { return aclprofInit(path, std::strlen(path)); }
aclprofConfig* create_config(List<uint32_t> devices, aclprofAicoreMetrics metrics, const aclprofAicoreEvents* events,
                             uint64_t data_types) {
  return aclprofCreateConfig(devices.data(), static_cast<uint32_t>(devices.count()), metrics, events, data_types);
}

constexpr Row kRows[] = {
    WAIT_AS("init", "aclprofInit", init, "path"),
    WAIT("finalize", aclprofFinalize, ""),
    CALL_AS("create_config", "aclprofCreateConfig", create_config,
            "device_list, metrics, events, data_types -> config"),
    CALL("destroy_config", aclprofDestroyConfig, "config"),
    WAIT("start", aclprofStart, "config"),
    WAIT("stop", aclprofStop, "config"),
    CALL("create_step_info", aclprofCreateStepInfo, "-> step_info"),
    CALL("destroy_step_info", aclprofDestroyStepInfo, "step_info"),
    WAIT("get_step_timestamp", aclprofGetStepTimestamp, "step_info, tag, stream"),
    CALL("create_subscribe_config", aclprofCreateSubscribeConfig, "time_info_switch, metrics, fd -> config"),
    CALL("destroy_subscribe_config", aclprofDestroySubscribeConfig, "config"),
    WAIT("model_subscribe", aclprofModelSubscribe, "model_id, config"),
    WAIT("model_un_subscribe", aclprofModelUnSubscribe, "model_id"),
    CALL("create_stamp", aclprofCreateStamp, "-> stamp"),
    CALL("destroy_stamp", aclprofDestroyStamp, "stamp"),
    CALL("mark", aclprofMark, "stamp"),
    CALL("push", aclprofPush, "stamp"),
    CALL("pop", aclprofPop, ""),
    CALL("range_start", aclprofRangeStart, "stamp -> range_id"),
    CALL("range_stop", aclprofRangeStop, "range_id"),
};

}  // namespace
const Table kProfiling{"prof", kRows};
}  // namespace pyacl
