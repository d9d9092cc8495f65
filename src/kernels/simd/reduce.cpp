// Reductions along rows and across columns, with wide accumulators (double for float, int64, complex128).
#include <algorithm>

#include "kernels/reduce.h"
#include "kernels/simd/by_compute.h"
#include "kernels/simd/lanes.h"
#include "kernels/simd/summed.h"
#include "kernels/simd/widen.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

// A sum of floats or halves: 64 lanes of floats, added up in double after some thousands.
template <class M, class H>
double sum_of(const H* x, int64_t n) {
  constexpr int64_t kBlock = 4096, kStep = 64, L = kLanes<float>;
  double total = 0;
  for (int64_t b = 0; b < n; b += kBlock) {
    const int64_t m = std::min(kBlock, n - b);
    VectorF sum[kStep / L] = {};
    int64_t i = 0;
    for (; i + kStep <= m; i += kStep)
#pragma GCC unroll 16
      for (int64_t u = 0; u < kStep / L; ++u) sum[u] += M::of(widen(x + b + i + u * L));
    alignas(64) float lane[kStep];
    for (int64_t u = 0; u < kStep / L; ++u) store_vector<float>(lane + u * L, sum[u]);
    for (int64_t j = 0; i < m; ++i, ++j) lane[j] += M::of(static_cast<float>(x[b + i]));
    for (int64_t h = kStep / 2; h >= 8; h /= 2)
      for (int64_t j = 0; j < h; ++j) lane[j] += lane[j + h];
    double eight[8];
    for (int64_t j = 0; j < 8; ++j) eight[j] = static_cast<double>(lane[j]);
    for (int64_t h = 4; h >= 1; h /= 2)
      for (int64_t j = 0; j < h; ++j) eight[j] += eight[j + h];
    total += eight[0];
  }
  return total;
}

template <class O, class T, class W>
void row(const void* x, int64_t n, void* wide) {
  W& acc = *static_cast<W*>(wide);
  const T* v = static_cast<const T*>(x);
  if constexpr (std::is_same_v<O, MulOp> && !std::is_same_v<T, W>) {
    // Products leave float's range long before their result does.
    constexpr int64_t kStep = 32;
    W lane[kStep];
    std::fill_n(lane, kStep, W(1));
    int64_t i = 0;
    for (; i + kStep <= n; i += kStep)
      for (int64_t j = 0; j < kStep; ++j) lane[j] *= static_cast<W>(v[i + j]);
    for (int64_t j = 0; i < n; ++i, ++j) lane[j] *= static_cast<W>(v[i]);
    for (int64_t h = kStep / 2; h >= 1; h /= 2)
      for (int64_t j = 0; j < h; ++j) lane[j] *= lane[j + h];
    acc *= lane[0];
  } else if constexpr (std::is_same_v<O, AddOp> && std::is_same_v<T, float>) {
    acc += sum_of<Plain>(v, n);
  } else {
    acc = O::apply(acc, fold<O, W>(v, n));
  }
}

template <class O, class T, class W>
void complex_row(const void* x, int64_t n, void* wide) {
  const T* v = static_cast<const T*>(x);
  W a = O::template identity<W>(), b = a;
  int64_t i = 0;
  for (; i + 2 <= n; i += 2) {
    a = O::apply(a, static_cast<W>(v[i]));
    b = O::apply(b, static_cast<W>(v[i + 1]));
  }
  if (i < n) a = O::apply(a, static_cast<W>(v[i]));
  W& acc = *static_cast<W*>(wide);
  acc = O::apply(acc, O::apply(a, b));
}

/// Short rows that follow one another are taken several at a time, as one that is longer: f(rows, columns, sums) makes
/// sums of these. The number of rows that were taken.
constexpr int64_t kNarrow = 256;  // columns
template <class O, class W, class F>
int64_t merged_rows(int64_t stride, int64_t rows, int64_t n, W* acc, F&& f) {
  const int64_t together = kNarrow / n;
  if (stride != n || together < 2 || rows < 8 * together) return 0;
  W sums[kNarrow];
  for (W& sum : sums) sum = O::template identity<W>();
  const int64_t lines = rows / together;
  f(lines, together * n, sums);
  for (int64_t k = 0; k < together; ++k)
    for (int64_t c = 0; c < n; ++c) acc[c] = O::apply(acc[c], sums[k * n + c]);
  return lines * together;
}

