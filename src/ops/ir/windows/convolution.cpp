// Convolutions in two and three dimensions and their gradients. Attributes have a value for each dimension of the
// tensors (batch and channels are 1), pads two for each spatial one. Sizes that are an input say the same as the
// output.
#include <cmath>

#include "base/scratch.h"
#include "kernels/quantized.h"
#include "ops/convolution/convolution.h"
#include "ops/gathered.h"
#include "ops/ir/shape/layout.h"
#include "ops/matmul/quantised.h"
#include "ops/norm/vectors.h"

namespace updraft {
namespace {

using ir::Dims;
/// cubeMathType: fewer bits than float has are allowed, which is a card's default for convolutions (allow_hf32) and
/// what torch_npu asks for.
constexpr int kAllowReduced = 1;

/// The attributes in the order of aclnnConvolution.
struct Window {
  ir::Layout layout;
  Dims strides, dilations, pads;
};

Window window_of(const Op& op, int spatial, const Ints& strides, const Ints& pads, const Ints& dilations,
                 const char* format) {
  Window w{ir::layout_of(op, spatial, format), {}, {}, *pads};
  const auto rank = static_cast<size_t>(spatial) + 2;
  auto spatial_of = [&](const char* name, const Ints& values) {
    op.require(values.size() == rank, "attribute {} has {} values, want {}", name, values.size(), rank);
    const Dims all = w.layout.first(*values);
    op.require(all[0] == 1 && all[1] == 1, "attribute {} is {} for batches and {} for channels, want 1", name, all[0],
               all[1]);
    for (int64_t v : all) op.require(v >= 1, "attribute {} has a {}, want positive steps", name, v);
    return Dims(all.begin() + 2, all.end());
  };
  w.strides = spatial_of("strides", strides);
  w.dilations = spatial_of("dilations", dilations);
  op.require(pads.size() == 2 * rank - 4, "attribute pads has {} values, want {}", pads.size(), 2 * rank - 4);
  for (int64_t p : w.pads) op.require(p >= 0, "attribute pads has a negative value");
  return w;
}

void require_rank(const Op& op, const char* name, const TensorView& v, int spatial) {
  op.require(v.rank == spatial + 2, "{} is {}, want {} dimensions", name, describe(v), spatial + 2);
}

/// While inferring: the size of what the convolution of x, with the channels second, gives.
void suggest_result(Op& op, const Window& w, const TensorView& x, const TensorView& filter, const TensorView& y,
                    DType type = DType::Undefined) {
  if (!op.inferring()) return;
  Dims dims = {x.dims[0], filter.dims[0]};
  for (size_t d = 0; d < w.strides.size(); ++d) {
    const int64_t reach = (filter.dims[d + 2] - 1) * w.dilations[d] + 1;
    const int64_t room = x.dims[d + 2] + w.pads[2 * d] + w.pads[2 * d + 1] - reach;
    op.require(room >= 0, "a filter of {} with its dilation does not fit into {} with {} and {} around it", reach,
               x.dims[d + 2], w.pads[2 * d], w.pads[2 * d + 1]);
    dims.push_back(room / w.strides[d] + 1);
  }
  ir::suggest(op, y, w.layout.own(dims), type == DType::Undefined ? x.dtype : type);
}

void require_no_offset(const Op& op, const OptIn& offset_w, int64_t offset_x) {
  op.require(!offset_w, "offset_w is given, want none: quantised convolutions are not implemented");
  ir::want(op, "offset_x", offset_x, int64_t{0});
}

void forward(Op& op, int spatial, const In& x, const In& filter, const OptIn& bias, const Ints& strides,
             const Ints& pads, const Ints& dilations, int64_t groups, const char* format, const Out& y) {
  const Window w = window_of(op, spatial, strides, pads, dilations, format);
  require_rank(op, "x", *x, spatial);
  require_rank(op, "filter", *filter, spatial);
  const TensorView from = w.layout.first(*x), with = w.layout.filter(*filter, filter.handle->format);
  suggest_result(op, w, from, with, *y);
  call(op, "aclnnConvolution", from, ViewOf(with, *filter.handle), bias, w.strides, w.pads, w.dilations, false,
       Dims(w.strides.size(), 0), groups, w.layout.first(*y), kAllowReduced);
}

void transposed(Op& op, int spatial, const Dims& size, const In& x, const In& filter, const OptIn& bias,
                const Ints& strides, const Ints& pads, const Ints& dilations, int64_t groups, const char* format,
                const Dims& output_padding, const Out& y) {
  const Window w = window_of(op, spatial, strides, pads, dilations, format);
  const auto rank = static_cast<size_t>(spatial) + 2;
  require_rank(op, "x", *x, spatial);
  require_rank(op, "filter", *filter, spatial);
  op.require(output_padding.size() == rank, "attribute output_padding has {} values, want {}", output_padding.size(),
             rank);
  op.require(size.empty() || size.size() == rank, "input_size has {} values, want {}", size.size(), rank);
  const TensorView from = w.layout.first(*x), with = w.layout.filter(*filter, filter.handle->format);
  const Dims wanted = w.layout.first(size), given = w.layout.first(output_padding);
  Dims extra, dims = {from.dims[0], with.dims[1] * groups};
  for (size_t d = 0; d < w.strides.size(); ++d) {
    const int64_t least = (from.dims[d + 2] - 1) * w.strides[d] - w.pads[2 * d] - w.pads[2 * d + 1] +
                          w.dilations[d] * (with.dims[d + 2] - 1) + 1;
    extra.push_back(wanted.empty() || wanted[d + 2] == 0 ? given[d + 2] : wanted[d + 2] - least);
    op.require(extra[d] >= 0, "{} is too small: want {} or more in dimension {}", "input_size", least, d + 2);
    dims.push_back(least + extra[d]);
  }
  ir::suggest(op, *y, w.layout.own(dims), x->dtype);
  call(op, "aclnnConvolution", from, ViewOf(with, *filter.handle), bias, w.strides, w.pads, w.dilations, true, extra,
       groups, w.layout.first(*y), kAllowReduced);
}

void input_gradient(Op& op, int spatial, const Dims& size, const In& filter, const In& dy, const Ints& strides,
                    const Ints& pads, const Ints& dilations, int64_t groups, const char* format, const Out& y) {
  const Window w = window_of(op, spatial, strides, pads, dilations, format);
  ir::result(op, "y", *y, size, dy->dtype);
  require_rank(op, "y", *y, spatial);
  require_rank(op, "filter", *filter, spatial);
  const TensorView dx = w.layout.first(*y);
  call(op, "aclnnConvolutionBackward", w.layout.first(*dy), dx, w.layout.filter(*filter, filter.handle->format),
       nullptr, w.strides, w.pads, w.dilations, false, Dims(w.strides.size(), 0), groups,
       std::vector<bool>{true, false, false}, kAllowReduced, dx, nullptr, nullptr);
}

void filter_gradient(Op& op, int spatial, const In& x, const Dims& size, const In& dy, const Ints& strides,
                     const Ints& pads, const Ints& dilations, int64_t groups, const char* format, const Out& y) {
  const Window w = window_of(op, spatial, strides, pads, dilations, format);
  ir::result(op, "y", *y, size, x->dtype);
  require_rank(op, "y", *y, spatial);
  const TensorView dw = w.layout.filter(*y, y.handle->format);
  call(op, "aclnnConvolutionBackward", w.layout.first(*dy), w.layout.first(*x), dw, nullptr, w.strides, w.pads,
       w.dilations, false, Dims(w.strides.size(), 0), groups, std::vector<bool>{false, true, false}, kAllowReduced,
       nullptr, dw, nullptr);
}

}  // namespace

ABOUT(Conv2D, Cube, "Convolution in two dimensions, with groups and bias", "二维卷积，支持分组与偏置")
IR_OP(Conv2D, Conv2D, (In, x), (In, filter), (OptIn, bias), (OptIn, offset_w), (Out, y), (Ints, strides), (Ints, pads),
      (Ints, dilations, 1, 1, 1, 1), (Int, groups, 1), (Text, data_format, "NHWC"), (Int, offset_x, 0)) {
  require_no_offset(op, offset_w, offset_x);
  forward(op, 2, x, filter, bias, strides, pads, dilations, groups, data_format, y);
}

ABOUT(QuantConv2D, Cube,
      "Convolution of INT8 in exact sums: y = (convolution(x, filter) + bias) * scale of the channel",
      "INT8 卷积（精确累加）：y = (convolution(x, filter) + bias) * 通道 scale")
IR_OP(QuantConv2D, QuantConv2D, (In, x), (In, filter), (In, scale), (OptIn, bias), (OptIn, offset), (Out, y),
      (Int, dtype), (Ints, strides), (Ints, pads), (Ints, dilations, 1, 1, 1, 1), (Int, groups, 1),
      (Text, data_format, "NHWC"), (Int, offset_x, 0), (Text, round_mode, "rint")) {
  const Window w = window_of(op, 2, strides, pads, dilations, data_format);
  require_rank(op, "x", *x, 2);
  require_rank(op, "filter", *filter, 2);
  op.require(x->dtype == DType::Int8 && filter->dtype == DType::Int8, "x is {} and filter {}, want INT8", describe(*x),
             describe(*filter));
  ir::want(op, "dtype", dtype, static_cast<int64_t>(DType::Float16));
  ir::want(op, "round_mode", round_mode, "rint");
  op.require(!offset, "offset is given ({}), want none: the result is FLOAT16", offset ? describe(*offset).text() : "");
  op.require(offset_x >= -128 && offset_x <= 127, "attribute offset_x is {}, want a number of INT8", offset_x);
  const TensorView from = w.layout.first(*x), with = w.layout.filter(*filter, filter.handle->format);
  suggest_result(op, w, from, with, *y, DType::Float16);
  const ConvolutionShape s = convolution_shape(op, with, w.strides, w.pads, w.dilations, false, groups);
  const TensorView to = w.layout.first(*y);
  Dims dims = {from.dims[0], with.dims[0]};
  for (int d = 0; d < 2; ++d) dims.push_back(convolution_size(s, d, from.dims[d + 2], with.dims[d + 2], 0));
  op.require(from.dims[1] == with.dims[1] * groups, "x is {}, want {} channels for filter {} with {} groups",
             describe(*x), with.dims[1] * groups, describe(*filter), groups);
  op.require_shape("y", to, dims.data(), 4);
  op.require(y->dtype == DType::Float16, "y is {}, want FLOAT16", describe(*y));
  const int64_t channels = dims[1], each = with.numel() / std::max<int64_t>(1, channels);
  op.require(quantised::is_scale(scale->dtype) && (scale->numel() == 1 || scale->numel() == channels),
             "scale is {}, want UINT64, one value or {}", describe(*scale), channels);
  op.require(!bias || (bias->dtype == DType::Int32 && bias->numel() == channels), "bias is {}, want INT32 [{}]",
             bias ? describe(*bias).text() : "", channels);
  op.work(to.numel() * each);
  op.flops(2 * to.numel() * each);
  op.launch([=, kept = filter.handle->constant, scale = *scale, bias = view_or_none(bias)] {
    static const float kOne = 1;
    ScratchScope scratch;
    const TensorView sums =
        TensorView::contiguous(scratch.take<float>(static_cast<size_t>(to.numel())), DType::Float, dims.data(), 4);
    // What lies around the image is offset_x: the sums leave it out everywhere, and have it back as a whole.
    quantized_convolution(s, from, static_cast<int32_t>(offset_x), with, kept,
                          TensorView::contiguous(const_cast<float*>(&kOne), DType::Float, nullptr, 0), {}, {}, {},
                          sums);
    const std::vector<float> by = quantised::scales_of(scale);
    std::vector<int64_t> more = bias.data ? integers_of(bias) : std::vector<int64_t>(static_cast<size_t>(channels));
    if (offset_x != 0) {
      const std::vector<int64_t> weights = integers_of(with);
      for (size_t i = 0; i < weights.size(); ++i) more[i / static_cast<size_t>(each)] += offset_x * weights[i];
    }
    const int64_t plane = dims[2] * dims[3];
    parallel_for(
        dims[0] * channels, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, plane)), [&](int64_t begin, int64_t end) {
          for (int64_t r = begin; r < end; ++r) {
            const auto c = static_cast<size_t>(r % channels);
            const double factor = static_cast<double>(by[by.size() == 1 ? 0 : c]);
            float* row = sums.as<float>() + r * plane;
            for (int64_t i = 0; i < plane; ++i)
              row[i] = static_cast<float>((static_cast<double>(row[i]) + static_cast<double>(more[c])) * factor);
          }
        });
    copy_elements(to, sums);
  });
}
// Types of our own: graphs get them from passes/convolution.cpp.
ABOUT(FusedConv2D, Cube,
      "y = relu(convolution(x, filter) * factor + bias + add), or HardSwish of that in place of relu",
      "卷积与其后的缩放、加法、激活融合：y = relu(convolution(x, filter) * factor + bias + add)，或以 HardSwish 代替 "
      "relu")
