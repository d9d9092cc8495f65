// MindSpore's own types for matrices: reflectors of a QR decomposition, systems whose LU decomposition is given,
// exponentials. In double or complex128, so that results are rounded once.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/lapack.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;
using linalg::Batch;

/// Calls f.template operator()<T>() with double or complex128.
template <class F>
void visit_exact(DType t, F&& f) {
  if (is_complex(t)) return f.template operator()<complex128>();
  f.template operator()<double>();
}
double conjugate(double v) { return v; }
complex128 conjugate(const complex128& v) { return std::conj(v); }

/// One row-major matrix.
template <class T>
struct Matrix {
  T* data;
  int64_t rows, columns;
  T& operator()(int64_t row, int64_t column) const { return data[row * columns + column]; }
  /// Takes tau v (v^H column) from columns [first, end): v is 1 at row k, `of` below it there, 0 above.
  void reflect(const Matrix& of, int64_t k, const T& tau, int64_t first) const {
    for (int64_t c = first; c < columns; ++c) {
      T sum = (*this)(k, c);
      for (int64_t r = k + 1; r < rows; ++r) sum += conjugate(of(r, k)) * (*this)(r, c);
      sum *= tau;
      (*this)(k, c) -= sum;
      for (int64_t r = k + 1; r < rows; ++r) (*this)(r, c) -= of(r, k) * sum;
    }
  }
};

/// As LAPACK's geqrf: R on and above the diagonal, the reflectors below it.
template <class T>
void reflectors(const Matrix<T>& a, T* tau) {
  for (int64_t k = 0; k < std::min(a.rows, a.columns); ++k) {
    double below = 0;
    for (int64_t r = k + 1; r < a.rows; ++r) below += std::norm(a(r, k));
    const T alpha = a(k, k);
    tau[k] = T(0);
    if (below == 0 && std::imag(alpha) == 0) continue;
    const double beta = -std::copysign(std::sqrt(below + std::norm(alpha)), std::real(alpha));
    tau[k] = (T(beta) - alpha) / beta;
    for (int64_t r = k + 1; r < a.rows; ++r) a(r, k) /= alpha - T(beta);
    a.reflect(a, k, conjugate(tau[k]), k + 1);
    a(k, k) = T(beta);
  }
}

/// e^a by the sum of its powers, of a over a power of two; then squares.
template <class T>
void exponential(const Matrix<T>& a) {
  const int64_t n = a.rows;
  double most = 0;  // of the sums of rows
  for (int64_t r = 0; r < n; ++r) {
    double sum = 0;
    for (int64_t c = 0; c < n; ++c) sum += std::abs(a(r, c));
    most = std::max(most, sum);
    if (std::isnan(sum)) most = sum;
  }
  if (!std::isfinite(most)) {
    std::fill_n(a.data, n * n, T(std::nan("")));
    return;
  }
  const int halvings = most > 0.5 ? std::ilogb(most) + 2 : 0;
  for (int64_t i = 0; i < n * n; ++i) a.data[i] *= std::ldexp(1.0, -halvings);
  std::vector<T> sum(static_cast<size_t>(n * n)), power(sum.size()), next(sum.size());
  const auto multiply = [n](const T* left, const T* right, T* to) {
    std::fill_n(to, n * n, T(0));
    for (int64_t r = 0; r < n; ++r)
      for (int64_t k = 0; k < n; ++k)
        for (int64_t c = 0; c < n; ++c) to[r * n + c] += left[r * n + k] * right[k * n + c];
  };
  for (int64_t i = 0; i < n; ++i) sum[static_cast<size_t>(i * n + i)] = power[static_cast<size_t>(i * n + i)] = T(1);
  for (int term = 1; term <= 18; ++term) {  // what is left is below 0.5^19 / 19!
    multiply(power.data(), a.data, next.data());
    for (size_t i = 0; i < next.size(); ++i) sum[i] += power[i] = next[i] / static_cast<double>(term);
  }
  for (int i = 0; i < halvings; ++i) {
    multiply(sum.data(), sum.data(), next.data());
    std::swap(sum, next);
  }
  std::copy(sum.begin(), sum.end(), a.data);
}

