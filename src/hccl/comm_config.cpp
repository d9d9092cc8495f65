#include "hccl/comm_config.h"

#include <cstring>

#include "collective/error.h"

namespace updraft {
namespace {

// Offsets of the fields (abi/structs.toml: HcclCommConfigDef).
constexpr size_t kSize = 0, kMagic = 8, kBufferSize = 24, kDeterministic = 28, kName = 32, kExecTimeout = 316,
                 kAlgorithm = 320;
constexpr size_t kAlgorithmBytes = 1600, kSmallest = 32;
constexpr uint32_t kMagicWord = 0xf0f0f0f0, kNotSet = 0xffffffff;

template <class T>
T at(const char* base, size_t offset) {
  T value;
  std::memcpy(&value, base + offset, sizeof value);
  return value;
}

}  // namespace

CommConfig read_comm_config(const void* config) {
  CommConfig read;
  if (!config) return read;
  using collective::result::kPara;
  const char* base = static_cast<const char*>(config);
  const auto size = at<uint64_t>(base, kSize);
  if (at<uint32_t>(base, kMagic) != kMagicWord || size < kSmallest || size > (1 << 20))
    throw Error(kPara, "EI0003: config was not filled by HcclCommConfigInit (magic {:#x}, size {})",
                at<uint32_t>(base, kMagic), size);
  if (const auto mb = at<uint32_t>(base, kBufferSize); mb == 0)
    throw Error(kPara, "EI0003: config.hcclBufferSize is 0, want at least 1 (MB)");
  if (const auto on = at<uint32_t>(base, kDeterministic); on != kNotSet) {
    if (on > 2) throw Error(kPara, "EI0003: config.hcclDeterministic is {}, want 0, 1 or 2", on);
    read.deterministic = static_cast<int32_t>(on);
  }
  if (size >= kName + kCommNameBytes) {
    const size_t length = strnlen(base + kName, kCommNameBytes);
    if (length == kCommNameBytes) throw Error(kPara, "EI0003: config.hcclCommName does not end within 128 bytes");
    read.name.assign(base + kName, length);
  }
  if (size >= kExecTimeout + 4) {
    const auto seconds = at<int32_t>(base, kExecTimeout);
    if (seconds < -1)
      throw Error(kPara, "EI0003: config.hcclExecTimeOut is {}, want seconds, 0 (never) or -1 (not set)", seconds);
    if (seconds >= 0) read.exec_timeout = seconds;
  }
  if (size >= kAlgorithm + kAlgorithmBytes) {
    const size_t length = strnlen(base + kAlgorithm, kAlgorithmBytes);
    if (length == kAlgorithmBytes) throw Error(kPara, "EI0003: config.hcclAlgo does not end within 1600 bytes");
    if (length > 0) read.algorithms.emplace().read_algorithms({base + kAlgorithm, length}, "config.hcclAlgo");
  }
  return read;
}

}  // namespace updraft
