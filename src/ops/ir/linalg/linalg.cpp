// Distances, factorisations and inverses.
#include <algorithm>
#include <atomic>
#include <cmath>

#include "kernels/lapack.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;

double power_of(const Op& op, float p) {
  op.require(p >= 0 || p == -1, "attribute p is {}, want 0 or more, or -1 (infinity)", p);
  return p;
}

/// [..., n] as `v` without dimension d, of which all parts are the same.
TensorView first_of(const TensorView& v, int d) {
  Dims order = ir::all_axes(v.rank);
  order.erase(order.begin() + d);
  TensorView part = permute(ir::part_of(v, d, 0, 1), order);
  part.rank = v.rank - 1;
  return part;
}

}  // namespace

// The client expands all four to [..., points of x1, points of x2, coordinates]; y is x1 before its batches were
// broadcast, whose gradients are summed.
IR_OP(CdistGrad, aclnnCdistBackward, (In, grad), (In, x1), (In, x2), (In, cdist), (Out, y), (Float, p, 2)) {
  op.require(x1->rank >= 3, "x1 is {}, want three dimensions or more", describe(*x1));
  op.require_same_shape("grad", *grad, "x1", *x1);
  op.require_same_shape("x2", *x2, "x1", *x1);
  op.require_same_shape("cdist", *cdist, "x1", *x1);
  const int last = x1->rank - 1;
  const TensorView points = first_of(*x1, last - 1);
  if (op.inferring()) op.result_like("y", *y, points, x1->dtype);
  if (y->empty()) return;
  auto backward = [&](const TensorView& to) {
    call(op, "aclnnCdistBackward", first_of(*grad, last), points, first_of(*x2, last - 2), first_of(*cdist, last),
         power_of(op, p), to);
  };
  if (y->same_shape(points)) return backward(*y);
  const TensorView all = ir::temporary(op, y->dtype, ir::dims_of(points));
  backward(all);
  Dims over;
  for (int d = 0; d < points.rank; ++d) {
    const int own = d - (points.rank - y->rank);
    if (own < 0 || (y->dims[own] == 1 && points.dims[d] != 1)) over.push_back(d);
  }
  const TensorView sum = ir::temporary(op, y->dtype, ir::reduced(points, over, true));
  call(op, "aclnnReduceSum", all, over, true, sum.dtype, sum);
  op.require(sum.numel() == y->numel(), "y is {}, want the shape of x1 before it was broadcast, {}", describe(*y),
             describe(points));
  call(op, "aclnnInplaceCopy", y, ir::reshaped(op, sum, ir::dims_of(*y)));
}
IR_OP(Pdist, aclnnPdist, (In, x), (Out, y), (Float, p, 2)) {
  op.require(x->rank == 2, "x is {}, want points [N, M]", describe(*x));
  ir::result(op, "y", *y, {x->dims[0] * (x->dims[0] - 1) / 2}, x->dtype);
  call(op, "aclnnPdist", x, p, y);
}
namespace {
void require_square(const Op& op, const TensorView& x) {
  op.require(x.rank >= 2 && x.dims[x.rank - 1] == x.dims[x.rank - 2], "x is {}, want square matrices", describe(x));
}
/// What has no inverse gets NaN from the routine, which nobody looks at: it is a failure, unless there was NaN before.
void require_inverses(Op& op, const TensorView& x, const TensorView& y) {
  if (y.empty()) return;
  op.launch([x, y] {
    const linalg::Batch b(x);
    const std::vector<double> made = linalg::gather(y);
    for (int64_t i = 0; i < b.count; ++i) {
      if (!std::isnan(made[static_cast<size_t>(i * b.size())])) continue;
      const std::vector<double> all = linalg::gather(x);
      const auto first = all.begin() + i * b.size();
      if (std::none_of(first, first + b.size(), [](double v) { return std::isnan(v); }))
        fail_kernel(fmt::format("matrix {} has no inverse", i));
    }
  });
}
}  // namespace
IR_OP(MatrixInverse, aclnnInverse, (In, x), (Out, y), (Bool, adjoint, false)) {
  require_square(op, *x);
  op.require(!adjoint || !is_complex(x->dtype), "attribute adjoint is true, want false for complex numbers");
  op.result_like("y", *y, *x, x->dtype);
  const TensorView from = adjoint ? turned(*x) : *x;
  call(op, "aclnnInverse", from, y);
  if (!is_complex(x->dtype)) require_inverses(op, from, *y);
}
IR_OP(Cholesky, aclnnLinalgCholesky, (In, x), (Out, y)) {
  require_square(op, *x);
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnLinalgCholesky", x, false, y);
}
ABOUT(CholeskyGrad, AICPU, "Gradient of Cholesky for its matrix, symmetric", "Cholesky 的反向梯度（对称）")
IR_OP(CholeskyGrad, CholeskyGrad, (In, x), (In, grad), (Out, y)) {
  require_square(op, *x);
  op.require_same_shape("grad", *grad, "x", *x);
  op.result_like("y", *y, *x, x->dtype);
  if (op.inferring() || y->empty()) return;
  // The lower triangle of xT grad, turned over its diagonal, between the inverses of xT and of x.
  const Dims dims = ir::dims_of(*x);
  const int last = x->rank - 1;
  Temp factor(x->dtype), lower(x->dtype), below(x->dtype), middle(x->dtype), product(x->dtype);
  call(op, "aclnnTril", x, 0, factor);
  call(op, "aclnnMatmul", factor->transpose(last - 1, last), grad, product, 0);
  call(op, "aclnnTril", *product, 0, lower);
  call(op, "aclnnTril", *product, -1, below);
  call(op, "aclnnAdd", *lower, below->transpose(last - 1, last), 1, middle);
  const auto solved = [&](const TensorView& right) {
    const TensorView made = ir::temporary(op, x->dtype, dims), kept = ir::temporary(op, x->dtype, dims);
    call(op, "aclnnTriangularSolve", right, *factor, false, true, false, made, kept);
    return made;
  };
  call(op, "aclnnMuls", solved(solved(*middle).transpose(last - 1, last)), 0.5, y);
}
namespace {
void log_determinant(Op& op, const In& x, const Out& sign, const Out& y) {
  require_square(op, *x);
  Dims dims = ir::dims_of(*x);
  dims.resize(dims.size() - 2);
  ir::result(op, "sign", *sign, dims, x->dtype);
  ir::result(op, "y", *y, dims, x->dtype);
  call(op, "aclnnSlogdet", x, sign, y);
}
}  // namespace
IR_OP(Slogdet, aclnnSlogdet, (In, x), (Out, sign), (Out, y)) { log_determinant(op, x, sign, y); }
IR_OP(LogMatrixDeterminant, aclnnSlogdet, (In, x), (Out, sign), (Out, y)) { log_determinant(op, x, sign, y); }
ABOUT(MatrixDeterminant, Vector, "The determinant of each matrix", "各矩阵的行列式")
IR_OP(MatrixDeterminant, MatrixDeterminant, (In, x), (Out, y)) {
  require_square(op, *x);
  Dims dims = ir::dims_of(*x);
  dims.resize(dims.size() - 2);
  ir::result(op, "y", *y, dims, x->dtype);
  const TensorView sign = ir::temporary(op, x->dtype, dims), log = ir::temporary(op, x->dtype, dims);
  call(op, "aclnnSlogdet", x, sign, log);
  Temp size;
  call(op, "aclnnExp", log, size);
  call(op, "aclnnMul", sign, *size, y);
}

