// The callback that a client is given when a task fails, and what it may ask then.
#include <unistd.h>

#include <atomic>

#include "acl/acl_mdl.h"
#include "acl/acl_rt.h"
#include "acl/api.h"
#include "base/refused.h"
#include "device/failure.h"

using namespace updraft;

/// Valid during the callback.
struct aclrtExceptionInfo {
  uint32_t device, stream, thread, code;
};

namespace {

constexpr uint32_t kUnknown = UINT32_MAX;  ///< of a null info, and of what is not known

std::atomic<aclrtExceptionInfoCallback> g_callback{nullptr};

void tell(const Failure& failure) {
  const aclrtExceptionInfoCallback callback = g_callback.load();
  if (!callback) return;
  aclrtExceptionInfo info{static_cast<uint32_t>(failure.device), static_cast<uint32_t>(failure.stream),
                          static_cast<uint32_t>(gettid()), static_cast<uint32_t>(failure.code)};
  callback(&info);
}

}  // namespace

ACL_API aclrtSetExceptionInfoCallback(aclrtExceptionInfoCallback callback) {
  return guard("aclrtSetExceptionInfoCallback", [&] {
    g_callback = callback;
    listen_to_failures(callback ? &tell : nullptr);
  });
}

extern "C" {
UPDRAFT_API uint32_t aclrtGetStreamIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->stream : kUnknown;
}
UPDRAFT_API uint32_t aclrtGetThreadIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->thread : kUnknown;
}
UPDRAFT_API uint32_t aclrtGetDeviceIdFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->device : kUnknown;
}
UPDRAFT_API uint32_t aclrtGetErrorCodeFromExceptionInfo(const aclrtExceptionInfo* info) {
  return info ? info->code : kUnknown;
}
/// Tasks have numbers only while somebody observes them (device/observer.h): it is not known here.
UPDRAFT_API uint32_t aclrtGetTaskIdFromExceptionInfo(const aclrtExceptionInfo*) { return kUnknown; }
}

REFUSED(aclmdlCreateAndGetOpDesc)
ACL_API aclmdlCreateAndGetOpDesc(uint32_t device, uint32_t stream, uint32_t task, char* name, size_t length,
                                 aclTensorDesc** inputs, size_t* input_count, aclTensorDesc** outputs,
                                 size_t* output_count) {
  return guard("aclmdlCreateAndGetOpDesc", [&] {
    need(name, "opName");
    need(inputs, "inputDesc");
    need(input_count, "numInputs");
    need(outputs, "outputDesc");
    need(output_count, "numOutputs");
    if (length == 0) throw Error(code::kAclInvalidParam, "opNameLength is 0");
    throw Error(
        code::kAclApiNotSupport,
        "task {} of stream {} of device {}: tasks have no numbers to find an operator by "
        "(aclrtGetTaskIdFromExceptionInfo gives {}); the message of a failure names the operator, its inputs and "
        "its outputs",
        task, stream, device, kUnknown);
  });
}
