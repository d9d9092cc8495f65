#include "ops/linalg/dense.h"

#include <algorithm>

#include "kernels/lapack.h"

namespace updraft::linalg {

void require_matrices(const Op& op, const char* name, const TensorView& v, bool square) {
  op.require(v.rank >= 2 && (is_floating(v.dtype) || is_complex(v.dtype)),
             "{} is {}, want matrices of floating-point or complex numbers", name, describe(v));
  const int64_t rows = v.dims[v.rank - 2], columns = v.dims[v.rank - 1];
  if (square) op.require(rows == columns, "{} is {}, want square matrices", name, describe(v));
  op.require(rows <= lapack::kMostRows && columns <= lapack::kMostRows, "{} is {}, want at most {} rows and columns",
             name, describe(v), lapack::kMostRows);
}

void suggest_each(const Op& op, const TensorView& matrices, std::initializer_list<int64_t> last,
                  const TensorView& out) {
  if (!op.inferring()) return;
  TensorView each = matrices;
  std::copy(last.begin(), last.end(), each.dims + matrices.rank - 2);
  op.suggest(out, each.dims, matrices.rank - 2 + static_cast<int>(last.size()), matrices.dtype);
}

}  // namespace updraft::linalg
