// Calls that must succeed: a failure says which, its number and the library's own text.
#pragma once
#include <stdexcept>
#include <string>

#include "acl/acl.h"
#include "hccl/hccl.h"

namespace hccl_test {

[[noreturn]] inline void failed(const char* call, int code, const char* name) {
  const char* text = aclGetRecentErrMsg();
  std::string message = std::string(call) + " gave " + std::to_string(code) + name;
  if (text && *text) message += ": " + std::string(text);
  throw std::runtime_error(message);
}
inline void check_acl(aclError code, const char* call) {
  if (code != ACL_SUCCESS) failed(call, code, "");
}
inline void check_hccl(HcclResult code, const char* call) {
  if (code != HCCL_SUCCESS) failed(call, code, (std::string(" (") + HcclGetErrorString(code) + ")").c_str());
}
#define ACL(call) ::hccl_test::check_acl(call, #call)
#define HCCL(call) ::hccl_test::check_hccl(call, #call)

}  // namespace hccl_test
