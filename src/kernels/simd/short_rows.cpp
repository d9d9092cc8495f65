// Reductions and running sums of many short rows, and extremes of small integers as they lie.
#include "kernels/short_rows.h"

#include <algorithm>

#include "kernels/reduce.h"
#include "kernels/simd/lanes.h"
#include "kernels/simd/summed.h"
#include "kernels/simd/transpose.h"

namespace updraft::UPDRAFT_ISA {
namespace {

constexpr int kWidth = 16;  // lanes of a row, on every instruction set

template <class W, int Bytes = kVectorBytes>
struct Register {
  typedef W type __attribute__((vector_size(Bytes), may_alias));
};
template <class W>
using V = typename Register<W>::type;

template <class O, class W>
UPDRAFT_VECTOR_INLINE V<W> apply(V<W> a, V<W> b) {
  if constexpr (std::is_integral_v<W> && (std::is_same_v<O, AddOp> || std::is_same_v<O, MulOp>)) {
    using U = V<std::make_unsigned_t<W>>;  // wraps around
    return (V<W>)O::apply((U)a, (U)b);
  } else if constexpr (std::is_same_v<O, AddOp> || std::is_same_v<O, MulOp>) {
    return O::apply(a, b);
  } else if constexpr (std::is_integral_v<W>) {
    if constexpr (std::is_same_v<O, MaxOp>) return b > a ? b : a;
    else return b < a ? b : a;
  } else {
    if constexpr (std::is_same_v<O, MaxOp>) return b > a ? b : b != b ? b : a;
    else return b < a ? b : b != b ? b : a;
  }
}
template <class O, class W>
inline W apply_one(W a, W b) {
  if constexpr (std::is_integral_v<W> && (std::is_same_v<O, AddOp> || std::is_same_v<O, MulOp>)) {
    using U = std::make_unsigned_t<W>;
    return static_cast<W>(O::apply(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return O::apply(a, b);
  }
}

template <class W, class T>
UPDRAFT_VECTOR_INLINE V<W> load_as(const T* p) {
  typename Register<T, kVectorBytes / sizeof(W) * sizeof(T)>::type v;
  std::memcpy(&v, p, sizeof v);
  if constexpr (std::is_same_v<T, W>) {
    return v;
  } else if constexpr (std::is_integral_v<T>) {
    // GCC converts vectors of bytes element by element.
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, int8_t>) return (V<W>)_mm512_maskz_cvtepi8_epi32(0xffff, (__m128i)v);
    else if constexpr (std::is_same_v<T, uint8_t>) return (V<W>)_mm512_maskz_cvtepu8_epi32(0xffff, (__m128i)v);
    else return (V<W>)_mm512_maskz_cvtepi16_epi32(0xffff, (__m256i)v);
#elif defined(__AVX2__)
    if constexpr (std::is_same_v<T, int8_t>) return (V<W>)_mm256_cvtepi8_epi32(_mm_set_epi64x(0, (int64_t)v));
    else if constexpr (std::is_same_v<T, uint8_t>) return (V<W>)_mm256_cvtepu8_epi32(_mm_set_epi64x(0, (int64_t)v));
    else return (V<W>)_mm256_cvtepi16_epi32((__m128i)v);
#else
    return __builtin_convertvector(v, V<W>);
#endif
  } else {
    return __builtin_convertvector(v, V<W>);
  }
}

/// One row, with the order of several_rows().
template <class O, class W, class M, class T>
W one_row(const T* x, int64_t n) {
  if (n < kWidth) {
    W all = M::of(static_cast<W>(x[0]));
    for (int64_t c = 1; c < n; ++c) all = apply_one<O>(all, M::of(static_cast<W>(x[c])));
    return all;
  }
  W lane[kWidth];
  for (int64_t j = 0; j < kWidth; ++j) lane[j] = M::of(static_cast<W>(x[j]));
  int64_t c = kWidth;
  for (; c + kWidth <= n; c += kWidth)
    for (int64_t j = 0; j < kWidth; ++j) lane[j] = apply_one<O>(lane[j], M::of(static_cast<W>(x[c + j])));
  if (c < n)
    for (int64_t j = 0; j < kWidth; ++j)
      lane[j] = apply_one<O>(lane[j], c + j < n ? M::of(static_cast<W>(x[c + j])) : O::template identity<W>());
  for (int64_t h = kWidth / 2; h >= 1; h /= 2)
    for (int64_t j = 0; j < h; ++j) lane[j] = apply_one<O>(lane[j], lane[j + h]);
  return lane[0];
}

/// A square of registers at a time. Rows of 16 elements and more: each is folded to 16 lanes and these to a register,
/// the square is transposed and folded again. Shorter ones: the square is transposed as it is, and its columns are
/// folded from left to right. The order is the same for every instruction set.
template <class O, class W, class M, class T, class Wide>
void several_rows(const T* x, int64_t stride, int64_t rows, int64_t n, Wide* wide) {
  constexpr int L = kVectorBytes / sizeof(W), kRegisters = kWidth / L;
  auto put = [&](int64_t row, const V<W>& values) __attribute__((always_inline)) {
    alignas(kVectorBytes) W result[L];
    std::memcpy(result, &values, sizeof values);
    for (int i = 0; i < L; ++i) wide[row + i] = apply_one<O>(wide[row + i], static_cast<Wide>(result[i]));
  };
  int64_t r = 0;
  // Registers may be filled beyond a row as far as the rows that follow reach.
  const int64_t end = (rows - 1) * stride + n;
  if (n >= kWidth) {
    const int64_t whole = n / kWidth * kWidth;
    using Places = V<std::conditional_t<sizeof(W) == 4, int32_t, int64_t>>;
    Places of_row[kRegisters];  // which lanes of the last registers are the row's own
    for (int k = 0; k < kRegisters; ++k)
      for (int j = 0; j < L; ++j) of_row[k][j] = whole + k * L + j < n ? -1 : 0;
    const V<W> nothing = V<W>{} + O::template identity<W>();
    for (; r + L <= rows; r += L) {
      const bool beyond = stride >= 0 && (r + L - 1) * stride + whole + kWidth <= end;
      V<W> lane[L];
      for (int i = 0; i < L; ++i) {
        const T* p = x + (r + i) * stride;
        V<W> sum[kRegisters];
#pragma GCC unroll 8
        for (int k = 0; k < kRegisters; ++k) sum[k] = M::of(load_as<W>(p + k * L));
        auto add = [&](const T* from) __attribute__((always_inline)) {
#pragma GCC unroll 8
          for (int k = 0; k < kRegisters; ++k) sum[k] = apply<O, W>(sum[k], M::of(load_as<W>(from + k * L)));
        };
        int64_t c = kWidth;
        for (; c + kWidth <= n; c += kWidth) add(p + c);
        if (c < n && beyond) {
#pragma GCC unroll 8
          for (int k = 0; k < kRegisters; ++k)
            sum[k] = apply<O, W>(sum[k], of_row[k] ? M::of(load_as<W>(p + c + k * L)) : nothing);
        } else if (c < n) {
          alignas(64) T rest[kWidth];
          std::fill_n(rest, kWidth, O::template identity<T>());
          std::copy_n(p + c, n - c, rest);
          add(rest);
        }
#pragma GCC unroll 4
        for (int h = kRegisters / 2; h >= 1; h /= 2)
#pragma GCC unroll 4
          for (int k = 0; k < h; ++k) sum[k] = apply<O, W>(sum[k], sum[k + h]);
        lane[i] = sum[0];
      }
      transpose_lanes(lane);
#pragma GCC unroll 8
      for (int h = L / 2; h >= 1; h /= 2)
#pragma GCC unroll 8
        for (int i = 0; i < h; ++i) lane[i] = apply<O, W>(lane[i], lane[i + h]);
      put(r, lane[0]);
    }
  } else if (stride >= 0) {
    for (; r + L <= rows && (r + L - 1) * stride + kWidth <= end; r += L) {
      V<W> all{};
      for (int64_t from = 0; from < n; from += L) {
        V<W> lane[L];
#pragma GCC unroll 16
        for (int i = 0; i < L; ++i) lane[i] = M::of(load_as<W>(x + (r + i) * stride + from));
        transpose_lanes(lane);
        all = from == 0 ? lane[0] : apply<O, W>(all, lane[0]);
#pragma GCC unroll 16
        for (int j = 1; j < L; ++j)
          if (from + j < n) all = apply<O, W>(all, lane[j]);
      }
      put(r, all);
    }
  }
  for (; r < rows; ++r) wide[r] = apply_one<O>(wide[r], static_cast<Wide>(one_row<O, W, M>(x + r * stride, n)));
}

template <class F>
void by_op(int op, F&& f) {
  switch (static_cast<ReduceOp>(op)) {
    case ReduceOp::sum: return f.template operator()<AddOp>();
    case ReduceOp::prod: return f.template operator()<MulOp>();
    case ReduceOp::max: return f.template operator()<MaxOp>();
    case ReduceOp::min: return f.template operator()<MinOp>();
  }
}
template <class F>
void by_extreme(int op, F&& f) {
  if (static_cast<ReduceOp>(op) == ReduceOp::max) f.template operator()<MaxOp>();
  else f.template operator()<MinOp>();
}
template <class F>
void by_integer(DType type, F&& f) {
  switch (type) {
    case DType::Int8: return f.template operator()<int8_t>();
    case DType::UInt8: return f.template operator()<uint8_t>();
    case DType::Int16: return f.template operator()<int16_t>();
    default: return f.template operator()<int32_t>();
  }
}

void reduce_short_rows(int op, DType type, const void* x, int64_t stride, int64_t rows, int64_t n, void* wide) {
  auto run = [&]<class O, class W, class T, class Wide>() {
    several_rows<O, W, Plain>(static_cast<const T*>(x), stride, rows, n, static_cast<Wide*>(wide));
  };
  switch (type) {
    case DType::Float:
      return by_op(op, [&]<class O>() {
        // Products leave float's range long before their result does; sums of few elements are as quick in double.
        constexpr bool extreme = std::is_same_v<O, MaxOp> || std::is_same_v<O, MinOp>;
        if constexpr (std::is_same_v<O, MulOp>) {
          run.template operator()<O, double, float, double>();
        } else {
          if (extreme || n >= kWidth) run.template operator()<O, float, float, double>();
          else run.template operator()<O, double, float, double>();
        }
      });
    case DType::Double: return by_op(op, [&]<class O>() { run.template operator()<O, double, double, double>(); });
    case DType::Int64: return by_op(op, [&]<class O>() { run.template operator()<O, int64_t, int64_t, int64_t>(); });
    default:
      return by_extreme(op, [&]<class O>() {
        by_integer(type, [&]<class T>() { run.template operator()<O, int32_t, T, int64_t>(); });
      });
  }
}

void sums_of_short_rows(int map, const float* x, int64_t stride, int64_t rows, int64_t n, double* wide) {
  auto run = [&]<class M>() {
    if (n >= kWidth) several_rows<AddOp, float, M>(x, stride, rows, n, wide);
    else several_rows<AddOp, double, M>(x, stride, rows, n, wide);
  };
  if (static_cast<ReduceMap>(map) == ReduceMap::square) run.template operator()<Square>();
  else run.template operator()<Magnitude>();
}

template <class O, class T>
T extreme_of(const T* x, int64_t n) {
  constexpr int L = kVectorBytes / sizeof(T), kRegisters = 8;
  if (n < L) {
    T top = x[0];
    for (int64_t i = 1; i < n; ++i) top = O::apply(top, x[i]);
    return top;
  }
  V<T> top[kRegisters];
  for (V<T>& t : top) t = load_as<T>(x);
  int64_t i = 0;
  for (; i + kRegisters * L <= n; i += kRegisters * L)
#pragma GCC unroll 8
    for (int k = 0; k < kRegisters; ++k) top[k] = apply<O, T>(top[k], load_as<T>(x + i + k * L));
  for (; i + L <= n; i += L) top[0] = apply<O, T>(top[0], load_as<T>(x + i));
  top[1] = apply<O, T>(top[1], load_as<T>(x + n - L));  // what is left, and some once more
#pragma GCC unroll 8
  for (int h = kRegisters / 2; h >= 1; h /= 2)
#pragma GCC unroll 8
    for (int k = 0; k < h; ++k) top[k] = apply<O, T>(top[k], top[k + h]);
  T lane[L];
  std::memcpy(lane, top, sizeof lane);
  for (int h = L / 2; h >= 1; h /= 2)
    for (int j = 0; j < h; ++j) lane[j] = O::apply(lane[j], lane[j + h]);
  return lane[0];
}

void extreme_row(int op, DType type, const void* x, int64_t n, int64_t* wide) {
  if (n == 0) return;
  by_extreme(op, [&]<class O>() {
    by_integer(type, [&]<class T>() {
      *wide = O::apply(*wide, static_cast<int64_t>(extreme_of<O>(static_cast<const T*>(x), n)));
    });
  });
}

template <class O, class T>
void extreme_of_columns(const T* v, int64_t stride, int64_t rows, int64_t n, int64_t* wide) {
  constexpr int64_t kStrip = 512;  // columns whose extremes stay at hand
  T top[kStrip];
  for (int64_t from = 0; rows > 0 && from < n; from += kStrip) {
    const int64_t width = std::min(kStrip, n - from);
    std::copy_n(v + from, width, top);
    for (int64_t r = 1; r < rows; ++r) {
      const T* p = v + r * stride + from;
#pragma GCC ivdep
      for (int64_t c = 0; c < width; ++c) top[c] = O::apply(top[c], p[c]);
    }
    for (int64_t c = 0; c < width; ++c) wide[from + c] = O::apply(wide[from + c], static_cast<int64_t>(top[c]));
  }
}

void extreme_cols(int op, DType type, const void* x, int64_t stride, int64_t rows, int64_t n, int64_t* wide) {
  by_extreme(op, [&]<class O>() {
    by_integer(type, [&]<class T>() {
      const T* v = static_cast<const T*>(x);
      // Few columns that follow one another are taken several rows at a time, as if they were more.
      const int64_t together = stride == n ? 256 / n : 0;
      if (together >= 2 && rows >= 8 * together) {
        int64_t tops[256];
        std::fill_n(tops, together * n, O::template identity<int64_t>());
        const int64_t lines = rows / together;
        extreme_of_columns<O>(v, together * n, lines, together * n, tops);
        for (int64_t k = 0; k < together * n; ++k) wide[k % n] = O::apply(wide[k % n], tops[k]);
        v += lines * together * n;
        rows -= lines * together;
      }
      extreme_of_columns<O>(v, stride, rows, n, wide);
    });
  });
}

/// Eight elements at a time: each is added to the one beside it, then to the one two and four places on, so that no
/// element waits for all before it. Double has room enough that the order does not show in a float.
void running_sums(const float* x, int64_t rows, int64_t n, float* to) {
  using L = Lanes<double>;
  typedef float Floats __attribute__((vector_size(32)));
  const L::V none{};  // its zeros are 8 and above
  for (int64_t r = 0; r < rows; ++r, x += n, to += n) {
    double before = 0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) {
      Floats some;
      std::memcpy(&some, x + i, sizeof some);
      L::V sum = __builtin_convertvector(some, L::V);
      sum += __builtin_shufflevector(sum, none, 8, 0, 1, 2, 3, 4, 5, 6);
      sum += __builtin_shufflevector(sum, none, 8, 8, 0, 1, 2, 3, 4, 5);
      sum += __builtin_shufflevector(sum, none, 8, 8, 8, 8, 0, 1, 2, 3);
      sum += before;
      some = __builtin_convertvector(sum, Floats);
      std::memcpy(to + i, &some, sizeof some);
      before = sum[7];
    }
    for (; i < n; ++i) to[i] = static_cast<float>(before += static_cast<double>(x[i]));
  }
}

}  // namespace

extern const ShortRows short_rows_table;
constinit const ShortRows short_rows_table = {reduce_short_rows, sums_of_short_rows, extreme_row, extreme_cols,
                                              running_sums};

}  // namespace updraft::UPDRAFT_ISA
