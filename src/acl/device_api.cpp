// Devices and contexts.
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>

#include "acl/api.h"
#include "base/accepted.h"
#include "base/config.h"
#include "base/parallel.h"
#include "base/sha256.h"
#include "base/visible_devices.h"
#include "device/observer.h"
#include "device/saturation.h"
#include "device/soc.h"
#include "kernels/table.h"

using namespace updraft;

ACL_API aclrtGetDeviceCount(uint32_t* count) {
  return guard("aclrtGetDeviceCount", [&] {
    need(count, "count");
    read_visible_devices();
    *count = static_cast<uint32_t>(Device::count());
  });
}

ACL_API aclrtSetDevice(int32_t device) {
  return guard("aclrtSetDevice", [&] { retain_primary_context(device); });
}
ACL_API aclrtResetDevice(int32_t device) {
  return guard("aclrtResetDevice", [&] { release_primary_context(device); });
}
ACL_API aclrtResetDeviceForce(int32_t device) {
  return guard("aclrtResetDeviceForce", [&] { drop_primary_context(device); });
}

ACL_API aclrtGetDevice(int32_t* device) {
  return guard("aclrtGetDevice", [&] {
    need(device, "deviceId");
    *device = current_device().index();
  });
}

ACL_API aclrtGetRunMode(int32_t* mode) {
  return guard("aclrtGetRunMode", [&] {
    need(mode, "runMode");
    *mode = 1;  // ACL_HOST
  });
}

ACL_API aclrtSynchronizeDevice() {
  return guard("aclrtSynchronizeDevice", [&] { current_device().synchronize(); });
}

ACL_API aclrtSynchronizeDeviceWithTimeout(int32_t timeout) {
  return guard("aclrtSynchronizeDeviceWithTimeout", [&] {
    if (timeout < -1) throw Error(code::kRtParamInvalid, "timeout is {}, want -1 or milliseconds", timeout);
    current_device().synchronize(std::chrono::milliseconds(timeout));
  });
}

ACL_API aclrtDeviceTaskAbort(int32_t index, uint32_t) {
  return guard("aclrtDeviceTaskAbort", [&] { Device::get(index).abort(); });
}

ACL_API aclrtCreateContext(void** context, int32_t device) {
  return guard("aclrtCreateContext", [&] {
    need(context, "context");
    Context* made = context_pool().create(Device::get(device));
    observe_order({.what = OrderEvent::What::Made, .object = made, .name = "context"});
    set_current_context(made);
    *context = made;
  });
}

ACL_API aclrtDestroyContext(void* context) {
  return guard("aclrtDestroyContext", [&] {
    need(context, "context");
    Context* target = context_pool().get(context);
    if (!target) throw Error(code::kRtInvalidHandle, "{} is not a context (destroyed, or never created)", context);
    if (is_primary_context(target))
      throw Error(code::kRtParamInvalid,
                  "{} is the primary context of device {}, which aclrtSetDevice made: aclrtResetDevice releases it",
                  context, target->device().index());
    observe_order({.what = OrderEvent::What::Destroyed, .object = target});
    context_pool().destroy(target);  // threads whose current context it was have none any more
  });
}

ACL_API aclrtSetCurrentContext(void* context) {
  return guard("aclrtSetCurrentContext", [&] {
    need(context, "context");
    Context* target = context_pool().get(context);
    if (!target) throw Error(code::kRtInvalidHandle, "{} is not a context (destroyed, or never created)", context);
    set_current_context(target);
  });
}

ACL_API aclrtGetCurrentContext(void** context) {
  return guard("aclrtGetCurrentContext", [&] {
    need(context, "context");
    *context = &current_context();
  });
}

ACL_API aclrtCtxGetCurrentDefaultStream(void** stream) {
  return guard("aclrtCtxGetCurrentDefaultStream", [&] {
    need(stream, "stream");
    *stream = &current_context().default_stream();
  });
}

ACL_API aclrtGetPrimaryCtxState(int32_t device, uint32_t* flags, int32_t* active) {
  return guard("aclrtGetPrimaryCtxState", [&] {
    if (device < 0 || device >= Device::count()) Device::get(device);
    if (flags) *flags = 0;
    need(active, "active");
    *active = primary_context_active(device);
  });
}

ACL_API aclrtDeviceCanAccessPeer(int32_t* can, int32_t device, int32_t peer) {
  return guard("aclrtDeviceCanAccessPeer", [&] {
    need(can, "canAccessPeer");
    for (int32_t d : {device, peer})
      if (d < 0 || d >= Device::count()) Device::get(d);
    *can = device != peer;
  });
}
ACCEPTED(aclrtDeviceEnablePeerAccess, "devices of one process always see each other's memory",
         "同一进程内的设备始终可互访内存")
ACL_API aclrtDeviceEnablePeerAccess(int32_t peer, uint32_t flags) {
  return guard("aclrtDeviceEnablePeerAccess", [&] {
    if (flags != 0) throw Error(code::kRtParamInvalid, "flags is {}, want 0", flags);
    Device::get(peer);
  });
}
ACCEPTED(aclrtDeviceDisablePeerAccess, "devices of one process always see each other's memory",
         "同一进程内的设备始终可互访内存")
ACL_API aclrtDeviceDisablePeerAccess(int32_t peer) {
  return guard("aclrtDeviceDisablePeerAccess", [&] { Device::get(peer); });
}

ACL_API aclrtDeviceGetBareTgid(int32_t* pid) {
  return guard("aclrtDeviceGetBareTgid", [&] {
    need(pid, "pid");
    *pid = getpid();
  });
}