IR_OP(FusedConv2D, FusedConv2D, (In, x), (In, filter), (OptIn, bias), (OptIn, add), (OptIn, factor), (Out, y),
      (Ints, strides), (Ints, pads), (Ints, dilations, 1, 1, 1, 1), (Int, groups, 1), (Bool, relu, false),
      (Text, data_format, "NCHW"), (Bool, hard_swish, false)) {
  const Window w = window_of(op, 2, strides, pads, dilations, data_format);
  require_rank(op, "x", *x, 2);
  require_rank(op, "filter", *filter, 2);
  const TensorView from = w.layout.first(*x), with = w.layout.filter(*filter, filter.handle->format);
  suggest_result(op, w, from, with, *y);
  ConvolutionShape s = convolution_shape(op, with, w.strides, w.pads, w.dilations, false, groups);
  s.reduced = kAllowReduced != 0;
  op.require(!relu || !hard_swish, "relu and hard_swish are both true, want one of them");
  s.relu = relu;
  s.hard_swish = hard_swish;
  OptIn added = add;
  aclTensor seen;
  if (add) {
    op.require_same_shape("what is added", *add, "the result", *y);
    seen.view = w.layout.first(*add);
    added.handle = &seen;
  }
  plan_convolution(op, s, from, with, filter.handle->constant, bias, w.layout.first(*y), nullptr, added, factor);
}
ABOUT(BNFactors, Vector, "Normalisation by statistics as x * factor + term: factor = scale / sqrt(variance + epsilon)",
      "按给定统计量的归一化写成 x * factor + term：factor = scale / sqrt(variance + epsilon)")
