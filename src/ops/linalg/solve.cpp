// Inverse, determinants and triangular systems of batches of matrices.
//
// The routines see a row-major matrix as its transpose. That is what they are asked about here, so nothing is turned
// round: the inverse of a transpose is the transpose of the inverse, its determinant the same, and X^T solves from the
// right what X solves from the left.
#include <cmath>
#include <limits>

#include "kernels/lapack.h"
#include "ops/linalg/dense.h"

namespace updraft {
using linalg::Batch;

namespace {

/// x, a number or NaN, as -1, 0 or 1; of a complex number its direction.
template <class T>
T direction(T x) {
  const auto size = std::abs(x);
  if (size == 0) return T(0);
  if constexpr (std::is_same_v<T, lapack::Real<T>>) return std::isinf(x) ? std::copysign(T(1), x) : x / size;
  else return x / size;
}

template <class T>
void inverse(const Batch& b, const TensorView& from, const TensorView& to) {
  ScratchScope scratch;
  const linalg::Result<T> x(to, scratch);
  copy_elements(TensorView::contiguous(x.data, DTypeOf<T>::value, from.dims, from.rank), from);
  lapack::each(b.count, 2 * b.size() * b.rows, [&](int64_t i) {
    ScratchScope own;
    auto* pivots = own.take<int32_t>(static_cast<size_t>(b.rows));
    T* a = x.data + i * b.size();
    const bool regular = lapack::getrf<T>(b.rows, b.rows, a, b.rows, pivots) == 0 && !linalg::has_nan(a, b.rows);
    if (!regular || !lapack::getri<T>(b.rows, a, b.rows, pivots))
      std::fill_n(a, b.size(), T(std::numeric_limits<lapack::Real<T>>::quiet_NaN()));
  });
  x.give();
}

template <class T>
void determinant(const Batch& b, const TensorView& from, const TensorView& sign, const TensorView& log) {
  ScratchScope scratch;
  T* const matrices = linalg::dense_copy<T>(from, scratch);
  const linalg::Result<T> signs(sign, scratch), logs(log, scratch);
  lapack::each(b.count, b.size() * b.rows, [&](int64_t i) {
    ScratchScope own;
    auto* pivots = own.take<int32_t>(static_cast<size_t>(b.rows));
    T* a = matrices + i * b.size();
    lapack::getrf<T>(b.rows, b.rows, a, b.rows, pivots);
    T way(1);
    lapack::Real<T> total = 0;
    for (int64_t k = 0; k < b.rows; ++k) {
      const T d = a[k * b.rows + k];
      way *= direction(d);
      total += std::log(std::abs(d));
      if (pivots[k] != k + 1) way = -way;
    }
    signs.data[i] = way;
    logs.data[i] = T(total);
  });
  signs.give();
  logs.give();
}

}  // namespace

SAMPLE(aclnnInverse, "self=f32[2,2]:1..9 out=f32[2,2]")
ABOUT(aclnnInverse, AICPU, "out = inverse of each square matrix", "逐批求方阵的逆")
ACLNN(aclnnInverse, (In, self), (Out, out)) {
  linalg::require_matrices(op, "self", *self, true);
  op.result_like("out", *out, *self, self->dtype);
  if (self->empty()) return;
  const Batch b(*self);
  op.work(self->numel() * b.rows * 2);
  op.kernel_scratch(linalg::result_bytes(*out));
  op.launch([b, from = *self, to = *out] {
    linalg::visit_computed(from.dtype, [&]<class T>() { inverse<T>(b, from, to); });
  });
}

SAMPLE(aclnnSlogdet, "self=f32[2,2]:1..9 sign=f32[] logabsdet=f32[]")
ABOUT(aclnnSlogdet, AICPU, "Sign and natural logarithm of the absolute value of determinants",
      "行列式的符号与其绝对值的自然对数")
ACLNN(aclnnSlogdet, (In, self), (Out, sign), (Out, logabsdet)) {
  linalg::require_matrices(op, "self", *self, true);
  const Batch b(*self);
  linalg::suggest_each(op, *self, {}, *sign);
  linalg::suggest_each(op, *self, {}, *logabsdet);
  op.require(sign->numel() == b.count && logabsdet->numel() == b.count, "sign is {} and logabsdet {}, want {} elements",
             describe(*sign), describe(*logabsdet), b.count);
  if (b.count == 0) return;
  op.work(self->numel() * b.rows);
  op.kernel_scratch(linalg::copy_bytes(*self));
  op.launch([b, from = *self, s = *sign, l = *logabsdet] {
    linalg::visit_computed(from.dtype, [&]<class T>() { determinant<T>(b, from, s, l); });
  });
}

SAMPLE(aclnnTriangularSolve, "self=f32[3,2] A=f32[3,3]:1..2 xOut=f32[3,2] mOut=f32[3,3]")
ABOUT(aclnnTriangularSolve, AICPU, "xOut solves A x = self for triangular A, batches broadcast; mOut is a copy of A",
      "求解三角方程组 A x = self（批维可广播），结果为 xOut，mOut 为 A 的副本")
ACLNN(aclnnTriangularSolve, (In, self), (In, A), (Bool, upper), (Bool, transpose), (Bool, unitriangular), (Out, xOut),
      (Out, mOut)) {
  linalg::require_matrices(op, "A", *A, true);
  linalg::require_matrices(op, "self", *self, false);
  op.require(A->dims[A->rank - 1] == self->dims[self->rank - 2], "A is {} and self {}, want as many rows", describe(*A),
             describe(*self));
  int64_t dims[kMaxDims];
  const int batches = broadcast_shape(A->dims, A->rank - 2, self->dims, self->rank - 2, dims), rank = batches + 2;
  auto expanded = [&](const TensorView& v) {
    std::copy_n(v.dims + v.rank - 2, 2, dims + batches);
    return v.expand(dims, rank);
  };
  const TensorView coefficients = expanded(*A), right = expanded(*self);
  op.result("xOut", *xOut, dims, rank, self->dtype);
  op.suggest_like(*mOut, coefficients, A->dtype);
  const Batch a(coefficients), b(right);
  op.require(compute_of(self->dtype) == compute_of(A->dtype), "A is {} and self {}, want one type", describe(*A),
             describe(*self));
  op.work(right.numel() * a.rows);
  op.kernel_scratch(linalg::copy_bytes(coefficients) + linalg::result_bytes(*xOut));
  op.launch([=, own = *A, x = *xOut, m = *mOut] {
    linalg::visit_computed(right.dtype, [&]<class T>() {
      ScratchScope scratch;
      const T* matrices = linalg::dense_copy<T>(coefficients, scratch);
      const linalg::Result<T> values(x, scratch);
      if (!right.empty())
        copy_elements(TensorView::contiguous(values.data, DTypeOf<T>::value, right.dims, right.rank), right);
      lapack::each(b.count, b.size() * b.rows, [&](int64_t i) {
        lapack::solve_from_right<T>(!upper, transpose, unitriangular, b.columns, b.rows, matrices + i * a.size(),
                                    b.rows, values.data + i * b.size(), b.columns);
      });
      values.give();
    });
    if (m.empty()) return;
    if (m.same_shape(coefficients)) copy_elements(m, coefficients);
    else if (m.same_shape(own)) copy_elements(m, own);
  });
}

}  // namespace updraft
