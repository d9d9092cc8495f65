// Products of blocks that were converted to float and packed (kernels/matmul/packed.h).
#include "kernels/matmul/packed.h"

#include <algorithm>

#include "kernels/simd/tail.h"
#include "kernels/simd/tile_rows.h"
#include "kernels/simd/transpose.h"
#include "kernels/simd/widen.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

using namespace packed;

#if defined(__AVX512F__)
constexpr int64_t kPanel = 32;  // two vectors, or more where those are narrow
constexpr int kTileRows = 12;   // x 2 vectors: 24 accumulators, of 32 registers
#elif defined(__AVX__)
constexpr int64_t kPanel = 16;
constexpr int kTileRows = 6;
#else
constexpr int64_t kPanel = 16;
constexpr int kTileRows = 4;
#endif
static_assert(kTileRows >= kLeastTileRows && kLanes<float> - kTileRows <= kPanelGap);
constexpr int64_t panel_line(int64_t k) { return kTileRows * k + kPanelGap; }  // of the left side

/// sum += a * b where the sum is: the compiler takes other forms of the instruction, copies sums around, and then keeps
/// one of them in memory, which costs a quarter of the speed.
UPDRAFT_VECTOR_INLINE void add_product(VectorF& sum, VectorF a, VectorF b) {
#if defined(__AVX512F__)
  asm("vfmadd231ps %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
#elif defined(__FMA__)
  asm("vfmadd231ps %2, %1, %0" : "+x"(sum) : "x"(a), "x"(b));
#else
  sum = fma_vector(a, b, sum);
#endif
}

// R rows x 2 vectors of the result; with `add`, to what is there, last: a chain of sums through all parts of a long
// product would round ten times as much. Element (i, p) of the left side lies at a[i * row + p * Column]. `ahead`: rows
// of the right side that will be wanted soon. The tail is that of the first of the rows.
template <int R, int64_t Column>
void tile(int64_t k, const float* a, int64_t row, const float* b, const float* ahead, float* c, int64_t line, bool add,
          const Tail* tail) {
  constexpr int L = kLanes<float>;
  VectorF sum[R][2];
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < 2; ++v) sum[i][v] = VectorF{};
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i) __builtin_prefetch(c + i * line, 1);
  const auto step = [&](int64_t p) __attribute__((always_inline)) {
    const VectorF right[2] = {load_vector<float>(b + p * kPanel), load_vector<float>(b + p * kPanel + L)};
#pragma GCC unroll 16
    for (int i = 0; i < R; ++i) {
      const VectorF left = broadcast<float>(a[i * row + p * Column]);
      for (int v = 0; v < 2; ++v) add_product(sum[i][v], left, right[v]);
    }
  };
  int64_t p = 0;
  for (; p + kAhead <= k; p += kAhead, ahead += kPanel) {
#pragma GCC unroll 2
    for (int v = 0; v < 2 * L; v += 16) __builtin_prefetch(ahead + v, 0, 2);
#pragma GCC unroll 4
    for (int u = 0; u < kAhead; ++u) step(p + u);
  }
  for (; p < k; ++p) step(p);
#pragma GCC unroll 16
  for (int i = 0; i < R; ++i)
    for (int v = 0; v < 2; ++v) {
      float* to = c + i * line + v * L;
      const VectorF x = add ? load_vector<float>(to) + sum[i][v] : sum[i][v];
      store_vector<float>(to, tail ? ended(x, *tail, i, v * L) : x);
    }
}

// The left side in rows, or in panels of a tile's rows. `next`: of the right side, what comes after b.
template <bool Panels>
void rows(int64_t m, int64_t k, const float* a, int64_t left_line, const float* b, const float* next, float* c,
          int64_t line, bool add, const Tail* whole) {
  constexpr int64_t kColumn = Panels ? kTileRows : 1;
  const int64_t row = Panels ? 1 : left_line;
  Tail own = whole ? *whole : Tail{};
  const Tail* const tail = whole ? &own : nullptr;
  each_tile<kTileRows>(m, [&]<int R>(int64_t part) {
    const float* ahead = part < kAhead ? next + part * (k / kAhead) * kPanel : b;
    tile<R, kColumn>(k, a, row, b, ahead, c, line, add, tail);
    a += Panels && R == kTileRows ? panel_line(k) : R * row;
    c += R * line;
    if (own.add) own.add += R * own.add_line;
  });
}

// The left side from columns. A vector may have more lanes than a panel: what it writes past the panel's column is
// written over by the next one, or lies between two panels.
template <class T>
void panels_of_columns(float* to, const T* from, int64_t stride, int64_t m, int64_t k) {
  for (int64_t p = 0; p < k; ++p, from += stride) {
    float* at = to + p * kTileRows;
    int64_t i = 0;
    for (; i + kLanes<float> <= m; i += kTileRows, at += panel_line(k)) store_vector<float>(at, widen(from + i));
    for (; i < m; i += kTileRows, at += panel_line(k))
      for (int64_t x = 0; x < std::min<int64_t>(kTileRows, m - i); ++x) at[x] = static_cast<float>(from[i + x]);
  }
}