IR_OP(BNFactors, BNFactors, (In, scale), (In, offset), (In, mean), (In, variance), (OptIn, bias), (Out, factor),
      (Out, term), (Float, epsilon)) {
  op.require(scale->rank == 1, "scale is {}, want one dimension", describe(*scale));
  op.require_same_shape("offset", *offset, "scale", *scale);
  op.require_same_shape("mean", *mean, "scale", *scale);
  op.require_same_shape("variance", *variance, "scale", *scale);
  if (bias) op.require_same_shape("bias", *bias, "scale", *scale);
  op.result_like("factor", *factor, *scale, DType::Float);
  op.result_like("term", *term, *scale, DType::Float);
  op.launch([n = scale->numel(), a = *scale, d = *offset, m = *mean, v = *variance, b = view_or_none(bias),
             eps = static_cast<double>(epsilon), to = *factor, term = *term] {
    const std::vector<double> means = read_vector(m, n, 0), variances = read_vector(v, n, 1),
                              biases = read_vector(b, n, 0);
    std::vector<double> factors = read_vector(a, n, 1), terms = read_vector(d, n, 0);
    for (size_t i = 0; i < factors.size(); ++i) {
      factors[i] /= std::sqrt(variances[i] + eps);
      terms[i] += (biases[i] - means[i]) * factors[i];
    }
    write_vector(to, factors);
    write_vector(term, terms);
  });
}
ABOUT(Conv3D, Cube, "Convolution in three dimensions, with groups and bias", "三维卷积，支持分组与偏置")
IR_OP(Conv3D, Conv3D, (In, x), (In, filter), (OptIn, bias), (OptIn, offset_w), (Out, y), (Ints, strides), (Ints, pads),
      (Ints, dilations, 1, 1, 1, 1, 1), (Int, groups, 1), (Text, data_format, "NDHWC"), (Int, offset_x, 0)) {
  require_no_offset(op, offset_w, offset_x);
  forward(op, 3, x, filter, bias, strides, pads, dilations, groups, data_format, y);
}
ABOUT(Conv2DTranspose, Cube, "Transposed convolution in two dimensions", "二维转置卷积")
IR_OP(Conv2DTranspose, Conv2DTranspose, (In, input_size), (In, x), (In, filter), (OptIn, bias), (OptIn, offset_w),
      (Out, y), (Ints, strides), (Ints, pads), (Ints, dilations, 1, 1, 1, 1), (Int, groups, 1),
      (Text, data_format, "NHWC"), (Ints, output_padding, 0, 0, 0, 0), (Int, offset_x, 0)) {
  require_no_offset(op, offset_w, offset_x);
  transposed(op, 2, ir::shape_from(op, "input_size", input_size, *y), x, filter, bias, strides, pads, dilations, groups,
             data_format, *output_padding, y);
}
ABOUT(Conv3DTranspose, Cube, "Transposed convolution in three dimensions", "三维转置卷积")
IR_OP(Conv3DTranspose, Conv3DTranspose, (In, input_size), (In, x), (In, filter), (OptIn, bias), (OptIn, offset_w),
      (Out, y), (Ints, strides), (Ints, pads), (Ints, dilations, 1, 1, 1, 1, 1), (Int, groups, 1),
      (Text, data_format, "NDHWC"), (Ints, output_padding, 0, 0, 0, 0, 0), (Int, offset_x, 0)) {
  require_no_offset(op, offset_w, offset_x);
  transposed(op, 3, ir::shape_from(op, "input_size", input_size, *y), x, filter, bias, strides, pads, dilations, groups,
             data_format, *output_padding, y);
}

