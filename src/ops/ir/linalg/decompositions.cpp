// MindSpore's own types for what follows from decompositions of matrices: eigenvalues, logarithms, least squares,
// factors of LU, the gradient of a triangular system. In double or complex128, so that results are rounded once.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "kernels/lapack.h"
#include "ops/ir/complex_parts.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;
using linalg::Batch;

/// The dimensions of the batch, then `last`.
Dims each_of(const TensorView& matrices, std::initializer_list<int64_t> last) {
  Dims dims(matrices.dims, matrices.dims + matrices.rank - 2);
  dims.insert(dims.end(), last);
  return dims;
}
DType spectral_type(DType t) {
  return t == DType::Double || t == DType::Complex128 ? DType::Complex128 : DType::Complex64;
}

/// Complex matrices [n, n] that are worked on, column by column as LAPACK has them.
struct Square {
  int64_t n;
  std::vector<complex128> a;
  explicit Square(int64_t size) : n(size), a(static_cast<size_t>(size * size)) {}
  Square(int64_t size, const complex128* rows) : Square(size) {
    for (int64_t r = 0; r < n; ++r)
      for (int64_t c = 0; c < n; ++c) (*this)(r, c) = rows[r * n + c];
  }
  complex128& operator()(int64_t r, int64_t c) { return a[static_cast<size_t>(c * n + r)]; }
  const complex128& operator()(int64_t r, int64_t c) const { return a[static_cast<size_t>(c * n + r)]; }
};

/// The root of an upper triangle.
Square root_of(const Square& t) {
  Square r(t.n);
  for (int64_t c = 0; c < t.n; ++c) {
    r(c, c) = std::sqrt(t(c, c));
    for (int64_t i = c - 1; i >= 0; --i) {
      complex128 sum = t(i, c);
      for (int64_t k = i + 1; k < c; ++k) sum -= r(i, k) * r(k, c);
      const complex128 both = r(i, i) + r(c, c);
      r(i, c) = sum == 0.0 ? 0.0 : sum / both;
    }
  }
  return r;
}
/// The logarithm of an upper triangle that is near the identity: the integral of X (I + x X)^-1 for x from 0 to 1, by
/// eight points of Gauss and Legendre.
Square logarithm_near_one(const Square& t) {
  static constexpr std::array<double, 4> kPoints = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                                                    0.9602898564975363};
  static constexpr std::array<double, 4> kWeights = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                                                     0.1012285362903763};
  const int64_t n = t.n;
  Square x = t, sum(n);
  for (int64_t i = 0; i < n; ++i) x(i, i) -= 1.0;
  for (size_t point = 0; point < 8; ++point) {
    const double side = point % 2 ? -1 : 1, at = 0.5 + 0.5 * side * kPoints[point / 2],
                 weight = 0.5 * kWeights[point / 2];
    // Column c of the solution y of (I + at X) y = X, from below.
    for (int64_t c = 0; c < n; ++c) {
      std::vector<complex128> y(static_cast<size_t>(n));
      for (int64_t r = c; r >= 0; --r) {
        complex128 v = x(r, c);
        for (int64_t k = r + 1; k <= c; ++k) v -= at * x(r, k) * y[static_cast<size_t>(k)];
        y[static_cast<size_t>(r)] = v / (1.0 + at * x(r, r));
        sum(r, c) += weight * y[static_cast<size_t>(r)];
      }
    }
  }
  return sum;
}
/// A := its principal logarithm. Roots are taken until what is left is near the identity.
bool logarithm(int64_t n, complex128* rows) {
  Square t(n, rows), q(n);
  if (!lapack::gees(n, t.a.data(), q.a.data())) return false;
  for (int64_t c = 0; c < n; ++c)
    for (int64_t r = c + 1; r < n; ++r) t(r, c) = 0;
  int roots = 0;
  const auto far = [&] {
    double most = 0;
    for (int64_t c = 0; c < n; ++c) {
      double sum = 0;
      for (int64_t r = 0; r <= c; ++r) sum += std::abs(t(r, c) - (r == c ? 1.0 : 0.0));
      most = std::max(most, sum);
    }
    return most > 0.1;
  };
  while (far() && roots < 100) t = root_of(t), ++roots;
  const Square log = logarithm_near_one(t);
  const double factor = std::ldexp(1.0, roots);
  std::vector<complex128> part(static_cast<size_t>(n * n));  // q log, row by row
  for (int64_t r = 0; r < n; ++r)
    for (int64_t k = 0; k < n; ++k)
      for (int64_t c = k; c < n; ++c) part[static_cast<size_t>(r * n + c)] += q(r, k) * log(k, c);
  for (int64_t r = 0; r < n; ++r)
    for (int64_t c = 0; c < n; ++c) {
      complex128 sum = 0;
      for (int64_t k = 0; k < n; ++k) sum += part[static_cast<size_t>(r * n + k)] * std::conj(q(c, k));
      rows[r * n + c] = sum * factor;
    }
  return true;
}

