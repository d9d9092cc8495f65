// Errors of memory that hardware cannot correct. A virtual device's memory is the host's, of which the kernel takes
// care.
#include "acl/acl_rt.h"
#include "acl/api.h"

using namespace updraft;

/// There are none, always.
ACL_API aclrtGetMemUceInfo(int32_t device, aclrtMemUceInfo*, size_t, size_t* count) {
  return guard("aclrtGetMemUceInfo", [&] {
    need(count, "retSize");
    Device::get(device);
    *count = 0;
  });
}
ACL_API aclrtMemUceRepair(int32_t device, aclrtMemUceInfo*, size_t count) {
  return guard("aclrtMemUceRepair", [&] {
    Device::get(device);
    if (count)
      throw Error(code::kRtParamInvalid, "{} errors are to be repaired, device {} has none (aclrtGetMemUceInfo)", count,
                  device);
  });
}