// The size of what they give as an attribute, which may be empty.
#define TRANSPOSED(TYPE, SPATIAL, FORMAT, ZEROS, ...)                                                                 \
  IR_OP(TYPE##D, TYPE, (In, x), (In, filter), (OptIn, bias), (OptIn, offset_w), (Out, y), (Ints, input_size),         \
        (Ints, strides), (Ints, pads), (Ints, dilations, __VA_ARGS__), (Int, groups, 1), (Text, data_format, FORMAT), \
        (Ints, output_padding, UPDRAFT_LIST ZEROS), (Int, offset_x, 0)) {                                             \
    require_no_offset(op, offset_w, offset_x);                                                                        \
    transposed(op, SPATIAL, *input_size, x, filter, bias, strides, pads, dilations, groups, data_format,              \
               *output_padding, y);                                                                                   \
  }
#define UPDRAFT_LIST(...) __VA_ARGS__
TRANSPOSED(Conv2DTranspose, 2, "NHWC", (0, 0, 0, 0), 1, 1, 1, 1)
TRANSPOSED(Conv3DTranspose, 3, "NDHWC", (0, 0, 0, 0, 0), 1, 1, 1, 1, 1)
#undef TRANSPOSED
#undef UPDRAFT_LIST

// --- a filter for each channel --------------------------------------------------------------------------------------
namespace {
/// [1, K, h, w] of NCHW, or [h, w, channels, multiplier] otherwise, as a grouped convolution has it: [K, 1, h, w].
TensorView filters_of_channels(Op& op, const TensorView& filter, const char* format) {
  op.require(filter.rank == 4, "filter is {}, want four dimensions", describe(filter));
  if (std::string_view(format) == "NCHW") {
    if (filter.dims[1] == 1) return filter;  // as torch has it
    op.require(filter.dims[0] == 1, "filter is {}, want 1 as its first dimension in NCHW", describe(filter));
    return filter.transpose(0, 1);
  }
  const TensorView channels = filter.transpose(0, 2).transpose(1, 3);  // [channels, multiplier, h, w]
  return ir::reshaped(op, channels, {filter.dims[2] * filter.dims[3], 1, filter.dims[0], filter.dims[1]});
}
}  // namespace
ABOUT(DepthwiseConv2D, Cube, "Convolution with filters of their own for each channel", "逐通道卷积")
IR_OP(DepthwiseConv2D, DepthwiseConv2D, (In, x), (In, filter), (OptIn, bias), (OptIn, offset_w), (Out, y),
      (Ints, strides), (Ints, dilations, 1, 1, 1, 1), (Ints, pads), (Text, data_format, "NHWC"), (Int, offset_x, 0)) {
  require_no_offset(op, offset_w, offset_x);
  const Window w = window_of(op, 2, strides, pads, dilations, data_format);
  require_rank(op, "x", *x, 2);
  const TensorView from = w.layout.first(*x), with = filters_of_channels(op, *filter, data_format);
  op.require(from.dims[1] > 0 && with.dims[0] % from.dims[1] == 0, "filter is {} for {} channels", describe(*filter),
             from.dims[1]);
  suggest_result(op, w, from, with, *y);
  call(op, "aclnnConvolution", from, with, bias, w.strides, w.pads, w.dilations, false, Dims(2, 0), from.dims[1],
       w.layout.first(*y), kAllowReduced);
}
namespace {
void depthwise_input_gradient(Op& op, const Dims& size, const In& filter, const In& dy, const Ints& strides,
                              const Ints& dilations, const Ints& pads, const char* format, const Out& dx) {
  const Window w = window_of(op, 2, strides, pads, dilations, format);
  ir::result(op, "input_grad", *dx, size, dy->dtype);
  require_rank(op, "input_grad", *dx, 2);
  const TensorView to = w.layout.first(*dx);
  call(op, "aclnnConvolutionBackward", w.layout.first(*dy), to, filters_of_channels(op, *filter, format), nullptr,
       w.strides, w.pads, w.dilations, false, Dims(2, 0), to.dims[1], std::vector<bool>{true, false, false},
       kAllowReduced, to, nullptr, nullptr);
}
void depthwise_filter_gradient(Op& op, const In& x, const Dims& size, const In& dy, const Ints& strides,
                               const Ints& dilations, const Ints& pads, const char* format, const Out& dw) {
  const Window w = window_of(op, 2, strides, pads, dilations, format);
  const bool first = std::string_view(format) == "NCHW";
  // The client's tensor may have the dimensions of torch's weight: its elements lie the same.
  if (op.inferring()) ir::suggest(op, *dw, size, x->dtype);
  op.require(size.size() == 4 && dw->rank == 4 && dw->numel() == ir::count_of(size) && dw->is_contiguous(),
             "filter_grad is {}, want {} elements in a row", describe(*dw), ir::count_of(size));
  const TensorView from = w.layout.first(*x);
  const Dims grouped =
      first ? Dims{size[0] * size[1], 1, size[2], size[3]} : Dims{size[2] * size[3], 1, size[0], size[1]};
  TensorView gradient = TensorView::contiguous(dw->data, dw->dtype, grouped.data(), 4);
  if (!first) gradient = ir::temporary(op, dw->dtype, grouped);
  call(op, "aclnnConvolutionBackward", w.layout.first(*dy), from, gradient, nullptr, w.strides, w.pads, w.dilations,
       false, Dims(2, 0), from.dims[1], std::vector<bool>{false, true, false}, kAllowReduced, nullptr, gradient,
       nullptr);
  if (first) return;
  const Dims apart = {size[2], size[3], size[0], size[1]};
  const TensorView channels = TensorView::contiguous(gradient.data, gradient.dtype, apart.data(), 4);
  ir::copy(op, channels.transpose(1, 3).transpose(0, 2), dw);
}
}  // namespace
IR_OP(DepthwiseConv2DBackpropInput, DepthwiseConv2DBackpropInput, (In, input_size), (In, filter), (In, out_backprop),
      (Out, input_grad), (Ints, strides), (Ints, dilations, 1, 1, 1, 1), (Ints, pads), (Text, data_format, "NHWC")) {
  depthwise_input_gradient(op, ir::shape_from(op, "input_size", input_size, *input_grad), filter, out_backprop, strides,
                           dilations, pads, data_format, input_grad);
}
IR_OP(DepthwiseConv2DBackpropInputD, DepthwiseConv2DBackpropInput, (In, filter), (In, out_backprop), (Out, input_grad),
      (Ints, input_size), (Ints, strides), (Ints, dilations, 1, 1, 1, 1), (Ints, pads), (Text, data_format, "NHWC")) {
  depthwise_input_gradient(op, *input_size, filter, out_backprop, strides, dilations, pads, data_format, input_grad);
}
IR_OP(DepthwiseConv2DBackpropFilter, DepthwiseConv2DBackpropFilter, (In, input), (In, filter_size), (In, out_backprop),
      (Out, filter_grad), (Ints, strides), (Ints, dilations, 1, 1, 1, 1), (Ints, pads), (Text, data_format, "NHWC")) {
  depthwise_filter_gradient(op, input, op.integers("filter_size", filter_size.handle), out_backprop, strides, dilations,
                            pads, data_format, filter_grad);
}
IR_OP(DepthwiseConv2DBackpropFilterD, DepthwiseConv2DBackpropFilter, (In, input), (In, out_backprop),
      (Out, filter_grad), (Ints, filter_size), (Ints, strides), (Ints, dilations, 1, 1, 1, 1), (Ints, pads),
      (Text, data_format, "NHWC")) {
  depthwise_filter_gradient(op, input, *filter_size, out_backprop, strides, dilations, pads, data_format, filter_grad);
}
ABOUT(DepthwiseConv2DBackpropInput, Cube, "Gradient of DepthwiseConv2D for its input",
      "DepthwiseConv2D 对输入的反向梯度")