constexpr int64_t kStrip = 512;  // columns whose results stay at hand

UPDRAFT_VECTOR_INLINE void add_to(double* wide, VectorF v) {
  typedef float Part __attribute__((vector_size(kVectorBytes / 2)));
  Part part[2];
  std::memcpy(part, &v, sizeof v);
  for (int u = 0; u < 2; ++u) {
    double* to = wide + u * kLanes<double>;
    store_vector<double>(to, load_vector<double>(to) + __builtin_convertvector(part[u], VectorD));
  }
}
UPDRAFT_VECTOR_INLINE void add_to(double* wide, float v) { *wide += static_cast<double>(v); }

/// f.operator()<V>(c) for all columns c: V is VectorF, and float for those that fill no vector.
template <class F>
UPDRAFT_VECTOR_INLINE void along(int64_t n, F&& f) {
  int64_t c = 0;
  for (; c + kLanes<float> <= n; c += kLanes<float>) f.template operator()<VectorF>(c);
  for (; c < n; ++c) f.template operator()<float>(c);
}
template <class V, class H>
UPDRAFT_VECTOR_INLINE V as_float(const H* p) {
  if constexpr (std::is_same_v<V, float>) return static_cast<float>(*p);
  else return widen(p);
}
template <class M, class V, class H>
UPDRAFT_VECTOR_INLINE V four_rows(const H* p, int64_t stride) {
  return (M::of(as_float<V>(p)) + M::of(as_float<V>(p + stride))) +
         (M::of(as_float<V>(p + 2 * stride)) + M::of(as_float<V>(p + 3 * stride)));
}

/// Sums of floats or halves: sixteen rows (then eight) in float, then once in double. Four rows are read at a time:
/// with more, matrices whose rows are a page apart want more lines of the same sets than the cache has.
template <class M, class H>
void column_sums(const H* x, int64_t stride, int64_t rows, int64_t columns, double* sums) {
  if (const int64_t taken = merged_rows<AddOp>(
          stride, rows, columns, sums,
          [&](int64_t lines, int64_t wider, double* more) { column_sums<M>(x, wider, lines, wider, more); })) {
    x += taken * stride;
    rows -= taken;
  }
  alignas(kVectorBytes) float first[kStrip], second[kStrip];
  for (int64_t from = 0; from < columns; from += kStrip) {
    const int64_t n = std::min(kStrip, columns - from);
    double* wide = sums + from;
    auto put = [](float* to, auto v) __attribute__((always_inline)) { std::memcpy(to, &v, sizeof v); };
    int64_t r = 0;
    for (; r + 16 <= rows; r += 16) {
      const H *p = x + r * stride + from, *p4 = p + 4 * stride, *p8 = p4 + 4 * stride, *p12 = p8 + 4 * stride;
      along(n, [&]<class V>(int64_t c) { put(first + c, four_rows<M, V>(p + c, stride)); });
      along(n, [&]<class V>(int64_t c) { put(first + c, as_float<V>(first + c) + four_rows<M, V>(p4 + c, stride)); });
      along(n, [&]<class V>(int64_t c) { put(second + c, four_rows<M, V>(p8 + c, stride)); });
      along(n, [&]<class V>(int64_t c) {
        add_to(wide + c, as_float<V>(first + c) + (as_float<V>(second + c) + four_rows<M, V>(p12 + c, stride)));
      });
    }
    for (; r + 8 <= rows; r += 8) {
      const H *p = x + r * stride + from, *p4 = p + 4 * stride;
      along(n, [&]<class V>(int64_t c) { put(first + c, four_rows<M, V>(p + c, stride)); });
      along(n, [&]<class V>(int64_t c) { add_to(wide + c, as_float<V>(first + c) + four_rows<M, V>(p4 + c, stride)); });
    }
    for (; r < rows; ++r) {
      const H* p = x + r * stride + from;
      along(n, [&]<class V>(int64_t c) { add_to(wide + c, M::of(as_float<V>(p + c))); });
    }
  }
}

