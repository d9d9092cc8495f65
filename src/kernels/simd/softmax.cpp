// Softmax and log-softmax of rows, and of tiles whose columns are the rows.
#include <algorithm>
#include <limits>
#include <type_traits>

#include "kernels/simd/by_compute.h"
#include "kernels/simd/exp.h"
#include "kernels/simd/lanes.h"
#include "kernels/simd/widen.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

constexpr int64_t kBlock = 1024;

// Rows of floats. Sums of a block are made in float by two vectors of lanes, those of blocks in double. What is missing
// to a vector at the end is the row's own last vector or, of a row shorter than one, made up of -inf.
struct FloatRow {
  static constexpr int64_t L = kLanes<float>;
  const float* x;
  int64_t n;

  // A NaN may be passed over: it comes back by the sum.
  float top() const {
    if (n < 4 * L) return fold<MaxOp, float>(x, n);
    VectorF best[4];
    for (int u = 0; u < 4; ++u) best[u] = load_vector<float>(x + u * L);
    int64_t i = 0;
    for (; i + 4 * L <= n; i += 4 * L)
      for (int u = 0; u < 4; ++u) {
        const VectorF v = load_vector<float>(x + i + u * L);
        best[u] = best[u] > v ? best[u] : v;
      }
    for (; i < n; i += L) {
      const VectorF v = load_vector<float>(x + std::min(i, n - L));
      best[0] = best[0] > v ? best[0] : v;
    }
    return max_lanes(max_vector(max_vector(best[0], best[1]), max_vector(best[2], best[3])));
  }

  // The sum of exp(x - shift); each goes to put(position, vector) or put(position, one).
  template <class Put>
  double sum_of_exp(float shift, Put&& put) const {
    const VectorF base = broadcast(shift);
    double total = 0;
    for (int64_t b = 0; b < n; b += kBlock) {
      const int64_t m = std::min(kBlock, n - b);
      VectorF sum[2] = {};
      int64_t i = 0;
      for (; i + 2 * L <= m; i += 2 * L)
        for (int u = 0; u < 2; ++u) {
          const VectorF e = exp_vector(load_vector<float>(x + b + i + u * L) - base);
          sum[u] += e;
          put(b + i + u * L, e);
        }
      for (; i + L <= m; i += L) {
        const VectorF e = exp_vector(load_vector<float>(x + b + i) - base);
        sum[0] += e;
        put(b + i, e);
      }
      if (i < m) {
        alignas(64) float rest[L];
        std::fill_n(rest, L, -std::numeric_limits<float>::infinity());
        std::copy_n(x + b + i, m - i, rest);
        const VectorF e = exp_vector(load_vector<float>(rest) - base);
        sum[1] += e;
        for (int64_t j = 0; j < m - i; ++j) put(b + i + j, e[j]);
      }
      total += static_cast<double>(sum_lanes<float>(sum[0] + sum[1]));
    }
    return total;
  }
};

void forward_row(bool log, const float* x, int64_t n, float* y) {
  const FloatRow row{x, n};
  const float top = row.top();
  // Nothing but -inf, +inf or a NaN: as the formula has it.
  if (!(top - top == 0)) {
    std::fill_n(y, n, std::numeric_limits<float>::quiet_NaN());
    return;
  }
  if (log) {
    const double total = row.sum_of_exp(top, [](int64_t, auto) {});
    const auto shift = static_cast<float>(__builtin_log(total));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] - top - shift;
    return;
  }
  const double total = row.sum_of_exp(top, [&](int64_t i, auto e) {
    if constexpr (std::is_same_v<decltype(e), float>) y[i] = e;
    else store_vector<float>(y + i, e);
  });
  const auto scale = static_cast<float>(1.0 / total);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

template <class T>
void forward_row(bool log, const T* x, int64_t n, T* y) {
  const T top = fold<MaxOp, T>(x, n);
  double total = 0;
  if (log) {
    T e[kBlock];
    for (int64_t i = 0; i < n; i += kBlock) {
      const int64_t m = std::min(kBlock, n - i);
#pragma GCC ivdep
      for (int64_t j = 0; j < m; ++j) e[j] = m::exp(x[i + j] - top);
      total += fold_block<AddOp, double>(e, m);
    }
    const T shift = static_cast<T>(__builtin_log(total));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = x[i] - top - shift;
    return;
  }
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
#pragma GCC ivdep
    for (int64_t j = 0; j < m; ++j) y[i + j] = m::exp(x[i + j] - top);
    total += fold_block<AddOp, double>(y + i, m);
  }
  const T scale = static_cast<T>(1.0 / total);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) y[i] *= scale;
}

