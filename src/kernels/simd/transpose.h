// Squares of floats and doubles that are transposed in registers: each cache line is read and written once, whatever
// the strides (a power of two would put all rows into one set of the cache).
#pragma once
#include <type_traits>

#include "kernels/simd/vector.h"

namespace updraft::UPDRAFT_ISA {

#if defined(__AVX512F__)
inline constexpr int kSquare = 16;
/// a[i] becomes column i of the rows that it held.
UPDRAFT_VECTOR_INLINE void transpose_lanes(VectorF (&a)[16]) {
  VectorF b[16];
  for (int i = 0; i < 16; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31);
  }
  // a[4i + j]: in its q-th quarter column 4q + j of rows 4i to 4i + 3.
  for (int i = 0; i < 16; i += 4) {
    a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
    a[i + 1] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
    a[i + 2] = __builtin_shufflevector(b[i + 1], b[i + 3], 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29);
    a[i + 3] = __builtin_shufflevector(b[i + 1], b[i + 3], 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31);
  }
  for (int j = 0; j < 4; ++j) {
    const VectorF low = __builtin_shufflevector(a[j], a[4 + j], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
                  low2 = __builtin_shufflevector(a[8 + j], a[12 + j], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21,
                                                 22, 23);
    const VectorF high = __builtin_shufflevector(a[j], a[4 + j], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29,
                                                 30, 31),
                  high2 = __builtin_shufflevector(a[8 + j], a[12 + j], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28,
                                                  29, 30, 31);
    b[j] = __builtin_shufflevector(low, low2, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    b[4 + j] = __builtin_shufflevector(low, low2, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
    b[8 + j] = __builtin_shufflevector(high, high2, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27);
    b[12 + j] = __builtin_shufflevector(high, high2, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31);
  }
  for (int i = 0; i < 16; ++i) a[i] = b[i];
}
#elif defined(__AVX2__)
inline constexpr int kSquare = 8;
UPDRAFT_VECTOR_INLINE void transpose_lanes(VectorF (&a)[8]) {
  VectorF b[8];
  for (int i = 0; i < 8; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 1, 9, 4, 12, 5, 13);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 2, 10, 3, 11, 6, 14, 7, 15);
  }
  // a[4i + j]: in its q-th quarter column 4q + j of rows 4i to 4i + 3.
  for (int i = 0; i < 8; i += 4) {
    a[i] = __builtin_shufflevector(b[i], b[i + 2], 0, 1, 8, 9, 4, 5, 12, 13);
    a[i + 1] = __builtin_shufflevector(b[i], b[i + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    a[i + 2] = __builtin_shufflevector(b[i + 1], b[i + 3], 0, 1, 8, 9, 4, 5, 12, 13);
    a[i + 3] = __builtin_shufflevector(b[i + 1], b[i + 3], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  for (int j = 0; j < 4; ++j) {
    b[j] = __builtin_shufflevector(a[j], a[4 + j], 0, 1, 2, 3, 8, 9, 10, 11);
    b[4 + j] = __builtin_shufflevector(a[j], a[4 + j], 4, 5, 6, 7, 12, 13, 14, 15);
  }
  for (int i = 0; i < 8; ++i) a[i] = b[i];
}
#else
// One register holds the lanes of the widest vector that the instruction set has: 4 floats.
inline constexpr int kSquare = 4;
UPDRAFT_VECTOR_INLINE void transpose_lanes(VectorF (&a)[4]) {
  const VectorF low = __builtin_shufflevector(a[0], a[1], 0, 4, 1, 5),
                low2 = __builtin_shufflevector(a[2], a[3], 0, 4, 1, 5),
                high = __builtin_shufflevector(a[0], a[1], 2, 6, 3, 7),
                high2 = __builtin_shufflevector(a[2], a[3], 2, 6, 3, 7);
  a[0] = __builtin_shufflevector(low, low2, 0, 1, 4, 5);
  a[1] = __builtin_shufflevector(low, low2, 2, 3, 6, 7);
  a[2] = __builtin_shufflevector(high, high2, 0, 1, 4, 5);
  a[3] = __builtin_shufflevector(high, high2, 2, 3, 6, 7);
}
#endif

/// The same of 8-byte lanes.
UPDRAFT_VECTOR_INLINE void transpose_lanes(VectorD (&a)[kSquare / 2]) {
#if defined(__AVX512F__)
  VectorD b[8], c[8];
  for (int i = 0; i < 8; i += 2) {
    b[i] = __builtin_shufflevector(a[i], a[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
    b[i + 1] = __builtin_shufflevector(a[i], a[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  // c[4i + j]: column j of rows 4i to 4i + 3, then column 4 + j.
  for (int i = 0; i < 8; i += 4)
    for (int j = 0; j < 2; ++j) {
      c[i + j] = __builtin_shufflevector(b[i + j], b[i + j + 2], 0, 1, 8, 9, 4, 5, 12, 13);
      c[i + j + 2] = __builtin_shufflevector(b[i + j], b[i + j + 2], 2, 3, 10, 11, 6, 7, 14, 15);
    }
  for (int j = 0; j < 4; ++j) {
    a[j] = __builtin_shufflevector(c[j], c[4 + j], 0, 1, 2, 3, 8, 9, 10, 11);
    a[4 + j] = __builtin_shufflevector(c[j], c[4 + j], 4, 5, 6, 7, 12, 13, 14, 15);
  }
#elif defined(__AVX2__)
  const VectorD even = __builtin_shufflevector(a[0], a[1], 0, 4, 2, 6),
                odd = __builtin_shufflevector(a[0], a[1], 1, 5, 3, 7),
                even2 = __builtin_shufflevector(a[2], a[3], 0, 4, 2, 6),
                odd2 = __builtin_shufflevector(a[2], a[3], 1, 5, 3, 7);
  a[0] = __builtin_shufflevector(even, even2, 0, 1, 4, 5);
  a[1] = __builtin_shufflevector(odd, odd2, 0, 1, 4, 5);
  a[2] = __builtin_shufflevector(even, even2, 2, 3, 6, 7);
  a[3] = __builtin_shufflevector(odd, odd2, 2, 3, 6, 7);
#else
  const VectorD first = __builtin_shufflevector(a[0], a[1], 0, 2);
  a[1] = __builtin_shufflevector(a[0], a[1], 1, 3);
  a[0] = first;
#endif
}
/// Of integers: as floats of their size.
template <class V, int N>
UPDRAFT_VECTOR_INLINE void transpose_lanes(V (&a)[N]) {
  using Float = Vector<std::conditional_t<N == kSquare, float, double>>;
  Float b[N];
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) b[i] = (Float)a[i];
  transpose_lanes(b);
#pragma GCC unroll 16
  for (int i = 0; i < N; ++i) a[i] = (V)b[i];
}

/// to[j][i] = from[i][j] for a square of kSquare.
UPDRAFT_VECTOR_INLINE void transpose_square(float* to, int64_t to_stride, const float* from, int64_t from_stride) {
  VectorF a[kSquare];
#pragma GCC unroll 16
  for (int i = 0; i < kSquare; ++i) a[i] = load_vector<float>(from + i * from_stride);
  transpose_lanes(a);
#pragma GCC unroll 16
  for (int i = 0; i < kSquare; ++i) store_vector<float>(to + i * to_stride, a[i]);
}

}  // namespace updraft::UPDRAFT_ISA
