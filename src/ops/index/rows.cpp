#include "ops/index/rows.h"

#include <cstring>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/table.h"

namespace updraft {
namespace {

constexpr int64_t kGrain = 16384;

TensorView part(const TensorView& v, int begin, int end) { return last_dims(first_dims(v, end), end - begin); }

struct Walk {
  const Rows& r;
  TensorView outer_table, outer_values, inner_table, inner_values;
  StridedLoop<2> outer, inner;
  int64_t outers, length;
  bool flat;  ///< a row is one regular run

  static StridedLoop<2> loop(const TensorView& a, const TensorView& b) {
    const TensorView* views[] = {&a, &b};
    return StridedLoop<2>(views);
  }
  explicit Walk(const Rows& rows)
      : r(rows),
        outer_table(part(r.table, 0, r.outer)),
        outer_values(part(r.values, 0, r.outer)),
        inner_table(part(r.table, r.outer, r.table.rank)),
        inner_values(part(r.values, r.outer, r.values.rank)),
        outer(loop(outer_table, outer_values)),
        inner(loop(inner_table, inner_values)),
        outers(outer_table.numel()),
        length(inner_table.numel()),
        flat(inner.rank == 1) {}

  void seek(int64_t o, int64_t& table, int64_t& values) const {
    table = values = 0;
    for (int d = outer.rank - 1; d >= 0; --d) {
      int64_t x = o % outer.dims[d];
      o /= outer.dims[d];
      table += x * outer.strides[0][d];
      values += x * outer.strides[1][d];
    }
  }
  int64_t value(int64_t i) const { return r.value_at ? r.value_at[i] : i * r.value_stride; }

  /// f(i, table offset, table stride, value offset, value stride, count) for columns [c0, c1) of row i.
  template <class F>
  void row(int64_t i, int64_t table, int64_t values, int64_t c0, int64_t c1, F&& f) const {
    if (flat) {
      const int64_t ts = inner.strides[0][0], vs = inner.strides[1][0];
      f(i, table + c0 * ts, ts, values + c0 * vs, vs, c1 - c0);
      return;
    }
    inner.rows(c0, c1, [&](const int64_t(&at)[2], int64_t, int64_t n) {
      f(i, table + at[0], inner.strides[0][inner.rank - 1], values + at[1], inner.strides[1][inner.rank - 1], n);
    });
  }

