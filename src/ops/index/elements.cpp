#include "ops/index/elements.h"

#include <cstring>
#include <functional>

#include "base/parallel.h"
#include "kernels/pipeline.h"

namespace updraft {
namespace {

constexpr int64_t kGrain = 16384;

// Calls row(index offset, src offset, self offset, count, range of destinations) so that equal destinations meet in
// row-major order: threads share out a dimension that is not d, or own an interval of d.
struct Places {
  /// No template: one loop serves all combinations of types and reductions, of which there are hundreds.
  using Row = FunctionRef<void(const int64_t* index, const char* src, char* self, const int64_t (&strides)[3],
                               int64_t n, int64_t low, int64_t high)>;
  TensorView self, index, src;
  int d;

  void run(Row row) const {
    const int width = parallel_width();
    const int64_t size = self.dims[d];
    if (width == 1 || index.numel() <= kGrain) return walk(index, src, self, 0, size, row);
    int best = -1;
    for (int k = 0; k < index.rank; ++k)
      if (k != d && (best < 0 || index.dims[k] > index.dims[best])) best = k;
    if (best >= 0 && index.dims[best] >= 2 * width) {
      const int64_t grain = best == index.rank - 1 ? 16 : 1;
      parallel_for(index.dims[best], std::max(grain, kGrain * index.dims[best] / index.numel()),
                   [&](int64_t b, int64_t e) {
                     walk(narrow(index, best, b, e - b), narrow(src, best, b, e - b), narrow(self, best, b, e - b), 0,
                          size, row);
                   });
    } else {
      parallel_for(width, 1,
                   [&](int64_t b, int64_t e) { walk(index, src, self, size * b / width, size * e / width, row); });
    }
  }