ABOUT(DepthwiseConv2DBackpropFilter, Cube, "Gradient of DepthwiseConv2D for its filter",
      "DepthwiseConv2D 对卷积核的反向梯度")

// Gradients have the size of what they are for as an input or, in the types that end in D, as an attribute.
#define GRADIENTS(TYPE, SPATIAL, FORMAT, ...)                                                                          \
  IR_OP(TYPE##BackpropInput, TYPE##BackpropInput, (In, input_size), (In, filter), (In, out_backprop), (Out, y),        \
        (Ints, strides), (Ints, pads), (Ints, dilations, __VA_ARGS__), (Int, groups, 1),                               \
        (Text, data_format, FORMAT)) {                                                                                 \
    input_gradient(op, SPATIAL, ir::shape_from(op, "input_size", input_size, *y), filter, out_backprop, strides, pads, \
                   dilations, groups, data_format, y);                                                                 \
  }                                                                                                                    \
  IR_OP(TYPE##BackpropInputD, TYPE##BackpropInput, (In, filter), (In, out_backprop), (Out, y), (Ints, input_size),     \
        (Ints, strides), (Ints, pads), (Ints, dilations, __VA_ARGS__), (Int, groups, 1),                               \
        (Text, data_format, FORMAT)) {                                                                                 \
    input_gradient(op, SPATIAL, *input_size, filter, out_backprop, strides, pads, dilations, groups, data_format, y);  \
  }                                                                                                                    \
  IR_OP(TYPE##BackpropFilter, TYPE##BackpropFilter, (In, x), (In, filter_size), (In, out_backprop), (Out, y),          \
        (Ints, strides), (Ints, pads), (Ints, dilations, __VA_ARGS__), (Int, groups, 1),                               \
        (Text, data_format, FORMAT)) {                                                                                 \
    filter_gradient(op, SPATIAL, x, ir::shape_from(op, "filter_size", filter_size, *y), out_backprop, strides, pads,   \
                    dilations, groups, data_format, y);                                                                \
  }                                                                                                                    \
  IR_OP(TYPE##BackpropFilterD, TYPE##BackpropFilter, (In, x), (In, out_backprop), (Out, y), (Ints, filter_size),       \
        (Ints, strides), (Ints, pads), (Ints, dilations, __VA_ARGS__), (Int, groups, 1),                               \
        (Text, data_format, FORMAT)) {                                                                                 \
    filter_gradient(op, SPATIAL, x, *filter_size, out_backprop, strides, pads, dilations, groups, data_format, y);     \
  }
