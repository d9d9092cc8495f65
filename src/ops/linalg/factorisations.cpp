// Cholesky, QR and singular values of batches of matrices.
//
// The routines see a row-major matrix as its transpose. For Cholesky and singular values that is as good: the factors
// of the transpose are the transposed factors in the other order. QR is asked about a copy in the routines' own order.
#include <limits>

#include "kernels/lapack.h"
#include "ops/linalg/dense.h"
#include "tensor/view_algebra.h"

namespace updraft {
using linalg::Batch;

namespace {

template <class T>
constexpr auto kNaN = std::numeric_limits<lapack::Real<T>>::quiet_NaN();

/// A = L L^H is, transposed, the other triangle of conj(A) = L^T^H L^T.
template <class T>
void cholesky(const Batch& b, bool upper, const TensorView& from, const TensorView& to) {
  ScratchScope scratch;
  const linalg::Result<T> x(to, scratch);
  copy_elements(TensorView::contiguous(x.data, DTypeOf<T>::value, from.dims, from.rank), from);
  lapack::each(b.count, b.size() * b.rows / 3, [&](int64_t i) {
    T* a = x.data + i * b.size();
    const int64_t n = b.rows;
    if (!lapack::potrf<T>(!upper, n, a, n) || linalg::has_nan(a, n)) {
      std::fill_n(a, b.size(), T(kNaN<T>));
      return;
    }
    for (int64_t r = 0; r < n; ++r) {
      if (upper) std::fill_n(a + r * n, r, T(0));
      else std::fill_n(a + r * n + r + 1, n - r - 1, T(0));
    }
  });
  x.give();
}

struct QrResults {
  bool wants_q;
  int64_t columns;  ///< of Q
  TensorView q, r;
};
template <class T>
void qr(const Batch& b, const TensorView& from, const QrResults& to) {
  const int64_t m = b.rows, n = b.columns, least = b.least(), columns = to.columns;
  ScratchScope scratch;
  T* const matrices = linalg::dense_copy<T>(turned(from), scratch);
  T* const factors = scratch.take<T>(static_cast<size_t>(b.count * columns * n));
  T* const basis = scratch.take<T>(static_cast<size_t>(to.wants_q ? b.count * m * columns : 0));
  lapack::each(b.count, 2 * b.size() * least, [&](int64_t i) {
    ScratchScope own;
    T* a = matrices + i * b.size();
    T* t = own.take<T>(static_cast<size_t>(least * lapack::kReflectors));
    lapack::qr<T>(m, n, a, m, t);
    // R row by row, as the client has it.
    T* r = factors + i * columns * n;
    for (int64_t y = 0; y < columns; ++y)
      for (int64_t x = 0; x < n; ++x) r[y * n + x] = y <= x && y < least ? a[x * m + y] : T(0);
    if (to.wants_q) lapack::q_of<T>(m, columns, least, a, m, t, basis + i * m * columns, m);
  });
  if (!to.r.empty()) copy_elements(to.r, TensorView::contiguous(factors, DTypeOf<T>::value, to.r.dims, to.r.rank));
  if (to.wants_q && !to.q.empty()) {
    const TensorView q = turned(to.q);
    copy_elements(q, TensorView::contiguous(basis, DTypeOf<T>::value, q.dims, q.rank));
  }
}

struct SvdResults {
  lapack::Vectors vectors;
  int64_t u_columns, v_columns;
  TensorView s, u, v;
};
/// The transpose of u diag(s) vh: its left vectors are the rows of vh, its right ones the columns of u.
template <class T>
void svd(const Batch& b, const TensorView& from, const SvdResults& to) {
  using Number = lapack::Real<T>;
  const int64_t m = b.rows, n = b.columns, least = b.least();
  const bool wants = to.vectors != lapack::Vectors::None;
  ScratchScope scratch;
  T* const matrices = linalg::dense_copy<T>(from, scratch);
  const linalg::Result<Number> values(to.s, scratch);
  const linalg::Result<T> u(wants ? to.u : TensorView(), scratch), vh(wants ? turned(to.v) : TensorView(), scratch);
  const int64_t u_size = m * to.u_columns, v_size = n * to.v_columns;
  lapack::each(b.count, 20 * b.size() * least, [&](int64_t i) {
    T *left = wants ? vh.data + i * v_size : nullptr, *right = wants ? u.data + i * u_size : nullptr;
    if (lapack::gesdd<T>(to.vectors, n, m, matrices + i * b.size(), n, values.data + i * least, left, n, right,
                         to.u_columns))
      return;
    std::fill_n(values.data + i * least, least, kNaN<T>);
    if (!wants) return;
    std::fill_n(left, v_size, T(kNaN<T>));
    std::fill_n(right, u_size, T(kNaN<T>));
  });
  values.give();
  if (!wants) return;
  u.give();
  vh.give();
}

}  // namespace

SAMPLE(aclnnLinalgCholesky, "self=f32[1,1] out=f32[1,1]")
ABOUT(aclnnLinalgCholesky, AICPU, "Cholesky factor of symmetric positive-definite matrices, lower or upper",
      "对称正定矩阵的 Cholesky 分解，输出下三角或上三角因子")
ACLNN(aclnnLinalgCholesky, (In, self), (Bool, upper), (Out, out)) {
  linalg::require_matrices(op, "self", *self, true);
  op.result_like("out", *out, *self, self->dtype);
  if (self->empty()) return;
  const Batch b(*self);
  op.work(self->numel() * b.rows);
  op.kernel_scratch(linalg::result_bytes(*out));
  op.launch([=, from = *self, to = *out] {
    linalg::visit_computed(from.dtype, [&]<class T>() { cholesky<T>(b, upper, from, to); });
  });
}

ABOUT(aclnnLinalgQr, AICPU, "QR decomposition: self = q r; mode says reduced, complete or r alone",
      "QR 分解 self = q r，mode 决定精简、完整或仅 r")
ACLNN(aclnnLinalgQr, (In, self), (Int, mode), (Out, q), (Out, r)) {
  linalg::require_matrices(op, "self", *self, false);
  op.require(mode >= 0 && mode <= 2, "mode is {}, want 0 (reduced), 1 (complete) or 2 (r)", mode);
  const Batch b(*self);
  const int64_t columns = mode == 1 ? b.rows : b.least();
  if (mode == 2) op.suggest(*q, {0}, self->dtype);
  else linalg::suggest_each(op, *self, {b.rows, columns}, *q);
  linalg::suggest_each(op, *self, {columns, b.columns}, *r);
  op.require(mode == 2 || q->numel() == b.count * b.rows * columns, "Q is {}, want {} matrices [{},{}]", describe(*q),
             b.count, b.rows, columns);
  op.require(r->numel() == b.count * columns * b.columns, "R is {}, want {} matrices [{},{}]", describe(*r), b.count,
             columns, b.columns);
  op.work(self->numel() * b.least() * 4);
  op.kernel_scratch(linalg::copy_bytes(*self) + linalg::copy_bytes(*r) + (mode == 2 ? 0 : linalg::copy_bytes(*q)));
  op.launch([=, from = *self, to = QrResults{mode != 2, columns, *q, *r}] {
    linalg::visit_computed(from.dtype, [&]<class T>() { qr<T>(b, from, to); });
  });
}

ABOUT(aclnnSvd, AICPU, "Singular value decomposition: input = u diag(sigma) v^T",
      "奇异值分解 input = u diag(sigma) v^T")
ACLNN(aclnnSvd, (In, input), (Bool, fullMatrices), (Bool, computeUV), (Out, sigma), (Out, u), (Out, v)) {
  linalg::require_matrices(op, "input", *input, false);
  const Batch b(*input);
  op.require(lapack::gesdd_fits(b.rows, b.columns), "input is {}, want matrices of fewer than 20,000 rows or columns",
             describe(*input));
  const int64_t least = b.least();
  const int64_t u_columns = fullMatrices ? b.rows : least, v_columns = fullMatrices ? b.columns : least;
  linalg::suggest_each(op, *input, {least}, *sigma);
  linalg::suggest_each(op, *input, {b.rows, u_columns}, *u);
  linalg::suggest_each(op, *input, {b.columns, v_columns}, *v);
  op.require(sigma->numel() == b.count * least, "sigma is {}, want {} values each", describe(*sigma), least);
  op.require(
      !computeUV || (u->numel() == b.count * b.rows * u_columns && v->numel() == b.count * b.columns * v_columns),
      "u is {} and v {}, want [{},{}] and [{},{}]", describe(*u), describe(*v), b.rows, u_columns, b.columns,
      v_columns);
  op.work(input->numel() * (least + 1) * 20);
  op.kernel_scratch(linalg::copy_bytes(*input) + linalg::result_bytes(*sigma) +
                    (computeUV ? linalg::copy_bytes(*u) + linalg::copy_bytes(*v) : 0));
  const lapack::Vectors vectors = !computeUV     ? lapack::Vectors::None
                                  : fullMatrices ? lapack::Vectors::All
                                                 : lapack::Vectors::Some;
  op.launch([=, from = *input, to = SvdResults{vectors, u_columns, v_columns, *sigma, *u, *v}] {
    linalg::visit_computed(from.dtype, [&]<class T>() { svd<T>(b, from, to); });
  });
}

}  // namespace updraft