/// What least squares of a [m, n] are made of: a = u diag(s) vh, and how many of s count.
struct Singular {
  int64_t m, n, least, rank = 0;
  std::vector<complex128> u, vh;  ///< column-major [m, least] and [least, n]
  std::vector<double> s;
  Singular(int64_t rows, int64_t columns, const complex128* a, double epsilon)
      : m(rows), n(columns), least(std::min(rows, columns)) {
    std::vector<complex128> work(static_cast<size_t>(m * n));
    for (int64_t r = 0; r < m; ++r)
      for (int64_t c = 0; c < n; ++c) work[static_cast<size_t>(c * m + r)] = a[r * n + c];
    u.resize(static_cast<size_t>(m * least)), vh.resize(static_cast<size_t>(least * n));
    s.resize(static_cast<size_t>(least));
    if (!lapack::gesdd<complex128>(lapack::Vectors::Some, m, n, work.data(), m, s.data(), u.data(), m, vh.data(),
                                   least))
      fail_kernel("the singular values of a were not found: it holds NaN, or they do not converge");
    const double smallest = least ? epsilon * static_cast<double>(std::max(m, n)) * s[0] : 0;
    while (rank < least && s[static_cast<size_t>(rank)] > smallest) ++rank;
  }
  /// y [n, columns] += the pseudo-inverse of a, times b [m, columns].
  void apply(const complex128* b, int64_t columns, complex128* y) const {
    for (int64_t k = 0; k < rank; ++k)
      for (int64_t c = 0; c < columns; ++c) {
        complex128 sum = 0;
        for (int64_t r = 0; r < m; ++r) sum += std::conj(u[static_cast<size_t>(k * m + r)]) * b[r * columns + c];
        sum /= s[static_cast<size_t>(k)];
        for (int64_t r = 0; r < n; ++r) y[r * columns + c] += std::conj(vh[static_cast<size_t>(r * least + k)]) * sum;
      }
  }
  /// z [m, columns] += the adjoint of the pseudo-inverse, times g [n, columns].
  void apply_adjoint(const complex128* g, int64_t columns, complex128* z) const {
    for (int64_t k = 0; k < rank; ++k)
      for (int64_t c = 0; c < columns; ++c) {
        complex128 sum = 0;
        for (int64_t r = 0; r < n; ++r) sum += vh[static_cast<size_t>(r * least + k)] * g[r * columns + c];
        sum /= s[static_cast<size_t>(k)];
        for (int64_t r = 0; r < m; ++r) z[r * columns + c] += u[static_cast<size_t>(k * m + r)] * sum;
      }
  }
};

/// c [rows, columns] += factor a b^H, where a has `inner` columns and b too.
void add_outer(const complex128* a, const complex128* b, int64_t rows, int64_t columns, int64_t inner, double factor,
               complex128* c) {
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t k = 0; k < columns; ++k)
      for (int64_t i = 0; i < inner; ++i) c[r * columns + k] += factor * a[r * inner + i] * std::conj(b[k * inner + i]);
}

