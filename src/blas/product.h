// Products of matrices as aclblas has them: c = alpha * a @ b + beta * c, on rows.
#pragma once
#include <cstdint>

#include "tensor/view.h"

namespace updraft::blas {

/// A number in the type of c.
double number_at(const void* p, DType type);

/// a and b are both FLOAT16, both FLOAT (c FLOAT16 or FLOAT) or both INT8 (c INT32 or FLOAT). Sums are kept in float,
/// of integers in int64, and rounded once. With beta 0 c is not read.
void multiply(const TensorView& a, const TensorView& b, const TensorView& c, double alpha, double beta);

}  // namespace updraft::blas
