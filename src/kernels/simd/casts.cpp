// Conversions between storage types and compute types, contiguous and strided, and small transposes.
#include <algorithm>
#include <cstring>

#include "base/overflow.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

template <class To, class From>
inline To convert(From v) {
  if constexpr (std::is_same_v<To, From>) {
    return v;
  } else if constexpr (std::is_same_v<From, ComplexHalf>) {
    return convert<To>(static_cast<complex64>(v));
  } else if constexpr (std::is_same_v<To, ComplexHalf>) {
    return ComplexHalf(convert<complex64>(v));
  } else if constexpr (std::is_same_v<From, complex64> || std::is_same_v<From, complex128>) {
    using Real = typename From::value_type;
    if constexpr (std::is_same_v<To, complex64> || std::is_same_v<To, complex128>) return To(v);
    else if constexpr (std::is_same_v<To, bool>) return v != From(0);
    else return convert<To, Real>(v.real());
  } else if constexpr (std::is_same_v<To, complex64>) {
    return To(convert<float>(v), 0.0f);
  } else if constexpr (std::is_same_v<To, complex128>) {
    return To(convert<double>(v), 0.0);
  } else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>) {
    return convert<To, float>(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>) {
    return To(static_cast<float>(v));
  } else if constexpr (std::is_same_v<To, bool>) {
    return v != From(0);
  } else {
    return static_cast<To>(v);
  }
}

template <class To, class From>
void load(void* to, const void* from, int64_t stride, int64_t n) {
  To* out = static_cast<To*>(to);
  const From* in = static_cast<const From*>(from);
  if (stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = convert<To>(in[i]);
  } else if (stride == 0) {
    std::fill_n(out, n, convert<To>(in[0]));
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = convert<To>(in[i * stride]);
  }
}

template <class To, class From>
void store(void* to, int64_t stride, const void* from, int64_t n) {
  To* out = static_cast<To*>(to);
  const From* in = static_cast<const From*>(from);
  if (stride == 1) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) out[i] = convert<To>(in[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * stride] = convert<To>(in[i]);
  }
}

#if defined(__F16C__)
// The compiler does not vectorise these conversions.
template <>
void load<float, Half>(void* to, const void* from, int64_t stride, int64_t n) {
  float* out = static_cast<float*>(to);
  const Half* in = static_cast<const Half*>(from);
  if (stride == 1) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
      _mm512_storeu_ps(out + i, _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(in + i))));
#endif
    for (; i + 8 <= n; i += 8)
      _mm256_storeu_ps(out + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(in + i))));
    for (; i < n; ++i) out[i] = static_cast<float>(in[i]);
  } else if (stride == 0) {
    std::fill_n(out, n, static_cast<float>(in[0]));
  } else {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<float>(in[i * stride]);
  }
}
template <>
void store<Half, float>(void* to, int64_t stride, const void* from, int64_t n) {
  Half* out = static_cast<Half*>(to);
  const float* in = static_cast<const float*>(from);
  if (stride == 1) {
    int64_t i = 0;
#if defined(__AVX512F__)
    for (; i + 16 <= n; i += 16)
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + i), _mm512_cvtps_ph(_mm512_loadu_ps(in + i), 0));
#endif
    for (; i + 8 <= n; i += 8)
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i), _mm256_cvtps_ph(_mm256_loadu_ps(in + i), 0));
    for (; i < n; ++i) out[i] = Half(in[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) out[i * stride] = Half(in[i]);
  }
}
#endif
// What rounds to infinity (65520 and more) becomes the largest fp16 and sets the flag.
template <class From>
void store_saturated(void* to, int64_t stride, const void* from, int64_t n) {
  Half* out = static_cast<Half*>(to);
  const From* in = static_cast<const From*>(from);
  uint32_t over = 0;
  for (int64_t i = 0; i < n; ++i) {
    const float x = convert<float>(in[i]);
    over |= !(x < 65520.0f && x > -65520.0f);
    const float kept = x > 65504.0f ? 65504.0f : x < -65504.0f ? -65504.0f : x != x ? 0.0f : x;
    out[i * stride] = Half(kept);
  }
  if (over) note_overflow();
}

template <class C>
void fill_for(KernelTable& t, Compute c) {
  t.saturating_store[static_cast<int>(c)] = store_saturated<C>;
  for (int s = 0; s < kStorageTypes; ++s)
    (void)visit_storage(static_cast<DType>(s), [&]<class S>() {  // the rest stays null
      t.load[s][static_cast<int>(c)] = load<C, S>;
      t.store[static_cast<int>(c)][s] = store<S, C>;
    });
}