// --- between points -----------------------------------------------------------------------------------------------
ABOUT(Cdist, Vector, "Distances of order p between the points of x1 and x2, which have been broadcast to one shape",
      "x1 与 x2（已广播为同一形状）各点之间的 p 阶距离")
IR_OP(Cdist, Cdist, (In, x1), (In, x2), (Out, y), (Float, p, 2)) {
  op.require_same_shape("x2", *x2, "x1", *x1);
  op.require(x1->rank > 0, "x1 is {}, want one dimension or more", describe(*x1));
  ir::result(op, "y", *y, ir::reduced(*x1, {x1->rank - 1}, false), x1->dtype);
  Temp difference;
  call(op, "aclnnSub", x1, x2, 1, difference);
  call(op, "aclnnLinalgVectorNorm", *difference, static_cast<double>(p), Dims{x1->rank - 1}, false, y->dtype, y);
}
IR_OP(Cross, aclnnLinalgCross, (In, x1), (In, x2), (Out, y), (Int, dim, -65530)) {
  constexpr int64_t kFirst = -65530;  // the first dimension of three
  int64_t at = dim;
  if (at == kFirst) {
    for (at = 0; at < x1->rank && x1->dims[at] != 3;) ++at;
    op.require(at < x1->rank, "x1 is {}, want a dimension of 3", describe(*x1));
  }
  call(op, "aclnnLinalgCross", x1, x2, at, y);
}

