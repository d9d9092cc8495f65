// The loops of batch, layer, group and root-mean-square normalisation.
#include <algorithm>

#include "kernels/simd/by_compute.h"
#include "kernels/simd/lanes.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

constexpr int64_t kBlock = 4096;  // stays in L1 between two looks at it

// Count, mean and sum of squared deviations of one more block, merged as Chan et al. do.
template <class T>
void stats_block(const T* x, int64_t n, double* state) {
  using L = Lanes<T>;
  constexpr int64_t k = L::kLanes;
  const T center = static_cast<T>(fold_block<AddOp, double>(x, n) / static_cast<double>(n));
  // Deviations from a near mean: their own mean corrects it, so equal elements have none.
  typename L::V a{}, b{}, da{}, db{};
  double m2 = 0, rest = 0;
  int64_t i = 0;
  for (; i + 2 * k <= n; i += 2 * k) {
    typename L::V p = L::load(x + i) - center, q = L::load(x + i + k) - center;
    da += p;
    db += q;
    a += p * p;
    b += q * q;
  }
  a += b;
  da += db;
  for (int64_t j = 0; j < k; ++j) {
    m2 += static_cast<double>(a[j]);
    rest += static_cast<double>(da[j]);
  }
  for (; i < n; ++i) {
    const T e = x[i] - center;
    m2 += static_cast<double>(e * e);
    rest += static_cast<double>(e);
  }
  const double off = rest / static_cast<double>(n), mean = static_cast<double>(center) + off;
  m2 -= off * rest;
  if (m2 < 0) m2 = 0;
  if (state[0] == 0) {
    state[0] = static_cast<double>(n);
    state[1] = mean;
    state[2] = m2;
    return;
  }
  const double total = state[0] + static_cast<double>(n), delta = mean - state[1];
  state[1] += delta * static_cast<double>(n) / total;
  state[2] += m2 + delta * delta * state[0] * static_cast<double>(n) / total;
  state[0] = total;
}

// Sum of dy and of dy * (x - mean).
template <class T>
void grad_sums(const T* dy, const T* x, int64_t n, T mean, double* sums) {
  using L = Lanes<T>;
  constexpr int64_t k = L::kLanes;
  for (int64_t from = 0; from < n; from += kBlock) {
    const int64_t end = std::min(n, from + kBlock);
    typename L::V a{}, b{}, p{}, q{};
    int64_t i = from;
    for (; i + 2 * k <= end; i += 2 * k) {
      typename L::V g = L::load(dy + i), h = L::load(dy + i + k);
      a += g;
      b += h;
      p += g * (L::load(x + i) - mean);
      q += h * (L::load(x + i + k) - mean);
    }
    a += b;
    p += q;
    double s = 0, t = 0;
    for (int64_t j = 0; j < k; ++j) {
      s += static_cast<double>(a[j]);
      t += static_cast<double>(p[j]);
    }
    for (; i < end; ++i) {
      s += static_cast<double>(dy[i]);
      t += static_cast<double>(dy[i] * (x[i] - mean));
    }
    sums[0] += s;
    sums[1] += t;
  }
}

template <class T>
void affine_row(const T* x, int64_t n, T mean, T rstd, const T* gamma, const T* beta, T* y) {
  if (gamma && beta) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = ((x[i] - mean) * rstd) * gamma[i] + beta[i];
  } else if (gamma) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = ((x[i] - mean) * rstd) * gamma[i];
  } else if (beta) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd + beta[i];
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - mean) * rstd;
  }
}

// dx = rstd * (g - mean(g) - xhat * mean(g * xhat)), g = dy * gamma; root-mean-square norms have no mean(g).
template <class T>
void row_backward(bool rms, const T* dy, const T* x, int64_t n, T mean, T rstd, const T* gamma, T* dx, T* dgamma,
                  T* dbeta) {
  using L = Lanes<T>;
  constexpr int64_t k = L::kLanes;
  double s = 0, t = 0;
  for (int64_t from = 0; from < n; from += kBlock) {
    const int64_t end = std::min(n, from + kBlock);
    typename L::V a{}, p{};
    int64_t i = from;
    if (dx) {
      for (; i + k <= end; i += k) {
        typename L::V g = L::load(dy + i);
        if (gamma) g *= L::load(gamma + i);
        a += g;
        p += g * ((L::load(x + i) - mean) * rstd);
      }
      for (int64_t j = 0; j < k; ++j) {
        s += static_cast<double>(a[j]);
        t += static_cast<double>(p[j]);
      }
      for (; i < end; ++i) {
        const T g = gamma ? dy[i] * gamma[i] : dy[i];
        s += static_cast<double>(g);
        t += static_cast<double>(g * ((x[i] - mean) * rstd));
      }
    }
    if (dgamma) {
#pragma GCC ivdep
      for (i = from; i < end; ++i) dgamma[i] += dy[i] * ((x[i] - mean) * rstd);
    }
    if (dbeta) {
#pragma GCC ivdep
      for (i = from; i < end; ++i) dbeta[i] += dy[i];
    }
  }
  if (!dx) return;
  // dx = rstd * g + b * (x - mean) + c
  const double inv = 1.0 / static_cast<double>(n), r = static_cast<double>(rstd);
  const double slope = -r * r * t * inv;
  const T b = static_cast<T>(slope), c = static_cast<T>(rms ? 0.0 : -r * s * inv);
  if (gamma) {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * gamma[i] * rstd + ((x[i] - mean) * b + c);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) dx[i] = dy[i] * rstd + ((x[i] - mean) * b + c);
  }
}

}  // namespace