template <class O, class T, class W>
void cols(const void* x, int64_t stride, int64_t rows, int64_t n, void* wide) {
  W* acc = static_cast<W*>(wide);
  const T* v = static_cast<const T*>(x);
  if constexpr (std::is_same_v<O, AddOp> && std::is_same_v<T, float>)
    return column_sums<Plain>(v, stride, rows, n, acc);
  if (const int64_t taken = merged_rows<O>(stride, rows, n, acc, [&](int64_t lines, int64_t columns, W* sums) {
        cols<O, T, W>(x, columns, lines, columns, sums);
      })) {
    v += taken * stride;
    rows -= taken;
  }
  int64_t r = 0;
  if constexpr ((std::is_same_v<O, MaxOp> || std::is_same_v<O, MinOp>)&&!std::is_same_v<T, W>) {
    // Extremes are the same in T.
    T top[kStrip];
    for (int64_t from = 0; rows >= 8 && from < n; from += kStrip) {
      const int64_t width = std::min(kStrip, n - from);
      std::copy_n(v + from, width, top);
      const auto take = [&]<class V>(int64_t c, V values) __attribute__((always_inline)) {
        values = O::apply(as_float<V>(top + c), values);
        std::memcpy(top + c, &values, sizeof values);
      };
      for (r = 1; r + 4 <= rows; r += 4) {
        const T *p = v + r * stride + from, *p2 = p + 2 * stride;
        along(width, [&]<class V>(int64_t c) {
          take(c, O::apply(O::apply(as_float<V>(p + c), as_float<V>(p + stride + c)),
                           O::apply(as_float<V>(p2 + c), as_float<V>(p2 + stride + c))));
        });
      }
      for (; r < rows; ++r) {
        const T* p = v + r * stride + from;
        along(width, [&]<class V>(int64_t c) { take(c, as_float<V>(p + c)); });
      }
      for (int64_t c = 0; c < width; ++c) acc[from + c] = O::apply(acc[from + c], static_cast<W>(top[c]));
    }
  } else if constexpr (!std::is_same_v<O, MulOp> || std::is_same_v<T, W>) {
    // Four rows in T, then once in W.
    for (; r + 4 <= rows; r += 4) {
      const T *p = v + r * stride, *p1 = p + stride, *p2 = p1 + stride, *p3 = p2 + stride;
#pragma GCC ivdep
      for (int64_t c = 0; c < n; ++c)
        acc[c] = O::apply(acc[c], static_cast<W>(O::apply(O::apply(p[c], p1[c]), O::apply(p2[c], p3[c]))));
    }
  }
  for (; r < rows; ++r) {
    const T* p = v + r * stride;
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) acc[c] = O::apply(acc[c], static_cast<W>(p[c]));
  }
}

template <class O, bool Complex, class F>
void by_compute(int compute, F&& f) {
  switch (static_cast<Compute>(compute)) {
    case Compute::F32: return f.template operator()<float, double>();
    case Compute::F64: return f.template operator()<double, double>();
    case Compute::I64: return f.template operator()<int64_t, int64_t>();
    case Compute::C64:
      if constexpr (Complex) return f.template operator()<complex64, complex128>();
      break;
    case Compute::C128:
      if constexpr (Complex) return f.template operator()<complex128, complex128>();
      break;
  }
}

template <class T>
inline auto magnitude(T x) {
  if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) return std::abs(x);
  else return m::abs(x);
}

template <class T, class R>
void map_values(ReduceMap map, const T* x, int64_t n, const T* pivot, int64_t step, double p, R* to) {
  constexpr bool complex = !std::is_same_v<T, R>;
  switch (map) {
    case ReduceMap::none: break;
    case ReduceMap::nonzero:
      for (int64_t i = 0; i < n; ++i) to[i] = x[i] != T(0) ? R(1) : R(0);
      break;
    case ReduceMap::skip_nan:
      if constexpr (!complex) {
        for (int64_t i = 0; i < n; ++i) to[i] = x[i] != x[i] ? R(0) : x[i];
      }
      break;
    case ReduceMap::abs:
      for (int64_t i = 0; i < n; ++i) to[i] = magnitude(x[i]);
      break;
    case ReduceMap::square:
      if constexpr (complex) {
        for (int64_t i = 0; i < n; ++i) to[i] = std::norm(x[i]);
      } else {
        for (int64_t i = 0; i < n; ++i) to[i] = x[i] * x[i];
      }
      break;
    case ReduceMap::power:
      if constexpr (!std::is_integral_v<R>) {
        const R e = static_cast<R>(p);
        if (p == 3) {
          for (int64_t i = 0; i < n; ++i) to[i] = magnitude(x[i]) * magnitude(x[i]) * magnitude(x[i]);
        } else {
          for (int64_t i = 0; i < n; ++i) to[i] = magnitude(x[i]);
          for (int64_t i = 0; i < n; ++i) to[i] = m::pow(to[i], e);
        }
      }
      break;
    case ReduceMap::exp:
      if constexpr (!complex && !std::is_integral_v<R>) {
        if (step == 0) {
          const T shift = *pivot;
          for (int64_t i = 0; i < n; ++i) to[i] = m::exp(x[i] - shift);
        } else {
          for (int64_t i = 0; i < n; ++i) to[i] = m::exp(x[i] - pivot[i]);
        }
      }
      break;
  }
}