template <class T>
void forward_tile(bool log, T* tile, int64_t rows, int64_t cols) {
  constexpr int64_t kCols = 256;
  for (int64_t c0 = 0; c0 < cols; c0 += kCols) {
    const int64_t n = std::min(kCols, cols - c0);
    T top[kCols], total[kCols];
    std::copy_n(tile + c0, n, top);
    for (int64_t r = 1; r < rows; ++r) {
      const T* x = tile + r * cols + c0;
      for (int64_t c = 0; c < n; ++c) top[c] = MaxOp::apply(top[c], x[c]);
    }
    std::fill_n(total, n, T(0));
    for (int64_t r = 0; r < rows; ++r) {
      T* x = tile + r * cols + c0;
      if (log) {
#pragma GCC ivdep
        for (int64_t c = 0; c < n; ++c) total[c] += m::exp(x[c] - top[c]);
      } else {
#pragma GCC ivdep
        for (int64_t c = 0; c < n; ++c) {
          const T e = m::exp(x[c] - top[c]);
          x[c] = e;
          total[c] += e;
        }
      }
    }
    if (log) {
      for (int64_t c = 0; c < n; ++c) total[c] = m::log(total[c]);
    } else {
      for (int64_t c = 0; c < n; ++c) total[c] = T(1) / total[c];
    }
    for (int64_t r = 0; r < rows; ++r) {
      T* x = tile + r * cols + c0;
      if (log) {
        for (int64_t c = 0; c < n; ++c) x[c] = x[c] - top[c] - total[c];
      } else {
        for (int64_t c = 0; c < n; ++c) x[c] *= total[c];
      }
    }
  }
}

template <class T>
void backward_row(bool log, const T* dy, const T* y, int64_t n, T* dx) {
  if (log) {
    const T total = static_cast<T>(fold<AddOp, double>(dy, n));
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] - m::exp(y[i]) * total;
    return;
  }
  double sum = 0;
  T product[kBlock];
  for (int64_t i = 0; i < n; i += kBlock) {
    const int64_t m = std::min(kBlock, n - i);
    for (int64_t j = 0; j < m; ++j) product[j] = dy[i + j] * y[i + j];
    sum += fold_block<AddOp, double>(product, m);
  }
  const T total = static_cast<T>(sum);
#pragma GCC ivdep
  for (int64_t i = 0; i < n; ++i) dx[i] = (dy[i] - total) * y[i];
}

void backward_row(bool log, const float* dy, const float* y, int64_t n, float* dx) {
  constexpr int64_t L = kLanes<float>;
  if (log) return backward_row<float>(log, dy, y, n, dx);
  double all = 0;
  for (int64_t b = 0; b < n; b += kBlock) {
    const int64_t end = std::min(n, b + kBlock);
    VectorF sum[2] = {};
    int64_t i = b;
    for (; i + 2 * L <= end; i += 2 * L)
      for (int u = 0; u < 2; ++u)
        sum[u] = fma_vector(load_vector<float>(dy + i + u * L), load_vector<float>(y + i + u * L), sum[u]);
    for (; i + L <= end; i += L) sum[0] = fma_vector(load_vector<float>(dy + i), load_vector<float>(y + i), sum[0]);
    if (i < end) {
      const FirstLanes left(end - i);
      sum[1] = fma_vector(left.load(dy + i), left.load(y + i), sum[1]);
    }
    all += static_cast<double>(sum_lanes<float>(sum[0] + sum[1]));
  }
  const VectorF total = broadcast(static_cast<float>(all));
  int64_t i = 0;
  for (; i + L <= n; i += L)
    store_vector<float>(dx + i, (load_vector<float>(dy + i) - total) * load_vector<float>(y + i));
  if (i < n) {
    const FirstLanes left(n - i);
    left.store(dx + i, (left.load(dy + i) - total) * left.load(y + i));
  }
}

