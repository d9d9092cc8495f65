// Distances of one point to many, all of them side by side.
#include <algorithm>
#include <type_traits>

#include "kernels/simd/math.h"
#include "kernels/table.h"

namespace updraft::UPDRAFT_ISA {
namespace {

template <class T, class Step>
void accumulate(T* to, const T* x, const T* y, int64_t m, int64_t n, Step step) {
  std::fill_n(to, n, T(0));
  for (int64_t k = 0; k < m; ++k) {
    const T v = x[k];
    const T* row = y + k * n;
#pragma GCC ivdep
    for (int64_t j = 0; j < n; ++j) to[j] = step(to[j], m::abs(v - row[j]));
  }
}

template <class T>
void distance_row(T* to, const T* x, const T* y, int64_t m, int64_t n, T p) {
  if (p == T(0)) {
    accumulate(to, x, y, m, n, [](T sum, T d) { return sum + (d != T(0) ? T(1) : T(0)); });
  } else if (p == T(1)) {
    accumulate(to, x, y, m, n, [](T sum, T d) { return sum + d; });
  } else if (p == T(2)) {
    accumulate(to, x, y, m, n, [](T sum, T d) { return sum + d * d; });
    for (int64_t j = 0; j < n; ++j) to[j] = m::sqrt(to[j]);
  } else if (p == m::infinity<T>()) {
    accumulate(to, x, y, m, n, [](T most, T d) { return m::maximum(most, d); });
  } else {
    accumulate(to, x, y, m, n, [p](T sum, T d) { return sum + m::pow(d, p); });
    for (int64_t j = 0; j < n; ++j) to[j] = m::pow(to[j], T(1) / p);
  }
}

template <bool Single, bool Signs>
void add_all(double* to, const double* x, const double* y, int64_t m, double factor) {
  using T = std::conditional_t<Single, float, double>;
#pragma GCC ivdep
  for (int64_t k = 0; k < m; ++k) {
    const auto d = static_cast<double>(static_cast<T>(x[k]) - static_cast<T>(y[k]));
    to[k] += factor * (Signs ? (d > 0 ? 1.0 : d < 0 ? -1.0 : 0.0) : d);
  }
}

}  // namespace

void add_differences(double* to, const double* x, const double* y, int64_t m, double factor, bool single, bool signs) {
  if (single) signs ? add_all<true, true>(to, x, y, m, factor) : add_all<true, false>(to, x, y, m, factor);
  else signs ? add_all<false, true>(to, x, y, m, factor) : add_all<false, false>(to, x, y, m, factor);
}
void distance_row_f32(float* to, const float* x, const float* y, int64_t m, int64_t n, float p) {
  distance_row(to, x, y, m, n, p);
}
void distance_row_f64(double* to, const double* x, const double* y, int64_t m, int64_t n, double p) {
  distance_row(to, x, y, m, n, p);
}

}  // namespace updraft::UPDRAFT_ISA