template <class T>
void moments(const T* x, int64_t n, double shift, double* sum, double* square) {
  using L = Lanes<double>;
  double s = 0, q = 0;
  int64_t i = 0;
  if (n >= 8) {
    L::V s0{}, s1{}, q0{}, q1{};
    alignas(64) double wide[16];
    for (; i + 16 <= n; i += 16) {
      for (int j = 0; j < 16; ++j) wide[j] = static_cast<double>(x[i + j]) - shift;
      L::V a = L::load(wide), b = L::load(wide + 8);
      s0 += a;
      s1 += b;
      q0 += a * a;
      q1 += b * b;
    }
    s0 += s1;
    q0 += q1;
    for (int j = 0; j < 8; ++j) {
      s += s0[j];
      q += q0[j];
    }
  }
  for (; i < n; ++i) {
    double d = static_cast<double>(x[i]) - shift;
    s += d;
    q += d * d;
  }
  *sum += s;
  *square += q;
}

template <class T>
void moments_columns(const T* x, int64_t stride, int64_t rows, int64_t n, const T* pivot, double* sum, double* square) {
  for (int64_t r = 0; r < rows; ++r) {
    const T* p = x + r * stride;
#pragma GCC ivdep
    for (int64_t c = 0; c < n; ++c) {
      double d = static_cast<double>(p[c]) - static_cast<double>(pivot[c]);
      sum[c] += d;
      square[c] += d * d;
    }
  }
}

template <class O, class T>
void arg(const T* x, int64_t n, int64_t first, T* best, int64_t* index) {
  if (n == 0 || (*index >= 0 && *best != *best)) return;
  constexpr int64_t kBlock = 2048;
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    T top = fold_block<O, T>(x + i, m);
    const bool nan = top != top;
    if (*index >= 0 && !nan && O::apply(*best, top) == *best) continue;
    for (int64_t j = 0; j < m; ++j)
      if (nan ? x[i + j] != x[i + j] : x[i + j] == top) {
        *index = first + i + j;
        break;
      }
    *best = top;
    if (nan) return;
  }
}

template <bool Largest, class T>
void arg_columns(const T* x, int64_t n, int64_t row, T* best, int64_t* index) {
#pragma GCC ivdep
  for (int64_t c = 0; c < n; ++c) {
    const T v = x[c], b = best[c];
    const bool wins = ((Largest ? v > b : v < b) | (v != v)) & (b == b);
    best[c] = wins ? v : b;
    index[c] = wins ? row : index[c];
  }
}

}  // namespace

void reduce_row(int op, int compute, const void* x, int64_t n, void* wide) {
  switch (static_cast<ReduceOp>(op)) {
    case ReduceOp::sum:
      return by_compute<AddOp, true>(compute, [&]<class T, class W>() {
        if constexpr (std::is_same_v<W, complex128>) complex_row<AddOp, T, W>(x, n, wide);
        else row<AddOp, T, W>(x, n, wide);
      });
    case ReduceOp::prod:
      return by_compute<MulOp, true>(compute, [&]<class T, class W>() {
        if constexpr (std::is_same_v<W, complex128>) complex_row<MulOp, T, W>(x, n, wide);
        else row<MulOp, T, W>(x, n, wide);
      });
    case ReduceOp::max:
      return by_compute<MaxOp, false>(compute, [&]<class T, class W>() { row<MaxOp, T, W>(x, n, wide); });
    case ReduceOp::min:
      return by_compute<MinOp, false>(compute, [&]<class T, class W>() { row<MinOp, T, W>(x, n, wide); });
  }
}