// Rows of halves, in the types in which they lie: through memory as floats they take half as long again.
template <class H>
void backward_half_row(const H* dy, const H* y, int64_t n, H* dx) {
  constexpr int64_t L = kLanes<float>, kStep = 64;
  // What is behind the last whole step, made up of zeros.
  const int64_t whole = n / kStep * kStep, left = n - whole;
  alignas(64) H dy_end[kStep] = {}, y_end[kStep] = {};
  std::copy_n(dy + whole, left, dy_end);
  std::copy_n(y + whole, left, y_end);
  double all = 0;
  const auto add = [&](const H* a, const H* b, int64_t count) {
    VectorF sum[2] = {};
    for (int64_t i = 0; i < count; i += 2 * L)
      for (int u = 0; u < 2; ++u) sum[u] = fma_vector(widen(a + i + u * L), widen(b + i + u * L), sum[u]);
    all += static_cast<double>(sum_lanes<float>(sum[0] + sum[1]));
  };
  for (int64_t b = 0; b < whole; b += kBlock) add(dy + b, y + b, std::min(kBlock, whole - b));
  if (left) add(dy_end, y_end, kStep);
  const VectorF total = broadcast(static_cast<float>(all));
  const auto give = [&](const H* a, const H* b, H* to) {
    alignas(64) float made[kStep];
    for (int64_t i = 0; i < kStep; i += L) store_vector<float>(made + i, (widen(a + i) - total) * widen(b + i));
    narrow_block<kStep>(to, made);
  };
  for (int64_t i = 0; i < whole; i += kStep) give(dy + i, y + i, dx + i);
  if (left == 0) return;
  give(dy_end, y_end, dy_end);
  std::copy_n(dy_end, left, dx + whole);
}

// dx takes dy's place.
template <class T>
void backward_tile(bool log, T* dy, const T* y, int64_t rows, int64_t cols) {
  constexpr int64_t kCols = 256;
  for (int64_t c0 = 0; c0 < cols; c0 += kCols) {
    const int64_t n = std::min(kCols, cols - c0);
    T total[kCols];
    std::fill_n(total, n, T(0));
    for (int64_t r = 0; r < rows; ++r) {
      const T *g = dy + r * cols + c0, *v = y + r * cols + c0;
      if (log) {
        for (int64_t c = 0; c < n; ++c) total[c] += g[c];
      } else {
        for (int64_t c = 0; c < n; ++c) total[c] += g[c] * v[c];
      }
    }
    for (int64_t r = 0; r < rows; ++r) {
      T* g = dy + r * cols + c0;
      const T* v = y + r * cols + c0;
      if (log) {
#pragma GCC ivdep
        for (int64_t c = 0; c < n; ++c) g[c] -= m::exp(v[c]) * total[c];
      } else {
#pragma GCC ivdep
        for (int64_t c = 0; c < n; ++c) g[c] = (g[c] - total[c]) * v[c];
      }
    }
  }
}

}  // namespace

void softmax_row(int compute, bool log, const void* x, int64_t n, void* y) {
  by_real(static_cast<Compute>(compute),
          [&]<class T>() { forward_row(log, static_cast<const T*>(x), n, static_cast<T*>(y)); });
}
void softmax_tile(int compute, bool log, void* tile, int64_t rows, int64_t cols) {
  by_real(static_cast<Compute>(compute), [&]<class T>() { forward_tile(log, static_cast<T*>(tile), rows, cols); });
}
void softmax_backward_row(int compute, bool log, const void* dy, const void* y, int64_t n, void* dx) {
  by_real(static_cast<Compute>(compute), [&]<class T>() {
    backward_row(log, static_cast<const T*>(dy), static_cast<const T*>(y), n, static_cast<T*>(dx));
  });
}
void softmax_backward_half_row(bool bf16, const void* dy, const void* y, int64_t n, void* dx) {
  const auto row = [&]<class H>(H*) {
    backward_half_row(static_cast<const H*>(dy), static_cast<const H*>(y), n, static_cast<H*>(dx));
  };
  if (bf16) row(static_cast<BFloat16*>(nullptr));
  else row(static_cast<Half*>(nullptr));
}
void softmax_backward_tile(int compute, bool log, void* dy, const void* y, int64_t rows, int64_t cols) {
  by_real(static_cast<Compute>(compute),
          [&]<class T>() { backward_tile(log, static_cast<T*>(dy), static_cast<const T*>(y), rows, cols); });
}

}  // namespace updraft::UPDRAFT_ISA
