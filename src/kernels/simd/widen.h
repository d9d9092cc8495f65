// Vectors of float out of float, fp16 and bf16.
#pragma once
#include "base/half.h"
#include "kernels/simd/vector.h"

namespace updraft::UPDRAFT_ISA {

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
  VectorF v{};
  for (int i = 0; i < kLanes<float>; ++i) v[i] = static_cast<float>(p[i]);
  return v;
}
#endif
/// A bf16 is the upper half of a float.
UPDRAFT_VECTOR_INLINE VectorF widen(const BFloat16* p) {
  typedef uint32_t Wide __attribute__((vector_size(kVectorBytes)));
#if defined(__AVX512F__)
  return (VectorF)((Wide)_mm512_maskz_cvtepu16_epi32(0xffff, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)))
                   << 16);
#elif defined(__AVX2__)
  return (VectorF)((Wide)_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))) << 16);
#else
  typedef uint16_t Bits __attribute__((vector_size(kVectorBytes / 2)));
  Bits bits;
  std::memcpy(&bits, p, sizeof bits);
  return (VectorF)(__builtin_convertvector(bits, Wide) << 16);
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
#if defined(__AVX512F__)
#pragma GCC unroll 8
  for (int64_t i = 0; i < N; i += 16)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i),
                        _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(from + i), 0));
#elif defined(__F16C__)
#pragma GCC unroll 8
  for (int64_t i = 0; i < N; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i), _mm256_cvtps_ph(_mm256_loadu_ps(from + i), 0));
#else
  for (int64_t i = 0; i < N; ++i) to[i] = Half(from[i]);
#endif
}
template <int64_t N>
UPDRAFT_VECTOR_INLINE void narrow_block(BFloat16* to, const float* from) {
#if defined(__AVX512BW__)
  // The upper halves after half of what they cut off was added, and the last bit that stays (ties go to even ones).
  const auto rounded = [](const float* p) __attribute__((always_inline)) {
    const __m512 x = _mm512_loadu_ps(p);
    const __m512i bits = _mm512_castps_si512(x);
    const __mmask16 odd = _mm512_test_epi32_mask(bits, _mm512_set1_epi32(0x10000));
    const __mmask16 nan = _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q);
    __m512i sum = _mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff));
    sum = _mm512_mask_add_epi32(sum, odd, sum, _mm512_set1_epi32(1));
    return _mm512_mask_or_epi32(sum, nan, bits, _mm512_set1_epi32(0x400000));
  };
  alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                      33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  const __m512i upper = _mm512_load_si512(kUpper);
#pragma GCC unroll 4
  for (int64_t i = 0; i < N; i += 32)
    _mm512_storeu_si512(to + i, _mm512_permutex2var_epi16(rounded(from + i), upper, rounded(from + i + 16)));
#elif defined(__AVX2__)
  const auto rounded = [](const float* p) __attribute__((always_inline)) {
    const __m256 x = _mm256_loadu_ps(p);
    const __m256i bits = _mm256_castps_si256(x);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
    const __m256i nan = _mm256_or_si256(bits, _mm256_set1_epi32(0x400000));
    const __m256 chosen =
        _mm256_blendv_ps(_mm256_castsi256_ps(sum), _mm256_castsi256_ps(nan), _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
    return _mm256_srli_epi32(_mm256_castps_si256(chosen), 16);
  };
#pragma GCC unroll 4
  for (int64_t i = 0; i < N; i += 16) {
    const __m256i both = _mm256_packus_epi32(rounded(from + i), rounded(from + i + 8));  // of each half of a register
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + i), _mm256_permute4x64_epi64(both, 0xd8));
  }
#else
#pragma GCC ivdep
  for (int64_t i = 0; i < N; ++i) to[i] = BFloat16(from[i]);
#endif
}

}  // namespace updraft::UPDRAFT_ISA