  /// All rows in the order of i for each element of the table, whatever thread does it.
  template <class F>
  void scatter(F&& f) const {
    if (outers == 0 || length == 0 || r.n == 0) return;
    const int width = parallel_width();
    if (width == 1 || outers * r.n * length <= kGrain) return scatter_part(0, outers, 0, length, f);
    if (outers >= 2 * width) {
      parallel_for(outers, std::max<int64_t>(1, kGrain / (r.n * length)),
                   [&](int64_t b, int64_t e) { scatter_part(b, e, 0, length, f); });
    } else if (length >= 64) {
      parallel_for(length, 32, [&](int64_t b, int64_t e) { scatter_part(0, outers, b, e, f); });
    } else {
      // Each thread owns an interval of the table.
      auto [low, high] = std::minmax_element(r.at, r.at + r.n);
      const int64_t base = *low, span = *high - *low + 1;
      parallel_for(width, 1, [&](int64_t b, int64_t e) {
        const int64_t from = base + span * b / width, to = base + span * e / width;
        for (int64_t o = 0; o < outers; ++o) {
          int64_t table, values;
          seek(o, table, values);
          for (int64_t i = 0; i < r.n; ++i)
            if (r.at[i] >= from && r.at[i] < to) row(i, table + r.at[i], values + value(i), 0, length, f);
        }
      });
    }
  }
  template <class F>
  void scatter_part(int64_t o0, int64_t o1, int64_t c0, int64_t c1, F&& f) const {
    for (int64_t o = o0; o < o1; ++o) {
      int64_t table, values;
      seek(o, table, values);
      for (int64_t i = 0; i < r.n; ++i) row(i, table + r.at[i], values + value(i), c0, c1, f);
    }
  }
};

template <class T>
void gather(const Walk& w) {
  const Rows& r = w.r;
  const T* table = r.table.as<const T>();
  T* values = r.values.as<T>();
  parallel_for(w.outers * r.n, std::max<int64_t>(1, kGrain / w.length), [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t o = begin / r.n, first = begin % r.n, last = std::min(r.n, first + end - begin);
      int64_t t0, v0;
      w.seek(o, t0, v0);
      if (w.length == 1 && !r.value_at) {
        kernels().take_elements(values + v0 + first * r.value_stride, r.value_stride, table + t0, r.at + first,
                                last - first, sizeof(T));
      } else {
        for (int64_t i = first; i < last; ++i)
          w.row(i, t0 + r.at[i], v0 + w.value(i), 0, w.length,
                [&](int64_t, int64_t t, int64_t ts, int64_t v, int64_t vs, int64_t n) {
                  if (ts == 1 && vs == 1) {
                    std::memcpy(values + v, table + t, static_cast<size_t>(n) * sizeof(T));
                  } else {
                    for (int64_t k = 0; k < n; ++k) values[v + k * vs] = table[t + k * ts];
                  }
                });
      }
      begin += last - first;
    }
  });
}

template <class T>
struct Sum {
  static T add(T a, T b, T alpha) {
    if constexpr (std::is_same_v<T, bool>) return a || (b && alpha);
    else return static_cast<T>(a + alpha * b);
  }
};

template <class T>
void add(const Walk& w, T alpha) {
  const Rows& r = w.r;
  T* table = r.table.as<T>();
  const T* values = r.values.as<const T>();
  w.scatter([&](int64_t i, int64_t t, int64_t ts, int64_t v, int64_t vs, int64_t n) {
    T factor = alpha;
    if constexpr (std::is_floating_point_v<T>) {
      if (r.scale) factor *= static_cast<T>(r.scale[i]);
    }
    T* a = table + t;
    const T* b = values + v;
    if (ts == 1 && vs == 1) {
      if constexpr (std::is_same_v<T, float>) return kernels().add_row_f32(a, b, DType::Float, n, factor);
      if constexpr (std::is_same_v<T, double>) return kernels().add_row_f64(a, b, n, factor);
      if (factor == T(1)) {
        for (int64_t k = 0; k < n; ++k) a[k] = Sum<T>::add(a[k], b[k], T(1));
      } else {
        for (int64_t k = 0; k < n; ++k) a[k] = Sum<T>::add(a[k], b[k], factor);
      }
    } else {
      for (int64_t k = 0; k < n; ++k) a[k * ts] = Sum<T>::add(a[k * ts], b[k * vs], factor);
    }
  });
}

// Halves: the positions of each row together, summed in S: float, or complex64 for two halves.
template <class H, class S>
void add_halves(const Walk& w, S alpha) {
  const Rows& r = w.r;
  if (w.outers == 0 || w.length == 0 || r.n == 0) return;
  ScratchScope scratch;
  auto* order = scratch.take<int64_t>(static_cast<size_t>(r.n));
  auto* start = scratch.take<int64_t>(static_cast<size_t>(r.n) + 1);
  for (int64_t i = 0; i < r.n; ++i) order[i] = i;
  std::sort(order, order + r.n, [&](int64_t a, int64_t b) { return r.at[a] != r.at[b] ? r.at[a] < r.at[b] : a < b; });
  int64_t groups = 0;
  for (int64_t k = 0; k < r.n; ++k)
    if (k == 0 || r.at[order[k]] != r.at[order[k - 1]]) start[groups++] = k;
  start[groups] = r.n;
  H* table = r.table.as<H>();
  const H* values = r.values.as<const H>();
  parallel_for(w.outers * groups, std::max<int64_t>(1, kGrain / w.length), [&](int64_t begin, int64_t end) {
    ScratchScope own;
    S* const buffer = own.take<S>(static_cast<size_t>(w.length));
    for (int64_t x = begin; x < end; ++x) {
      const int64_t o = x / groups, g = x % groups;
      int64_t t0, v0;
      w.seek(o, t0, v0);
      const int64_t at = t0 + r.at[order[start[g]]];
      S* sum = buffer;
      const KernelTable& k = kernels();
      constexpr int kType = static_cast<int>(DTypeOf<H>::value), kSum = static_cast<int>(compute_of(DTypeOf<H>::value));
      w.row(0, at, 0, 0, w.length, [&](int64_t, int64_t t, int64_t ts, int64_t, int64_t, int64_t n) {
        k.load[kType][kSum](sum, table + t, ts, n);
        sum += n;
      });
      for (int64_t p = start[g]; p < start[g + 1]; ++p) {
        const int64_t i = order[p];
        const S factor = r.scale ? alpha * r.scale[i] : alpha;
        sum = buffer;
        w.row(0, 0, v0 + w.value(i), 0, w.length, [&](int64_t, int64_t, int64_t, int64_t v, int64_t vs, int64_t n) {
          if constexpr (std::is_same_v<S, float>) {
            if (vs == 1) {
              k.add_row_f32(sum, values + v, DTypeOf<H>::value, n, factor);
              sum += n;
              return;
            }
          }
          for (int64_t j = 0; j < n; ++j) sum[j] += factor * static_cast<S>(values[v + j * vs]);
          sum += n;
        });
      }
      sum = buffer;
      w.row(0, at, 0, 0, w.length, [&](int64_t, int64_t t, int64_t ts, int64_t, int64_t, int64_t n) {
        k.store[kSum][kType](table + t, ts, sum, n);
        sum += n;
      });
    }
  });
}

}  // namespace

