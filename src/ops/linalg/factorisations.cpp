// Inverse, determinants, Cholesky, QR, singular values and triangular systems of batches of matrices.
#include <cmath>
#include <limits>

#include "ops/linalg/dense.h"

namespace updraft {
using linalg::Batch;
using linalg::gather;
using linalg::scatter;

namespace {
/// Inference: for each of the matrices something of these dimensions, in their type.
void suggest_each(const Op& op, const TensorView& matrices, std::initializer_list<int64_t> last,
                  const TensorView& out) {
  if (!op.inferring()) return;
  TensorView each = matrices;
  std::copy(last.begin(), last.end(), each.dims + matrices.rank - 2);
  op.suggest(out, each.dims, matrices.rank - 2 + static_cast<int>(last.size()), matrices.dtype);
}
}  // namespace

SAMPLE(aclnnInverse, "self=f32[2,2]:1..9 out=f32[2,2]")
ABOUT(aclnnInverse, AICPU, "out = inverse of each square matrix", "逐批求方阵的逆")
ACLNN(aclnnInverse, (In, self), (Out, out)) {
  linalg::require_matrices(op, "self", *self, true);
  op.result_like("out", *out, *self, self->dtype);
  if (self->empty()) return;
  const Batch b(*self);
  op.work(self->numel() * b.rows * 4);
  op.launch([=, from = *self, to = *out] {
    std::vector<double> a = gather(from), x(a.size());
    parallel_for(b.count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) linalg::inverse(a.data() + i * b.size(), x.data() + i * b.size(), b.rows);
    });
    scatter(to, x);
  });
}

SAMPLE(aclnnSlogdet, "self=f32[2,2]:1..9 sign=f32[] logabsdet=f32[]")
ABOUT(aclnnSlogdet, AICPU, "Sign and natural logarithm of the absolute value of determinants",
      "行列式的符号与其绝对值的自然对数")
ACLNN(aclnnSlogdet, (In, self), (Out, sign), (Out, logabsdet)) {
  linalg::require_matrices(op, "self", *self, true);
  const Batch b(*self);
  suggest_each(op, *self, {}, *sign);
  suggest_each(op, *self, {}, *logabsdet);
  op.require(sign->numel() == b.count && logabsdet->numel() == b.count, "sign is {} and logabsdet {}, want {} elements",
             describe(*sign), describe(*logabsdet), b.count);
  if (b.count == 0) return;
  op.work(self->numel() * b.rows * 2);
  op.launch([=, from = *self, s = *sign, l = *logabsdet] {
    std::vector<double> a = gather(from), signs(static_cast<size_t>(b.count)), logs(signs.size());
    parallel_for(b.count, 1, [&](int64_t begin, int64_t end) {
      std::vector<int64_t> perm(static_cast<size_t>(b.rows));
      for (int64_t i = begin; i < end; ++i) {
        double* x = a.data() + i * b.size();
        double total = 0;
        int parity = linalg::lu(x, b.rows, perm.data());
        for (int64_t k = 0; k < b.rows; ++k) {
          const double d = x[k * b.rows + k];
          total += std::log(std::abs(d));
          if (d < 0) parity = -parity;
        }
        signs[static_cast<size_t>(i)] = parity;
        logs[static_cast<size_t>(i)] = total;
      }
    });
    scatter(s, signs);
    scatter(l, logs);
  });
}

SAMPLE(aclnnLinalgCholesky, "self=f32[1,1] out=f32[1,1]")
ABOUT(aclnnLinalgCholesky, AICPU, "Cholesky factor of symmetric positive-definite matrices, lower or upper",
      "对称正定矩阵的 Cholesky 分解，输出下三角或上三角因子")
ACLNN(aclnnLinalgCholesky, (In, self), (Bool, upper), (Out, out)) {
  linalg::require_matrices(op, "self", *self, true);
  op.result_like("out", *out, *self, self->dtype);
  if (self->empty()) return;
  const Batch b(*self);
  op.work(self->numel() * b.rows);
  // Only the triangle that the caller names is read: of the upper one, its transpose.
  op.launch([=, from = upper ? self->transpose(self->rank - 2, self->rank - 1) : *self,
             to = upper ? out->transpose(out->rank - 2, out->rank - 1) : *out] {
    std::vector<double> a = gather(from);
    parallel_for(b.count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        if (!linalg::cholesky(a.data() + i * b.size(), b.rows))
          std::fill_n(a.data() + i * b.size(), b.size(), std::numeric_limits<double>::quiet_NaN());
    });
    scatter(to, a);
  });
}

SAMPLE(aclnnTriangularSolve, "self=f32[3,2] A=f32[3,3]:1..2 xOut=f32[3,2] mOut=f32[3,3]")
ABOUT(aclnnTriangularSolve, AICPU, "xOut solves A x = self for triangular A; mOut is a copy of A",
      "求解三角方程组 A x = self，结果为 xOut，mOut 为 A 的副本")
ACLNN(aclnnTriangularSolve, (In, self), (In, A), (Bool, upper), (Bool, transpose), (Bool, unitriangular), (Out, xOut),
      (Out, mOut)) {
  linalg::require_matrices(op, "A", *A, true);
  linalg::require_matrices(op, "self", *self, false);
  op.result_like("xOut", *xOut, *self, self->dtype);
  op.suggest_like(*mOut, *A, A->dtype);
  const Batch a(*A), b(*self);
  op.require(a.count == b.count && a.rows == b.rows, "A is {} and self {}, want as many rows in as many matrices",
             describe(*A), describe(*self));
  op.work(self->numel() * a.rows);
  op.launch([=, coefficients = *A, right = *self, x = *xOut, m = *mOut] {
    std::vector<double> matrix = gather(coefficients), values = gather(right);
    parallel_for(b.count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        linalg::solve_triangular(matrix.data() + i * a.size(), values.data() + i * b.size(), b.rows, b.columns, upper,
                                 transpose, unitriangular);
    });
    scatter(x, values);
    if (m.same_shape(coefficients) && !m.empty()) copy_elements(m, coefficients);
  });
}