/// The step between 1 and the next number of what type t is computed in.
double epsilon_of(DType t) {
  return spectral_type(t) == DType::Complex128 ? std::numeric_limits<double>::epsilon()
                                               : static_cast<double>(std::numeric_limits<float>::epsilon());
}

}  // namespace

ABOUT(CustEig, AICPU, "Eigenvalues and eigenvectors of square matrices", "方阵的特征值与特征向量")
IR_OP(CustEig, CustEig, (In, x), (Out, eigen_values), (Out, eigen_vectors), (Bool, compute_v)) {
  linalg::require_matrices(op, "x", *x, true);
  const Batch b(*x);
  const DType type = spectral_type(x->dtype);
  ir::result(op, "eigen_values", *eigen_values, each_of(*x, {b.rows}), type);
  if (compute_v) op.result_like("eigen_vectors", *eigen_vectors, *x, type);
  else ir::suggest(op, *eigen_vectors, {}, type);
  if (op.inferring() || x->empty()) return;
  op.work(b.count * b.cost() * 25);
  op.launch([=, from = *x, values = *eigen_values, vectors = *eigen_vectors, wanted = bool{compute_v}] {
    const std::vector<complex128> all = gathered<complex128>(from);
    std::vector<complex128> w(static_cast<size_t>(b.count * b.rows)), v(wanted ? all.size() : 0);
    lapack::each(b.count, b.cost() * 25, [&](int64_t i) {
      Square a(b.rows, all.data() + i * b.size()), made(wanted ? b.rows : 0);
      if (!lapack::geev(b.rows, a.a.data(), w.data() + i * b.rows, wanted ? made.a.data() : nullptr))
        fail_kernel(
            fmt::format("the eigenvalues of matrix {} of x were not found: it holds NaN or infinity, or they do "
                        "not converge",
                        i));
      for (int64_t r = 0; wanted && r < b.rows; ++r)
        for (int64_t c = 0; c < b.rows; ++c) v[static_cast<size_t>(i * b.size() + r * b.rows + c)] = made(r, c);
    });
    write_all(values, w);
    if (wanted) write_all(vectors, v);
  });
}
ABOUT(CustMatrixLogarithm, AICPU, "Principal logarithms of square complex matrices", "复方阵的主对数")
IR_OP(CustMatrixLogarithm, CustMatrixLogarithm, (In, x), (Out, y)) {
  linalg::require_matrices(op, "x", *x, true);
  op.require(is_complex(x->dtype), "x is {}, want complex matrices", describe(*x));
  const Batch b(*x);
  op.result_like("y", *y, *x, x->dtype);
  if (op.inferring() || x->empty()) return;
  op.work(b.count * b.cost() * 50);
  op.launch([=, from = *x, to = *y] {
    std::vector<complex128> all = gathered<complex128>(from);
    lapack::each(b.count, b.cost() * 50, [&](int64_t i) {
      if (!logarithm(b.rows, all.data() + i * b.size()))
        std::fill_n(all.data() + i * b.size(), b.size(), complex128(std::nan(""), std::nan("")));
    });
    write_all(to, all);
  });
}

ABOUT(CustLstsqV2, AICPU, "Least squares by singular values: the shortest solution, its residuals, the rank",
      "最小二乘（奇异值法）：最短解、残差与秩")
