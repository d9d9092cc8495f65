// Vectors of float out of float, fp16 and bf16.
#pragma once
#include "base/half.h"
#include "kernels/simd/vector.h"

namespace updraft::UPDRAFT_ISA {

typedef uint32_t VectorU __attribute__((vector_size(kVectorBytes), may_alias));

UPDRAFT_VECTOR_INLINE VectorF widen(const float* p) { return load_vector<float>(p); }
#if defined(__AVX512F__)
UPDRAFT_VECTOR_INLINE VectorF widen(const Half* p) {
  // Masked, with all: the plain form passes a register that the compiler takes for uninitialised.
  return (VectorF)_mm512_maskz_cvtph_ps(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
}
#elif defined(__AVX2__) && defined(__F16C__)
UPDRAFT_VECTOR_INLINE VectorF widen(const Half* p) {
  return (VectorF)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
#else
UPDRAFT_VECTOR_INLINE VectorF widen(const Half* p) {
  typedef uint16_t Bits __attribute__((vector_size(kVectorBytes / 2)));
  Bits bits;
  std::memcpy(&bits, p, sizeof bits);
  const VectorU x = __builtin_convertvector(bits, VectorU);
  // The exponent moves by multiplying, which also normalises subnormals; infinities and NaN get all its bits.
  const VectorF value = (VectorF)((x & 0x7fffu) << 13) * 0x1p112f;
  const VectorU finite = (VectorU)value;
  return (VectorF)((value >= 65536.0f ? finite | 0x7f800000u : finite) | ((x & 0x8000u) << 16));
}
#endif
/// A bf16 is the upper half of a float.
UPDRAFT_VECTOR_INLINE VectorF widen(const BFloat16* p) {
#if defined(__AVX512F__)
  return (VectorF)((VectorU)_mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))
                   << 16);
#elif defined(__AVX2__)
  return (VectorF)((VectorU)_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))) << 16);
#else
  typedef uint16_t Bits __attribute__((vector_size(kVectorBytes / 2)));
  Bits bits;
  std::memcpy(&bits, p, sizeof bits);
  return (VectorF)(__builtin_convertvector(bits, VectorU) << 16);
#endif
}

/// The bits of a float whose upper halves are the bf16 that it is rounded to, ties to even; a NaN stays one.
UPDRAFT_VECTOR_INLINE VectorU rounded_to_bf16(VectorF v) {
  const VectorU bits = (VectorU)v;
  return v != v ? (bits | 0x400000u) : bits + 0x7fffu + ((bits >> 16) & 1u);
}
UPDRAFT_VECTOR_INLINE void narrow(BFloat16* to, VectorF v) {
  typedef uint16_t Bits __attribute__((vector_size(kVectorBytes / 2), may_alias));
  const Bits bits = __builtin_convertvector(rounded_to_bf16(v) >> 16, Bits);
  std::memcpy(to, &bits, sizeof bits);
}
UPDRAFT_VECTOR_INLINE void narrow(Half* to, VectorF v) {
#if defined(__AVX512F__)
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_maskz_cvtps_ph(0xffff, (__m512)v, 0));
#elif defined(__F16C__)
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph((__m256)v, 0));
#else
  typedef uint16_t Bits __attribute__((vector_size(kVectorBytes / 2), may_alias));
  const VectorU all = (VectorU)v, x = all & 0x7fffffffu;
  const VectorU normal = (x + 0xc8000fffu + ((x >> 13) & 1u)) >> 13;
  const VectorU small = (VectorU)((VectorF)x + 0.5f) - 0x3f000000u;  // the addition rounds at the last bit
  VectorU bits = x < 0x38800000u ? small : normal;
  bits = x >= 0x477ff000u ? (VectorU{} + 0x7c00u) : bits;
  bits = x > 0x7f800000u ? (0x7e00u | ((x >> 13) & 0x3ffu)) : bits;
  const Bits half = __builtin_convertvector(bits | ((all >> 16) & 0x8000u), Bits);
  std::memcpy(to, &half, sizeof half);
#endif
}

/// N elements between arrays, rounded to the nearest even; N is a multiple of 32.
template <int64_t N, class H>
UPDRAFT_VECTOR_INLINE void widen_block(float* to, const H* from) {
#pragma GCC unroll 16
  for (int64_t i = 0; i < N; i += kLanes<float>) store_vector<float>(to + i, widen(from + i));
}
template <int64_t N>
UPDRAFT_VECTOR_INLINE void narrow_block(Half* to, const float* from) {
#pragma GCC unroll 8
  for (int64_t i = 0; i < N; i += kLanes<float>) narrow(to + i, load_vector<float>(from + i));
}
template <int64_t N>
UPDRAFT_VECTOR_INLINE void narrow_block(BFloat16* to, const float* from) {
  // Two vectors at a time fill one.
  [[maybe_unused]] const auto rounded = [&](int64_t i) __attribute__((always_inline)) {
    return rounded_to_bf16(load_vector<float>(from + i));
  };
#if defined(__AVX512BW__)
  alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                      33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  const __m512i upper = _mm512_load_si512(kUpper);
#pragma GCC unroll 4
  for (int64_t i = 0; i < N; i += 32)
    _mm512_storeu_si512(to + i, _mm512_permutex2var_epi16((__m512i)rounded(i), upper, (__m512i)rounded(i + 16)));
#elif defined(__AVX2__)
#pragma GCC unroll 4
  for (int64_t i = 0; i < N; i += 16) {
    const __m256i both = _mm256_packus_epi32((__m256i)(rounded(i) >> 16), (__m256i)(rounded(i + 8) >> 16));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_permute4x64_epi64(both, 0xd8));
  }
#else
#pragma GCC unroll 8
  for (int64_t i = 0; i < N; i += kLanes<float>) narrow(to + i, load_vector<float>(from + i));
#endif
}

}  // namespace updraft::UPDRAFT_ISA
