// Limits of an operator's execution. An operator on a CPU cannot be stopped from outside: one that ran for too long
// fails with 507014 when it ends. 0 takes the longest limit, which is none here.
#include "acl/api.h"
#include "device/waits/time_limits.h"

using namespace updraft;

ACL_API aclrtSetOpExecuteTimeOut(uint32_t seconds) {
  return guard("aclrtSetOpExecuteTimeOut", [&] { set_execution_limit(std::chrono::seconds(seconds)); });
}
ACL_API aclrtSetOpExecuteTimeOutWithMs(uint32_t milliseconds) {
  return guard("aclrtSetOpExecuteTimeOutWithMs", [&] { set_execution_limit(std::chrono::milliseconds(milliseconds)); });
}
ACL_API aclrtSetOpExecuteTimeOutV2(uint64_t microseconds, uint64_t* actual) {
  return guard("aclrtSetOpExecuteTimeOutV2", [&] {
    need(actual, "actualTimeout");
    constexpr uint64_t kMost = INT64_MAX / 1000;  // of nanoseconds in 64 bits
    const uint64_t limit = microseconds > kMost ? 0 : microseconds;
    set_execution_limit(std::chrono::microseconds(limit));
    *actual = limit ? limit : UINT64_MAX;
  });
}