/// x := the solution of A x = b, of what getrf left of A; pivots count from 1.
template <class T>
void solve(const Matrix<T>& lu, const int64_t* pivots, const Matrix<T>& x) {
  const int64_t n = lu.rows;
  for (int64_t r = 0; r < n; ++r) {
    const int64_t other = pivots[r] - 1;
    if (other < 0 || other >= n) fail_kernel(fmt::format("lu_pivots has {}, want 1 to {}", pivots[r], n));
    if (other != r) std::swap_ranges(&x(r, 0), &x(r, 0) + x.columns, &x(other, 0));
  }
  const auto subtract = [&](int64_t from, int64_t row, const T& factor) {
    for (int64_t c = 0; c < x.columns; ++c) x(row, c) -= factor * x(from, c);
  };
  for (int64_t r = 0; r < n; ++r)
    for (int64_t k = 0; k < r; ++k) subtract(k, r, lu(r, k));
  for (int64_t r = n - 1; r >= 0; --r) {
    for (int64_t k = r + 1; k < n; ++k) subtract(k, r, lu(r, k));
    for (int64_t c = 0; c < x.columns; ++c) x(r, c) /= lu(r, r);
  }
}

}  // namespace

ABOUT(CustGeqrf, AICPU, "QR decomposition as LAPACK leaves it: R, and reflectors below it with their factors",
      "LAPACK 形式的 QR 分解：R、其下方的反射向量及系数 tau")
IR_OP(CustGeqrf, CustGeqrf, (In, x), (Out, y), (Out, tau)) {
  linalg::require_matrices(op, "x", *x, false);
  const Batch b(*x);
  op.result_like("y", *y, *x, x->dtype);
  Dims factors = ir::dims_of(*x);
  factors.pop_back();
  factors.back() = b.least();
  ir::result(op, "tau", *tau, factors, x->dtype);
  if (op.inferring() || x->empty()) return;
  op.work(b.count * b.cost() * 4);
  op.launch([=, from = *x, to = *y, to_tau = *tau] {
    visit_exact(from.dtype, [&]<class T>() {
      std::vector<T> all = gathered<T>(from), taus(static_cast<size_t>(b.count * b.least()));
      lapack::each(b.count, b.cost(), [&](int64_t i) {
        reflectors<T>({all.data() + i * b.size(), b.rows, b.columns}, taus.data() + i * b.least());
      });
      write_all(to, all);
      write_all(to_tau, taus);
    });
  });
}
ABOUT(CustOrgqr, AICPU, "Q of the reflectors that CustGeqrf gives", "由 CustGeqrf 的反射向量还原 Q")
IR_OP(CustOrgqr, CustOrgqr, (In, x), (In, tau), (Out, y)) {
  linalg::require_matrices(op, "x", *x, false);
  const Batch b(*x);
  op.require(b.rows >= b.columns, "x is {}, want as many rows as columns or more", describe(*x));
  op.require(tau->rank == x->rank - 1 && std::equal(tau->dims, tau->dims + tau->rank - 1, x->dims) &&
                 tau->dims[tau->rank - 1] <= b.columns && tau->dtype == x->dtype,
             "tau is {}, want its type and at most {} factors for each matrix of x, {}", describe(*tau), b.columns,
             describe(*x));
  op.result_like("y", *y, *x, x->dtype);
  if (op.inferring() || x->empty()) return;
  const int64_t count = tau->dims[tau->rank - 1];
  op.work(b.count * b.cost() * 4);
  op.launch([=, from = *x, of = *tau, to = *y] {
    visit_exact(from.dtype, [&]<class T>() {
      const std::vector<T> taus = gathered<T>(of);
      std::vector<T> all = gathered<T>(from), q(all.size());
      lapack::each(b.count, b.cost(), [&](int64_t i) {
        const Matrix<T> given{all.data() + i * b.size(), b.rows, b.columns},
            made{q.data() + i * b.size(), b.rows, b.columns};
        for (int64_t k = 0; k < b.columns; ++k) made(k, k) = T(1);
        for (int64_t k = count - 1; k >= 0; --k) made.reflect(given, k, taus[static_cast<size_t>(i * count + k)], 0);
      });
      write_all(to, q);
    });
  });
}
ABOUT(CustMatrixExp, AICPU, "Exponentials of square matrices", "方阵的指数")
IR_OP(CustMatrixExp, CustMatrixExp, (In, x), (Out, y)) {
  linalg::require_matrices(op, "x", *x, true);
  const Batch b(*x);
  op.result_like("y", *y, *x, x->dtype);
  if (op.inferring() || x->empty()) return;
  op.work(b.count * b.cost() * 25);
  op.launch([=, from = *x, to = *y] {
    visit_exact(from.dtype, [&]<class T>() {
      std::vector<T> all = gathered<T>(from);
      lapack::each(b.count, b.cost() * 25, [&](int64_t i) {
        exponential<T>({all.data() + i * b.size(), b.rows, b.columns});
      });
      write_all(to, all);
    });
  });
}
ABOUT(CustLuSolve, AICPU, "Solutions of A output = x, of A's LU decomposition and its exchanges of rows",
      "已知 A 的 LU 分解与行交换，求解 A output = x")