IR_OP(CustLstsqV2, CustLstsqV2, (In, a), (In, b), (OptIn, driver), (Out, solution), (Out, residuals), (Out, rank),
      (Out, singular_values)) {
  linalg::require_matrices(op, "a", *a, false);
  const Batch of(*a);
  const bool vectors = b->rank == a->rank - 1;  // one right side each
  op.require(
      (vectors || b->rank == a->rank) && b->dtype == a->dtype && std::equal(b->dims, b->dims + a->rank - 1, a->dims),
      "b is {}, want the batch, the rows and the type of a, {}", describe(*b), describe(*a));
  // Drivers are counted as torch.linalg.lstsq names them: gels, gelsy, gelsd, gelss. The last two tell singular values.
  const Dims named = driver && driver->numel() ? op.integers("driver", driver.handle) : Dims{1};
  op.require(named.size() == 1 && named[0] >= 0 && named[0] <= 3, "driver is {}, want 0 to 3",
             named.empty() ? -1 : named[0]);
  const int64_t columns = vectors ? 1 : b->dims[b->rank - 1];
  ir::result(op, "solution", *solution, vectors ? each_of(*a, {of.columns}) : each_of(*a, {of.columns, columns}),
             a->dtype);
  ir::suggest(op, *residuals, {0}, a->dtype);
  ir::suggest(op, *rank, Dims(a->dims, a->dims + a->rank - 2), DType::Int64);
  ir::suggest(op, *singular_values, {0}, a->dtype);
  if (op.inferring()) return;
  op.work(of.count * of.cost() * 25);
  op.launch([=, left = *a, right = *b, y = *solution, rest = *residuals, ranks = *rank, singular = *singular_values] {
    const std::vector<complex128> as = gathered<complex128>(left), bs = gathered<complex128>(right);
    std::vector<complex128> ys(static_cast<size_t>(y.numel()));
    std::vector<double> residual(static_cast<size_t>(of.count * columns)),
        s(static_cast<size_t>(of.count * of.least()));
    std::vector<int64_t> counted(static_cast<size_t>(of.count));
    lapack::each(of.count, of.cost() * 25, [&](int64_t i) {
      const complex128 *ai = as.data() + i * of.size(), *bi = bs.data() + i * of.rows * columns;
      complex128* yi = ys.data() + i * of.columns * columns;
      const Singular found(of.rows, of.columns, ai, epsilon_of(left.dtype));
      found.apply(bi, columns, yi);
      counted[static_cast<size_t>(i)] = found.rank;
      std::copy(found.s.begin(), found.s.end(), s.begin() + i * of.least());
      for (int64_t r = 0; r < of.rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          complex128 left_over = bi[r * columns + c];
          for (int64_t k = 0; k < of.columns; ++k) left_over -= ai[r * of.columns + k] * yi[k * columns + c];
          residual[static_cast<size_t>(i * columns + c)] += std::norm(left_over);
        }
    });
    ir::write_parts(y, ys);
    if (rest.numel() == of.count * columns) write_all(rest, residual);
    if (ranks.numel() == of.count) write_all(ranks, counted);
    if (singular.numel() == static_cast<int64_t>(s.size())) write_all(singular, s);
  });
}
ABOUT(CustLstsqV2Grad, AICPU, "Gradient of the solution of least squares, of systems of full rank",
      "满秩最小二乘解的梯度")
