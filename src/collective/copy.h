// Copies between the buffers of ranks on one host.
#pragma once
#include <cstddef>
#include <vector>

namespace updraft::collective {

struct Copy {
  char* to;
  const char* from;
  size_t bytes;
};

/// Copies by the calling thread's team, past the caches where it is much. Nothing when both are the same place.
void copy_bytes(char* to, const char* from, size_t bytes);

/// Copies all of them, which do not overlap, two at a time: two streams hide each other's misses.
void copy_all(const std::vector<Copy>& copies);

}  // namespace updraft::collective