void gather_rows(const Rows& r) {
  const Walk w(r);
  if (w.outers == 0 || w.length == 0 || r.n == 0) return;
  visit_size(size_of(r.table.dtype), [&]<class T>() { gather<T>(w); });
}

void put_rows(const Rows& r) {
  const Walk w(r);
  visit_size(size_of(r.table.dtype), [&]<class T>() {
    T* table = r.table.as<T>();
    const T* values = r.values.as<const T>();
    w.scatter([&](int64_t, int64_t t, int64_t ts, int64_t v, int64_t vs, int64_t n) {
      if (ts == 1 && vs == 1) {
        std::memcpy(table + t, values + v, static_cast<size_t>(n) * sizeof(T));
      } else {
        for (int64_t k = 0; k < n; ++k) table[t + k * ts] = values[v + k * vs];
      }
    });
  });
}

void add_rows(const Rows& r, const aclScalar* alpha) {
  const Walk w(r);
  const bool known = visit_storage(r.table.dtype, [&]<class T>() {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
      add_halves<T, float>(w, alpha ? static_cast<float>(alpha->to_double()) : 1.0f);
    } else if constexpr (std::is_same_v<T, ComplexHalf>) {
      add_halves<T, complex64>(w, alpha ? static_cast<complex64>(alpha->to_complex()) : complex64(1.0f));
    } else {
      T factor(1);
      if (alpha) std::memcpy(&factor, Element(r.table.dtype, *alpha).bytes, sizeof factor);
      add<T>(w, factor);
    }
  });
  if (!known) no_such_type(r.table.dtype, "a sum of rows");
}

Rows rows_of(const TensorView& table, int dim, const TensorView& index, const TensorView& values, bool wrap,
             ScratchScope& scratch) {
  Rows r;
  r.n = index.numel();
  auto* at = scratch.take<int64_t>(static_cast<size_t>(r.n));
  index_offsets(at, index, table.size(dim), table.stride(dim), dim, wrap, false);
  r.at = at;
  r.table = table.rank ? drop_dim(table, dim) : table;
  r.values = values.rank && values.rank == table.rank ? drop_dim(values, dim) : values;
  r.value_stride = values.rank && values.rank == table.rank ? values.strides[dim] : 0;
  r.outer = dim;
  return r;
}

}  // namespace updraft
