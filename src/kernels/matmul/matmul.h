// Matrix products on oneDNN (f32, bf16, and f16 through f32) and on own kernels (f64, integers, complex): strided
// batches, any layout, f32 accumulation rounded once.
#pragma once
#include "tensor/view.h"

namespace updraft {

class ConstantOperand;

struct MatmulOptions {
  complex128 alpha = 1;
  complex128 beta = 0;              ///< c = alpha * a @ b + beta * add
  const TensorView* add = nullptr;  ///< broadcasts to c; null: c itself. Not read when beta is 0.
  bool relu = false;                ///< what is negative in the result becomes 0; a NaN may, too
  /// Not null: b stays as it is from run to run, and is kept there as the product wants it. Products with few rows or
  /// one column, of doubles, integers and complex numbers read b itself.
  ConstantOperand* right = nullptr;
};

/// c = alpha * a @ b + beta * add. a [..., m, k], b [..., k, n], c [..., m, n]: batch dimensions of a and b broadcast
/// to c's. Any strides and types; c's type decides the type of the computation. a and b may overlap c.
/// Runs in the calling engine thread.
void matmul(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& options = {});

/// Brings b into the form that matmul() of the same arguments will ask options.right for. Reads b, and neither reads
/// nor writes a and c.
void prepare_matmul(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& options);

/// Scratch that matmul() takes in the thread that calls it, in bytes; nothing of a constant right side is counted,
/// which is converted once. Makes the primitive when it is not there yet, as the first run would.
size_t matmul_scratch(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& options = {});

/// c [m, n] = alpha * sum over the batches of a [batch, m, k] @ b [batch, k, n] + beta * add.
void matmul_reduced(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& options);
/// Scratch that it takes, as matmul_scratch().
size_t matmul_reduced_scratch(const TensorView& a, const TensorView& b, const TensorView& c,
                              const MatmulOptions& options);

}  // namespace updraft
