// Matrix products on oneDNN: strided batches, any layout that has one unit stride, f32 accumulation rounded once.
#pragma once
#include "tensor/view.h"

namespace updraft {

struct MatmulOptions {
  double alpha = 1;
  double beta = 0;                ///< c = alpha * a @ b + beta * c
  bool saturate = false;          ///< fp16 results stay within ±65504
};

/// c = alpha * a @ b + beta * c. a [..., m, k], b [..., k, n], c [..., m, n]: batch dimensions of a and b broadcast to
/// c's. Any strides; types may be f32, f16, bf16, f64, integers or complex, and c's decides the result's.
/// Runs in the calling engine thread.
void matmul(const TensorView& a, const TensorView& b, const TensorView& c, const MatmulOptions& options = {});

}  // namespace updraft