IR_OP(CustLstsqV2Grad, CustLstsqV2Grad, (In, gx), (In, a), (In, b), (Out, ga), (Out, gb)) {
  linalg::require_matrices(op, "a", *a, false);
  const Batch of(*a);
  const bool vectors = b->rank == a->rank - 1;
  op.require((vectors || b->rank == a->rank) && std::equal(b->dims, b->dims + a->rank - 1, a->dims),
             "b is {}, want the batch and the rows of a, {}", describe(*b), describe(*a));
  const int64_t columns = vectors ? 1 : b->dims[b->rank - 1];
  op.require(gx->numel() == of.count * of.columns * columns, "gx is {}, want the shape of the solution: a is {}, b {}",
             describe(*gx), describe(*a), describe(*b));
  op.result_like("ga", *ga, *a, a->dtype);
  op.result_like("gb", *gb, *b, b->dtype);
  if (op.inferring()) return;
  op.work(of.count * of.cost() * 25);
  op.launch([=, g = *gx, left = *a, right = *b, to_a = *ga, to_b = *gb] {
    const std::vector<complex128> gs = gathered<complex128>(g), as = gathered<complex128>(left),
                                  bs = gathered<complex128>(right);
    std::vector<complex128> das(as.size()), dbs(bs.size());
    lapack::each(of.count, of.cost() * 25, [&](int64_t i) {
      const complex128 *ai = as.data() + i * of.size(), *bi = bs.data() + i * of.rows * columns,
                       *gi = gs.data() + i * of.columns * columns;
      complex128 *da = das.data() + i * of.size(), *db = dbs.data() + i * of.rows * columns;
      const Singular found(of.rows, of.columns, ai, epsilon_of(left.dtype));
      // With P the pseudo-inverse and x = P b: db = P^H g; da = -db x^H + (b - a x) (P db)^H + db' x'^H, where the last
      // part is (g - P a g) (P^H x)^H turned, which is there where a has more columns than rows.
      std::vector<complex128> x(static_cast<size_t>(of.columns * columns)), inner(x.size()),
          rest(bi, bi + of.rows * columns);
      found.apply(bi, columns, x.data());
      found.apply_adjoint(gi, columns, db);
      found.apply(db, columns, inner.data());  // P P^H g
      for (int64_t r = 0; r < of.rows; ++r)
        for (int64_t c = 0; c < columns; ++c)
          for (int64_t k = 0; k < of.columns; ++k)
            rest[static_cast<size_t>(r * columns + c)] -=
                ai[r * of.columns + k] * x[static_cast<size_t>(k * columns + c)];
      add_outer(db, x.data(), of.rows, of.columns, columns, -1, da);
      add_outer(rest.data(), inner.data(), of.rows, of.columns, columns, 1, da);
      std::vector<complex128> beyond(gi, gi + of.columns * columns), back(static_cast<size_t>(of.rows * columns)),
          image(back.size());
      for (int64_t r = 0; r < of.rows; ++r)  // a g
        for (int64_t c = 0; c < columns; ++c)
          for (int64_t k = 0; k < of.columns; ++k)
            image[static_cast<size_t>(r * columns + c)] += ai[r * of.columns + k] * gi[k * columns + c];
      std::vector<complex128> within(beyond.size());
      found.apply(image.data(), columns, within.data());
      for (size_t k = 0; k < beyond.size(); ++k) beyond[k] -= within[k];
      found.apply_adjoint(x.data(), columns, back.data());  // P^H x
      add_outer(back.data(), beyond.data(), of.rows, of.columns, columns, 1, da);
    });
    ir::write_parts(to_a, das);
    ir::write_parts(to_b, dbs);
  });
}

ABOUT(CustLuUnpack, AICPU, "The factors that an LU decomposition holds: the permutation of rows, L and U",
      "由 LU 分解结果得到行置换矩阵、L 与 U")