namespace {
// The kernel's number of this boot: containers of one host have the same, containers of one image on two hosts have not
// (unlike the machine id, which stands in where there is no boot id).
std::string host_identity() {
  for (const char* path : {"/proc/sys/kernel/random/boot_id", "/etc/machine-id"}) {
    std::string line;
    if (std::getline(std::ifstream(path), line) && !line.empty()) return line;
  }
  throw Error(code::kRtFeatureNotSupport, "this host has neither a boot id nor a machine id to make a UUID from");
}
}  // namespace

ACL_API aclrtDeviceGetUuid(int32_t device, void* uuid) {
  return guard("aclrtDeviceGetUuid", [&] {
    need(uuid, "uuid");
    Device::get(device);
    const std::string name = fmt::format("updraft device {} of {}", device, host_identity());
    const Digest digest = sha256(name.data(), name.size());
    std::memcpy(uuid, digest.data(), 16);
  });
}

ACL_API aclrtGetLogicDevIdByUserDevId(int32_t user, int32_t* logic) {
  return guard("aclrtGetLogicDevIdByUserDevId", [&] {
    need(logic, "logicDevId");
    if (user < 0 || user >= Device::count()) Device::get(user);
    *logic = user;
  });
}
ACL_API aclrtGetUserDevIdByLogicDevId(int32_t logic, int32_t* user) {
  return guard("aclrtGetUserDevIdByLogicDevId", [&] {
    need(user, "userDevId");
    if (logic < 0 || logic >= Device::count()) Device::get(logic);
    *user = logic;
  });
}

ACL_API aclrtGetDeviceInfo(uint32_t index, int32_t attribute, int64_t* value) {
  return guard("aclrtGetDeviceInfo", [&] {
    need(value, "value");
    Device& device = Device::get(static_cast<int>(index));
    switch (attribute) {
      case 1: *value = soc().aicpu_cores; break;
      case 101:
      case 102: *value = soc().cube_cores; break;
      case 201: *value = soc().vector_cores; break;
      case 202: *value = 32; break;
      case 203: *value = 2048; break;
      case 204: *value = 192 << 10; break;
      case 301: *value = static_cast<int64_t>(device.memory().limit()); break;
      case 302: *value = static_cast<int64_t>(soc().l2_bytes); break;
      case 401:
      case 404:
      case 405:
      case 406:
      case 407: *value = 0; break;
      case 402:
      case 403: *value = device.index(); break;
      case 408: *value = 0; break;
      case 501: *value = 0; break;
      default: throw Error(code::kRtParamInvalid, "device attribute {} is not known", attribute);
    }
  });
}

ACL_API aclrtGetDeviceUtilizationRate(int32_t device, void* info) {
  return guard("aclrtGetDeviceUtilizationRate", [&] {
    need(info, "utilizationInfo");
    Device& d = Device::get(device);
    auto* rate = static_cast<int32_t*>(info);
    bool busy = false;
    for (Stream* stream : d.streams()) busy = busy || !stream->idle();
    rate[0] = rate[1] = busy ? 100 : 0;
    rate[2] = 0;
    rate[3] = static_cast<int32_t>(d.memory().used() * 100 / d.memory().limit());
  });
}

namespace {
int last_error(const char* name, int32_t level, bool clear) {
  const int last = last_runtime_error(clear);
  if (level == 0) return last;  // ACL_RT_THREAD_LEVEL, the only one
  return guard(name, [&] { throw Error(code::kRtParamInvalid, "level {} is unknown, want 0 (thread)", level); });
}
}  // namespace
ACL_API aclrtPeekAtLastError(int32_t level) { return last_error("aclrtPeekAtLastError", level, false); }
ACL_API aclrtGetLastError(int32_t level) { return last_error("aclrtGetLastError", level, true); }

// --- modes
ACL_API aclrtSetDeviceSatMode(int32_t mode) {
  return guard("aclrtSetDeviceSatMode", [&] {
    if (mode != 0 && mode != 1)
      throw Error(code::kRtParamInvalid, "overflow mode {} is unknown, want 0 (saturation) or 1 (INF_NAN)", mode);
    // clients may choose it before any thread has a device
    if (Context* context = current_context_or_null()) context->device().saturation = mode == 0;
    else set_default_saturation(mode == 0);
  });
}
ACL_API aclrtGetDeviceSatMode(int32_t* mode) {
  return guard("aclrtGetDeviceSatMode", [&] {
    need(mode, "mode");
    Context* context = current_context_or_null();
    *mode = (context ? context->device().saturation != 0 : default_saturation()) ? 0 : 1;
  });
}

namespace {
constexpr int32_t kDeterministic = 0;  // ACL_OPT_DETERMINISTIC
std::atomic<int64_t> g_system[3];
void set_option(int32_t option, int64_t value) {
  g_system[option] = value;
  if (option == kDeterministic) set_deterministic(value != 0);
}
void check_option(int32_t option) {
  if (option < 0 || option > 2)
    throw Error(code::kRtParamInvalid, "system parameter {} is unknown, want 0 to 2", option);
}
}  // namespace
ACL_API aclrtSetSysParamOpt(int32_t option, int64_t value) {
  return guard("aclrtSetSysParamOpt", [&] {
    check_option(option);
    set_option(option, value);
  });
}
ACL_API aclrtGetSysParamOpt(int32_t option, int64_t* value) {
  return guard("aclrtGetSysParamOpt", [&] {
    check_option(option);
    need(value, "value");
    *value = g_system[option];
  });
}
ACL_API aclrtCtxSetSysParamOpt(int32_t option, int64_t value) {
  return guard("aclrtCtxSetSysParamOpt", [&] {
    check_option(option);
    set_option(option, value);
  });
}
ACL_API aclrtCtxGetSysParamOpt(int32_t option, int64_t* value) {
  return guard("aclrtCtxGetSysParamOpt", [&] {
    check_option(option);
    need(value, "value");
    *value = g_system[option];
  });
}
