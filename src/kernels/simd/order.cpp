// Keys of floats that compare as unsigned integers do: NaN is the greatest and equal to itself, -0 equals 0.
#include <algorithm>
#include <bit>

#include "kernels/simd/widen.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

template <class F>
void by_type(DType type, const void* x, F&& f) {
  if (type == DType::Float) f(static_cast<const float*>(x));
  else if (type == DType::Float16) f(static_cast<const Half*>(x));
  else f(static_cast<const BFloat16*>(x));
}

inline uint32_t key_of(float x) {
  // Adding makes 0 of -0.
  const auto bits = std::bit_cast<uint32_t>(x + 0.0f);
  const uint32_t key = bits ^ (static_cast<uint32_t>(static_cast<int32_t>(bits) >> 31) | 0x80000000u);
  return (bits & 0x7fffffffu) > 0x7f800000u ? 0xffffffffu : key;
}

constexpr int64_t kStep = 64;

template <class T>
inline void keys_of(const T* x, uint32_t flip, uint32_t* keys) {
  alignas(64) float wide[kStep];
  widen_block<kStep>(wide, x);
#pragma GCC ivdep
  for (int64_t j = 0; j < kStep; ++j) keys[j] = key_of(wide[j]) ^ flip;
}

template <class T>
void keys(const T* x, int64_t n, uint32_t flip, uint32_t* to) {
  int64_t i = 0;
  for (; i + kStep <= n; i += kStep) keys_of(x + i, flip, to + i);
  for (; i < n; ++i) to[i] = key_of(static_cast<float>(x[i])) ^ flip;
}

template <class T>
int64_t below(const T* x, int64_t n, uint32_t flip, bool all, uint32_t limit, int64_t first, uint64_t* to) {
  int64_t found = 0;
  alignas(64) uint32_t block[kStep];
  for (int64_t i = 0; i < n; i += kStep) {
    const int64_t m = std::min(kStep, n - i);
    if (m == kStep) {
      keys_of(x + i, flip, block);
      uint32_t least = block[0];
      for (int64_t j = 1; j < kStep; ++j) least = std::min(least, block[j]);
      if (!all && least >= limit) continue;
    } else {
      keys(x + i, m, flip, block);
    }
    for (int64_t j = 0; j < m; ++j) {
      to[found] = static_cast<uint64_t>(block[j]) << 32 | static_cast<uint64_t>(first + i + j);
      found += all || block[j] < limit;
    }
  }
  return found;
}

}  // namespace

void order_keys(DType type, const void* x, int64_t n, uint32_t flip, uint32_t* to) {
  by_type(type, x, [&](const auto* from) { keys(from, n, flip, to); });
}

int64_t keys_below(DType type, const void* x, int64_t n, uint32_t flip, bool all, uint32_t limit, int64_t first,
                   uint64_t* to) {
  int64_t found = 0;
  by_type(type, x, [&](const auto* from) { found = below(from, n, flip, all, limit, first, to); });
  return found;
}

}  // namespace updraft::UPDRAFT_ISA
