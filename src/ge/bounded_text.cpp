// Text functions with bounds, as TorchAir calls them. They lie in no library that it names, so that any of ours may
// have them. They behave as openEuler's libboundscheck documents.
#include <cerrno>
#include <cstdarg>
#include <cstddef>
#include <cstdio>
#include <cstring>

#include "base/boundary.h"

namespace {

constexpr std::size_t kMost = 0x7fffffff;  // bytes of a text
constexpr int kReset = 128;                // added to the error where the destination was made empty
constexpr int kOverlap = 54;               // EOVERLAP

}  // namespace

extern "C" {

/// Writes at most `count` characters and the final 0 into `size` bytes. Returns their number, or -1: when the text was
/// cut off at `count`; when it does not fit into `size` or an argument is wrong, and the destination is then empty.
UPDRAFT_API int vsnprintf_s(char* destination, std::size_t size, std::size_t count, const char* format,
                            va_list values) {
  if (!destination || size == 0 || size > kMost) return -1;
  const std::size_t room = count < size ? count + 1 : size;
  const int length = format ? std::vsnprintf(destination, room, format, values) : -1;
  if (length >= 0 && static_cast<std::size_t>(length) < room) return length;
  if (length < 0 || count >= size) destination[0] = 0;
  return -1;
}

UPDRAFT_API int snprintf_s(char* destination, std::size_t size, std::size_t count, const char* format, ...) {
  va_list values;
  va_start(values, format);
  const int length = vsnprintf_s(destination, size, count, format, values);
  va_end(values);
  return length;
}

/// Copies `source` with its final 0 into `size` bytes. 0; else an error number, and the destination is empty where
/// there is one.
UPDRAFT_API int strcpy_s(char* destination, std::size_t size, const char* source) {
  if (size == 0 || size > kMost) return ERANGE;
  if (!destination) return EINVAL;
  if (!source) {
    destination[0] = 0;
    return EINVAL + kReset;
  }
  if (source == destination) return 0;
  const std::size_t bytes = strnlen(source, size) + 1;
  if (bytes > size) {
    destination[0] = 0;
    return ERANGE + kReset;
  }
  if (source < destination + bytes && destination < source + bytes) {
    destination[0] = 0;
    return kOverlap + kReset;
  }
  std::memcpy(destination, source, bytes);
  return 0;
}
}
