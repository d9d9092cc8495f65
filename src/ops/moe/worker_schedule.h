// The context of a schedule between workers of attention and of experts: bytes of a struct that names buffers in device
// memory. Where its fields lie is what op-plugin's tests of the operators write.
#pragma once
#include <cstring>
#include <vector>

#include "device/device.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {

class WorkerSchedule {
 public:
  static constexpr int64_t kBytes = 1024;
  static constexpr int64_t kSessions = 0, kMicroBatches = 4, kMicroBatchSize = 8, kSelectedExperts = 12,
                           kTokenSize = 20;

  /// When an operator is planned.
  static void require(const Op& op, const TensorView& context) {
    op.require(context.dtype == DType::Int8 && context.numel() >= kBytes,
               "schedule_context is {}, want INT8 of {} elements or more", describe(context), kBytes);
  }

  /// When it runs.
  explicit WorkerSchedule(const TensorView& context) : bytes_(gathered<int8_t>(context)) {}

  template <class T>
  T field(int64_t at) const {
    T value;
    std::memcpy(&value, bytes_.data() + at, sizeof value);
    return value;
  }
  int64_t count(int64_t at) const { return field<uint32_t>(at); }

  /// The first `count` parts of `part` bytes (1 or more) of a buffer, as the host sees them. `at`: its address, behind
  /// which its size in bytes lies. Throws where that is no such device memory.
  char* buffer(const char* name, int64_t at, int64_t part, int64_t count) const {
    const auto address = field<uint64_t>(at), size = field<uint64_t>(at + 8);
    const auto each = static_cast<uint64_t>(part), parts = static_cast<uint64_t>(count);
    char* data = reinterpret_cast<char*>(address);
    Device* owner = Device::owner(data);
    if (size / each < parts || !owner || !owner->memory().covers(data, data + each * parts))
      throw Error(code::kAclnnRuntime,
                  "schedule_context says that {} is {:#x} with {} bytes: want device memory of {} bytes or more", name,
                  address, size, each * parts);
    return static_cast<char*>(host_address(data));
  }

 private:
  std::vector<int8_t> bytes_;
};

}  // namespace updraft
