// Convolutions and their gradients.
#include "ops/convolution/convolution.h"

#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// cubeMathType: float is to be computed as float. The others let the card use fewer bits (torch_npu asks so by
/// default, torch.npu.conv.allow_hf32), which we take as leave for Winograd's algorithm; the products stay in float.
constexpr int8_t kKeepDtype = 0;

void set_dims(Op& op, const char* name, const std::vector<int64_t>& values, int spatial, int64_t least, int64_t* to) {
  op.require(values.size() == 1 || values.size() == static_cast<size_t>(spatial), "{} has {} values, want 1 or {}",
             name, values.size(), spatial);
  for (int d = 0; d < spatial; ++d) {
    to[d] = values[values.size() == 1 ? 0 : static_cast<size_t>(d)];
    op.require(to[d] >= least, "{} is {}, want at least {}", name, to[d], least);
  }
}

/// One value for all dimensions, one for each, or two for each: in front and behind.
void set_padding(Op& op, const std::vector<int64_t>& values, ConvolutionShape& s) {
  const auto pairs = static_cast<size_t>(2 * s.spatial);
  if (values.size() != pairs) {
    op.require(values.size() == 1 || values.size() == static_cast<size_t>(s.spatial),
               "padding has {} values, want 1, {} or {} (in front and behind)", values.size(), s.spatial, pairs);
    return set_dims(op, "padding", values, s.spatial, 0, s.padding);
  }
  for (int d = 0; d < s.spatial; ++d) {
    const int64_t front = values[2 * static_cast<size_t>(d)], behind = values[2 * static_cast<size_t>(d) + 1];
    op.require(front >= 0 && behind >= 0, "padding is {} in front and {} behind, want at least 0", front, behind);
    s.padding[d] = front;
    s.behind[d] = behind - front;
  }
}

}  // namespace

ConvolutionShape convolution_shape(Op& op, const TensorView& weight, const std::vector<int64_t>& stride,
                                   const std::vector<int64_t>& padding, const std::vector<int64_t>& dilation,
                                   bool transposed, int64_t groups) {
  ConvolutionShape s;
  op.require(weight.rank >= 3 && weight.rank <= 5, "weight is {}, want 3 to 5 dimensions", describe(weight));
  s.spatial = weight.rank - 2;
  for (int d = 2; d < weight.rank; ++d)
    op.require(weight.dims[d] > 0, "weight is {}, want filters of at least one element", describe(weight));
  set_dims(op, "stride", stride, s.spatial, 1, s.stride);
  set_padding(op, padding, s);
  set_dims(op, "dilation", dilation, s.spatial, 1, s.dilation);
  op.require(groups >= 1 && weight.dims[0] % groups == 0,
             "groups is {}, weight is {}: want a divisor of its first dimension", groups, describe(weight));
  s.groups = groups;
  s.transposed = transposed;
  return s;
}

namespace {

/// Inference: the output of a convolution that `in` (batched) and weight give; `single` has no batch dimension.
void suggest_output(Op& op, const ConvolutionShape& s, const TensorView& in, const TensorView& weight,
                    const int64_t* output_padding, bool single, const TensorView& out) {
  if (!op.inferring()) return;
  const int rank = s.spatial + 2;
  op.require(in.rank == rank, "input is {}, want {} dimensions as weight {}", describe(in), rank, describe(weight));
  int64_t dims[5] = {in.dims[0], s.transposed ? weight.dims[1] * s.groups : weight.dims[0]};
  for (int d = 0; d < s.spatial; ++d)
    dims[d + 2] = convolution_size(s, d, in.dims[d + 2], weight.dims[d + 2], output_padding ? output_padding[d] : 0);
  op.suggest(out, dims + single, rank - single, in.dtype);
}

// Shapes of input, weight and output against each other.
void check(Op& op, const ConvolutionShape& s, const TensorView& in, const TensorView& weight, const TensorView& out,
           const int64_t* output_padding) {
  const int rank = s.spatial + 2;
  op.require(in.rank == rank && out.rank == rank, "input is {}, output is {}, want {} dimensions as weight {}",
             describe(in), describe(out), rank, describe(weight));
  const int64_t in_channels = s.transposed ? weight.dims[0] : weight.dims[1] * s.groups;
  const int64_t out_channels = s.transposed ? weight.dims[1] * s.groups : weight.dims[0];
  op.require(in.dims[1] == in_channels, "input is {}, want {} channels for weight {} with {} groups", describe(in),
             in_channels, describe(weight), s.groups);
  int64_t want[5] = {in.dims[0], out_channels};
  for (int d = 0; d < s.spatial; ++d)
    want[d + 2] = convolution_size(s, d, in.dims[d + 2], weight.dims[d + 2], output_padding ? output_padding[d] : 0);
  if (!std::equal(want, want + rank, out.dims))
    op.refuse("output is {}, want shape {}", describe(out), describe_shape(want, rank));
}

/// Multiplications of the product, and of each of its gradients.
int64_t cost(const TensorView& in, const TensorView& weight, const TensorView& out, bool transposed) {
  const int64_t outer = std::max<int64_t>(1, weight.dims[0]);
  return (transposed ? in.numel() : out.numel()) * (weight.numel() / outer);
}

}  // namespace

