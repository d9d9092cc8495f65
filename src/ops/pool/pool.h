// What the pooling operators share.
#pragma once
#include "kernels/planes.h"
#include "kernels/spatial.h"
#include "ops/op.h"

namespace updraft {

/// The last `spatial` sizes of both tensors and the window parameters (one value or one a dimension; an empty stride
/// is the kernel's), in the last places of the three dimensions.
PoolShape pool_shape(Op& op, int spatial, const TensorView& in, const TensorView& out,
                     const std::vector<int64_t>& kernel, const std::vector<int64_t>& stride,
                     const std::vector<int64_t>& padding, const std::vector<int64_t>& dilation);
/// Inference: the output of windows that move over `in`, before pool_shape() looks at it.
void suggest_pooled(const Op& op, int spatial, const TensorView& in, const std::vector<int64_t>& kernel,
                    const std::vector<int64_t>& stride, const std::vector<int64_t>& padding,
                    const std::vector<int64_t>& dilation, bool ceil, DType type, const TensorView& out);
/// Inference: `in` with these last sizes.
void suggest_sized(const Op& op, int spatial, const TensorView& in, const std::vector<int64_t>& sizes, DType type,
                   const TensorView& out);
/// Sizes only.
PoolShape plane_shape(Op& op, int spatial, const TensorView& in, const TensorView& out);

/// Checks that the last dimensions of out are the outputSize of adaptive pooling.
void require_output_size(const Op& op, Ints output_size, const TensorView& out, int spatial);

/// Checks that the windows of all outputs hold an element of the input.
void require_windows(Op& op, const PoolShape& s);

/// F32, F64 or I64 for the types that pooling knows; refuses others.
Compute pool_compute(Op& op, const TensorView& v);

}  // namespace updraft
