// Softmax and log-softmax of rows, and of tiles whose columns are the rows.
#include <algorithm>

#include "kernels/simd/lanes.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

constexpr int64_t kBlock = 1024;

template <class F>
void by_type(int compute, F&& f) {
  if (static_cast<Compute>(compute) == Compute::F32) f.template operator()<float>();
  else f.template operator()<double>();
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
  by_type(compute, [&]<class T>() { forward_row(log, static_cast<const T*>(x), n, static_cast<T*>(y)); });
}
void softmax_tile(int compute, bool log, void* tile, int64_t rows, int64_t cols) {
  by_type(compute, [&]<class T>() { forward_tile(log, static_cast<T*>(tile), rows, cols); });
}
void softmax_backward_row(int compute, bool log, const void* dy, const void* y, int64_t n, void* dx) {
  by_type(compute, [&]<class T>() {
    backward_row(log, static_cast<const T*>(dy), static_cast<const T*>(y), n, static_cast<T*>(dx));
  });
}
void softmax_backward_tile(int compute, bool log, void* dy, const void* y, int64_t rows, int64_t cols) {
  by_type(compute, [&]<class T>() { backward_tile(log, static_cast<T*>(dy), static_cast<const T*>(y), rows, cols); });
}

}  // namespace updraft::UPDRAFT_ISA
