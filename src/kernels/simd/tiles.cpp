// Products of fp16 by the CPU's tiles (AMX), which multiply bf16 and add in fp32 (kernels/matmul/tiles.h).
#include "kernels/matmul/tiles.h"

#include "kernels/simd/transpose.h"
#include "kernels/simd/widen.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {

using namespace tiles;

#if defined(__AVX512F__) && defined(__AVX512BW__)
namespace {

#define UPDRAFT_TILES __attribute__((target("amx-tile,amx-bf16")))

/// The upper 16 bits of each lane, of even lanes' partner first: a pair of numbers in a lane.
UPDRAFT_VECTOR_INLINE __m512i pairs(__m512 even, __m512 odd) {
  return _mm512_mask_blend_epi16(0xaaaaaaaau, _mm512_srli_epi32(_mm512_castps_si512(even), 16),
                                 _mm512_castps_si512(odd));
}
/// What the upper 16 bits leave: three bits of a half's eleven, so it is a bf16 itself.
UPDRAFT_VECTOR_INLINE __m512 rest(__m512 x) {
  const __m512i upper = _mm512_and_si512(_mm512_castps_si512(x), _mm512_set1_epi32(static_cast<int>(0xffff0000u)));
  return _mm512_sub_ps(x, _mm512_castsi512_ps(upper));
}
UPDRAFT_VECTOR_INLINE __m512 halves(__m256i bits) { return _mm512_maskz_cvtph_ps(0xffff, bits); }
UPDRAFT_VECTOR_INLINE __mmask32 first_of_32(int64_t n) {
  return n >= 32 ? ~__mmask32{0} : n <= 0 ? 0 : static_cast<__mmask32>((1u << n) - 1);
}
UPDRAFT_VECTOR_INLINE __mmask16 first_of_16(int64_t n) {
  return n >= 16 ? static_cast<__mmask16>(0xffff) : n <= 0 ? __mmask16{0} : static_cast<__mmask16>((1u << n) - 1);
}

struct Square {
  VectorF upper[kLanesOfTile], lower[kLanesOfTile];
};

/// Rows of lanes: 32 numbers of the sum, two of them in a dword.
UPDRAFT_VECTOR_INLINE void read_along(Square& s, const Half* from, int64_t lane_stride, int64_t lanes, int64_t depth) {
  alignas(64) static constexpr uint16_t kUpper[32] = {1,  3,  5,  7,  9,  11, 13, 15, 17, 19, 21, 23, 25, 27, 29, 31,
                                                      33, 35, 37, 39, 41, 43, 45, 47, 49, 51, 53, 55, 57, 59, 61, 63};
  const __m512i upper = _mm512_load_si512(kUpper);
  const __mmask32 there = first_of_32(depth);
#pragma GCC unroll 16
  for (int i = 0; i < kLanesOfTile; ++i) {
    const __m512i bits = i < lanes ? _mm512_maskz_loadu_epi16(there, from + i * lane_stride) : _mm512_setzero_si512();
    const __m512 x = halves(_mm512_castsi512_si256(bits)), y = halves(_mm512_extracti64x4_epi64(bits, 1));
    s.upper[i] = (VectorF)_mm512_permutex2var_epi16(_mm512_castps_si512(x), upper, _mm512_castps_si512(y));
    s.lower[i] = (VectorF)_mm512_permutex2var_epi16(_mm512_castps_si512(rest(x)), upper, _mm512_castps_si512(rest(y)));
  }
}
/// Rows of pairs of the sum: a dword for each lane.
UPDRAFT_VECTOR_INLINE void read_across(Square& s, const Half* from, int64_t depth_stride, int64_t lanes,
                                       int64_t depth) {
  const __mmask16 there = first_of_16(lanes);
  const auto row = [&](int64_t p) __attribute__((always_inline)) {
    return halves(p < depth ? _mm256_maskz_loadu_epi16(there, from + p * depth_stride) : _mm256_setzero_si256());
  };
#pragma GCC unroll 16
  for (int i = 0; i < kLanesOfTile; ++i) {
    const __m512 x = row(2 * i), y = row(2 * i + 1);
    s.upper[i] = (VectorF)pairs(x, y);
    s.lower[i] = (VectorF)pairs(rest(x), rest(y));
  }
}

/// One tile and its rest, 2 KiB. Along: the sum's numbers of a lane lie together in `from`.
template <bool Along, bool Turned>
void split_tile(uint16_t* to, const Half* from, int64_t stride, int64_t lanes, int64_t depth) {
  Square s;
  if constexpr (Along) read_along(s, from, stride, lanes, depth);
  else read_across(s, from, stride, lanes, depth);
  if constexpr (Turned) {
    transpose_lanes(s.upper);
    transpose_lanes(s.lower);
  }
#pragma GCC unroll 16
  for (int i = 0; i < kLanesOfTile; ++i) {
    store_vector<float>(reinterpret_cast<float*>(to) + i * 16, s.upper[i]);
    store_vector<float>(reinterpret_cast<float*>(to) + kTileFloats + i * 16, s.lower[i]);
  }
}

template <bool Along, bool Turned>
void split_lanes(uint16_t* to, const Half* from, int64_t lane_stride, int64_t depth_stride, int64_t lanes,
                 int64_t depth) {
  for (int64_t i = 0; i < lanes; i += kLanesOfTile)
    for (int64_t p = 0; p < depth; p += kDepthOfTile, to += kSplitTile)
      split_tile<Along, Turned>(to, from + i * lane_stride + p * depth_stride, Along ? lane_stride : depth_stride,
                                lanes - i, depth - p);
}

/// 32 x 32 of the sums: 2 x 2 tiles, each the sum of four products (both parts of the left by both of the right).
template <int Rows, int Columns>
UPDRAFT_TILES void block(int64_t steps, const uint16_t* a, int64_t a_step, const uint16_t* b, int64_t b_step, float* c,
                         bool add) {
  constexpr int64_t kStride = kSumLine * static_cast<int64_t>(sizeof(float));
  if (add) {
    _tile_loadd(0, c, kStride);
    if constexpr (Columns > 1) _tile_loadd(1, c + 16, kStride);
    if constexpr (Rows > 1) _tile_loadd(2, c + 16 * kSumLine, kStride);
    if constexpr (Rows > 1 && Columns > 1) _tile_loadd(3, c + 16 * kSumLine + 16, kStride);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
#define MULTIPLY                                      \
  _tile_dpbf16ps(0, 4, 6);                            \
  if constexpr (Columns > 1) _tile_dpbf16ps(1, 4, 7); \
  if constexpr (Rows > 1) _tile_dpbf16ps(2, 5, 6);    \
  if constexpr (Rows > 1 && Columns > 1) _tile_dpbf16ps(3, 5, 7);
#define LEFT(part)                             \
  _tile_loadd(4, a + (part)*kTileNumbers, 64); \
  if constexpr (Rows > 1) _tile_loadd(5, a + a_step + (part)*kTileNumbers, 64);
#define RIGHT(part)                            \
  _tile_loadd(6, b + (part)*kTileNumbers, 64); \
  if constexpr (Columns > 1) _tile_loadd(7, b + b_step + (part)*kTileNumbers, 64);
  for (int64_t p = 0; p < steps; ++p, a += kSplitTile, b += kSplitTile) {
    LEFT(1)
    RIGHT(1)
    MULTIPLY
    RIGHT(0)
    MULTIPLY
    LEFT(0)
    MULTIPLY
    RIGHT(1)
    MULTIPLY
  }
#undef MULTIPLY
#undef LEFT
#undef RIGHT
  _tile_stored(0, c, kStride);
  if constexpr (Columns > 1) _tile_stored(1, c + 16, kStride);
  if constexpr (Rows > 1) _tile_stored(2, c + 16 * kSumLine, kStride);
  if constexpr (Rows > 1 && Columns > 1) _tile_stored(3, c + 16 * kSumLine + 16, kStride);
}

struct alignas(64) TileConfig {
  uint8_t palette = 0, start_row = 0, reserved[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
};

}  // namespace

bool has_tiles() { return true; }

void split_halves(uint16_t* to, const Half* from, int64_t lane_stride, int64_t depth_stride, int64_t lanes,
                  int64_t depth, bool right) {
  if (depth_stride == 1) {
    if (right) split_lanes<true, true>(to, from, lane_stride, depth_stride, lanes, depth);
    else split_lanes<true, false>(to, from, lane_stride, depth_stride, lanes, depth);
    return;
  }
  if (lane_stride == 1) {
    if (right) split_lanes<false, false>(to, from, lane_stride, depth_stride, lanes, depth);
    else split_lanes<false, true>(to, from, lane_stride, depth_stride, lanes, depth);
    return;
  }
  for (int64_t i = 0; i < lanes; i += kLanesOfTile)
    for (int64_t p = 0; p < depth; p += kDepthOfTile, to += kSplitTile) {
      Half square[kLanesOfTile][kDepthOfTile] = {};
      for (int64_t x = 0; x < kLanesOfTile && i + x < lanes; ++x)
        for (int64_t y = 0; y < kDepthOfTile && p + y < depth; ++y)
          square[x][y] = from[(i + x) * lane_stride + (p + y) * depth_stride];
      if (right) split_tile<true, true>(to, square[0], kDepthOfTile, kLanesOfTile, kDepthOfTile);
      else split_tile<true, false>(to, square[0], kDepthOfTile, kLanesOfTile, kDepthOfTile);
    }
}

UPDRAFT_TILES void split_product(int64_t m, int64_t n, int64_t depth, const uint16_t* a, const uint16_t* b, float* c,
                                 bool add) {
  const int64_t steps = (depth + kDepthOfTile - 1) / kDepthOfTile, step = steps * kSplitTile;
  TileConfig before, ours;
  // Others in this thread (oneDNN) may rely on the shapes that they have set.
  _tile_storeconfig(&before);
  ours.palette = 1;
  for (int i = 0; i < 8; ++i) ours.bytes[i] = 64, ours.rows[i] = 16;
  _tile_loadconfig(&ours);
  for (int64_t j = 0; j < n; j += 32) {
    const uint16_t* right = b + j / 16 * step;
    for (int64_t i = 0; i < m; i += 32) {
      const uint16_t* left = a + i / 16 * step;
      float* to = c + i * kSumLine + j;
      if (m - i > 16 && n - j > 16) block<2, 2>(steps, left, step, right, step, to, add);
      else if (m - i > 16) block<2, 1>(steps, left, step, right, step, to, add);
      else if (n - j > 16) block<1, 2>(steps, left, step, right, step, to, add);
      else block<1, 1>(steps, left, step, right, step, to, add);
    }
  }
  if (before.palette) _tile_loadconfig(&before);
  else _tile_release();
}

void take_infinite(float* to, const float* from, int64_t n) {
  for (int64_t i = 0; i < n; i += 16) {
    const __mmask16 there = first_of_16(n - i);
    const __m512 x = _mm512_maskz_loadu_ps(there, to + i);
    const __mmask16 odd = _mm512_cmp_ps_mask(_mm512_sub_ps(x, x), _mm512_setzero_ps(), _CMP_UNORD_Q);
    _mm512_mask_storeu_ps(to + i, odd & there, _mm512_maskz_loadu_ps(there, from + i));
  }
}

#else
bool has_tiles() { return false; }
void split_halves(uint16_t*, const Half*, int64_t, int64_t, int64_t, int64_t, bool) {}
void split_product(int64_t, int64_t, int64_t, const uint16_t*, const uint16_t*, float*, bool) {}
void take_infinite(float*, const float*, int64_t) {}
#endif

}  // namespace updraft::UPDRAFT_ISA