void plan_convolution(Op& op, const ConvolutionShape& s, const TensorView& self, const TensorView& weight,
                      ConstantOperand* constant, OptIn bias, const TensorView& result, const int64_t* output_padding,
                      OptIn added, OptIn factor) {
  const int rank = s.spatial + 2;
  const TensorView in = batched(self, rank);
  suggest_output(op, s, in, weight, output_padding, self.rank != rank, result);
  const TensorView out = batched(result, rank);
  check(op, s, in, weight, out, output_padding);
  if (bias) op.require_shape("bias", *bias, &out.dims[1], 1);
  if (factor) op.require_shape("factor", *factor, &out.dims[1], 1);
  TensorView add;
  if (added) {
    add = batched(*added, rank);
    op.require_same_shape("what is added", add, "the result", out);
  }
  if (out.empty()) return;
  op.work(cost(in, weight, out, s.transposed));
  op.flops(2 * cost(in, weight, out, s.transposed));
  const auto with = [=, biased = static_cast<bool>(bias), adds = static_cast<bool>(added),
                     scales = static_cast<bool>(factor), b = bias ? *bias : TensorView(),
                     by = factor ? *factor : TensorView()](auto&& f) {
    f(biased ? &b : nullptr, ConvolutionTail{scales ? &by : nullptr, adds ? &add : nullptr});
  };
  op.kernel_scratch(in.numel() + weight.numel() + out.numel(), [&] {
    return convolution_scratch(s, in, weight, bias ? &*bias : nullptr, out, constant,
                               {factor ? &*factor : nullptr, added ? &add : nullptr});
  });
  if (constant)
    op.prepare([=] {
      with([&](const TensorView* b, const ConvolutionTail& tail) {
        prepare_convolution(s, in, weight, b != nullptr, out, *constant, tail);
      });
    });
  op.launch([=] {
    with([&](const TensorView* b, const ConvolutionTail& tail) { convolution(s, in, weight, b, out, constant, tail); });
  });
}

SAMPLE(aclnnConvolution,
       "input=f32[2,4,8,M] weight=f32[6,4,3,3] bias=f32[6] stride=1,1 padding=1,1 dilation=1,1 outputPadding=0,0 "
       "output=f32[2,6,8,M]")
ABOUT(aclnnConvolution, Cube, "Convolution or transposed convolution in 1 to 3 dimensions, with groups and bias",
      "一至三维卷积或转置卷积，支持分组与偏置")
ACLNN(aclnnConvolution, (In, input), (In, weight), (OptIn, bias), (Ints, stride), (Ints, padding), (Ints, dilation),
      (Bool, transposed), (Ints, outputPadding), (Int, groups), (Out, output), (Int8, cubeMathType)) {
  ConvolutionShape s = convolution_shape(op, *weight, *stride, *padding, *dilation, transposed, groups);
  s.reduced = cubeMathType != kKeepDtype;
  int64_t extra[3] = {};
  if (transposed) set_dims(op, "outputPadding", *outputPadding, s.spatial, 0, extra);
  plan_convolution(op, s, *input, *weight, weight.handle->constant, bias, *output, extra);
}