IR_OP(Qr, aclnnLinalgQr, (In, x), (Out, q), (Out, r), (Bool, full_matrices, false)) {
  call(op, "aclnnLinalgQr", x, full_matrices ? 1 : 0, q, r);
}
IR_OP(Svd, aclnnSvd, (In, x), (Out, sigma), (Out, u), (Out, v), (Bool, compute_uv, true),
      (Bool, full_matrices, false)) {
  call(op, "aclnnSvd", x, full_matrices, compute_uv, sigma, u, v);
}
namespace {
void require_systems(const Op& op, const In& matrix, const In& rhs, bool adjoint) {
  op.require(matrix->rank >= 2 && rhs->rank == matrix->rank,
             "matrix is {} and rhs {}, want matrices in the same batches", describe(*matrix), describe(*rhs));
  op.require(!adjoint || !is_complex(matrix->dtype), "adjoints of complex matrices are not computed");
}
}  // namespace
namespace {
/// x := the solution of matrix x = rhs. The routines see transposes: x^T P L U = rhs^T for matrix^T = P L U.
template <class T>
void solve(const TensorView& matrix, const TensorView& rhs, const TensorView& to) {
  const linalg::Batch b(matrix), right(rhs);
  ScratchScope scratch;
  T* const matrices = linalg::dense_copy<T>(matrix, scratch);
  const linalg::Result<T> x(to, scratch);
  copy_elements(TensorView::contiguous(x.data, DTypeOf<T>::value, rhs.dims, rhs.rank), rhs);
  std::atomic<bool> singular = false;
  lapack::each(b.count, b.size() * (b.rows + right.columns), [&](int64_t i) {
    ScratchScope own;
    const int64_t n = b.rows, columns = right.columns;
    auto* pivots = own.take<int32_t>(static_cast<size_t>(n));
    T *a = matrices + i * b.size(), *rows = x.data + i * right.size();
    if (lapack::getrf<T>(n, n, a, n, pivots) != 0) {
      singular = true;
      return;
    }
    lapack::solve_from_right<T>(true, false, false, columns, n, a, n, rows, columns);
    lapack::solve_from_right<T>(false, false, true, columns, n, a, n, rows, columns);
    for (int64_t k = n - 1; k >= 0; --k)
      if (const int64_t other = pivots[k] - 1; other != k)
        std::swap_ranges(rows + k * columns, rows + (k + 1) * columns, rows + other * columns);
  });
  if (singular) fail_kernel("a matrix has no inverse");
  x.give();
}
}  // namespace
ABOUT(MatrixSolve, AICPU, "y with matrix y = rhs, by an LU decomposition", "求解 matrix y = rhs（LU 分解）")
IR_OP(MatrixSolve, MatrixSolve, (In, matrix), (In, rhs), (Out, y), (Bool, adjoint, false)) {
  require_systems(op, matrix, rhs, adjoint);
  linalg::require_matrices(op, "matrix", *matrix, true);
  linalg::require_matrices(op, "rhs", *rhs, false);
  op.require(std::equal(rhs->dims, rhs->dims + rhs->rank - 1, matrix->dims) && rhs->dtype == matrix->dtype,
             "rhs is {}, want as many rows as {} and its type", describe(*rhs), describe(*matrix));
  op.result_like("y", *y, *rhs, rhs->dtype);
  if (matrix->empty() || rhs->empty()) return;
  const TensorView from = adjoint ? turned(*matrix) : *matrix;
  op.work(matrix->numel() * (matrix->dims[matrix->rank - 1] + rhs->dims[rhs->rank - 1]));
  op.kernel_scratch(linalg::copy_bytes(*matrix) + linalg::result_bytes(*y));
  op.launch(
      [from, rhs = *rhs, to = *y] { linalg::visit_computed(from.dtype, [&]<class T>() { solve<T>(from, rhs, to); }); });
}
ABOUT(MatrixTriangularSolve, AICPU, "y with matrix y = rhs, matrix a triangle",
      "求解 matrix y = rhs，matrix 为三角矩阵")
IR_OP(MatrixTriangularSolve, MatrixTriangularSolve, (In, matrix), (In, rhs), (Out, y), (Bool, lower, true),
      (Bool, adjoint, false)) {
  require_systems(op, matrix, rhs, adjoint);
  Temp kept(rhs->dtype);
  call(op, "aclnnTriangularSolve", rhs, matrix, !lower, adjoint, false, y, kept);
}

IR_OP(STFT, aclStft, (In, x), (OptIn, window), (Out, y), (Int, hop_length, 0), (Int, win_length, 0),
      (Bool, normalized, false), (Bool, onesided, true), (Bool, return_complex, true), (Int, n_fft)) {
  const int64_t hop = hop_length ? hop_length : n_fft / 4, width = win_length ? win_length : n_fft;
  call(op, "aclStft", x, window, y, n_fft, hop, width, normalized, onesided, return_complex);
}

}  // namespace updraft
