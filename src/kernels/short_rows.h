// Reductions of many short rows, and of small integers as they lie: what kernels/reduce.cpp takes instead of the
// general kernels where it can.
#pragma once
#include <cstdint>

#include "tensor/dtype.h"

namespace updraft {

/// One instruction set's form. `op` is a ReduceOp.
struct ShortRows {
  /// Sums and extremes of rows of n >= 16 floats, `stride` apart, each into a value of wide[rows]. The bits of a row do
  /// not depend on how many there are; quicker than reduce_row where n is at most some hundreds.
  void (*floats)(int op, const float* x, int64_t stride, int64_t rows, int64_t n, double* wide);
  /// Maxima and minima of INT8, UINT8, INT16 and INT32: of a row, and of `rows` rows of `cols` columns into wide[cols].
  void (*extreme_row)(int op, DType type, const void* x, int64_t n, int64_t* wide);
  void (*extreme_cols)(int op, DType type, const void* x, int64_t stride, int64_t rows, int64_t cols, int64_t* wide);
};

}  // namespace updraft
