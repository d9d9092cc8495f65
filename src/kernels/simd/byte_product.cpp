// Sums of products of eight bits, and rows of what they become (kernels/matmul/byte_product.h).
#include "kernels/matmul/byte_product.h"

#include <algorithm>
#include <cstring>

#include "kernels/simd/tile_rows.h"
#include "kernels/simd/vector.h"

namespace updraft::UPDRAFT_ISA {

extern const QuantizedRows quantized_rows;

namespace {

using namespace bytes;

typedef int32_t Sums __attribute__((vector_size(kVectorBytes), may_alias));
constexpr int kLanesOfSums = kVectorBytes / 4;
constexpr int64_t kColumns = 2 * kLanesOfSums;

#if defined(__AVX512F__)
constexpr int kSmallRows = 12, kRowsOfAny = 8;  // of a tile, x 2 vectors: 24 accumulators, of 32 registers
#elif defined(__AVX2__)
constexpr int kSmallRows = 6, kRowsOfAny = 4;
#else
constexpr int kSmallRows = 4, kRowsOfAny = 4;
#endif

typedef int8_t Bytes __attribute__((vector_size(kVectorBytes), may_alias));

/// sum + the four products of each lane, of UINT8 with INT8, which are added two by two in sixteen bits.
UPDRAFT_VECTOR_INLINE Sums add_quads(Sums sum, Sums a, Sums b) {
#if defined(__AVX512BW__)
  const __m512i twos = _mm512_maddubs_epi16((__m512i)a, (__m512i)b);
  return sum + (Sums)_mm512_madd_epi16(twos, _mm512_set1_epi16(1));
#elif defined(__AVX2__)
  const __m256i twos = _mm256_maddubs_epi16((__m256i)a, (__m256i)b);
  return sum + (Sums)_mm256_madd_epi16(twos, _mm256_set1_epi16(1));
#elif defined(__SSSE3__)
  const __m128i twos = _mm_maddubs_epi16((__m128i)a, (__m128i)b);
  return sum + (Sums)_mm_madd_epi16(twos, _mm_set1_epi16(1));
#else
  for (int byte = 0; byte < 4; ++byte) sum += ((a >> (8 * byte)) & 0xff) * ((b << (24 - 8 * byte)) >> 24);
  return sum;
#endif
}

/// The compiler would make all products of several steps first, and has no registers for them.
UPDRAFT_VECTOR_INLINE void keep(Sums& sum) {
#if defined(__AVX512F__)
  asm("" : "+v"(sum));
#elif defined(__x86_64__)
  asm("" : "+x"(sum));
#else
  (void)sum;
#endif
}

UPDRAFT_VECTOR_INLINE Sums load(const void* p) {
  Sums v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
UPDRAFT_VECTOR_INLINE int32_t quad_at(const uint8_t* p) {
  int32_t v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

/// The magnitudes of weights, and what turns the numbers to be multiplied by them into INT8 of the right sign.
struct Turned {
  Sums size, turn;
  explicit Turned(Sums weights) {
    const Bytes w = (Bytes)weights, negative = w < 0;
    size = (Sums)((w ^ negative) - negative);
    turn = (Sums)(negative ^ static_cast<int8_t>(-128));
  }
};

template <int R, bool Small>
void tile(int64_t quads, const uint8_t* a, const int8_t* b, const int8_t* ahead, int32_t* c, bool add) {
  constexpr int64_t kStep = 4 * kColumns;
  Sums sum[R][2];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < 2; ++v) sum[i][v] = Sums{};
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) __builtin_prefetch(c + i * kSumLine, 1);
  const auto step = [&](int64_t p) __attribute__((always_inline)) {
    const Sums right[2] = {load(b + p * kStep), load(b + p * kStep + kStep / 2)};
    const Turned turned[2] = {Turned(right[0]), Turned(right[1])};
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const Sums left = Sums{} + quad_at(a + i * kRowLine + p * 4);
      for (int v = 0; v < 2; ++v)
        sum[i][v] =
            Small ? add_quads(sum[i][v], left, right[v]) : add_quads(sum[i][v], turned[v].size, left ^ turned[v].turn);
      keep(sum[i][0]), keep(sum[i][1]);
    }
  };
  int64_t p = 0;
  for (; p + kAhead <= quads; p += kAhead, ahead += kStep) {
#pragma GCC unroll 2
    for (int64_t v = 0; v < kStep; v += 64) __builtin_prefetch(ahead + v, 0, 2);
#pragma GCC unroll 4
    for (int u = 0; u < kAhead; ++u) step(p + u);
  }
  for (; p < quads; ++p) step(p);
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < 2; ++v) {
      int32_t* to = c + i * kSumLine + v * kLanesOfSums;
      const Sums whole = add ? load(to) + sum[i][v] : sum[i][v];
      std::memcpy(to, &whole, sizeof whole);
    }
}

template <int Rows, bool Small>
void rows(int64_t m, int64_t quads, const uint8_t* left, const int8_t* panel, const int8_t* next, int32_t* sums,
          bool add) {
  each_tile<Rows>(m, [&]<int R>(int64_t part) {
    const int8_t* ahead = part < kAhead ? next + part * (quads / kAhead) * 4 * kColumns : panel;
    tile<R, Small>(quads, left, panel, ahead, sums, add);
    left += R * kRowLine;
    sums += R * kSumLine;
  });
}

void product(int64_t m, int64_t depth, const uint8_t* left, const int8_t* panel, bool small, const int8_t* next,
             int32_t* sums, bool add) {
  if (small) rows<kSmallRows, true>(m, depth / 4, left, panel, next, sums, add);
  else rows<kRowsOfAny, false>(m, depth / 4, left, panel, next, sums, add);
}

template <class T>
void add_numbers(const T* __restrict x, int64_t n, float scale, float zero, float* __restrict to) {
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) to[i] += (static_cast<float>(x[i]) - zero) * scale;
}

void finish_row(const int32_t* __restrict sums, const int32_t* __restrict less, int64_t n, const Tail& t, void* to) {
  float own[kCols];
  float* __restrict row = t.type == DType::Float ? static_cast<float*>(to) : own;
  if (t.each) {
    const float* __restrict scale = t.scale;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) row[i] = static_cast<float>(sums[i] - less[i]) * scale[i];
  } else {
    const float s = *t.scale;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) row[i] = static_cast<float>(sums[i] - less[i]) * s;
  }
  if (t.bias) {
    const float* __restrict bias = t.bias;
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) row[i] += bias[i];
  }
  if (t.addend) {
    if (t.addend_sign) add_numbers(static_cast<const int8_t*>(t.addend), n, t.addend_scale, t.addend_zero, row);
    else add_numbers(static_cast<const uint8_t*>(t.addend), n, t.addend_scale, t.addend_zero, row);
  }
  if (t.relu)
    for (int64_t i = 0; i < n; ++i) row[i] = row[i] > 0.0f ? row[i] : 0.0f;
  if (t.type == DType::Float) return;
  const auto zero = static_cast<float>(t.result.zero);
  quantized_rows.quantize(row, n, &t.result.scale, &zero, false, t.type == DType::Int8, to);
}

}  // namespace

extern const bytes::Kernels byte_product;
const bytes::Kernels byte_product = {kColumns, product, finish_row};

}  // namespace updraft::UPDRAFT_ISA