SAMPLE(aclnnConvDepthwise2d,
       "self=f32[2,4,8,M] weight=f32[4,1,3,3] kernelSize=3,3 bias=f32[4] stride=1,1 padding=1,1 dilation=1,1 "
       "out=f32[2,4,8,M]")
ABOUT(aclnnConvDepthwise2d, Cube, "Depthwise convolution in two dimensions: each channel by its own filters",
      "二维深度卷积，每个通道使用各自的卷积核")
ACLNN(aclnnConvDepthwise2d, (In, self), (In, weight), (Ints, kernelSize), (OptIn, bias), (Ints, stride),
      (Ints, padding), (Ints, dilation), (Out, out), (Int8, cubeMathType)) {
  (void)cubeMathType;
  (void)kernelSize;
  op.require(self->rank == 4 || self->rank == 3, "self is {}, want 3 or 4 dimensions", describe(*self));
  const ConvolutionShape s = convolution_shape(op, *weight, *stride, *padding, *dilation, false,
                                               std::max<int64_t>(1, self->dims[self->rank - 3]));
  plan_convolution(op, s, *self, *weight, weight.handle->constant, bias, *out, nullptr);
}

SAMPLE(aclnnConvolutionBackward,
       "gradOutput=f32[2,6,8,M] input=f32[2,4,8,M] weight=f32[6,4,3,3] biasSizes=6 stride=1,1 padding=1,1 dilation=1,1 "
       "outputPadding=0,0 gradInput=f32[2,4,8,M] gradWeight=f32[6,4,3,3] gradBias=f32[6]")
ABOUT(aclnnConvolutionBackward, Cube, "Gradients of a convolution for input, weight and bias, as outputMask asks",
      "卷积对输入、权重、偏置的反向梯度，由 outputMask 选择")
ACLNN(aclnnConvolutionBackward, (In, gradOutput), (In, input), (In, weight), (OptInts, biasSizes), (Ints, stride),
      (Ints, padding), (Ints, dilation), (Bool, transposed), (Ints, outputPadding), (Int, groups), (Bools, outputMask),
      (Int8, cubeMathType), (OptOut, gradInput), (OptOut, gradWeight), (OptOut, gradBias)) {
  (void)biasSizes;
  ConvolutionShape s = convolution_shape(op, *weight, *stride, *padding, *dilation, transposed, groups);
  s.reduced = cubeMathType != kKeepDtype;
  const int rank = s.spatial + 2;
  const TensorView by = batched(*gradOutput, rank), in = batched(*input, rank);
  int64_t extra[3] = {};
  if (transposed) set_dims(op, "outputPadding", *outputPadding, s.spatial, 0, extra);
  check(op, s, in, *weight, by, extra);
  op.require(outputMask.size() == 3, "outputMask has {} values, want 3", outputMask.size());
  const bool wanted[3] = {outputMask[0] && gradInput, outputMask[1] && gradWeight, outputMask[2] && gradBias};
  TensorView grad[3];
  if (wanted[0]) {
    op.result_like("gradInput", *gradInput, *input, input->dtype);
    grad[0] = batched(*gradInput, rank);
  }
  if (wanted[1]) {
    op.result_like("gradWeight", *gradWeight, *weight, weight->dtype);
    grad[1] = *gradWeight;
  }
  if (wanted[2]) {
    op.result("gradBias", *gradBias, {by.dims[1]}, gradOutput->dtype);
    grad[2] = *gradBias;
  }
  if (gradInput) op.suggest_like(*gradInput, *input, input->dtype);
  if (gradWeight) op.suggest_like(*gradWeight, *weight, weight->dtype);
  if (gradBias) op.suggest(*gradBias, {by.dims[1]}, gradOutput->dtype);
  if (!wanted[0] && !wanted[1] && !wanted[2]) return;
  op.work(2 * cost(in, *weight, by, transposed));
  op.flops(2 * (wanted[0] + wanted[1]) * cost(in, *weight, by, transposed) + (wanted[2] ? by.numel() : 0));
  op.kernel_scratch(in.numel() + weight->numel() + by.numel(), [&] {
    return convolution_backward_scratch(s, by, in, *weight, wanted[0] ? &grad[0] : nullptr,
                                        wanted[1] ? &grad[1] : nullptr);
  });
  op.launch([=, w = *weight] {
    convolution_backward(s, by, in, w, wanted[0] ? &grad[0] : nullptr, wanted[1] ? &grad[1] : nullptr,
                         wanted[2] ? &grad[2] : nullptr);
  });
}