IR_OP(CustLuSolve, CustLuSolve, (In, x), (In, lu_data), (In, lu_pivots), (Out, output)) {
  linalg::require_matrices(op, "x", *x, false);
  linalg::require_matrices(op, "lu_data", *lu_data, true);
  const Batch b(*x), of(*lu_data);
  op.require(of.rows == b.rows && lu_data->dtype == x->dtype,
             "lu_data is {}, want matrices of {} rows and the type of x", describe(*lu_data), b.rows);
  op.require(lu_pivots->rank == lu_data->rank - 1 &&
                 std::equal(lu_pivots->dims, lu_pivots->dims + lu_pivots->rank, lu_data->dims) &&
                 is_integral(lu_pivots->dtype),
             "lu_pivots is {}, want whole numbers, as many as lu_data, {}, has rows", describe(*lu_pivots),
             describe(*lu_data));
  // Batches are broadcast.
  Dims dims = ir::dims_of(*x), other = ir::dims_of(*lu_data);
  dims.resize(dims.size() - 2), other.resize(other.size() - 2);
  int64_t batches[kMaxDims];
  const int rank = broadcast_shape(dims.data(), static_cast<int>(dims.size()), other.data(),
                                   static_cast<int>(other.size()), batches);
  const auto whole = [&](std::initializer_list<int64_t> last) {
    Dims all(batches, batches + rank);
    all.insert(all.end(), last);
    return all;
  };
  const Dims result = whole({b.rows, b.columns}), square = whole({b.rows, b.rows}), rows = whole({b.rows});
  ir::result(op, "output", *output, result, x->dtype);
  if (op.inferring() || output->empty()) return;
  const auto expanded = [](const TensorView& v, const Dims& to) {
    return v.expand(to.data(), static_cast<int>(to.size()));
  };
  const int64_t count = ir::count_of(result) / b.size();
  op.work(ir::count_of(result) * b.rows * 4);
  op.launch([=, right = expanded(*x, result), lu = expanded(*lu_data, square), swaps = expanded(*lu_pivots, rows),
             to = *output] {
    visit_exact(right.dtype, [&]<class T>() {
      std::vector<T> all = gathered<T>(right), factors = gathered<T>(lu);
      const std::vector<int64_t> pivots = integers_of(swaps);
      lapack::each(count, b.size() * b.rows, [&](int64_t i) {
        solve<T>({factors.data() + i * b.rows * b.rows, b.rows, b.rows}, pivots.data() + i * b.rows,
                 {all.data() + i * b.size(), b.rows, b.columns});
      });
      write_all(to, all);
    });
  });
}

}  // namespace updraft