// The right side from rows (columns lie together) and from columns; what is missing to a panel is 0.
template <class T>
void panel_of_rows(float* to, const T* from, int64_t stride, int64_t k, int64_t n) {
  constexpr int L = kLanes<float>;
  for (int64_t p = 0; p < k; ++p, to += kPanel, from += stride) {
    if (n == kPanel) {
#pragma GCC unroll 8
      for (int j = 0; j < kPanel; j += L) store_vector<float>(to + j, widen(from + j));
    } else {
      for (int64_t j = 0; j < kPanel; ++j) to[j] = j < n ? static_cast<float>(from[j]) : 0.0f;
    }
  }
}

template <class T>
void panel_of_columns(float* to, const T* from, int64_t stride, int64_t k, int64_t n) {
  int64_t j = 0;
  for (; j + kSquare <= n; j += kSquare) {
    int64_t p = 0;
    for (; p + kSquare <= k; p += kSquare) {
      VectorF a[kSquare];
#pragma GCC unroll 16
      for (int i = 0; i < kSquare; ++i) a[i] = widen(from + (j + i) * stride + p);
      transpose_lanes(a);
#pragma GCC unroll 16
      for (int i = 0; i < kSquare; ++i) store_vector<float>(to + (p + i) * kPanel + j, a[i]);
    }
    for (; p < k; ++p)
      for (int i = 0; i < kSquare; ++i) to[p * kPanel + j + i] = static_cast<float>(from[(j + i) * stride + p]);
  }
  for (; j < kPanel; ++j)
    for (int64_t p = 0; p < k; ++p) to[p * kPanel + j] = j < n ? static_cast<float>(from[j * stride + p]) : 0.0f;
}

template <class T>
void panel(float* to, const void* source, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n) {
  const T* from = static_cast<const T*>(source);
  if (n_stride == 1) return panel_of_rows(to, from, k_stride, k, n);
  if (k_stride == 1) return panel_of_columns(to, from, n_stride, k, n);
  for (int64_t p = 0; p < k; ++p)
    for (int64_t j = 0; j < kPanel; ++j)
      to[p * kPanel + j] = j < n ? static_cast<float>(from[p * k_stride + j * n_stride]) : 0.0f;
}

void finish_row(const float* sums, int64_t n, const Tail& t, float* to) {
  constexpr int L = kLanes<float>;
  int64_t j = 0;
  Tail own = t;
  const auto move = [&](int64_t by) {
    for (const float** p : {&own.scale, &own.bias, &own.add})
      if (*p) *p += by;
  };
  for (; j + L <= n; j += L, move(L)) store_vector<float>(to + j, ended(load_vector<float>(sums + j), own, 0, 0));
  for (; j < n; ++j, move(1)) {
    // One element of a vector: all its operands are that one.
    const VectorF x = ended(broadcast<float>(sums[j]), own, 0, 0, [](const float* p) { return broadcast<float>(*p); });
    to[j] = x[0];
  }
}

void product(int64_t m, int64_t n, int64_t k, const float* left, int64_t left_line, const float* right,
             const float* after, float* c, int64_t line, bool sum, const Tail* tail) {
  constexpr int kWide = 2 * kLanes<float>;
  Tail own = tail ? *tail : Tail{};
  for (int64_t j = 0; j < n; j += kPanel, right += k * kPanel)
    for (int64_t v = 0; v < kPanel; v += kWide) {
      const float* next = v + kWide < kPanel ? right + v + kWide
                          : j + kPanel < n   ? right + k * kPanel
                          : after            ? after
                                             : right;
      if (left_line) rows<false>(m, k, left, left_line, right + v, next, c + j + v, line, sum, tail ? &own : nullptr);
      else rows<true>(m, k, left, 0, right + v, next, c + j + v, line, sum, tail ? &own : nullptr);
      for (const float** p : {&own.scale, &own.bias, &own.add})
        if (*p) *p += kWide;
    }
}

}  // namespace

void pack_panel(float* to, const void* from, DType type, int64_t k_stride, int64_t n_stride, int64_t k, int64_t n) {
  if (type == DType::Float) panel<float>(to, from, k_stride, n_stride, k, n);
  else if (type == DType::Float16) panel<Half>(to, from, k_stride, n_stride, k, n);
  else panel<BFloat16>(to, from, k_stride, n_stride, k, n);
}

void pack_columns(float* to, const void* from, DType type, int64_t stride, int64_t m, int64_t k) {
  if (type == DType::Float) panels_of_columns(to, static_cast<const float*>(from), stride, m, k);
  else if (type == DType::Float16) panels_of_columns(to, static_cast<const Half*>(from), stride, m, k);
  else panels_of_columns(to, static_cast<const BFloat16*>(from), stride, m, k);
}

extern const packed::Kernels packed_kernels;
const packed::Kernels packed_kernels = {kPanel, product, finish_row};

}  // namespace updraft::UPDRAFT_ISA
