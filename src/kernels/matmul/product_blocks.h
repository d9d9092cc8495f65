// Sizes of the blocks that products are made in.
#pragma once
#include <cstdint>

namespace updraft {

/// n, or the next multiple of `to`.
constexpr int64_t round_up(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

/// So that all blocks but the last are of one size, no more than `most`, and whole units.
constexpr int64_t even_block(int64_t size, int64_t most, int64_t unit) {
  const int64_t blocks = (size + most - 1) / most;
  return round_up((size + blocks - 1) / blocks, unit);
}

}  // namespace updraft