IR_OP(CustLuUnpack, CustLuUnpack, (In, LU_data), (In, LU_pivots), (Out, pivots), (Out, L), (Out, U),
      (Bool, unpack_data, true), (Bool, unpack_pivots, true)) {
  op.require(LU_data->rank >= 2, "LU_data is {}, want matrices", describe(*LU_data));
  const Batch b(*LU_data);
  op.require(LU_pivots->rank == LU_data->rank - 1 && is_integral(LU_pivots->dtype) &&
                 std::equal(LU_pivots->dims, LU_pivots->dims + LU_pivots->rank - 1, LU_data->dims) &&
                 LU_pivots->dims[LU_pivots->rank - 1] == b.least(),
             "LU_pivots is {}, want {} whole numbers for each matrix of LU_data, {}", describe(*LU_pivots), b.least(),
             describe(*LU_data));
  const int64_t k = b.least();
  if (unpack_pivots) ir::result(op, "pivots", *pivots, each_of(*LU_data, {b.rows, b.rows}), LU_data->dtype);
  else ir::suggest(op, *pivots, {0}, LU_data->dtype);
  if (unpack_data) {
    ir::result(op, "L", *L, each_of(*LU_data, {b.rows, k}), LU_data->dtype);
    ir::result(op, "U", *U, each_of(*LU_data, {k, b.columns}), LU_data->dtype);
  } else {
    ir::suggest(op, *L, {0}, LU_data->dtype);
    ir::suggest(op, *U, {0}, LU_data->dtype);
  }
  if (op.inferring()) return;
  op.work(3 * LU_data->numel() + b.count * b.rows * b.rows);
  op.launch([=, lu = *LU_data, swaps = *LU_pivots, to_p = *pivots, to_l = *L, to_u = *U, data = bool{unpack_data},
             rows = bool{unpack_pivots}] {
    const std::vector<complex128> all = gathered<complex128>(lu);
    if (data) {
      std::vector<complex128> l(static_cast<size_t>(b.count * b.rows * k)),
          u(static_cast<size_t>(b.count * k * b.columns));
      for (int64_t i = 0; i < b.count; ++i)
        for (int64_t r = 0; r < b.rows; ++r)
          for (int64_t c = 0; c < b.columns; ++c) {
            const complex128 v = all[static_cast<size_t>(i * b.size() + r * b.columns + c)];
            if (r > c) l[static_cast<size_t>((i * b.rows + r) * k + c)] = v;
            else u[static_cast<size_t>((i * k + r) * b.columns + c)] = v;
            if (r == c) l[static_cast<size_t>((i * b.rows + r) * k + c)] = 1;
          }
      ir::write_parts(to_l, l);
      ir::write_parts(to_u, u);
    }
    if (!rows) return;
    const std::vector<int64_t> exchanged = integers_of(swaps);
    std::vector<double> p(static_cast<size_t>(b.count * b.rows * b.rows));
    std::vector<int64_t> order(static_cast<size_t>(b.rows));
    for (int64_t i = 0; i < b.count; ++i) {
      for (int64_t r = 0; r < b.rows; ++r) order[static_cast<size_t>(r)] = r;
      for (int64_t r = 0; r < k; ++r) {
        const int64_t other = exchanged[static_cast<size_t>(i * k + r)];
        if (other < 1 || other > b.rows) fail_kernel(fmt::format("LU_pivots has {}, want 1 to {}", other, b.rows));
        std::swap(order[static_cast<size_t>(r)], order[static_cast<size_t>(other - 1)]);
      }
      for (int64_t r = 0; r < b.rows; ++r)
        p[static_cast<size_t>((i * b.rows + order[static_cast<size_t>(r)]) * b.rows + r)] = 1;
    }
    write_all(to_p, p);
  });
}
ABOUT(CustLuUnpackGrad, AICPU, "Gradients of L and U where an LU decomposition holds them",
      "L、U 的梯度放回 LU 分解结果的位置")
IR_OP(CustLuUnpackGrad, CustLuUnpackGrad, (In, L_grad), (In, U_grad), (In, LU_data), (Out, L_data_grad),
      (Out, U_data_grad), (Bool, L_grad_flag)) {
  (void)L_grad_flag;  // both are given
  op.require(LU_data->rank >= 2, "LU_data is {}, want matrices", describe(*LU_data));
  const Batch b(*LU_data);
  const int64_t k = b.least();
  const auto want = [&](const char* name, const TensorView& v, int64_t rows, int64_t columns) {
    op.require(ir::dims_of(v) == each_of(*LU_data, {rows, columns}),
               "{} is {}, want [{}, {}] for each matrix of LU_data, {}", name, describe(v), rows, columns,
               describe(*LU_data));
  };
  want("L_grad", *L_grad, b.rows, k);
  want("U_grad", *U_grad, k, b.columns);
  op.result_like("L_data_grad", *L_data_grad, *LU_data, LU_data->dtype);
  op.result_like("U_data_grad", *U_data_grad, *LU_data, LU_data->dtype);
  if (op.inferring() || LU_data->empty()) return;
  op.work(4 * LU_data->numel());
  op.launch([=, gl = *L_grad, gu = *U_grad, to_l = *L_data_grad, to_u = *U_data_grad] {
    const std::vector<complex128> from_l = gathered<complex128>(gl), from_u = gathered<complex128>(gu);
    std::vector<complex128> l(static_cast<size_t>(to_l.numel())), u(l.size());
    for (int64_t i = 0; i < b.count; ++i)
      for (int64_t r = 0; r < b.rows; ++r)
        for (int64_t c = 0; c < b.columns; ++c) {
          const auto at = static_cast<size_t>(i * b.size() + r * b.columns + c);
          if (r > c) l[at] = from_l[static_cast<size_t>((i * b.rows + r) * k + c)];
          else u[at] = from_u[static_cast<size_t>((i * k + r) * b.columns + c)];
        }
    ir::write_parts(to_l, l);
    ir::write_parts(to_u, u);
  });
}

