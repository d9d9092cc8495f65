// Fourier transforms of any length.
#pragma once
#include <cmath>
#include <cstdint>
#include <numbers>
#include <vector>

#include "kernels/pipeline.h"

namespace updraft {

// A transform of any length: the smallest prime factor p splits it into p transforms of the elements k, k + p, …,
// which are then combined. In double, so that results are rounded once.
class Fourier {
 public:
  explicit Fourier(int64_t n) : n_(n), roots_(static_cast<size_t>(n)) {
    for (int64_t k = 0; k < n; ++k) {
      const double angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
      roots_[static_cast<size_t>(k)] = {std::cos(angle), std::sin(angle)};
    }
  }
  /// to = transform of from; both have n elements and do not overlap.
  void run(const complex128* from, complex128* to) const { step(from, to, n_, 1); }

 private:
  void step(const complex128* from, complex128* to, int64_t n, int64_t stride) const {
    if (n == 1) {
      *to = *from;
      return;
    }
    int64_t p = 2;
    while (n % p && p * p <= n) ++p;
    if (n % p) p = n;
    const int64_t m = n / p;
    for (int64_t k = 0; k < p; ++k) step(from + k * stride, to + k * m, m, stride * p);
    std::vector<complex128> part(static_cast<size_t>(p));
    const int64_t root = n_ / n;  // roots_[i * root] is the i-th root of order n
    for (int64_t i = 0; i < m; ++i) {
      for (int64_t k = 0; k < p; ++k) part[static_cast<size_t>(k)] = multiply(to[k * m + i], root_of(i * k % n * root));
      for (int64_t j = 0; j < p; ++j) {
        complex128 sum = part[0];
        for (int64_t k = 1; k < p; ++k) sum += multiply(part[static_cast<size_t>(k)], root_of(j * k % p * m * root));
        to[j * m + i] = sum;
      }
    }
  }
  const complex128& root_of(int64_t i) const { return roots_[static_cast<size_t>(i)]; }
  // std::complex's operator looks for infinities.
  static complex128 multiply(const complex128& a, const complex128& b) {
    return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()};
  }

  int64_t n_;
  std::vector<complex128> roots_;
};

}  // namespace updraft