void norm_stats(int compute, const void* x, int64_t n, double* state) {
  by_real(static_cast<Compute>(compute), [&]<class T>() {
    for (int64_t i = 0; i < n; i += kBlock) stats_block(static_cast<const T*>(x) + i, std::min(kBlock, n - i), state);
  });
}

void norm_scale_shift(int compute, const void* x, int64_t n, double scale, double shift, void* y) {
  by_real(static_cast<Compute>(compute), [&]<class T>() {
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(y);
    const T a = static_cast<T>(scale), b = static_cast<T>(shift);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] * a + b;
  });
}

void norm_grad_sums(int compute, const void* dy, const void* x, int64_t n, double mean, double* sums) {
  by_real(static_cast<Compute>(compute), [&]<class T>() {
    grad_sums(static_cast<const T*>(dy), static_cast<const T*>(x), n, static_cast<T>(mean), sums);
  });
}

void norm_grad_apply(int compute, const void* dy, const void* x, int64_t n, double a, double b, double c, void* dx) {
  by_real(static_cast<Compute>(compute), [&]<class T>() {
    const T *g = static_cast<const T*>(dy), *v = static_cast<const T*>(x);
    T* to = static_cast<T*>(dx);
    const T s = static_cast<T>(a), t = static_cast<T>(b), u = static_cast<T>(c);
#pragma GCC ivdep
    for (int64_t i = 0; i < n; ++i) to[i] = g[i] * s + (v[i] * t + u);
  });
}

void norm_row(int compute, const void* x, int64_t n, double mean, double rstd, const void* gamma, const void* beta,
              void* y) {
  by_real(static_cast<Compute>(compute), [&]<class T>() {
    affine_row(static_cast<const T*>(x), n, static_cast<T>(mean), static_cast<T>(rstd), static_cast<const T*>(gamma),
               static_cast<const T*>(beta), static_cast<T*>(y));
  });
}

void norm_row_backward(int compute, bool rms, const void* dy, const void* x, int64_t n, double mean, double rstd,
                       const void* gamma, void* dx, void* dgamma, void* dbeta) {
  by_real(static_cast<Compute>(compute), [&]<class T>() {
    row_backward(rms, static_cast<const T*>(dy), static_cast<const T*>(x), n, static_cast<T>(mean),
                 static_cast<T>(rstd), static_cast<const T*>(gamma), static_cast<T*>(dx), static_cast<T*>(dgamma),
                 static_cast<T*>(dbeta));
  });
}

void norm_cols_apply(int compute, const void* x, int64_t rows, int64_t cols, const void* scale, const void* shift,
                     void* y) {
  by_real(static_cast<Compute>(compute), [&]<class T>() {
    const T *a = static_cast<const T*>(scale), *b = static_cast<const T*>(shift);
    for (int64_t r = 0; r < rows; ++r) {
      const T* from = static_cast<const T*>(x) + r * cols;
      T* to = static_cast<T*>(y) + r * cols;
#pragma GCC ivdep
      for (int64_t c = 0; c < cols; ++c) to[c] = from[c] * a[c] + b[c];
    }
  });
}

void norm_cols_grad_sums(int compute, const void* dy, const void* x, int64_t rows, int64_t cols, const void* mean,
                         double* sum, double* product) {
  by_real(static_cast<Compute>(compute), [&]<class T>() {
    const T* m = static_cast<const T*>(mean);
    for (int64_t r = 0; r < rows; ++r) {
      const T *g = static_cast<const T*>(dy) + r * cols, *v = static_cast<const T*>(x) + r * cols;
#pragma GCC ivdep
      for (int64_t c = 0; c < cols; ++c) {
        sum[c] += static_cast<double>(g[c]);
        product[c] += static_cast<double>(g[c] * (v[c] - m[c]));
      }
    }
  });
}

void norm_cols_grad_apply(int compute, const void* dy, const void* x, int64_t rows, int64_t cols, const void* a,
                          const void* b, const void* c, void* dx) {
  by_real(static_cast<Compute>(compute), [&]<class T>() {
    const T *s = static_cast<const T*>(a), *t = static_cast<const T*>(b), *u = static_cast<const T*>(c);
    for (int64_t r = 0; r < rows; ++r) {
      const T *g = static_cast<const T*>(dy) + r * cols, *v = static_cast<const T*>(x) + r * cols;
      T* to = static_cast<T*>(dx) + r * cols;
#pragma GCC ivdep
      for (int64_t i = 0; i < cols; ++i) to[i] = g[i] * s[i] + (v[i] * t[i] + u[i]);
    }
  });
}

}  // namespace updraft::UPDRAFT_ISA