  void walk(const TensorView& i, const TensorView& s, const TensorView& t, int64_t low, int64_t high, Row row) const {
    TensorView base = i;
    base.data = t.data;
    for (int k = 0; k < i.rank; ++k) base.strides[k] = k == d ? 0 : t.strides[k];
    const TensorView* views[] = {&i, &s, &base};
    const StridedLoop<3> loop(views);
    const int inner = loop.rank - 1;
    const int64_t strides[] = {loop.strides[0][inner], loop.strides[1][inner], loop.strides[2][inner]};
    loop.rows(0, i.numel(), [&](const int64_t(&at)[3], int64_t, int64_t n) {
      row(i.as<const int64_t>() + at[0], at_element(s, at[1]), at_element(t, at[2]), strides, n, low, high);
    });
  }
};

/// f(a, b); integers wrap around.
template <class T, class F>
T wrapping(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) return static_cast<T>(f(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
  else return static_cast<T>(f(a, b));
}

template <class T, class S, Reduce R, bool First>
void combine(const Places& p, const TensorView& touched, int64_t* count) {
  const int64_t size = p.self.dims[p.d], stride = p.self.strides[p.d];
  const int d = p.d;
  // `touched` lies like self: one flag an element.
  p.run([&](const int64_t* index, const char* src, char* self, const int64_t(&strides)[3], int64_t n, int64_t low,
            int64_t high) {
    const S* from = reinterpret_cast<const S*>(src);
    T* to = reinterpret_cast<T*>(self);
    const bool all = low == 0 && high == size;
    for (int64_t k = 0; k < n; ++k) {
      const int64_t i = checked_index(index[k * strides[0]], size, d, false);
      if (!all && (i < low || i >= high)) continue;
      T& t = to[k * strides[2] + i * stride];
      T v;
      if constexpr (std::is_same_v<T, S>) v = from[k * strides[1]];
      else v = static_cast<T>(from[k * strides[1]]);
      if constexpr (R == Reduce::Mean) { ++count[&t - p.self.as<T>()]; }
      if constexpr (First) {
        uint8_t& seen = touched.as<uint8_t>()[&t - p.self.as<T>()];
        if (!seen) {
          seen = 1;
          t = v;
          continue;
        }
      }
      if constexpr (R == Reduce::None) {
        t = v;
      } else if constexpr (std::is_same_v<T, bool>) {
        if constexpr (R == Reduce::Mul || R == Reduce::Min) t = t && v;
        else t = t || v;
      } else if constexpr (R == Reduce::Add || R == Reduce::Mean) {
        t = wrapping<T>(t, v, std::plus<>());
      } else if constexpr (R == Reduce::Mul) {
        t = wrapping<T>(t, v, std::multiplies<>());
      } else if constexpr (!std::is_same_v<T, complex64> && !std::is_same_v<T, complex128>) {
        if constexpr (R == Reduce::Max) t = v > t || v != v ? v : t;
        else t = v < t || v != v ? v : t;
      }
    }
  });
}

template <class T, class S>
void combine(const Places& p, Reduce reduce, bool first, const TensorView& touched, int64_t* count) {
  switch (reduce) {
    case Reduce::None: return combine<T, S, Reduce::None, false>(p, touched, count);
    case Reduce::Add:
      return first ? combine<T, S, Reduce::Add, true>(p, touched, count)
                   : combine<T, S, Reduce::Add, false>(p, touched, count);
    case Reduce::Mul:
      return first ? combine<T, S, Reduce::Mul, true>(p, touched, count)
                   : combine<T, S, Reduce::Mul, false>(p, touched, count);
    case Reduce::Max:
      return first ? combine<T, S, Reduce::Max, true>(p, touched, count)
                   : combine<T, S, Reduce::Max, false>(p, touched, count);
    case Reduce::Min:
      return first ? combine<T, S, Reduce::Min, true>(p, touched, count)
                   : combine<T, S, Reduce::Min, false>(p, touched, count);
    case Reduce::Mean:
      return first ? combine<T, S, Reduce::Mean, true>(p, touched, count)
                   : combine<T, S, Reduce::Mean, false>(p, touched, count);
  }
}

template <class T>
void divide_counts(T* self, const int64_t* count, int64_t n, bool include_self) {
  parallel_for(n, kGrain, [&](int64_t b, int64_t e) {
    for (; b < e; ++b) {
      if (count[b] == 0) continue;
      const int64_t by = count[b] + include_self;
      if constexpr (std::is_integral_v<T>) {
        int64_t q = static_cast<int64_t>(self[b]) / by;
        if (static_cast<int64_t>(self[b]) % by < 0) --q;  // rounds down
        self[b] = static_cast<T>(q);
      } else if constexpr (std::is_same_v<T, complex64> || std::is_same_v<T, complex128>) {
        self[b] /= static_cast<typename T::value_type>(by);
      } else {
        self[b] /= static_cast<T>(by);
      }
    }
  });
}

}  // namespace

size_t scatter_bytes(const TensorView& self, const TensorView& index, Reduce reduce, bool include_self) {
  const bool arithmetic = reduce == Reduce::Add || reduce == Reduce::Mul || reduce == Reduce::Mean;
  const bool first = !include_self && reduce != Reduce::None, mean = reduce == Reduce::Mean;
  const auto n = static_cast<size_t>(self.numel());
  size_t bytes = index.dtype == DType::Int64 ? 0 : static_cast<size_t>(index.numel()) * 8;
  if (is_half(self.dtype) && arithmetic) bytes += n * 4;
  else if (!self.is_contiguous() && (first || mean)) bytes += self.bytes();
  return bytes + (first ? n : 0) + (mean ? n * 8 : 0);
}

void scatter_elements(const TensorView& self_in, int d, const TensorView& index_in, const TensorView& src_in,
                      Reduce reduce, bool include_self) {
  if (index_in.empty()) return;
  ScratchScope scratch;
  TensorView self = self_in, index = index_in, src = src_in;
  for (TensorView* v : {&self, &index, &src})
    if (v->rank == 0) append_dim(*v, 1, 1);
  if (index.dtype != DType::Int64)
    index = gather_to(scratch.take(static_cast<size_t>(index.numel()) * 8), DType::Int64, index);
  const bool arithmetic = reduce == Reduce::Add || reduce == Reduce::Mul || reduce == Reduce::Mean;
  const bool first = !include_self && reduce != Reduce::None;
  const bool half = (is_half(self.dtype) || self.dtype == DType::Complex32) && arithmetic;
  // Sums of halves are kept in float (of two halves in complex64); flags and counts need positions without gaps.
  const TensorView target = self;
  if (half || (!self.is_contiguous() && (first || reduce == Reduce::Mean))) {
    const DType type = half ? storage_of(compute_of(self.dtype)) : self.dtype;
    self = gather_to(scratch.take(static_cast<size_t>(self.numel()) * size_of(type)), type, self);
  }
  TensorView touched;
  int64_t* count = nullptr;
  const int64_t n = self.numel();
  if (first) {
    touched.data = scratch.take(static_cast<size_t>(n));
    std::memset(touched.data, 0, static_cast<size_t>(n));
  }
  if (reduce == Reduce::Mean) {
    count = scratch.take<int64_t>(static_cast<size_t>(n));
    std::memset(count, 0, static_cast<size_t>(n) * 8);
  }
  const Places places{self, index, src, d};
  if (reduce == Reduce::None) {
    visit_size(size_of(self.dtype), [&]<class T>() { combine<T, T, Reduce::None, false>(places, touched, count); });
  } else {
    const bool known = visit_storage(src.dtype, [&]<class S>() {
      if constexpr (std::is_same_v<S, ComplexHalf>) {  // which has no order, so that all is arithmetic here
        return combine<complex64, S>(places, reduce, first, touched, count);
      } else {
        if constexpr (std::is_same_v<S, Half> || std::is_same_v<S, BFloat16>) {
          if (half) return combine<float, S>(places, reduce, first, touched, count);
        }
        combine<S, S>(places, reduce, first, touched, count);
      }
    });
    if (!known) no_such_type(src.dtype, "scatter");
  }
  if (reduce == Reduce::Mean)
    (void)visit_type(self.dtype, [&]<class T>() {  // halves were converted; a mean of bools divides nothing
      if constexpr (!std::is_same_v<T, Half> && !std::is_same_v<T, BFloat16> && !std::is_same_v<T, bool>)
        divide_counts(self.as<T>(), count, n, include_self);
    });
  if (self.data != target.data) copy_elements(target, self);
}

}  // namespace updraft
