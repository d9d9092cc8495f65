// Errors travel inside the library as exceptions and leave it as codes: guard() (base/boundary.h), and the two phases
// of operators (ops/op.cpp), convert one into the other.
#pragma once
#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace updraft {

/// A failure with the code that the C interface documents for it and a sentence for aclGetRecentErrMsg.
class Error : public std::exception {
 public:
  Error(int code, std::string text) : code_(code), text_(std::move(text)) {}
  template <class A, class... Rest>
  Error(int code, fmt::format_string<A, Rest...> format, A&& a, Rest&&... rest)
      : code_(code), text_(fmt::format(format, std::forward<A>(a), std::forward<Rest>(rest)...)) {}

  int code() const noexcept { return code_; }
  const std::string& text() const noexcept { return text_; }
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  int code_;
  std::string text_;
};

/// Throws Error(code, format of args): code that checks much has one call of it for each check.
[[noreturn]] void throw_error(int code, fmt::string_view format, fmt::format_args args);

/// Codes of the three interfaces that the library raises itself (source: abi/, include/acl/acl_rt.h).
namespace code {
inline constexpr int kOk = 0;
inline constexpr int kAclInvalidParam = 100000;
inline constexpr int kAclUninitialized = 100001;
inline constexpr int kAclRepeatInitialize = 100002;
inline constexpr int kAclInvalidFile = 100003;
inline constexpr int kAclParseFile = 100006;
inline constexpr int kAclRepeatFinalize = 100037;
inline constexpr int kAclOpNotFound = 100024;
inline constexpr int kAclBadAlloc = 200000;
inline constexpr int kAclApiNotSupport = 200001;
inline constexpr int kAclInternal = 500000;
inline constexpr int kRtParamInvalid = 107000;
inline constexpr int kRtInvalidDevice = 107001;
inline constexpr int kRtContextNull = 107002;
inline constexpr int kRtStreamContext = 107003;
inline constexpr int kRtEventTimestampInvalid = 107006;
inline constexpr int kRtThreadSubscribe = 107012;
inline constexpr int kRtStreamNoCallback = 107015;
inline constexpr int kRtInvalidHandle = 107017;
inline constexpr int kRtWaitTimeout = 107019;
inline constexpr int kRtTaskTimeout = 107020;  // torch_npu reads this number in messages
inline constexpr int kRtDeviceTaskAbort = 107022;
inline constexpr int kRtStreamCaptured = 107027;  // torch_npu raises it; of kRtFeatureNotSupport it only warns
inline constexpr int kRtFeatureNotSupport = 207000;
inline constexpr int kRtMemoryAllocation = 207001;
inline constexpr int kRtResourceAllocFail = 207005;
inline constexpr int kRtInternal = 507000;
inline constexpr int kRtAicoreTimeout = 507014;
inline constexpr int kRtAicoreException = 507015;
inline constexpr int kRtAicpuException = 507018;
inline constexpr int kRtVectorCoreException = 507035;
inline constexpr int kRtCommunication = 507048;  // a collective failed
inline constexpr int kAclnnNullptr = 161001;
inline constexpr int kAclnnParamInvalid = 161002;
inline constexpr int kAclnnRuntime = 361001;
inline constexpr int kAclnnInner = 561000;
inline constexpr int kAclnnNoKernel = 561003;
}  // namespace code

}  // namespace updraft
