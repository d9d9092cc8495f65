// Bytes that nobody can guess: keys and nonces.
#pragma once
#include <sys/random.h>

#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error.h"

namespace updraft {

/// Throws Error with `code` when the kernel has none.
inline void fill_random(void* data, size_t bytes, int code) {
  for (size_t have = 0; have < bytes;) {
    const ssize_t n = getrandom(static_cast<char*>(data) + have, bytes - have, 0);
    if (n < 0 && errno != EINTR) throw Error(code, "no random bytes: {}", std::strerror(errno));
    if (n > 0) have += static_cast<size_t>(n);
  }
}

}  // namespace updraft
