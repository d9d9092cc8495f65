// Limits of cores for a device, a stream or what the calling thread submits. They are kept, checked and given back;
// they bound nothing here, because how many cores compute does not change a result.
#include <map>
#include <mutex>
#include <utility>

#include "acl/api.h"
#include "base/accepted.h"
#include "device/context.h"
#include "device/device.h"
#include "device/soc.h"
#include "device/stream.h"

using namespace updraft;

namespace {

constexpr int kKinds = 2;  // cube, vector
struct Limits {
  uint32_t cores[kKinds] = {};  ///< 0: none of its own
};

std::mutex g_mutex;
std::map<int32_t, Limits>& of_devices() {
  static auto* limits = new std::map<int32_t, Limits>;
  return *limits;
}
/// By device and number of the stream, which is not used again.
std::map<std::pair<int32_t, int32_t>, Limits>& of_streams() {
  static auto* limits = new std::map<std::pair<int32_t, int32_t>, Limits>;
  return *limits;
}
std::pair<int32_t, int32_t> key(const Stream& stream) { return {stream.device().index(), stream.id()}; }

struct InUse {
  HandleRef<Stream> stream;
  uint32_t cores[kKinds] = {};
};
thread_local InUse t_use;

uint32_t cores(int32_t kind) { return static_cast<uint32_t>(kind == 0 ? soc().cube_cores : soc().vector_cores); }

void check_kind(int32_t kind) {
  if (kind < 0 || kind >= kKinds)
    throw Error(code::kRtParamInvalid, "resource type {} is unknown, want 0 (cube) or 1 (vector)", kind);
}

void check(int32_t kind, uint32_t value) {
  check_kind(kind);
  if (value < 1 || value > cores(kind))
    throw Error(code::kRtParamInvalid, "a limit of {} {} cores, want 1 to {} on {}", value, kind ? "vector" : "cube",
                cores(kind), soc().name);
}

// With the lock.
uint32_t device_limit(int32_t device, int32_t kind) {
  const auto at = of_devices().find(device);
  return at == of_devices().end() || !at->second.cores[kind] ? cores(kind) : at->second.cores[kind];
}
uint32_t stream_limit(const Stream& stream, int32_t kind) {
  const auto at = of_streams().find(key(stream));
  return at != of_streams().end() && at->second.cores[kind] ? at->second.cores[kind]
                                                            : device_limit(stream.device().index(), kind);
}

}  // namespace

#define KEPT "the limit is checked, kept and given back, but how many cores compute changes no result here"
#define KEPT_ZH "会检查、保存并可读回该限制，但参与计算的核数不影响结果"
ACCEPTED(aclrtSetDeviceResLimit, KEPT, KEPT_ZH)
ACL_API aclrtSetDeviceResLimit(int32_t device, int32_t kind, uint32_t value) {
  return guard("aclrtSetDeviceResLimit", [&] {
    Device::get(device);
    check(kind, value);
    std::lock_guard lock(g_mutex);
    of_devices()[device].cores[kind] = value;
  });
}
ACL_API aclrtResetDeviceResLimit(int32_t device) {
  return guard("aclrtResetDeviceResLimit", [&] {
    Device::get(device);
    std::lock_guard lock(g_mutex);
    of_devices().erase(device);
  });
}
ACL_API aclrtGetDeviceResLimit(int32_t device, int32_t kind, uint32_t* value) {
  return guard("aclrtGetDeviceResLimit", [&] {
    need(value, "value");
    Device::get(device);
    check_kind(kind);
    std::lock_guard lock(g_mutex);
    *value = device_limit(device, kind);
  });
}

ACCEPTED(aclrtSetStreamResLimit, KEPT, KEPT_ZH)
ACL_API aclrtSetStreamResLimit(void* stream, int32_t kind, uint32_t value) {
  return guard("aclrtSetStreamResLimit", [&] {
    Stream& s = stream_of(stream);
    check(kind, value);
    std::lock_guard lock(g_mutex);
    of_streams()[key(s)].cores[kind] = value;
  });
}
ACL_API aclrtResetStreamResLimit(void* stream) {
  return guard("aclrtResetStreamResLimit", [&] {
    Stream& s = stream_of(stream);
    std::lock_guard lock(g_mutex);
    of_streams().erase(key(s));
  });
}
ACL_API aclrtGetStreamResLimit(void* stream, int32_t kind, uint32_t* value) {
  return guard("aclrtGetStreamResLimit", [&] {
    need(value, "value");
    const Stream& s = stream_of(stream);
    check_kind(kind);
    std::lock_guard lock(g_mutex);
    *value = stream_limit(s, kind);
  });
}

ACCEPTED(aclrtUseStreamResInCurrentThread, KEPT, KEPT_ZH)
ACL_API aclrtUseStreamResInCurrentThread(void* stream) {
  return guard("aclrtUseStreamResInCurrentThread", [&] {
    const Stream& s = stream_of(stream);
    std::lock_guard lock(g_mutex);
    t_use = {stream_pool().ref(&s), {stream_limit(s, 0), stream_limit(s, 1)}};
  });
}
ACL_API aclrtUnuseStreamResInCurrentThread(void* stream) {
  return guard("aclrtUnuseStreamResInCurrentThread", [&] {
    if (t_use.stream == &stream_of(stream)) t_use = {};
  });
}
ACL_API aclrtGetResInCurrentThread(int32_t kind, uint32_t* value) {
  return guard("aclrtGetResInCurrentThread", [&] {
    need(value, "value");
    check_kind(kind);
    std::lock_guard lock(g_mutex);
    if (!stream_pool().get(t_use.stream)) t_use = {};  // destroyed since
    *value = t_use.cores[kind] ? t_use.cores[kind] : device_limit(current_device().index(), kind);
  });
}
