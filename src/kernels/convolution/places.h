// Gradients of convolutions of single elements whose tensors have the channels innermost: one product over all places.
// That pays where the primitives are slow. With a stride the places of the input that count are gathered before, or
// scattered behind.
#pragma once
#include "kernels/convolution/convolution.h"

namespace updraft::places {

/// A convolution of single elements with a stride, of tensors that lie otherwise. One with stride 1 that reads the
/// places that count alone is faster than the primitives for it.
bool has_gaps(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst);
/// That convolution.
ConvolutionShape without_gaps(const ConvolutionShape& s);
/// The places of src that count, in dst's shape: a view.
TensorView counted_places(const ConvolutionShape& s, const TensorView& src, const TensorView& dst);

/// Whether filters(), or input(), takes the convolution and is expected to pay.
bool gives_filters(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst);
bool gives_input(const ConvolutionShape& s, const TensorView& src, const TensorView& weight, const TensorView& dst);

void filters(const ConvolutionShape& s, const TensorView& diff_dst, const TensorView& src,
             const TensorView& diff_weight);
void input(const ConvolutionShape& s, const TensorView& diff_dst, const TensorView& weight, const TensorView& diff_src);

/// What they take, in bytes.
size_t filters_scratch(const TensorView& diff_dst, const TensorView& src, const TensorView& diff_weight);
size_t input_scratch(const TensorView& diff_dst, const TensorView& weight, const TensorView& diff_src);

}  // namespace updraft::places
