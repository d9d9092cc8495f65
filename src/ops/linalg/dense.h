// Dense factorisations of small and middle-sized matrices: row-major, in double, own algorithms.
#pragma once
#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/op.h"

namespace updraft::linalg {

/// Gaussian elimination with partial pivoting in place: L below the diagonal (unit), U above. perm[i] is the row of the
/// input that stands at i. Returns the permutation's sign; 0 when a pivot is 0 (the factorisation goes on).
int lu(double* a, int64_t n, int64_t* perm);
/// x := inverse of a (a is overwritten); NaN everywhere when a is singular.
void inverse(double* a, double* x, int64_t n);
/// Lower triangle of a such that a = L L^T, zeros above; false when a is not positive definite.
bool cholesky(double* a, int64_t n);
/// b [n, k] := solution of (transposed ? a^T : a) x = b for a triangular a.
void solve_triangular(const double* a, double* b, int64_t n, int64_t k, bool upper, bool transposed, bool unit);
/// Householder QR: a [m, n] becomes R (zeros below the diagonal), q [m, columns] its first columns.
void qr(double* a, int64_t m, int64_t n, double* q, int64_t columns);
/// Singular values in descending order of a [m, n], m >= n, by one-sided Jacobi rotations. u [m, n] and v [n, n] may be
/// null together.
void svd(const double* a, int64_t m, int64_t n, double* u, double* s, double* v);

/// The batch of matrices in the last two dimensions.
struct Batch {
  int64_t count = 1, rows = 0, columns = 0;
  explicit Batch(const TensorView& v) : rows(v.dims[v.rank - 2]), columns(v.dims[v.rank - 1]) {
    for (int d = 0; d < v.rank - 2; ++d) count *= v.dims[d];
  }
  int64_t size() const { return rows * columns; }
};
void require_matrices(const Op& op, const char* name, const TensorView& v, bool square);

inline std::vector<double> gather(const TensorView& v) {
  std::vector<double> x(static_cast<size_t>(v.numel()));
  if (!x.empty()) gather_to(x.data(), DType::Double, v);
  return x;
}
inline void scatter(const TensorView& to, const std::vector<double>& x) {
  if (!to.empty())
    copy_elements(to, TensorView::contiguous(const_cast<double*>(x.data()), DType::Double, to.dims, to.rank));
}

}  // namespace updraft::linalg