GRADIENTS(Conv2D, 2, "NHWC", 1, 1, 1, 1)
GRADIENTS(Conv3D, 3, "NDHWC", 1, 1, 1, 1, 1)
#undef GRADIENTS
ABOUT(Conv2DBackpropInput, Cube, "Gradient of a convolution in two dimensions for its input",
      "二维卷积对输入的反向梯度")
ABOUT(Conv2DBackpropFilter, Cube, "Gradient of a convolution in two dimensions for its filter",
      "二维卷积对卷积核的反向梯度")
ABOUT(Conv3DBackpropInput, Cube, "Gradient of a convolution in three dimensions for its input",
      "三维卷积对输入的反向梯度")
ABOUT(Conv3DBackpropFilter, Cube, "Gradient of a convolution in three dimensions for its filter",
      "三维卷积对卷积核的反向梯度")

// What Caffe calls a deconvolution: strides of height and width alone.
ABOUT(Deconvolution, Cube, "Transposed convolution of images, of the size that follows from strides and pads",
      "二维反卷积，输出大小由 strides 与 pads 决定")
IR_OP(Deconvolution, Deconvolution, (In, x), (In, filter), (OptIn, bias), (OptIn, offset_w), (Out, y),
      (Ints, strides, 1, 1), (Ints, pads, 0, 0, 0, 0), (Ints, dilations, 1, 1, 1, 1), (Int, groups, 1),
      (Text, data_format, "NCHW"), (Int, offset_x, 0)) {
  require_no_offset(op, offset_w, offset_x);
  op.require(strides.size() == 2, "attribute strides has {} values, want 2", strides.size());
  aclIntArray all{{1, 1, strides[0], strides[1]}};
  if (std::string_view(data_format) == "NHWC") all.values = {1, strides[0], strides[1], 1};
  transposed(op, 2, {}, x, filter, bias, Ints{&all}, pads, dilations, groups, data_format, Dims(4, 0), y);
}
ABOUT(DeformableConv2D, Cube, "Convolution of windows whose points lie at offsets", "可变形二维卷积")
IR_OP(DeformableConv2D, DeformableConv2D, (In, x), (In, filter), (In, offsets), (OptIn, bias), (Out, y),
      (Ints, strides), (Ints, pads), (Ints, dilations, 1, 1, 1, 1), (Int, groups, 1), (Text, data_format, "NHWC"),
      (Int, deformable_groups, 1), (Bool, modulated, true)) {
  require_rank(op, "filter", *filter, 2);
  const ir::Layout layout = ir::layout_of(op, 2, data_format);
  const TensorView with = layout.filter(*filter, filter.handle->format);
  const Dims size = {with.dims[2], with.dims[3]};
  Temp windows(x->dtype);
  call(op, "DeformableOffsets", x, offsets, windows, strides, pads, size, dilations, data_format, deformable_groups,
       modulated);
  const TensorView points = layout.first(*windows);
  op.require(points.dims[2] % size[0] == 0 && points.dims[3] % size[1] == 0, "the windows are {}, want whole ones",
             describe(*windows));
  ir::suggest(op, *y, layout.own({points.dims[0], with.dims[0], points.dims[2] / size[0], points.dims[3] / size[1]}),
              x->dtype);
  call(op, "aclnnConvolution", points, ViewOf(with, *filter.handle), bias, size, Dims{0, 0}, Dims{1, 1}, false,
       Dims{0, 0}, groups, layout.first(*y), kAllowReduced);
}
IR_OP(MaskedCausalConv1d, aclnnMaskedCausalConv1d, (In, input), (In, weight), (OptIn, mask), (Out, output)) {
  call(op, "aclnnMaskedCausalConv1d", input, weight, mask, output);
}

}  // namespace updraft
