// Storage types for fp16 and bf16: they hold bits and convert; arithmetic happens in float.
#pragma once
#include <bit>
#include <cstdint>
#include <cstring>
#if defined(__F16C__)
#include <immintrin.h>
#endif

// Always inlined: kernels are compiled for several instruction sets, and one shared copy would serve the weakest.
#define UPDRAFT_INLINE inline __attribute__((always_inline))

namespace updraft {

UPDRAFT_INLINE float half_to_float(uint16_t h) {
#if defined(__F16C__)
  return _cvtsh_ss(h);
#else
  uint32_t sign = static_cast<uint32_t>(h & 0x8000u) << 16;
  uint32_t exponent = (h >> 10) & 0x1fu, mantissa = h & 0x3ffu;
  if (exponent == 0x1f) return std::bit_cast<float>(sign | 0x7f800000u | (mantissa << 13));
  if (exponent == 0) {
    float value = static_cast<float>(mantissa) * 0x1p-24f;
    return sign ? -value : value;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
#endif
}

/// Round to nearest even; overflow gives infinity.
UPDRAFT_INLINE uint16_t float_to_half(float f) {
#if defined(__F16C__)
  return static_cast<uint16_t>(_cvtss_sh(f, 0));
#else
  uint32_t x = std::bit_cast<uint32_t>(f);
  uint32_t sign = (x >> 16) & 0x8000u;
  x &= 0x7fffffffu;
  if (x > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u | ((x >> 13) & 0x3ffu));
  if (x >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (x < 0x38800000u) {
    float shifted = std::bit_cast<float>(x) + 0.5f;  // the addition rounds at the subnormal's last bit
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  x += 0xc8000fffu + ((x >> 13) & 1u);
  return static_cast<uint16_t>(sign | (x >> 13));
#endif
}

UPDRAFT_INLINE float bfloat16_to_float(uint16_t b) { return std::bit_cast<float>(static_cast<uint32_t>(b) << 16); }

UPDRAFT_INLINE uint16_t float_to_bfloat16(float f) {
  uint32_t x = std::bit_cast<uint32_t>(f);
  if ((x & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((x >> 16) | 0x40u);
  return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

struct Half {
  uint16_t bits;
  Half() = default;
  UPDRAFT_INLINE explicit Half(float f) : bits(float_to_half(f)) {}
  UPDRAFT_INLINE operator float() const { return half_to_float(bits); }
};

struct BFloat16 {
  uint16_t bits;
  BFloat16() = default;
  UPDRAFT_INLINE explicit BFloat16(float f) : bits(float_to_bfloat16(f)) {}
  UPDRAFT_INLINE operator float() const { return bfloat16_to_float(bits); }
};
static_assert(sizeof(Half) == 2 && sizeof(BFloat16) == 2);

}  // namespace updraft
