// acl.rt: devices, contexts, system parameters.
#include "binding.h"

namespace pyacl {
namespace {

constexpr Row kRows[] = {
    WAIT("set_device", aclrtSetDevice, "device_id"),
    WAIT("reset_device", aclrtResetDevice, "device_id"),
    WAIT("reset_device_force", aclrtResetDeviceForce, "device_id"),
    CALL("get_device", aclrtGetDevice, "-> device_id"),
    CALL("get_device_count", aclrtGetDeviceCount, "-> count"),
    CALL("get_run_mode", aclrtGetRunMode, "-> run_mode"),
    CALL("get_version", aclrtGetVersion, "-> major, minor, patch"),
    WAIT("synchronize_device", aclrtSynchronizeDevice, ""),
    WAIT("synchronize_device_with_timeout", aclrtSynchronizeDeviceWithTimeout, "timeout"),
    CALL("device_can_access_peer", aclrtDeviceCanAccessPeer, "device_id, peer_device_id -> can_access"),
    CALL("device_enable_peer_access", aclrtDeviceEnablePeerAccess, "peer_device_id, flags"),
    CALL("device_disable_peer_access", aclrtDeviceDisablePeerAccess, "peer_device_id"),
    CALL("device_peer_access_status", aclrtDevicePeerAccessStatus, "device_id, peer_device_id -> status"),
    CALL("device_get_stream_priority_range", aclrtDeviceGetStreamPriorityRange, "-> least, greatest"),
    CALL("device_get_bare_tgid", aclrtDeviceGetBareTgid, "-> pid"),
    WAIT("device_task_abort", aclrtDeviceTaskAbort, "device_id, timeout"),
    CALL("get_device_utilization_rate", aclrtGetDeviceUtilizationRate, "device_id -> info"),
    CALL("get_device_info", aclrtGetDeviceInfo, "device_id, attr -> value"),
    CALL("get_device_capability", aclrtGetDeviceCapability, "device_id, feature -> value"),
    CALL("query_device_status", aclrtQueryDeviceStatus, "device_id -> status"),
    CALL("get_device_sat_mode", aclrtGetDeviceSatMode, "-> mode"),
    CALL("set_device_sat_mode", aclrtSetDeviceSatMode, "mode"),
    CALL("get_device_res_limit", aclrtGetDeviceResLimit, "device_id, type -> value"),
    CALL("set_device_res_limit", aclrtSetDeviceResLimit, "device_id, type, value"),
    CALL("reset_device_res_limit", aclrtResetDeviceResLimit, "device_id"),
    CALL("get_logic_dev_id_by_phy_dev_id", aclrtGetLogicDevIdByPhyDevId, "phy_dev_id -> logic_dev_id"),
    CALL("get_phy_dev_id_by_logic_dev_id", aclrtGetPhyDevIdByLogicDevId, "logic_dev_id -> phy_dev_id"),
    CALL("get_logic_dev_id_by_user_dev_id", aclrtGetLogicDevIdByUserDevId, "user_dev_id -> logic_dev_id"),
    CALL("get_user_dev_id_by_logic_dev_id", aclrtGetUserDevIdByLogicDevId, "logic_dev_id -> user_dev_id"),
    CALL("set_ts_device", aclrtSetTsDevice, "ts_id"),
    CALL("get_last_error", aclrtGetLastError, "level"),
    CALL("peek_at_last_error", aclrtPeekAtLastError, "level"),

    WAIT("create_context", aclrtCreateContext, "device_id -> context"),
    WAIT("destroy_context", aclrtDestroyContext, "context"),
    CALL("set_context", aclrtSetCurrentContext, "context"),
    CALL("get_context", aclrtGetCurrentContext, "-> context"),
    CALL("ctx_get_current_default_stream", aclrtCtxGetCurrentDefaultStream, "-> stream"),
    CALL("ctx_get_sys_param_opt", aclrtCtxGetSysParamOpt, "option -> value"),
    CALL("ctx_set_sys_param_opt", aclrtCtxSetSysParamOpt, "option, value"),
    CALL("get_sys_param_opt", aclrtGetSysParamOpt, "option -> value"),
    CALL("set_sys_param_opt", aclrtSetSysParamOpt, "option, value"),
    CALL("set_group", aclrtSetGroup, "group_id"),
    CALL("get_group_count", aclrtGetGroupCount, "-> count"),
    CALL("create_group_info", aclrtCreateGroupInfo, "-> group_info"),
    CALL("destroy_group_info", aclrtDestroyGroupInfo, "group_info"),
    CALL("get_all_group_info", aclrtGetAllGroupInfo, "group_info"),
};

}  // namespace
const Table kDevices{"rt", kRows};
}  // namespace pyacl
