// Convolutions of one to three spatial dimensions, forward and backward, on oneDNN; a plain path of our own for the
// element types that oneDNN does not compute.
#pragma once
#include "tensor/view.h"

namespace updraft {

class ConstantOperand;

struct ConvolutionShape {
  int spatial = 0;  ///< 1, 2 or 3
  int64_t stride[3] = {1, 1, 1};
  int64_t padding[3] = {};  ///< zeros in front
  int64_t behind[3] = {};   ///< zeros behind, beyond as many as in front; may be negative
  int64_t dilation[3] = {1, 1, 1};
  int64_t groups = 1;
  bool transposed = false;  ///< out is the gradient of the input of the convolution that `in` is the output of
  bool reduced = false;     ///< results may be less exact than direct sums in float are (cubeMathType)
  bool relu = false;        ///< forward: what is below zero becomes zero, after all else
  bool hard_swish = false;  ///< forward: x * min(max(x / 6 + 1 / 2, 0), 1) in the place of relu
};

/// What a forward convolution does with its sums. Null: nothing.
struct ConvolutionTail {
  const TensorView* factor = nullptr;  ///< [O]: each channel is multiplied by its number before the bias is added
  const TensorView* add = nullptr;     ///< added to the result; it has out's shape and does not overlap it
};

/// Output size of one spatial dimension.
int64_t convolution_size(const ConvolutionShape& s, int dim, int64_t in, int64_t kernel, int64_t output_padding);

/// out = convolution(in, weight) + bias. in [N, C, ...], weight [O, C / groups, ...] ([C, O / groups, ...] when
/// transposed), out [N, O, ...]; bias may be null. Any strides. `constant`, where it is not null: the weight stays as
/// it is from run to run, and is kept there as the convolution wants it. A `tail` with a factor is none of a transposed
/// convolution.
void convolution(const ConvolutionShape& s, const TensorView& in, const TensorView& weight, const TensorView* bias,
                 const TensorView& out, ConstantOperand* constant = nullptr, const ConvolutionTail& tail = {});

/// Brings the weight into the form that convolution() of the same arguments will ask `constant` for. Neither reads nor
/// writes in, out and the tail. With a bias another primitive may be chosen: say whether there will be one.
void prepare_convolution(const ConvolutionShape& s, const TensorView& in, const TensorView& weight, bool with_bias,
                         const TensorView& out, ConstantOperand& constant, const ConvolutionTail& tail = {});

/// The gradients of the above; a null view is not computed.
void convolution_backward(const ConvolutionShape& s, const TensorView& grad_out, const TensorView& in,
                          const TensorView& weight, const TensorView* grad_in, const TensorView* grad_weight,
                          const TensorView* grad_bias);

/// Scratch that convolution() takes in the thread that calls it, in bytes; nothing of a constant weight is counted,
/// which is converted once. Makes the primitive when it is not there yet, as the first run would.
size_t convolution_scratch(const ConvolutionShape& s, const TensorView& in, const TensorView& weight,
                           const TensorView* bias, const TensorView& out, ConstantOperand* constant,
                           const ConvolutionTail& tail = {});
/// The same of convolution_backward().
size_t convolution_backward_scratch(const ConvolutionShape& s, const TensorView& grad_out, const TensorView& in,
                                    const TensorView& weight, const TensorView* grad_in, const TensorView* grad_weight);

namespace plain {
/// The same by plain loops in T (float, double, int64_t, complex): contiguous arrays of T. The three tensors are those
/// of the convolution that is not transposed: src [N, C, ...], weight [O, C / groups, ...], dst [N, O, ...].
template <class T>
struct Arrays {
  T *src, *weight, *dst;
  int64_t batch, in_channels, out_channels;
  int64_t in[3], kernel[3], out[3];
};
template <class T>
void forward(const ConvolutionShape& s, const Arrays<T>& a);
template <class T>
void backward_data(const ConvolutionShape& s, const Arrays<T>& a);
template <class T>
void backward_weight(const ConvolutionShape& s, const Arrays<T>& a);
}  // namespace plain

}  // namespace updraft
