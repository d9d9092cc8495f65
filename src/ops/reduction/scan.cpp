// Running sums, products and extremes along a dimension.
#include <cmath>

#include "kernels/short_rows.h"
#include "kernels/table.h"
#include "ops/reduction/reduction.h"

namespace updraft {
namespace {

constexpr int64_t kCols = 256, kBlock = 256;
constexpr int64_t kTogether = 4;   // slices whose sums, each a chain, are computed at the same time
constexpr int64_t kPacked = 1024;  // elements of short slices that follow one another and are converted at a time

constexpr int64_t kEight = 8;  // elements that the kernel of short slices adds up at a time

// Calls f(offsets, along, m, side) for blocks of at most kCols slices that lie side by side (side), or of `together`
// slices when they do not; m slices start at the offsets and are `along` apart.
struct Slices {
  TensorView kept[3];
  int64_t n, step[3], outputs;

  Slices(int dim, const TensorView& a, const TensorView& b, const TensorView& c) {
    const TensorView* views[] = {&a, &b, &c};
    for (int k = 0; k < 3; ++k) {
      kept[k] = *views[k];
      step[k] = views[k]->stride(dim);
      if (kept[k].rank) kept[k].dims[dim] = 1;
    }
    n = a.size(dim);
    outputs = kept[0].numel();
  }
  template <class F>
  void run(int64_t together, F&& f) const {
    const TensorView* views[] = {&kept[0], &kept[1], &kept[2]};
    const StridedLoop<3> walk(views);
    const int inner = walk.rank - 1;
    const int64_t along[3] = {walk.strides[0][inner], walk.strides[1][inner], walk.strides[2][inner]};
    const bool side = walk.dims[inner] >= 4 && std::abs(along[0]) <= std::abs(step[0]);
    parallel_for(outputs, std::max<int64_t>(side ? 16 : together, (1 << 13) / std::max<int64_t>(n, 1)),
                 [&](int64_t begin, int64_t end) {
                   walk.rows(begin, end, [&](const int64_t(&at)[3], int64_t, int64_t m) {
                     const int64_t block = side ? kCols : together;
                     for (int64_t i = 0; i < m; i += block) {
                       const int64_t offset[3] = {at[0] + i * along[0], at[1] + i * along[1], at[2] + i * along[2]};
                       f(offset, along, std::min(block, m - i), side);
                     }
                   });
                 });
  }
};

int64_t bytes_of(const TensorView& v) { return static_cast<int64_t>(size_of(v.dtype)); }

template <class T, bool Product>
void accumulate(const TensorView& in, const TensorView& out, int dim, Compute compute) {
  const LoadFn load = kernels().load[static_cast<int>(in.dtype)][static_cast<int>(compute)];
  const StoreFn store = kernels().store[static_cast<int>(compute)][static_cast<int>(out.dtype)];
  // Halves and floats are converted by the kernels of floats, which are vectors; the sums are double all the same.
  constexpr int kFloat = static_cast<int>(Compute::F32);
  const LoadFn load_float = kernels().load[static_cast<int>(in.dtype)][kFloat];
  const StoreFn store_float = kernels().store[kFloat][static_cast<int>(out.dtype)];
  const auto short_float = [](DType t) { return compute_of(t) == Compute::F32 && is_floating(t); };
  const bool floats = short_float(in.dtype) && short_float(out.dtype);
  const Slices s(dim, in, out, out);
  auto next = [](T a, T b) {
    if constexpr (std::is_same_v<T, int64_t>) {
      const uint64_t x = static_cast<uint64_t>(a), y = static_cast<uint64_t>(b);
      return static_cast<int64_t>(Product ? x * y : x + y);
    } else {
      return Product ? a * b : a + b;
    }
  };
  // Four at a time: a, b, c and d are chains, each through n elements of a row of x.
  auto four = [&](auto* x, int64_t row, int64_t n, T* total) {
    using V = std::remove_reference_t<decltype(*x)>;
    T a = total[0], b = total[1], c = total[2], d = total[3];
    for (int64_t j = 0; j < n; ++j) {
      x[j] = static_cast<V>(a = next(a, static_cast<T>(x[j])));
      x[row + j] = static_cast<V>(b = next(b, static_cast<T>(x[row + j])));
      x[2 * row + j] = static_cast<V>(c = next(c, static_cast<T>(x[2 * row + j])));
      x[3 * row + j] = static_cast<V>(d = next(d, static_cast<T>(x[3 * row + j])));
    }
    total[0] = a, total[1] = b, total[2] = c, total[3] = d;
  };
  const bool packed = s.n <= kBlock / kTogether && s.step[0] == 1 && s.step[1] == 1;
  s.run(packed ? kPacked / std::max<int64_t>(s.n, 1) : kTogether,
        [&](const int64_t* at, const int64_t* along, int64_t m, bool side) {
          const char* from = in.as<char>() + at[0] * bytes_of(in);
          char* to = out.as<char>() + at[1] * bytes_of(out);
          if (side) {
            T total[kCols], value[kCols];
            std::fill_n(total, m, T(Product ? 1 : 0));
            for (int64_t i = 0; i < s.n; ++i) {
              load(value, from + i * s.step[0] * bytes_of(in), along[0], m);
              for (int64_t c = 0; c < m; ++c) total[c] = next(total[c], value[c]);
              store(to + i * s.step[1] * bytes_of(out), along[1], total, m);
            }
            return;
          }
          if (packed) {
            if constexpr (std::is_same_v<T, double> && !Product)
              if (s.n >= kEight && in.dtype == DType::Float && out.dtype == DType::Float && along[0] == s.n &&
                  along[1] == s.n)
                return short_row_kernels().running_sums(reinterpret_cast<const float*>(from), m, s.n,
                                                        reinterpret_cast<float*>(to));
            auto slices = [&](auto* x, LoadFn in_fn, StoreFn out_fn) {
              using V = std::remove_reference_t<decltype(*x)>;
              if (along[0] == s.n) in_fn(x, from, 1, m * s.n);
              else
                for (int64_t c = 0; c < m; ++c) in_fn(x + c * s.n, from + c * along[0] * bytes_of(in), 1, s.n);
              int64_t c = 0;
              if constexpr (std::is_same_v<V, float> && !Product) {
                if (s.n >= kEight) {
                  short_row_kernels().running_sums(x, m, s.n, x);
                  c = m;
                }
              }
              for (; c + kTogether <= m; c += kTogether) {
                T start[kTogether];
                std::fill_n(start, kTogether, T(Product ? 1 : 0));
                four(x + c * s.n, s.n, s.n, start);
              }
              for (; c < m; ++c) {
                T sum = T(Product ? 1 : 0);
                for (int64_t j = 0; j < s.n; ++j)
                  x[c * s.n + j] = static_cast<V>(sum = next(sum, static_cast<T>(x[c * s.n + j])));
              }
              if (along[1] == s.n) out_fn(to, 1, x, m * s.n);
              else
                for (c = 0; c < m; ++c) out_fn(to + c * along[1] * bytes_of(out), 1, x + c * s.n, s.n);
            };
            if constexpr (std::is_same_v<T, double>)
              if (floats) {
                alignas(64) float value[kPacked];
                return slices(value, load_float, store_float);
              }
            alignas(64) T value[kPacked];
            return slices(value, load, store);
          }
          T total[kCols];
          std::fill_n(total, m, T(Product ? 1 : 0));
          [[maybe_unused]] float narrow[kTogether][kBlock + 16];
          T value[kTogether][kBlock + 64 / sizeof(T)];  // the rows in different sets of the cache
          for (int64_t i = 0; i < s.n; i += kBlock) {
            const int64_t k = std::min(kBlock, s.n - i);
            if constexpr (std::is_same_v<T, double>) {
              if (floats && m == kTogether) {
                for (int64_t c = 0; c < m; ++c)
                  load_float(narrow[c], from + (c * along[0] + i * s.step[0]) * bytes_of(in), s.step[0], k);
                four(narrow[0], kBlock + 16, k, total);
                for (int64_t x = 0; x < m; ++x)
                  store_float(to + (x * along[1] + i * s.step[1]) * bytes_of(out), s.step[1], narrow[x], k);
                continue;
              }
            }
            for (int64_t c = 0; c < m; ++c)
              load(value[c], from + (c * along[0] + i * s.step[0]) * bytes_of(in), s.step[0], k);
            if (m == kTogether) {
              four(value[0], kBlock + 64 / static_cast<int64_t>(sizeof(T)), k, total);
            } else {
              for (int64_t c = 0; c < m; ++c)
                for (int64_t j = 0; j < k; ++j) value[c][j] = total[c] = next(total[c], value[c][j]);
            }
            for (int64_t c = 0; c < m; ++c)
              store(to + (c * along[1] + i * s.step[1]) * bytes_of(out), s.step[1], value[c], k);
          }
        });
}

template <bool Product>
void plan_accumulate(Op& op, const TensorView& self, int64_t dim, DType type, const TensorView& out) {
  op.result_like("out", out, self, type != DType::Undefined ? type : sum_type(self.dtype));
  const int d = self.wrap_dim(dim);
  if (out.empty()) return;
  op.work(self.numel() * 4);
  op.launch([=] {
    switch (compute_of(out.dtype)) {
      case Compute::I64: return accumulate<int64_t, Product>(self, out, d, Compute::I64);
      case Compute::C64:
      case Compute::C128: return accumulate<complex128, Product>(self, out, d, Compute::C128);
      default: return accumulate<double, Product>(self, out, d, Compute::F64);
    }
  });
}

template <class T, bool Largest>
void extremes(const TensorView& in, const TensorView& values, const TensorView& indices, int dim, Compute compute) {
  const LoadFn load = kernels().load[static_cast<int>(in.dtype)][static_cast<int>(compute)];
  const StoreFn store = kernels().store[static_cast<int>(compute)][static_cast<int>(values.dtype)];
  const StoreFn store_index = kernels().store[static_cast<int>(Compute::I64)][static_cast<int>(indices.dtype)];
  const Slices s(dim, in, values, indices);
  s.run(1, [&](const int64_t* at, const int64_t* along, int64_t m, bool) {
    T best[kCols], value[kCols];
    int64_t place[kCols];
    for (int64_t i = 0; i < s.n; ++i) {
      load(value, in.as<char>() + (at[0] + i * s.step[0]) * bytes_of(in), along[0], m);
      for (int64_t c = 0; c < m; ++c) {
        // The last of equals, and of NaNs, as PyTorch.
        const bool wins = i == 0 || value[c] != value[c] ||
                          (best[c] == best[c] && (Largest ? value[c] >= best[c] : value[c] <= best[c]));
        if (wins) {
          best[c] = value[c];
          place[c] = i;
        }
      }
      store(values.as<char>() + (at[1] + i * s.step[1]) * bytes_of(values), along[1], best, m);
      store_index(indices.as<char>() + (at[2] + i * s.step[2]) * bytes_of(indices), along[2], place, m);
    }
  });
}

template <bool Largest>
void plan_extremes(Op& op, const TensorView& self, int64_t dim, const TensorView& values, const TensorView& indices) {
  op.result_like("values", values, self, self.dtype);
  op.result_like("indices", indices, self, DType::Int64);
  require_order(op, self);
  const int d = self.wrap_dim(dim);
  if (self.empty()) return;
  op.work(self.numel() * 4);
  op.launch([=] {
    if (compute_of(self.dtype) == Compute::I64) extremes<int64_t, Largest>(self, values, indices, d, Compute::I64);
    else extremes<double, Largest>(self, values, indices, d, Compute::F64);
  });
}

}  // namespace

CARD(aclnnCumsum, kFloats | kF64 | kIntegers | kComplex)
ABOUT(aclnnCumsum, Vector, "out = running sum of self along dim", "沿 dim 的累加和")
ACLNN(aclnnCumsum, (In, self), (Int, dim), (Type, dtype), (Out, out)) {
  plan_accumulate<false>(op, *self, dim, dtype, *out);
}
ABOUT(aclnnCumprod, Vector, "out = running product of input along dim", "沿 dim 的累乘积")
ACLNN(aclnnCumprod, (In, input), (Scalar, dim), (Type, dtype), (Out, out)) {
  plan_accumulate<true>(op, *input, dim->to_int(), dtype, *out);
}
ABOUT(aclnnCummax, Vector, "Running maximum of self along dim and the index of each", "沿 dim 的累计最大值及其索引")
ACLNN(aclnnCummax, (In, self), (Int, dim), (Out, valuesOut), (Out, indicesOut)) {
  plan_extremes<true>(op, *self, dim, *valuesOut, *indicesOut);
}
ABOUT(aclnnCummin, Vector, "Running minimum of self along dim and the index of each", "沿 dim 的累计最小值及其索引")
ACLNN(aclnnCummin, (In, self), (Int, dim), (Out, valuesOut), (Out, indicesOut)) {
  plan_extremes<false>(op, *self, dim, *valuesOut, *indicesOut);
}

}  // namespace updraft
