// What convolutions of all interfaces share.
#pragma once
#include "kernels/convolution/convolution.h"
#include "ops/op.h"

namespace updraft {

/// The sizes by their names in the aclnn interface; refuses those that make no convolution.
ConvolutionShape convolution_shape(Op& op, const TensorView& weight, const std::vector<int64_t>& stride,
                                   const std::vector<int64_t>& padding, const std::vector<int64_t>& dilation,
                                   bool transposed, int64_t groups);

/// result = convolution(self, weight) * factor + bias + added; with s.relu the positive part of that. factor, as bias,
/// has a number for each channel of the result. `self` and `result` may lack the dimension of batches. `constant` is
/// the weight's (aclTensor::constant).
void plan_convolution(Op& op, const ConvolutionShape& s, const TensorView& self, const TensorView& weight,
                      ConstantOperand* constant, OptIn bias, const TensorView& result, const int64_t* output_padding,
                      OptIn added = {}, OptIn factor = {});

}  // namespace updraft