ABOUT(CustSolveTriangularGrad, AICPU, "Gradients of the matrix and the right side of a triangular system",
      "三角方程组中矩阵与右端项的梯度")
IR_OP(CustSolveTriangularGrad, CustSolveTriangularGrad, (In, a), (In, x), (In, dx), (In, trans), (In, lower),
      (In, unit_diagonal), (Out, da), (Out, db)) {
  linalg::require_matrices(op, "a", *a, true);
  const Batch b(*a);
  const bool vectors = x->rank == a->rank - 1;
  op.require(
      (vectors || x->rank == a->rank) && std::equal(x->dims, x->dims + a->rank - 1, a->dims) && x->dtype == a->dtype,
      "x is {}, want the batch, the rows and the type of a, {}", describe(*x), describe(*a));
  op.require_same_shape("dx", *dx, "x", *x);
  op.result_like("da", *da, *a, a->dtype);
  op.result_like("db", *db, *x, x->dtype);
  if (op.inferring() || x->empty()) return;
  const int64_t turned = integer_of(op, "trans", trans.handle);  // 0: a x = b, 1: a^T x = b, 2: a^H x = b
  op.require(turned >= 0 && turned <= 2, "trans is {}, want 0, 1 or 2", turned);
  const bool below = integer_of(op, "lower", lower.handle) != 0,
             unit = integer_of(op, "unit_diagonal", unit_diagonal.handle) != 0;
  const int64_t columns = vectors ? 1 : x->dims[x->rank - 1], n = b.rows;
  op.work(b.count * n * n * columns * 8);
  op.launch([=, left = *a, right = *x, gradient = *dx, to_a = *da, to_b = *db] {
    const std::vector<complex128> as = gathered<complex128>(left), xs = gathered<complex128>(right);
    std::vector<complex128> gs = gathered<complex128>(gradient), das(as.size());
    lapack::each(b.count, n * n * columns * 8, [&](int64_t i) {
      const complex128 *ai = as.data() + i * n * n, *xi = xs.data() + i * n * columns;
      complex128 *g = gs.data() + i * n * columns, *d = das.data() + i * n * n;
      // M x = b with M = a, a^T or a^H: M^H db = dx, and dM = -db x^H.
      const auto adjoint = [&](int64_t r, int64_t c) {
        if (r == c && unit) return complex128(1);
        if (turned == 0) return std::conj(ai[c * n + r]);
        return turned == 1 ? std::conj(ai[r * n + c]) : ai[r * n + c];
      };
      const bool from_first = below == (turned != 0);  // whether M^H has nothing above its diagonal
      for (int64_t step = 0; step < n; ++step) {
        const int64_t r = from_first ? step : n - 1 - step;
        for (int64_t c = 0; c < columns; ++c) {
          complex128 v = g[r * columns + c];
          for (int64_t k = from_first ? 0 : r + 1; k < (from_first ? r : n); ++k)
            v -= adjoint(r, k) * g[k * columns + c];
          g[r * columns + c] = v / adjoint(r, r);
        }
      }
      for (int64_t r = 0; r < n; ++r)
        for (int64_t c = 0; c < n; ++c) {
          if (r == c ? unit : (r > c) != below) continue;
          complex128 sum = 0;
          for (int64_t k = 0; k < columns; ++k)
            sum += turned == 0   ? g[r * columns + k] * std::conj(xi[c * columns + k])
                   : turned == 1 ? g[c * columns + k] * std::conj(xi[r * columns + k])
                                 : xi[r * columns + k] * std::conj(g[c * columns + k]);
          d[r * n + c] = -sum;
        }
    });
    ir::write_parts(to_a, das);
    ir::write_parts(to_b, gs);
  });
}

}  // namespace updraft
