// Stores past the caches. They are not ordered with others: stream_fence() comes before anyone is told of them.
#pragma once
#include "kernels/simd/vector.h"

namespace updraft::UPDRAFT_ISA {

inline constexpr int64_t kLine = 64;

/// A chunk, whole lines of it; both pointers are aligned to lines.
UPDRAFT_VECTOR_INLINE void stream_chunk(char* p, const char* chunk, int64_t bytes) {
#if defined(__AVX512F__)
  for (int64_t b = 0; b < bytes; b += 64)
    _mm512_stream_si512(reinterpret_cast<__m512i*>(p + b), _mm512_load_si512(chunk + b));
#elif defined(__AVX__)
  for (int64_t b = 0; b < bytes; b += 32)
    _mm256_stream_si256(reinterpret_cast<__m256i*>(p + b),
                        _mm256_load_si256(reinterpret_cast<const __m256i*>(chunk + b)));
#elif defined(__x86_64__)
  for (int64_t b = 0; b < bytes; b += 16)
    _mm_stream_si128(reinterpret_cast<__m128i*>(p + b), _mm_load_si128(reinterpret_cast<const __m128i*>(chunk + b)));
#else
  std::memcpy(p, chunk, static_cast<size_t>(bytes));
#endif
}

UPDRAFT_VECTOR_INLINE void stream_fence() {
#if defined(__x86_64__)
  _mm_sfence();
#endif
}

}  // namespace updraft::UPDRAFT_ISA
