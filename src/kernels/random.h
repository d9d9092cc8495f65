// Random numbers: Philox4x32-10, a function of (seed, offset, position) alone, so that no result depends on threads.
#pragma once
#include <cstdint>

namespace updraft {

/// The stream of numbers of one operator call. The client advances `offset` from call to call.
struct RandomKey {
  uint64_t seed;
  uint64_t offset;
};

/// What a block of 1024 results holds. Types: float unless the name says otherwise.
enum class RandomKind : int {
  kWords,          ///< uint32_t
  kUniform,        ///< a + u * b, at most c; u has `digits` random bits
  kUniform64,      ///< double
  kNormal,         ///< a + b * z
  kNormal64,       ///< double
  kBernoulli,      ///< 1 with probability a, else 0: where kKeepBits with probability 1 - a has a bit
  kExponential,    ///< -log(1 - u) * a, above 0
  kExponential64,  ///< double
  kInteger,        ///< int64_t: from + (32 random bits scaled to range)
  kIntegerWide,    ///< int64_t: from + (64 random bits scaled to range; range 0 is all 2^64)
  kKeepBits,       ///< 32 uint32_t: bit i of word i / 32 is 0 with probability a
  kUnit,           ///< u in [0, 1) with 24 bits
};

struct RandomParams {
  double a = 0, b = 1, c = 1;
  int64_t from = 0;
  uint64_t range = 0;
  int digits = 24;
};

}  // namespace updraft