// A square of 4-byte elements that goes through registers: each cache line is read and written once, whatever the
// strides (a power of two would put all rows into one set of the cache).
#if defined(__AVX512F__)
constexpr int64_t kSquare = 16;
void transpose_square(float* to, int64_t to_stride, const float* from, int64_t from_stride) {
  using V = float __attribute__((vector_size(64)));
  V a[16], b[16];
  for (int i = 0; i < 16; ++i) std::memcpy(&a[i], from + i * from_stride, sizeof(V));
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
  auto put = [&](int column, V v) { std::memcpy(to + column * to_stride, &v, sizeof v); };
  for (int j = 0; j < 4; ++j) {
    const V low = __builtin_shufflevector(a[j], a[4 + j], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23),
            low2 = __builtin_shufflevector(a[8 + j], a[12 + j], 0, 1, 2, 3, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23);
    const V high =
                __builtin_shufflevector(a[j], a[4 + j], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29, 30, 31),
            high2 = __builtin_shufflevector(a[8 + j], a[12 + j], 8, 9, 10, 11, 12, 13, 14, 15, 24, 25, 26, 27, 28, 29,
                                            30, 31);
    put(j, __builtin_shufflevector(low, low2, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27));
    put(4 + j, __builtin_shufflevector(low, low2, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31));
    put(8 + j, __builtin_shufflevector(high, high2, 0, 1, 2, 3, 8, 9, 10, 11, 16, 17, 18, 19, 24, 25, 26, 27));
    put(12 + j, __builtin_shufflevector(high, high2, 4, 5, 6, 7, 12, 13, 14, 15, 20, 21, 22, 23, 28, 29, 30, 31));
  }
}
#elif defined(__AVX2__)
constexpr int64_t kSquare = 8;
void transpose_square(float* to, int64_t to_stride, const float* from, int64_t from_stride) {
  using V = float __attribute__((vector_size(32)));
  V a[8], b[8];
  for (int i = 0; i < 8; ++i) std::memcpy(&a[i], from + i * from_stride, sizeof(V));
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
  auto put = [&](int column, V v) { std::memcpy(to + column * to_stride, &v, sizeof v); };
  for (int j = 0; j < 4; ++j) {
    put(j, __builtin_shufflevector(a[j], a[4 + j], 0, 1, 2, 3, 8, 9, 10, 11));
    put(4 + j, __builtin_shufflevector(a[j], a[4 + j], 4, 5, 6, 7, 12, 13, 14, 15));
  }
}
#endif

template <class T>
void transpose(T* to, int64_t to_stride, const T* from, int64_t from_stride, int64_t rows, int64_t cols) {
  constexpr int64_t kTile = 16;
  for (int64_t r = 0; r < rows; r += kTile)
    for (int64_t c = 0; c < cols; c += kTile) {
      int64_t r_end = std::min(rows, r + kTile), c_end = std::min(cols, c + kTile);
#if defined(__AVX2__)
      if (sizeof(T) == 4 && r + kTile <= rows && c + kTile <= cols) {
        for (int64_t i = r; i < r_end; i += kSquare)
          for (int64_t j = c; j < c_end; j += kSquare)
            transpose_square(reinterpret_cast<float*>(to + j * to_stride + i), to_stride,
                             reinterpret_cast<const float*>(from + i * from_stride + j), from_stride);
        continue;
      }
#endif
      for (int64_t j = c; j < c_end; ++j)
        for (int64_t i = r; i < r_end; ++i) to[j * to_stride + i] = from[i * from_stride + j];
    }
}

}  // namespace

void fill_casts(KernelTable& t) {
  fill_for<float>(t, Compute::F32);
  fill_for<double>(t, Compute::F64);
  fill_for<int64_t>(t, Compute::I64);
  fill_for<complex64>(t, Compute::C64);
  fill_for<complex128>(t, Compute::C128);
  t.move_in[0] = load<uint8_t, uint8_t>;
  t.move_in[1] = load<uint16_t, uint16_t>;
  t.move_in[2] = load<uint32_t, uint32_t>;
  t.move_in[3] = load<uint64_t, uint64_t>;
  t.move_out[0] = store<uint8_t, uint8_t>;
  t.move_out[1] = store<uint16_t, uint16_t>;
  t.move_out[2] = store<uint32_t, uint32_t>;
  t.move_out[3] = store<uint64_t, uint64_t>;
}

/// from[rows][cols] to to[cols][rows]; strides in elements.
void transpose_2d(void* to, int64_t to_stride, const void* from, int64_t from_stride, int64_t rows, int64_t cols,
                  int64_t element_size) {
  switch (element_size) {
    case 1:
      return transpose(static_cast<uint8_t*>(to), to_stride, static_cast<const uint8_t*>(from), from_stride, rows,
                       cols);
    case 2:
      return transpose(static_cast<uint16_t*>(to), to_stride, static_cast<const uint16_t*>(from), from_stride, rows,
                       cols);
    case 4:
      return transpose(static_cast<uint32_t*>(to), to_stride, static_cast<const uint32_t*>(from), from_stride, rows,
                       cols);
    case 8:
      return transpose(static_cast<uint64_t*>(to), to_stride, static_cast<const uint64_t*>(from), from_stride, rows,
                       cols);
    default:
      return transpose(static_cast<complex128*>(to), to_stride, static_cast<const complex128*>(from), from_stride, rows,
                       cols);
  }
}

}  // namespace updraft::UPDRAFT_ISA
