#include "ops/linalg/dense.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace updraft::linalg {

void require_matrices(const Op& op, const char* name, const TensorView& v, bool square) {
  op.require(v.rank >= 2 && is_floating(v.dtype), "{} is {}, want floating-point matrices", name, describe(v));
  if (square) op.require(v.dims[v.rank - 1] == v.dims[v.rank - 2], "{} is {}, want square matrices", name, describe(v));
}

namespace {
// y += f * x
void axpy(double* y, const double* x, double f, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] += f * x[i];
}
double dot(const double* x, const double* y, int64_t n) {
  double lane[4] = {};
  int64_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; ++k) lane[k] += x[i + k] * y[i + k];
  for (; i < n; ++i) lane[0] += x[i] * y[i];
  return (lane[0] + lane[1]) + (lane[2] + lane[3]);
}
}  // namespace

int lu(double* a, int64_t n, int64_t* perm) {
  std::iota(perm, perm + n, int64_t{0});
  int sign = 1;
  bool singular = false;
  for (int64_t k = 0; k < n; ++k) {
    int64_t best = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (std::abs(a[i * n + k]) > std::abs(a[best * n + k])) best = i;
    if (best != k) {
      std::swap_ranges(a + k * n, a + (k + 1) * n, a + best * n);
      std::swap(perm[k], perm[best]);
      sign = -sign;
    }
    const double pivot = a[k * n + k];
    if (pivot == 0) {
      singular = true;
      continue;
    }
    for (int64_t i = k + 1; i < n; ++i) {
      const double f = a[i * n + k] / pivot;
      a[i * n + k] = f;
      if (f != 0) axpy(a + i * n + k + 1, a + k * n + k + 1, -f, n - k - 1);
    }
  }
  return singular ? 0 : sign;
}