// --- time, batch, channel: a convolution of one dimension over transposed views ------------------------------------
// [T, B, C] is taken as [B, C, T], weight [K, I, O] as [O, I, K].
SAMPLE(aclnnConvTbc, "self=f32[M,2,4] weight=f32[3,4,5] bias=f32[5] pad=1 output=f32[M,2,5]")
ABOUT(aclnnConvTbc, Cube, "Convolution over time of [time, batch, channel] with pad zeros at both ends",
      "对 [时间, 批, 通道] 沿时间卷积，两端补 pad 个零")
ACLNN(aclnnConvTbc, (In, self), (In, weight), (OptIn, bias), (Int, pad), (Out, output), (Int8, cubeMathType)) {
  (void)cubeMathType;
  op.require(self->rank == 3 && weight->rank == 3, "self is {}, weight is {}: want 3 dimensions", describe(*self),
             describe(*weight));
  const TensorView w = permute(*weight, {2, 1, 0});
  const ConvolutionShape s = convolution_shape(op, w, {1}, {pad}, {1}, false, 1);
  op.suggest(*output, {convolution_size(s, 0, self->dims[0], w.dims[2], 0), self->dims[1], w.dims[0]}, self->dtype);
  op.require(output->rank == 3, "output is {}: want 3 dimensions", describe(*output));
  plan_convolution(op, s, permute(*self, {1, 2, 0}), w, weight.handle->constant, bias, permute(*output, {1, 2, 0}),
                   nullptr);
}

SAMPLE(aclnnConvTbcBackward,
       "self=f32[M,2,5] input=f32[M,2,4] weight=f32[3,4,5] bias=f32[5] pad=1 gradInput=f32[M,2,4] "
       "gradWeight=f32[3,4,5] gradBias=f32[5]")
ABOUT(aclnnConvTbcBackward, Cube, "Gradients of aclnnConvTbc for input, weight and bias",
      "aclnnConvTbc 对输入、权重、偏置的反向梯度")
ACLNN(aclnnConvTbcBackward, (In, self), (In, input), (In, weight), (In, bias), (Int, pad), (Int8, cubeMathType),
      (Out, gradInput), (Out, gradWeight), (Out, gradBias)) {
  (void)cubeMathType;
  (void)bias;
  op.require(self->rank == 3 && input->rank == 3 && weight->rank == 3, "self is {}, weight is {}: want 3 dimensions",
             describe(*self), describe(*weight));
  op.result_like("gradInput", *gradInput, *input, input->dtype);
  op.result_like("gradWeight", *gradWeight, *weight, weight->dtype);
  op.suggest_like(*gradBias, *bias, bias->dtype);
  const TensorView w = permute(*weight, {2, 1, 0}), in = permute(*input, {1, 2, 0}), by = permute(*self, {1, 2, 0});
  const ConvolutionShape s = convolution_shape(op, w, {1}, {pad}, {1}, false, 1);
  check(op, s, in, w, by, nullptr);
  op.work(2 * cost(in, w, by, false));
  op.flops(4 * cost(in, w, by, false) + by.numel());
  const TensorView gi = permute(*gradInput, {1, 2, 0}), gw = permute(*gradWeight, {2, 1, 0});
  op.kernel_scratch(in.numel() + w.numel() + by.numel(),
                    [&] { return convolution_backward_scratch(s, by, in, w, &gi, &gw); });
  op.launch([=, gb = *gradBias] { convolution_backward(s, by, in, w, &gi, &gw, &gb); });
}

}  // namespace updraft
