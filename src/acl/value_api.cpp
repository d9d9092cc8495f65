// Values that streams write and wait for.
#include "acl/api.h"
#include "device/memory.h"
#include "device/waits/value_wait.h"

using namespace updraft;

namespace {
std::atomic<uint64_t>* checked(void* at) {
  need(at, "devAddr");
  if (reinterpret_cast<uintptr_t>(at) % 8) throw Error(code::kRtParamInvalid, "devAddr {} is not 8-byte aligned", at);
  if (Device* device = Device::owner(at); device && device->memory().room_at(at) < 8)
    throw Error(code::kRtParamInvalid, "devAddr {} has {} bytes of room on device {}, 8 are wanted", at,
                device->memory().room_at(at), device->index());
  return static_cast<std::atomic<uint64_t>*>(host_address(at));
}
}  // namespace

ACL_API aclrtValueWrite(void* at, uint64_t value, uint32_t, void* stream) {
  return guard("aclrtValueWrite", [&] {
    auto* where = checked(at);
    write_value(stream_of(stream), where, value);
  });
}
ACL_API aclrtValueWait(void* at, uint64_t value, uint32_t flag, void* stream) {
  return guard("aclrtValueWait", [&] {
    auto* where = checked(at);
    if (flag > 3) throw Error(code::kRtParamInvalid, "flag {} is unknown, want 0 to 3", flag);
    wait_for_value(stream_of(stream), {where, value, static_cast<ValueTest>(flag)});
  });
}