void inverse(double* a, double* x, int64_t n) {
  std::vector<int64_t> perm(static_cast<size_t>(n));
  if (lu(a, n, perm.data()) == 0) {
    std::fill_n(x, n * n, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  std::fill_n(x, n * n, 0.0);
  for (int64_t i = 0; i < n; ++i) x[i * n + perm[static_cast<size_t>(i)]] = 1;
  solve_triangular(a, x, n, n, false, false, true);
  solve_triangular(a, x, n, n, true, false, false);
}

bool cholesky(double* a, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    double* row = a + i * n;
    for (int64_t j = 0; j < i; ++j) row[j] = (row[j] - dot(row, a + j * n, j)) / a[j * n + j];
    const double d = row[i] - dot(row, row, i);
    if (!(d > 0)) return false;
    row[i] = std::sqrt(d);
    std::fill(row + i + 1, row + n, 0.0);
  }
  return true;
}

void solve_triangular(const double* a, double* b, int64_t n, int64_t k, bool upper, bool transposed, bool unit) {
  const bool backward = upper != transposed;
  for (int64_t step = 0; step < n; ++step) {
    const int64_t i = backward ? n - 1 - step : step;
    double* row = b + i * k;
    if (!transposed) {
      for (int64_t j = backward ? i + 1 : 0; j < (backward ? n : i); ++j) axpy(row, b + j * k, -a[i * n + j], k);
    }
    if (!unit)
      for (int64_t c = 0; c < k; ++c) row[c] /= a[i * n + i];
    if (transposed) {
      // Column i of a^T is row i of a: the solved row leaves the others at once.
      for (int64_t j = backward ? 0 : i + 1; j < (backward ? i : n); ++j) axpy(b + j * k, row, -a[i * n + j], k);
    }
  }
}

void qr(double* a, int64_t m, int64_t n, double* q, int64_t columns) {
  const int64_t steps = std::min(m, n);
  std::vector<double> reflectors(static_cast<size_t>(steps * m), 0.0), tau(static_cast<size_t>(steps), 0.0);
  std::vector<double> w(static_cast<size_t>(std::max(n, columns)));
  // x := (I - t v v^T) x for the rows from `first` on
  auto reflect = [&](double* x, int64_t width, int64_t from, const double* v, double t, int64_t first) {
    std::fill(w.begin(), w.end(), 0.0);
    for (int64_t i = first; i < m; ++i) axpy(w.data() + from, x + i * width + from, v[i], width - from);
    for (int64_t i = first; i < m; ++i) axpy(x + i * width + from, w.data() + from, -t * v[i], width - from);
  };
  for (int64_t k = 0; k < steps; ++k) {
    double below = 0;
    for (int64_t i = k + 1; i < m; ++i) below = std::hypot(below, a[i * n + k]);
    if (below == 0) continue;
    const double alpha = a[k * n + k];
    const double beta = -std::copysign(std::hypot(alpha, below), alpha);
    double* v = reflectors.data() + k * m;
    v[k] = 1;
    for (int64_t i = k + 1; i < m; ++i) v[i] = a[i * n + k] / (alpha - beta);
    tau[static_cast<size_t>(k)] = (beta - alpha) / beta;
    reflect(a, n, k, v, tau[static_cast<size_t>(k)], k);
    a[k * n + k] = beta;
    for (int64_t i = k + 1; i < m; ++i) a[i * n + k] = 0;
  }
  if (!q) return;
  std::fill_n(q, m * columns, 0.0);
  for (int64_t i = 0; i < std::min(m, columns); ++i) q[i * columns + i] = 1;
  for (int64_t k = steps - 1; k >= 0; --k)
    if (tau[static_cast<size_t>(k)] != 0)
      reflect(q, columns, 0, reflectors.data() + k * m, tau[static_cast<size_t>(k)], k);
}

void svd(const double* a, int64_t m, int64_t n, double* u, double* s, double* v) {
  // Columns as rows: rotations then run over contiguous memory.
  std::vector<double> w(static_cast<size_t>(n * m)), z(static_cast<size_t>(u ? n * n : 0), 0.0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) w[static_cast<size_t>(j * m + i)] = a[i * n + j];
  for (int64_t j = 0; u && j < n; ++j) z[static_cast<size_t>(j * n + j)] = 1;
  auto rotate = [](double* x, double* y, double c, double t, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const double p = x[i], q = y[i];
      x[i] = c * p - t * q;
      y[i] = t * p + c * q;
    }
  };
  for (int sweep = 0; sweep < 60; ++sweep) {
    bool rotated = false;
    for (int64_t p = 0; p < n; ++p) {
      for (int64_t q = p + 1; q < n; ++q) {
        double* x = w.data() + p * m;
        double* y = w.data() + q * m;
        const double xx = dot(x, x, m), yy = dot(y, y, m), xy = dot(x, y, m);
        if (!(std::abs(xy) > 1e-15 * std::sqrt(xx * yy)) || xy == 0) continue;
        rotated = true;
        const double zeta = (yy - xx) / (2 * xy);
        const double t = std::copysign(1 / (std::abs(zeta) + std::hypot(1, zeta)), zeta);
        const double c = 1 / std::hypot(1, t);
        rotate(x, y, c, c * t, m);
        if (u) rotate(z.data() + p * n, z.data() + q * n, c, c * t, n);
      }
    }
    if (!rotated) break;
  }
  std::vector<double> length(static_cast<size_t>(n));
  std::vector<int64_t> order(static_cast<size_t>(n));
  for (int64_t j = 0; j < n; ++j)
    length[static_cast<size_t>(j)] = std::sqrt(dot(w.data() + j * m, w.data() + j * m, m));
  std::iota(order.begin(), order.end(), int64_t{0});
  std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
    return length[static_cast<size_t>(x)] > length[static_cast<size_t>(y)];
  });
  for (int64_t k = 0; k < n; ++k) {
    const int64_t j = order[static_cast<size_t>(k)];
    const double size = length[static_cast<size_t>(j)];
    s[k] = size;
    if (!u) continue;
    for (int64_t i = 0; i < n; ++i) v[i * n + k] = z[static_cast<size_t>(j * n + i)];
    const bool null = !(size > 1e-300) || (k > 0 && size < 1e-14 * s[0]);
    std::vector<double> column(w.begin() + j * m, w.begin() + (j + 1) * m);
    if (!null)
      for (double& c : column) c /= size;
    // A direction of (nearly) no length: any unit vector that is orthogonal to those before it.
    for (int64_t axis = 0; null && axis < m; ++axis) {
      std::fill(column.begin(), column.end(), 0.0);
      column[static_cast<size_t>(axis)] = 1;
      for (int pass = 0; pass < 2; ++pass)
        for (int64_t before = 0; before < k; ++before) {
          double d = 0;
          for (int64_t i = 0; i < m; ++i) d += column[static_cast<size_t>(i)] * u[i * n + before];
          for (int64_t i = 0; i < m; ++i) column[static_cast<size_t>(i)] -= d * u[i * n + before];
        }
      const double rest = std::sqrt(dot(column.data(), column.data(), m));
      if (rest > 0.5 / std::sqrt(static_cast<double>(m))) {
        for (double& c : column) c /= rest;
        break;
      }
    }
    for (int64_t i = 0; i < m; ++i) u[i * n + k] = column[static_cast<size_t>(i)];
  }
}

}  // namespace updraft::linalg
