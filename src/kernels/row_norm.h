// Normalisation of rows (layer norm, root-mean-square norm): each row is the tail of the shape, read once.
#pragma once
#include "tensor/view.h"

namespace updraft {

/// Views without data are absent. mean and rstd have one element a row; x may be a sum of up to three operands.
struct RowNorm {
  bool rms = false;
  double eps = 0;
  int64_t rows = 0, cols = 0;
  TensorView x, x2, bias;  ///< normalised: alpha * x + x2 + bias
  double alpha = 1;
  TensorView gamma, beta;
  double gamma_offset = 0;  ///< 1 where gamma is stored as its distance from one
  TensorView y, mean, rstd;
  TensorView sum;     ///< what was normalised, in its own type (y sees it as stored here)
  TensorView y_wide;  ///< y, rounded to its type, in a second one
};
void row_norm(const RowNorm& n);

struct RowNormBackward {
  bool rms = false;
  int64_t rows = 0, cols = 0;
  TensorView dy, x, x2;  ///< x2 is added to x
  double alpha = 1;
  TensorView mean, rstd, gamma, extra;  ///< extra is added to dx
  TensorView dx, dgamma, dbeta;
  TensorView dx_scaled;  ///< alpha * dx for the scaled operand
};
void row_norm_backward(const RowNormBackward& n);

}  // namespace updraft
