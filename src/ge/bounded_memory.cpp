// Copies and fills with bounds (libc_sec.so), as openEuler's libboundscheck documents them. MindSpore's data sets use
// them.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/boundary.h"

namespace {

constexpr std::size_t kMost = 0x7fffffff;  // bytes
constexpr int kReset = 128;                // added to the error where the destination was filled
constexpr int kOverlap = 54;               // EOVERLAP

}  // namespace

extern "C" {

/// Sets `count` bytes to `value`. 0; else an error number: where `count` is more than `size` all `size` bytes are set.
UPDRAFT_API int memset_s(void* destination, std::size_t size, int value, std::size_t count) {
  if (size == 0 || size > kMost) return ERANGE;
  if (!destination) return EINVAL;
  std::memset(destination, value, count < size ? count : size);
  return count > size ? ERANGE + kReset : 0;
}

/// Copies `count` bytes. 0; else an error number, and the destination is zeros where there is one.
UPDRAFT_API int memcpy_s(void* destination, std::size_t size, const void* source, std::size_t count) {
  if (size == 0 || size > kMost) return ERANGE;
  if (!destination) return EINVAL;
  if (!source || count > size) {
    std::memset(destination, 0, size);
    return (source ? ERANGE : EINVAL) + kReset;
  }
  if (source == destination || count == 0) return 0;
  const auto to = reinterpret_cast<std::uintptr_t>(destination), from = reinterpret_cast<std::uintptr_t>(source);
  if (from < to + count && to < from + count) {
    std::memset(destination, 0, size);
    return kOverlap + kReset;
  }
  std::memcpy(destination, source, count);
  return 0;
}

}  // extern "C"