ABOUT(aclnnLinalgQr, AICPU, "QR decomposition: self = q r; mode says reduced, complete or r alone",
      "QR 分解 self = q r，mode 决定精简、完整或仅 r")
ACLNN(aclnnLinalgQr, (In, self), (Int, mode), (Out, q), (Out, r)) {
  linalg::require_matrices(op, "self", *self, false);
  op.require(mode >= 0 && mode <= 2, "mode is {}, want 0 (reduced), 1 (complete) or 2 (r)", mode);
  const Batch b(*self);
  const int64_t least = std::min(b.rows, b.columns), columns = mode == 1 ? b.rows : least;
  if (mode == 2) op.suggest(*q, {0}, self->dtype);
  else suggest_each(op, *self, {b.rows, columns}, *q);
  suggest_each(op, *self, {columns, b.columns}, *r);
  op.require(mode == 2 || q->numel() == b.count * b.rows * columns, "Q is {}, want {} matrices [{},{}]", describe(*q),
             b.count, b.rows, columns);
  op.require(r->numel() == b.count * columns * b.columns, "R is {}, want {} matrices [{},{}]", describe(*r), b.count,
             columns, b.columns);
  op.work(self->numel() * least * 4);
  op.launch([=, from = *self, qs = *q, rs = *r] {
    std::vector<double> a = gather(from), vectors(static_cast<size_t>(mode == 2 ? 0 : b.count * b.rows * columns));
    std::vector<double> result(static_cast<size_t>(b.count * columns * b.columns));
    parallel_for(b.count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        double* x = a.data() + i * b.size();
        linalg::qr(x, b.rows, b.columns, mode == 2 ? nullptr : vectors.data() + i * b.rows * columns, columns);
        std::copy_n(x, columns * b.columns, result.data() + i * columns * b.columns);
      }
    });
    if (mode != 2) scatter(qs, vectors);
    scatter(rs, result);
  });
}

ABOUT(aclnnSvd, AICPU, "Singular value decomposition: input = u diag(sigma) v^H",
      "奇异值分解 input = u diag(sigma) v^H")
ACLNN(aclnnSvd, (In, input), (Bool, fullMatrices), (Bool, computeUV), (Out, sigma), (Out, u), (Out, v)) {
  linalg::require_matrices(op, "input", *input, false);
  const Batch b(*input);
  const int64_t least = std::min(b.rows, b.columns);
  const int64_t u_columns = fullMatrices ? b.rows : least, v_columns = fullMatrices ? b.columns : least;
  suggest_each(op, *input, {least}, *sigma);
  suggest_each(op, *input, {b.rows, u_columns}, *u);
  suggest_each(op, *input, {b.columns, v_columns}, *v);
  op.require(sigma->numel() == b.count * least, "sigma is {}, want {} values each", describe(*sigma), least);
  op.require(
      !computeUV || (u->numel() == b.count * b.rows * u_columns && v->numel() == b.count * b.columns * v_columns),
      "u is {} and v {}, want [{},{}] and [{},{}]", describe(*u), describe(*v), b.rows, u_columns, b.columns,
      v_columns);
  op.work(input->numel() * (least + 1) * 20);
  op.launch([=, from = *input, ss = *sigma, us = *u, vs = *v] {
    const bool wide = b.rows < b.columns;
    const int64_t m = std::max(b.rows, b.columns), n = least;
    const int64_t long_columns = wide ? v_columns : u_columns;
    std::vector<double> a = gather(wide ? from.transpose(from.rank - 2, from.rank - 1) : from);
    std::vector<double> values(static_cast<size_t>(b.count * n));
    std::vector<double> tall(static_cast<size_t>(computeUV ? b.count * m * long_columns : 0));
    std::vector<double> square(static_cast<size_t>(computeUV ? b.count * n * n : 0));
    parallel_for(b.count, 1, [&](int64_t begin, int64_t end) {
      std::vector<double> left(static_cast<size_t>(m * n)), basis, full;
      for (int64_t i = begin; i < end; ++i) {
        const double* x = a.data() + i * m * n;
        if (!computeUV) {
          linalg::svd(x, m, n, nullptr, values.data() + i * n, nullptr);
          continue;
        }
        double* to = tall.data() + i * m * long_columns;
        linalg::svd(x, m, n, left.data(), values.data() + i * n, square.data() + i * n * n);
        if (long_columns > n) {
          // The further columns of the orthogonal basis come from a complete QR of the first ones.
          basis = left;
          full.assign(static_cast<size_t>(m * m), 0.0);
          linalg::qr(basis.data(), m, n, full.data(), m);
          for (int64_t r = 0; r < m; ++r)
            for (int64_t c = n; c < m; ++c) to[r * m + c] = full[static_cast<size_t>(r * m + c)];
        }
        for (int64_t r = 0; r < m; ++r)
          for (int64_t c = 0; c < n; ++c) to[r * long_columns + c] = left[static_cast<size_t>(r * n + c)];
      }
    });
    scatter(ss, values);
    if (!computeUV) return;
    scatter(us, wide ? square : tall);
    scatter(vs, wide ? tall : square);
  });
}

}  // namespace updraft
