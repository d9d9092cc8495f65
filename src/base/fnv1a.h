// The hash of Fowler, Noll and Vo (variant 1a, 64 bits): the same in every process, for keys that are written or sent.
#pragma once
#include <cstddef>
#include <cstdint>

namespace updraft {

inline uint64_t fnv1a(const void* data, size_t bytes) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (size_t i = 0; i < bytes; ++i) hash = (hash ^ static_cast<const unsigned char*>(data)[i]) * 0x100000001b3u;
  return hash;
}

}  // namespace updraft
