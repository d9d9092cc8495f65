#include "acl/copies.h"

#include <cstring>
#include <string>

#include "base/config.h"
#include "base/error.h"
#include "base/parallel.h"
#include "device/device.h"
#include "device/memory.h"

namespace updraft {
namespace {

constexpr const char* kNames[] = {
    "HOST_TO_HOST", "HOST_TO_DEVICE",        "DEVICE_TO_HOST",         "DEVICE_TO_DEVICE",
    "DEFAULT",      "HOST_TO_BUF_TO_DEVICE", "INNER_DEVICE_TO_DEVICE", "INTER_DEVICE_TO_DEVICE"};

struct Place {
  const Device* device;
  bool both;  ///< host memory that devices may use as well

  explicit Place(const void* p) : device(Device::owner(p)), both(!device && HostMemory::get().registered(p)) {}
  bool on_host() const { return !device; }
  bool on_device() const { return device || both; }
  std::string text() const {
    return device ? fmt::format("memory of device {}", device->index())
           : both ? "registered host memory"
                  : "host memory";
  }
};

void check_side(const char* name, const void* p, const Place& place, bool want_device, int32_t kind) {
  if (want_device ? place.on_device() : place.on_host()) return;
  throw Error(
      code::kRtParamInvalid,
      "{} {} is {}, and kind {} (ACL_MEMCPY_{}) wants {} memory there: on the card this copy fails. Mend the kind "
      "or the order of dst and src",
      name, p, place.text(), kind, kNames[kind], want_device ? "device" : "host");
}

bool overlap(const char* a, size_t a_bytes, const char* b, size_t b_bytes) {
  return a < b + b_bytes && b < a + a_bytes;
}

}  // namespace

void check_copy_kind(const void* to, const void* from, int32_t kind) {
  if (kind < kHostToHost || kind > kInter)
    throw Error(code::kRtParamInvalid, "memcpy kind {} is unknown, want 0 to 7", kind);
  if (kind == kDefault || !Config::get().card_rules()) return;
  const Place target(to), source(from);
  check_side("dst", to, target, kind != kHostToHost && kind != kDeviceToHost, kind);
  check_side("src", from, source, kind != kHostToHost && kind != kHostToDevice && kind != kHostBuffer, kind);
  if ((kind == kInner || kind == kInter) && target.device && source.device &&
      (target.device == source.device) != (kind == kInner))
    throw Error(code::kRtParamInvalid, "dst {} is {} and src {} is {}, and kind {} (ACL_MEMCPY_{}) wants {}", to,
                target.text(), from, source.text(), kind, kNames[kind], kind == kInner ? "one device" : "two devices");
}

void copy_bytes(void* to, const void* from, size_t n) {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  // Pieces of an overlapping copy would read what others have written.
  if (n < kParallelCopy || overlap(target, n, source, n)) {
    std::memmove(target, source, n);
    return;
  }
  parallel_copy(to, from, n);
}

void set_bytes(void* to, int value, size_t n) {
  if (n < kParallelCopy) {
    std::memset(to, value, n);
    return;
  }
  parallel_for(static_cast<int64_t>(n), 256 << 10, [&](int64_t begin, int64_t end) {
    std::memset(static_cast<char*>(to) + begin, value, static_cast<size_t>(end - begin));
  });
}

void copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height) {
  auto* target = static_cast<char*>(to);
  const auto* source = static_cast<const char*>(from);
  if (target <= source) {
    for (size_t row = 0; row < height; ++row) std::memmove(target + row * to_pitch, source + row * from_pitch, width);
  } else {
    for (size_t row = height; row-- > 0;) std::memmove(target + row * to_pitch, source + row * from_pitch, width);
  }
}

}  // namespace updraft
