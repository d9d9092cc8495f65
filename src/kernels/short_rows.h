// Reductions and running sums of many short rows, and reductions of small integers as they lie: what kernels/reduce.cpp
// and the scans take instead of the general kernels where they can.
#pragma once
#include <cstdint>

#include "tensor/dtype.h"

namespace updraft {

/// One instruction set's form. `op` is a ReduceOp.
struct ShortRows {
  /// Rows of n >= 2 elements, `stride` apart, each into a value of wide[rows]: FLOAT and DOUBLE into double, INT64 into
  /// int64_t, and extremes of INT8, UINT8, INT16 and INT32 into int64_t. The bits of a row do not depend on how many
  /// there are; quicker than one row after another where n is at most some hundreds.
  void (*rows)(int op, DType type, const void* x, int64_t stride, int64_t rows, int64_t n, void* wide);
  /// Sums of the squares (map: ReduceMap::square) or of the magnitudes (abs) of such rows.
  void (*sums)(int map, const float* x, int64_t stride, int64_t rows, int64_t n, double* wide);
  /// Maxima and minima of INT8, UINT8, INT16 and INT32: of a row, and of `rows` rows of `cols` columns into wide[cols].
  void (*extreme_row)(int op, DType type, const void* x, int64_t n, int64_t* wide);
  void (*extreme_cols)(int op, DType type, const void* x, int64_t stride, int64_t rows, int64_t cols, int64_t* wide);
  /// to[r * n + i] = x[r * n] + ... + x[r * n + i] for rows of n elements that follow one another, added in double.
  /// `to` may be x.
  void (*running_sums)(const float* x, int64_t rows, int64_t n, float* to);
};

/// That of the instruction set in use.
const ShortRows& short_row_kernels();

}  // namespace updraft
