// Results of the HCCL interface (include/hccl/hccl_types.h) and the guide's fault codes, which begin the texts.
#pragma once
#include "base/error.h"

namespace updraft::collective::result {
inline constexpr int kSuccess = 0;
inline constexpr int kPara = 1;
inline constexpr int kPtr = 2;
inline constexpr int kMemory = 3;
inline constexpr int kInternal = 4;
inline constexpr int kNotSupport = 5;
inline constexpr int kNotFound = 6;
inline constexpr int kUnavail = 7;
inline constexpr int kSyscall = 8;
inline constexpr int kTimeout = 9;
inline constexpr int kOpenFile = 10;
inline constexpr int kTcpConnect = 11;
inline constexpr int kTcpTransfer = 13;
inline constexpr int kRuntime = 15;
inline constexpr int kRemote = 21;
inline constexpr int kOutOfMemory = 24;
}  // namespace updraft::collective::result

namespace updraft::collective {
/// The fault of a message between hosts: the ranks mean different things, or the other was not reached.
inline const char* fault_of(const Error& error) { return error.code() == result::kPara ? "EI0005" : "EI0006"; }

/// What became of a rank, in the words of all sentences about it.
constexpr const char* how_gone(bool left) {
  return left ? "has left the communicator" : "has died (its process ended or its host is gone)";
}
}  // namespace updraft::collective
