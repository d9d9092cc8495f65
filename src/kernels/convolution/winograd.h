// Two-dimensional convolutions with 3x3 filters and stride 1 by Winograd's F(4x4, 3x3): a tile of 4x4 results takes 36
// products instead of 144, which are 36 products of matrices over all tiles and channels. Forward and both gradients,
// on plain [N, C, H, W] arrays of float, and on [N, H, W, C].
//
// The result is rounded more often than a direct sum: its error is some 2 to 3 times that of direct sums (about 1e-6 of
// the result's size). Source: Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks", arXiv:1509.09308.
#pragma once
#include <cstddef>
#include <cstdint>

#include "tensor/view.h"

namespace updraft::winograd {

/// All sizes in elements. The bottom and right padding follow from the size of the output, which is at most two wider
/// and higher than the input.
struct Shape {
  int64_t batch, in_channels, out_channels;
  int64_t in[2], out[2];  ///< height, width
  int64_t padding[2];     ///< zeros above and to the left: 0 to 2
};

/// Whether it is expected to be faster than a direct convolution.
bool pays(const Shape& s);

/// Filters [out_channels, in_channels, 3, 3] at the 36 points: what forward() takes, this many bytes.
size_t filter_bytes(const Shape& s);
void transform_filters(const Shape& s, const float* filters, float* to);

/// out = convolution(in, filters) + bias; bias [out_channels] may be null. points: made by transform_filters().
/// These three return false when a result is infinite or NaN: one such operand spoils whole tiles here, and not only
/// the results that it belongs to. The result must then be computed in another way.
bool forward(const Shape& s, const float* in, const float* points, const float* bias, float* out);
bool backward_input(const Shape& s, const float* grad_out, const float* filters, float* grad_in);
bool backward_filters(const Shape& s, const float* grad_out, const float* in, float* grad_filters);

/// Scratch that they take in the thread that calls them, in bytes.
size_t forward_scratch(const Shape& s);
size_t backward_input_scratch(const Shape& s);
size_t backward_filters_scratch(const Shape& s);

/// --- the three with the channels innermost: numbers of channels are multiples of 16 ---
/// What follows the sums: times scale, plus bias (each of out_channels), plus add (as out), the positive part. Null:
/// none.
struct Tail {
  const float *scale = nullptr, *bias = nullptr, *add = nullptr;
  bool relu = false;
};
/// `prepared`: the points of the filters need not be made at each run.
bool pays_last(const Shape& s, bool prepared);
/// As filter_bytes() and transform_filters().
size_t filter_bytes_last(const Shape& s);
void transform_filters_last(const Shape& s, const float* filters, float* to);
/// The same from [out_channels, in_channels, 3, 3] that lies as [3, 3, in_channels, out_channels], in one pass. False:
/// it lies otherwise, and nothing was done.
bool transform_filters_last(const Shape& s, const TensorView& filters, float* to);
/// Constant points are better arranged once more, for the product (kernels/matmul/packed.h).
bool arranges_points();
size_t arranged_bytes_last(const Shape& s);
void arrange_points_last(const Shape& s, const float* points, float* to);
/// `arranged`: the points are.
bool forward_last(const Shape& s, const float* in, const float* points, bool arranged, const Tail& tail, float* out);
size_t forward_last_scratch(const Shape& s, bool arranged);
/// The gradient of the input, as backward_input(); `filters` [out_channels, in_channels, 3, 3],
/// with any strides and of any type.
bool pays_backward_last(const Shape& s);
bool backward_input_last(const Shape& s, const float* grad_out, const TensorView& filters, float* grad_in);
size_t backward_input_last_scratch(const Shape& s);
/// The gradient of the filters, as backward_filters(); `grad_filters` [out_channels, in_channels, 3, 3] with any
/// strides and of any type. Those that lie as [3, 3, in_channels, out_channels] are written where they are.
bool pays_filters_last(const Shape& s);
bool backward_filters_last(const Shape& s, const float* grad_out, const float* in, const TensorView& grad_filters);
size_t backward_filters_last_scratch(const Shape& s, const TensorView& grad_filters);

}  // namespace updraft::winograd