void reduce_cols(int op, int compute, const void* x, int64_t stride, int64_t rows, int64_t n, void* wide) {
  switch (static_cast<ReduceOp>(op)) {
    case ReduceOp::sum:
      return by_compute<AddOp, true>(compute, [&]<class T, class W>() { cols<AddOp, T, W>(x, stride, rows, n, wide); });
    case ReduceOp::prod:
      return by_compute<MulOp, true>(compute, [&]<class T, class W>() { cols<MulOp, T, W>(x, stride, rows, n, wide); });
    case ReduceOp::max:
      return by_compute<MaxOp, false>(compute,
                                      [&]<class T, class W>() { cols<MaxOp, T, W>(x, stride, rows, n, wide); });
    case ReduceOp::min:
      return by_compute<MinOp, false>(compute,
                                      [&]<class T, class W>() { cols<MinOp, T, W>(x, stride, rows, n, wide); });
  }
}

void reduce_map(int map, int compute, const void* x, int64_t n, const void* pivot, int64_t pivot_step, double p,
                void* to) {
  auto run = [&]<class T, class R>() {
    map_values(static_cast<ReduceMap>(map), static_cast<const T*>(x), n, static_cast<const T*>(pivot), pivot_step, p,
               static_cast<R*>(to));
  };
  switch (static_cast<Compute>(compute)) {
    case Compute::F32: return run.operator()<float, float>();
    case Compute::F64: return run.operator()<double, double>();
    case Compute::I64: return run.operator()<int64_t, int64_t>();
    case Compute::C64: return run.operator()<complex64, float>();
    case Compute::C128: return run.operator()<complex128, double>();
  }
}

/// f.operator()<M, H>() for what is summed of what.
template <class F>
void by_summed(int map, DType type, F&& f) {
  const auto by_type = [&]<class M>() {
    switch (type) {
      case DType::Float16: return f.template operator()<M, Half>();
      case DType::BFloat16: return f.template operator()<M, BFloat16>();
      default: return f.template operator()<M, float>();
    }
  };
  switch (static_cast<ReduceMap>(map)) {
    case ReduceMap::square: return by_type.template operator()<Square>();
    case ReduceMap::abs: return by_type.template operator()<Magnitude>();
    default: return by_type.template operator()<Plain>();
  }
}

void sum_row(int map, DType type, const void* x, int64_t n, double* wide) {
  by_summed(map, type, [&]<class M, class H>() { *wide += sum_of<M>(static_cast<const H*>(x), n); });
}

void sum_cols(int map, DType type, const void* x, int64_t stride, int64_t rows, int64_t n, double* wide) {
  by_summed(map, type, [&]<class M, class H>() { column_sums<M>(static_cast<const H*>(x), stride, rows, n, wide); });
}

void moments_row(int compute, const void* x, int64_t n, const void* pivot, double* sum, double* square) {
  by_real(static_cast<Compute>(compute), [&]<class T>() {
    moments(static_cast<const T*>(x), n, static_cast<double>(*static_cast<const T*>(pivot)), sum, square);
  });
}

void moments_cols(int compute, const void* x, int64_t stride, int64_t rows, int64_t n, const void* pivot, double* sum,
                  double* square) {
  by_real(static_cast<Compute>(compute), [&]<class T>() {
    moments_columns(static_cast<const T*>(x), stride, rows, n, static_cast<const T*>(pivot), sum, square);
  });
}

void arg_row(int compute, bool largest, const void* x, int64_t n, int64_t first, void* best, int64_t* index) {
  by_compute<MaxOp, false>(compute, [&]<class T, class W>() {
    if (largest) arg<MaxOp>(static_cast<const T*>(x), n, first, static_cast<T*>(best), index);
    else arg<MinOp>(static_cast<const T*>(x), n, first, static_cast<T*>(best), index);
  });
}

void arg_cols(int compute, bool largest, const void* x, int64_t n, int64_t row, void* best, int64_t* index) {
  by_compute<MaxOp, false>(compute, [&]<class T, class W>() {
    if (largest) arg_columns<true>(static_cast<const T*>(x), n, row, static_cast<T*>(best), index);
    else arg_columns<false>(static_cast<const T*>(x), n, row, static_cast<T*>(best), index);
  });
}

}  // namespace updraft::UPDRAFT_ISA
