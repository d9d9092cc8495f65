// The convolution by plain loops of tensors that lie in any way: the path without oneDNN.
#pragma once
#include "kernels/convolution/convolution.h"

namespace updraft::plain {

/// `result` (0: src, 1: weight, 2: dst) is computed of the other two. The tensors are those of the convolution that is
/// not transposed.
void run(const ConvolutionShape& s, int result, const TensorView& src, const TensorView& weight, const TensorView& dst);

}  // namespace updraft::plain
