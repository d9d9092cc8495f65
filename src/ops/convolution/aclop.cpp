// Convolutions of the aclop era, in two and three dimensions. torch_npu asks for them on products where internal
// formats are allowed. Attributes have a value for each dimension of the tensors (batch and channel are 1), pads two
// for each spatial one; a size that is an input says the same as the output's shape.
#include "kernels/convolution.h"
#include "ops/aclop_as_aclnn.h"

namespace updraft {
namespace {

ConvolutionShape shape_of(const AclopCall& call, const TensorView& weight, bool transposed) {
  AclnnCall as(call);
  if (weight.rank != 4 && weight.rank != 5)
    throw Error(code::kAclInvalidParam, "{}: the filter is {}, want 4 or 5 dimensions", call.type, describe(weight));
  if (const auto format = call.attributes.find("data_format");
      format != call.attributes.end() && format->second.text != (weight.rank == 4 ? "NCHW" : "NCDHW"))
    throw Error(code::kAclInvalidParam, "{}: data_format is {}, want {}", call.type, format->second.text,
                weight.rank == 4 ? "NCHW" : "NCDHW");
  const auto rank = static_cast<size_t>(weight.rank), spatial = rank - 2;
  const std::vector<int64_t>&strides = as.attribute("strides", rank), &dilations = as.attribute("dilations", rank),
        &pads = as.attribute("pads", 2 * spatial);
  ConvolutionShape s;
  s.spatial = static_cast<int>(spatial);
  s.transposed = transposed;
  s.groups = call.integer("groups", 1);
  for (size_t d = 0; d < spatial; ++d) {
    s.stride[d] = strides[d + 2];
    s.dilation[d] = dilations[d + 2];
    s.padding[d] = pads[2 * d];
    if (pads[2 * d] != pads[2 * d + 1] || pads[2 * d] < 0 || s.stride[d] < 1 || s.dilation[d] < 1)
      throw Error(code::kAclInvalidParam,
                  "{}: pads are {} and {}, stride is {}, dilation is {}: want equal pads and positive steps", call.type,
                  pads[2 * d], pads[2 * d + 1], s.stride[d], s.dilation[d]);
  }
  return s;
}

/// `image` -> `result` by `weight`, whose first dimension belongs to the result ([C, O / groups] when transposed).
void check(const AclopCall& call, const ConvolutionShape& s, const TensorView& image, const TensorView& weight,
           const TensorView& result) {
  const int rank = s.spatial + 2;
  const bool channels = s.groups > 0 && weight.dims[0] % s.groups == 0 && image.rank == rank && result.rank == rank &&
                        image.dims[0] == result.dims[0] && (s.transposed ? image : result).dims[1] == weight.dims[0] &&
                        (s.transposed ? result : image).dims[1] == weight.dims[1] * s.groups;
  bool sizes = channels;
  for (int d = 2; sizes && d < rank; ++d) {
    // A transposed convolution may be up to a stride larger (output_padding).
    const TensorView &large = s.transposed ? result : image, &small = s.transposed ? image : result;
    ConvolutionShape plain = s;
    plain.transposed = false;
    sizes = convolution_size(plain, d - 2, large.dims[d], weight.dims[d], 0) == small.dims[d];
  }
  if (!sizes)
    throw Error(code::kAclInvalidParam, "{}: {} by a filter of {} with {} groups does not give {}", call.type,
                describe(image), describe(weight), s.groups, describe(result));
}

void forward(AclopCall& call) {
  require_present(call, {0, 1}, {0});
  const TensorView &x = call.inputs[0].view, &weight = call.inputs[1].view, &y = call.outputs[0].view;
  const ConvolutionShape s = shape_of(call, weight, false);
  check(call, s, x, weight, y);
  const TensorView* bias = call.inputs.size() > 2 && call.inputs[2].view.data ? &call.inputs[2].view : nullptr;
  if (!y.empty()) convolution(s, x, weight, bias, y);
}

void transposed(AclopCall& call) {  // size x filter (bias) -> y
  require_present(call, {1, 2}, {0});
  const TensorView &x = call.inputs[1].view, &weight = call.inputs[2].view, &y = call.outputs[0].view;
  const ConvolutionShape s = shape_of(call, weight, true);
  check(call, s, x, weight, y);
  const TensorView* bias = call.inputs.size() > 3 && call.inputs[3].view.data ? &call.inputs[3].view : nullptr;
  if (!y.empty()) convolution(s, x, weight, bias, y);
}

void input_gradient(AclopCall& call) {  // size filter dy -> dx
  require_present(call, {1, 2}, {0});
  const TensorView &weight = call.inputs[1].view, &dy = call.inputs[2].view, &dx = call.outputs[0].view;
  const ConvolutionShape s = shape_of(call, weight, false);
  check(call, s, dx, weight, dy);
  if (!dx.empty()) convolution_backward(s, dy, dx, weight, &dx, nullptr, nullptr);
}

void filter_gradient(AclopCall& call) {  // x size dy -> dw
  require_present(call, {0, 2}, {0});
  const TensorView &x = call.inputs[0].view, &dy = call.inputs[2].view, &dw = call.outputs[0].view;
  const ConvolutionShape s = shape_of(call, dw, false);
  check(call, s, x, dw, dy);
  if (!dw.empty()) convolution_backward(s, dy, x, dw, nullptr, &dw, nullptr);
}

/// Multiplications and additions: the filter's, once for each position of the convolution's output.
template <size_t kWeight, bool kInput, size_t kSmall, bool kSmallInput>
int64_t flops(const AclopCall& call) {
  const auto& weights = kInput ? call.inputs : call.outputs;
  const auto& smalls = kSmallInput ? call.inputs : call.outputs;
  if (weights.size() <= kWeight || smalls.size() <= kSmall) return 0;
  const TensorView &w = weights[kWeight].view, &y = smalls[kSmall].view;
  return w.rank && w.dims[0] ? 2 * y.numel() * (w.numel() / w.dims[0]) : 0;
}

ABOUT_ACLOP("Conv2D", Cube, "Convolution in two dimensions, with groups and bias", "二维卷积，支持分组与偏置",
            flops<1, true, 0, false>)
ACLOP("Conv2D", forward)
ABOUT_ACLOP("Conv2DTranspose", Cube, "Transposed convolution in two dimensions", "二维转置卷积",
            flops<2, true, 1, true>)
ACLOP("Conv2DTranspose", transposed)
ABOUT_ACLOP("Conv2DBackpropInput", Cube, "Gradient of a convolution in two dimensions for its input",
            "二维卷积对输入的反向梯度", flops<1, true, 2, true>)
ACLOP("Conv2DBackpropInput", input_gradient)
ABOUT_ACLOP("Conv2DBackpropFilter", Cube, "Gradient of a convolution in two dimensions for its filter",
            "二维卷积对卷积核的反向梯度", flops<0, false, 2, true>)
ACLOP("Conv2DBackpropFilter", filter_gradient)

ABOUT_ACLOP("Conv3D", Cube, "Convolution in three dimensions, with groups and bias", "三维卷积，支持分组与偏置",
            flops<1, true, 0, false>)
ACLOP("Conv3D", forward)
ABOUT_ACLOP("Conv3DTranspose", Cube, "Transposed convolution in three dimensions", "三维转置卷积",
            flops<2, true, 1, true>)
ACLOP("Conv3DTranspose", transposed)
ABOUT_ACLOP("Conv3DBackpropInput", Cube, "Gradient of a convolution in three dimensions for its input",
            "三维卷积对输入的反向梯度", flops<1, true, 2, true>)
ACLOP("Conv3DBackpropInput", input_gradient)
ABOUT_ACLOP("Conv3DBackpropFilter", Cube, "Gradient of a convolution in three dimensions for its filter",
            "三维卷积对卷积核的反向梯度", flops<0, false, 2, true>)
ACLOP("Conv3DBackpropFilter", filter_gradient)

}  // namespace
}  // namespace updraft
