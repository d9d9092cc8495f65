// What aclrtMemcpy and its kin share: the kinds of a copy, and the bytes.
#pragma once
#include <cstddef>
#include <cstdint>

namespace updraft {

/// aclrtMemcpyKind.
enum CopyKind : int32_t {
  kHostToHost,
  kHostToDevice,
  kDeviceToHost,
  kDeviceToDevice,
  kDefault,
  kHostBuffer,
  kInner,
  kInter
};

/// Copies of this size and more are divided among the engine's threads.
inline constexpr size_t kParallelCopy = 1 << 20;

/// Throws 107000 for an unknown kind. In strict mode and with UPDRAFT_FIDELITY=card also where a pointer is not on the
/// side that the kind says: here every address can be read, on the card such a copy fails. Registered host memory is
/// both: devices may use its address.
void check_copy_kind(const void* to, const void* from, int32_t kind);

/// to[0, n) = from[0, n), whether or not they overlap; large copies that do not by several threads.
void copy_bytes(void* to, const void* from, size_t n);
void set_bytes(void* to, int value, size_t n);

/// `height` rows of `width` bytes. Where source and target overlap the result is as if all rows had been read first,
/// provided that the pitches are the same.
void copy_rows(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height);

}  // namespace updraft
