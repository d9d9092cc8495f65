// Convolutions of each channel by itself (depthwise): as many groups as there are channels, on either side. By direct
// sums, without a primitive that has to be made for each size.
#pragma once
#include "kernels/convolution/convolution.h"
#include "kernels/matmul/packed.h"

namespace updraft::depthwise {

/// Two dimensions and enough channels. `type`: what is computed in; `last`: src and dst lie with the channels
/// innermost.
bool takes(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst,
           DType type, bool last);

/// The filters as forward() reads them: [taps, channels], as many floats as weight has elements.
void arrange_filters(const TensorView& weight, float* to);

/// dst = convolution(src), and what follows that; tail.add lies as dst.
void forward(const ConvolutionShape& s, const TensorView& src, const float* filters, const TensorView& weight,
             const packed::Tail& tail, const TensorView& dst);

}  // namespace updraft::depthwise
