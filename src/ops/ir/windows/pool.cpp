// Pooling over windows. Attributes have a value for each dimension of the tensors, or for each spatial one; pads have
// two for each spatial dimension.
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "base/parallel.h"
#include "kernels/table.h"
#include "ops/gathered.h"
#include "ops/ir/windows/windows.h"

namespace updraft {
namespace {

using ir::Attributes;
using ir::Dims;
using ir::Padding;
using ir::padding_of;
using ir::Windows;
using ir::windows_of;

/// x with `value` around it where the padding is uneven; then the windows have none.
template <class T>
void make_even(Op& op, Windows& w, T value) {
  if (w.even()) return;
  Dims dims = ir::dims_of(w.x);
  for (size_t d = 2; d < dims.size(); ++d) dims[d] += w.before[d - 2] + w.after[d - 2];
  const TensorView padded = ir::temporary(op, w.x.dtype, dims);
  TensorView inner = padded;
  for (int d = 2; d < inner.rank; ++d) inner = ir::part_of(inner, d, w.before[static_cast<size_t>(d) - 2], w.x.dims[d]);
  call(op, "aclnnInplaceFillScalar", padded, value);
  call(op, "aclnnInplaceCopy", inner, w.x);
  w.x = padded;
  w.before.assign(w.before.size(), 0);
  w.after = w.before;
}
/// The part of a padded gradient that belongs to x.
TensorView inner_of(const Windows& w, const TensorView& padded) {
  TensorView inner = padded;
  for (int d = 2; d < inner.rank; ++d) inner = ir::part_of(inner, d, w.before[static_cast<size_t>(d) - 2], w.x.dims[d]);
  return inner;
}

/// x with what no window takes for its largest around it.
void make_even_for_maxima(Op& op, Windows& w) {
  if (is_floating(w.x.dtype)) make_even(op, w, -std::numeric_limits<double>::infinity());
  else make_even(op, w, ir::integer_end(w.x.dtype, true));
}

const char* largest_twin(int spatial) {
  return spatial == 2 ? "aclnnMaxPool2dWithIndices" : "aclnnMaxPool3dWithArgmax";
}

/// The channels of a point lie side by side, enough of them for rows of their own.
bool has_rows(const TensorView& v) {
  const bool taken = v.dtype == DType::Float || is_half(v.dtype);
  return taken && v.rank == 4 && v.strides[1] == 1 && v.dims[1] >= 8;
}
bool has_float_rows(const TensorView& v) { return v.dtype == DType::Float && has_rows(v); }

PointWindows points_of(const Windows& w, const TensorView& y, const TensorView& grad, const TensorView& dx) {
  PointWindows p;
  for (int d = 0; d < 2; ++d) {
    const auto at = static_cast<size_t>(d);
    p.in[d] = w.x.dims[d + 2];
    p.out[d] = y.dims[d + 2];
    p.kernel[d] = w.kernel[at];
    p.stride[d] = w.strides[at];
    p.dilation[d] = w.dilations[at];
    p.padding[d] = w.before[at];
    p.x[d] = w.x.strides[d + 2];
    p.y[d] = y.strides[d + 2];
    p.grad[d] = grad.strides[d + 2];
    p.dx[d] = dx.strides[d + 2];
  }
  return p;
}

/// The largest of the windows where has_rows() holds for both.
void max_points(const Windows& w, const TensorView& y) {
  const PointWindows p = points_of(w, y, y, y);
  const int64_t high = y.dims[2], work = y.dims[3] * y.dims[1] * p.kernel[0] * p.kernel[1];
  parallel_for(y.dims[0] * high, 1 + 16384 / std::max<int64_t>(1, work), [&](int64_t begin, int64_t end) {
    for (int64_t line = begin; line < end; ++line) {
      const int64_t n = line / high, h = line % high;
      kernels().max_of_points(p, y.dtype, at_element(w.x, n * w.x.strides[0]),
                              at_element(y, n * y.strides[0] + h * y.strides[2]), h, y.dims[1]);
    }
  });
}

/// The gradient of max_points(). Windows overlap, so a thread has an image for itself, or some channels of one.
void max_points_gradient(const Windows& w, const TensorView& y, const TensorView& grad, const TensorView& dx) {
  constexpr int64_t kImages = 16, kChannels = 64;  // two lines of the cache or more
  const PointWindows p = points_of(w, y, grad, dx);
  const int64_t each = y.dims[0] >= kImages ? y.dims[1] : kChannels, parts = (y.dims[1] + each - 1) / each;
  parallel_for(y.dims[0] * parts, 1, [&](int64_t begin, int64_t end) {
    for (int64_t part = begin; part < end; ++part) {
      const int64_t n = part / parts, c = part % parts * each;
      kernels().add_at_first_max(p, w.x.as<float>() + n * w.x.strides[0] + c, y.as<float>() + n * y.strides[0] + c,
                                 grad.as<float>() + n * grad.strides[0] + c, dx.as<float>() + n * dx.strides[0] + c,
                                 std::min(each, y.dims[1] - c));
    }
  });
}

/// The largest of the windows; positions into `argmax` (of the padded x where the padding is uneven), or nowhere.
void max_pool(Op& op, int spatial, Windows w, bool ceil_mode, const TensorView& y, const TensorView* argmax) {
  if (!argmax && spatial == 2 && has_rows(w.x) && has_rows(y)) {
    op.work(y.numel() * w.kernel[0] * w.kernel[1]);
    return op.launch([=] { max_points(w, y); });
  }
  make_even_for_maxima(op, w);
  const TensorView at = argmax ? *argmax : ir::temporary(op, DType::Int32, w.outputs());
  call(op, largest_twin(spatial), w.x, w.kernel, w.strides, w.before, w.dilations, ceil_mode, y, at);
}

/// The gradient of max_pool(), of which `y` is the result: finds the positions again.
void max_pool_grad(Op& op, int spatial, const Windows& w, bool ceil_mode, const TensorView& y, const TensorView& grad,
                   const TensorView& dx) {
  if (spatial == 2 && has_float_rows(w.x) && has_float_rows(y) && has_float_rows(grad) && has_float_rows(dx)) {
    op.work(y.numel() * w.kernel[0] * w.kernel[1]);
    return op.launch([=] { max_points_gradient(w, y, grad, dx); });
  }
  Windows even = w;
  make_even_for_maxima(op, even);
  const TensorView again = ir::temporary(op, w.x.dtype, w.outputs()), at = ir::temporary(op, DType::Int32, w.outputs());
  call(op, largest_twin(spatial), even.x, even.kernel, even.strides, even.before, even.dilations, ceil_mode, again, at);
  const TensorView to = w.even() ? dx : ir::temporary(op, dx.dtype, ir::dims_of(even.x));
  call(op, spatial == 2 ? "aclnnMaxPool2dWithIndicesBackward" : "aclnnMaxPool3dWithArgmaxBackward", grad, even.x, at,
       even.kernel, even.strides, even.before, even.dilations, ceil_mode, to);
  if (!w.even()) call(op, "aclnnInplaceCopy", dx, inner_of(w, to));
}

void plan_max(Op& op, int spatial, const In& x, const char* format, const Attributes& a, const Out& y) {
  const Windows w = windows_of(op, spatial, *x, format, a);
  ir::result(op, "y", *y, w.client_outputs(), x->dtype);
  max_pool(op, spatial, w, a.ceil_mode, w.own(*y), nullptr);
}

void plan_max_grad(Op& op, int spatial, const In& x, const In& forward, const In& grad, const char* format,
                   const Attributes& a, const char* name, const Out& dx) {
  const Windows w = windows_of(op, spatial, *x, format, a);
  op.require_same_shape("the forward result", *forward, "the gradient", *grad);
  op.result_like(name, *dx, *x, x->dtype);
  max_pool_grad(op, spatial, w, a.ceil_mode, w.own(*forward), w.own(*grad), w.own(*dx));
}

}  // namespace

// --- maxima -------------------------------------------------------------------------------------------------------
ABOUT(MaxPool, Vector, "Largest of the windows of an image", "二维最大池化")
IR_OP(MaxPool, MaxPool, (In, x), (Out, y), (Ints, ksize), (Ints, strides), (Text, padding),
      (Text, data_format, "NHWC")) {
  plan_max(op, 2, x, data_format, {*ksize, *strides, {}, {}, padding_of(op, "padding", padding)}, y);
}
IR_OP(MaxPoolV2, MaxPool, (In, x), (In, ksize), (In, strides), (Out, y), (Text, padding), (Text, data_format, "NHWC")) {
  plan_max(op, 2, x, data_format,
           {op.integers("ksize", ksize.handle),
            op.integers("strides", strides.handle),
            {},
            {},
            padding_of(op, "padding", padding)},
           y);
}
IR_OP(MaxPoolV3, MaxPool, (In, x), (Out, y), (Ints, ksize), (Ints, strides), (Text, padding_mode, "CALCULATED"),
      (Ints, pads, 0, 0, 0, 0), (Text, data_format, "NCHW"), (Bool, global_pooling, false), (Bool, ceil_mode, false)) {
  plan_max(op, 2, x, data_format,
           {*ksize, *strides, *pads, {}, padding_of(op, "padding_mode", padding_mode), ceil_mode, global_pooling}, y);
}
ABOUT(MaxPool3D, Vector, "Largest of the windows of a volume", "三维最大池化")
IR_OP(MaxPool3D, MaxPool3D, (In, x), (Out, y), (Ints, ksize), (Ints, strides), (Text, padding),
      (Ints, pads, 0, 0, 0, 0, 0, 0), (Ints, dilation, 1, 1, 1, 1, 1), (Int, ceil_mode, 0),
      (Text, data_format, "NDHWC")) {
  plan_max(op, 3, x, data_format,
           {*ksize, *strides, *pads, *dilation, padding_of(op, "padding", padding), ceil_mode != 0}, y);
}
ABOUT(MaxPoolGrad, Vector, "Gradient of MaxPool", "MaxPool 的反向梯度")
IR_OP(MaxPoolGrad, MaxPoolGrad, (In, x1), (In, x2), (In, grad), (Out, y), (Ints, ksize), (Ints, strides),
      (Text, padding), (Text, data_format, "NHWC")) {
  plan_max_grad(op, 2, x1, x2, grad, data_format, {*ksize, *strides, {}, {}, padding_of(op, "padding", padding)}, "y",
                y);
}
IR_OP(MaxPoolV3Grad, MaxPoolGrad, (In, orig_input), (In, orig_output), (In, grad), (Out, out_grad), (Ints, ksize),
      (Ints, strides), (Text, padding_mode, "CALCULATED"), (Ints, pads, 0, 0, 0, 0), (Text, data_format, "NCHW"),
      (Bool, global_pooling, false), (Bool, ceil_mode, false)) {
  plan_max_grad(op, 2, orig_input, orig_output, grad, data_format,
                {*ksize, *strides, *pads, {}, padding_of(op, "padding_mode", padding_mode), ceil_mode, global_pooling},
                "out_grad", out_grad);
}
ABOUT(MaxPool3DGrad, Vector, "Gradient of MaxPool3D", "MaxPool3D 的反向梯度")
IR_OP(MaxPool3DGrad, MaxPool3DGrad, (In, orig_x), (In, orig_y), (In, grads), (Out, y), (Ints, ksize), (Ints, strides),
      (Text, padding, "SAME"), (Ints, pads), (Text, data_format, "NDHWC")) {
  // The attribute that says whether the windows were rounded up is only at the forward pass: its result tells.
  Attributes a{*ksize, *strides, *pads, {}, padding_of(op, "padding", padding)};
  if (ir::dims_of(*orig_y) != windows_of(op, 3, *orig_x, data_format, a).client_outputs()) a.ceil_mode = true;
  op.require(ir::dims_of(*orig_y) == windows_of(op, 3, *orig_x, data_format, a).client_outputs(),
             "orig_y is {}, want shape {}", describe(*orig_y),
             fmt::join(windows_of(op, 3, *orig_x, data_format, a).client_outputs(), ","));
  plan_max_grad(op, 3, orig_x, orig_y, grads, data_format, a, "y", y);
}

// --- maxima with their places -------------------------------------------------------------------------------------
namespace {
/// Pads have one value for each dimension here.
Windows windows_with_places(const Op& op, int spatial, const In& x, const Ints& ksize, const Ints& strides,
                            const Ints& pads, const Ints& dilation, bool ceil_mode, const char* data_format) {
  Dims both;
  for (int64_t p : *pads) both.insert(both.end(), {p, p});
  return windows_of(op, spatial, *x, data_format, {*ksize, *strides, both, *dilation, Padding::Given, ceil_mode});
}
void largest_with_places(Op& op, int spatial, Windows w, bool ceil_mode, const Out& y, const Out& argmax, DType type) {
  ir::result(op, "y", *y, w.client_outputs(), w.x.dtype);
  ir::result(op, "argmax", *argmax, w.client_outputs(), type);
  const TensorView at = w.own(*argmax);
  max_pool(op, spatial, w, ceil_mode, w.own(*y), &at);
}
void spread_to_places(Op& op, const char* backward, const Windows& w, bool ceil_mode, const In& x, const In& grad,
                      const In& argmax, const Out& y) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, backward, w.own(*grad), w.x, w.own(*argmax), w.kernel, w.strides, w.before, w.dilations, ceil_mode,
       w.own(*y));
}
DType argmax_named(const Op& op, std::string_view word) {
  op.require(word == "int32" || word == "int64", "attribute argmax_type is \"{}\", want int32 or int64", word);
  return word == "int32" ? DType::Int32 : DType::Int64;
}
}  // namespace
IR_OP(MaxPoolWithArgmaxV3, aclnnMaxPool2dWithIndices, (In, x), (Out, y), (Out, argmax), (Ints, ksize), (Ints, strides),
      (Ints, pads), (Int, dtype, 3), (Ints, dilation, 1, 1), (Bool, ceil_mode, false), (Text, data_format, "NCHW")) {
  largest_with_places(op, 2, windows_with_places(op, 2, x, ksize, strides, pads, dilation, ceil_mode, data_format),
                      ceil_mode, y, argmax, static_cast<DType>(dtype));
}
IR_OP(MaxPoolGradWithArgmaxV3, aclnnMaxPool2dWithIndicesBackward, (In, x), (In, grad), (In, argmax), (Out, y),
      (Ints, ksize), (Ints, strides), (Ints, pads), (Int, dtype, 3), (Ints, dilation, 1, 1), (Bool, ceil_mode, false),
      (Text, data_format, "NCHW")) {
  (void)dtype;  // argmax has it
  spread_to_places(op, "aclnnMaxPool2dWithIndicesBackward",
                   windows_with_places(op, 2, x, ksize, strides, pads, dilation, ceil_mode, data_format), ceil_mode, x,
                   grad, argmax, y);
}
IR_OP(MaxPool3DWithArgmaxV2, aclnnMaxPool3dWithArgmax, (In, x), (Out, y), (Out, argmax), (Ints, ksize), (Ints, strides),
      (Ints, pads), (Ints, dilation, 1, 1, 1), (Bool, ceil_mode, false), (Text, data_format, "NCDHW"),
      (Int, dtype, 3)) {
  largest_with_places(op, 3, windows_with_places(op, 3, x, ksize, strides, pads, dilation, ceil_mode, data_format),
                      ceil_mode, y, argmax, static_cast<DType>(dtype));
}
// MindSpore's own types of the same: the type of argmax is a word.
IR_OP(CustMaxPool3DWithArgmax, aclnnMaxPool3dWithArgmax, (In, x), (Out, y), (Out, argmax), (Ints, ksize),
      (Ints, strides), (Ints, pads), (Ints, dilation), (Bool, ceil_mode), (Text, data_format), (Text, argmax_type)) {
  largest_with_places(op, 3, windows_with_places(op, 3, x, ksize, strides, pads, dilation, ceil_mode, data_format),
                      ceil_mode, y, argmax, argmax_named(op, argmax_type));
}
IR_OP(CustMaxPool3DGradWithArgmax, aclnnMaxPool3dWithArgmaxBackward, (In, x), (In, grads), (In, argmax), (Out, y),
      (Ints, ksize), (Ints, strides), (Ints, pads), (Ints, dilation), (Bool, ceil_mode), (Text, data_format),
      (Text, argmax_type, "")) {
  (void)argmax_type;  // argmax has it
  spread_to_places(op, "aclnnMaxPool3dWithArgmaxBackward",
                   windows_with_places(op, 3, x, ksize, strides, pads, dilation, ceil_mode, data_format), ceil_mode, x,
                   grads, argmax, y);
}
// V1 has four-element attributes of N, C, H, W (in the order 1, h, w, 1) and a mask that is private to the library, of
// kernel * 32 * (outputs / 16 + 1) bytes a plane.
namespace {
struct Masked {
  Dims ksize, strides, pads, dilation;
};
Masked masked_of(const Op& op, const Ints& ksize, const Ints& strides, const Ints& pads, const Ints& dilation) {
  auto two = [&](const char* name, const Ints& v) {
    op.require(v.size() == 4, "attribute {} has {} values, want 4", name, v.size());
    return Dims{v[1], v[2]};
  };
  return {two("ksize", ksize), two("strides", strides), two("pads", pads), two("dilation", dilation)};
}
void pool_with_mask(Op& op, const In& x, const Ints& ksize, const Ints& strides, const Ints& pads, const Ints& dilation,
                    bool ceil_mode, const Out& y, const Out& argmax) {
  const Masked m = masked_of(op, ksize, strides, pads, dilation);
  const Dims both = {m.pads[0], m.pads[0], m.pads[1], m.pads[1]};
  const Windows w = windows_of(op, 2, *x, "NCHW", {m.ksize, m.strides, both, m.dilation, Padding::Given, ceil_mode});
  ir::result(op, "y", *y, w.outputs(), x->dtype);
  const int64_t kernel = w.kernel[0] * w.kernel[1];
  ir::suggest(op, *argmax, {w.x.dims[0], w.x.dims[1], kernel, (w.sizes[0] * w.sizes[1] / 16 + 1) * 32}, DType::Int8);
  // As bytes: whatever type the client gives the mask, its size counts.
  const Dims bytes = {
      w.x.dims[0], w.x.dims[1],
      w.x.dims[0] * w.x.dims[1] > 0 ? static_cast<int64_t>(argmax->bytes()) / (w.x.dims[0] * w.x.dims[1]) : 0};
  op.require(argmax->is_contiguous(), "argmax is {}, want contiguous memory", describe(*argmax));
  TensorView mask = *argmax;
  mask.dtype = DType::Int8;
  mask = TensorView::contiguous(mask.data, DType::Int8, bytes.data(), 3);
  call(op, "aclnnMaxPool2dWithMask", x, w.kernel, w.strides, w.before, w.dilations, ceil_mode, y, mask);
}
void pool_with_mask_grad(Op& op, const In& x, const In& grad, const In& argmax, const Ints& ksize, const Ints& strides,
                         const Ints& pads, const Ints& dilation, bool ceil_mode, const Out& y) {
  const Masked m = masked_of(op, ksize, strides, pads, dilation);
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnMaxPool2dWithMaskBackward", grad, x, argmax, m.ksize, m.strides, m.pads, m.dilation, ceil_mode, y);
}
}  // namespace
#define MASKED(VERSION)                                                                                              \
  IR_OP(MaxPoolWithArgmax##VERSION, aclnnMaxPool2dWithMask, (In, x), (Out, y), (Out, argmax), (Ints, ksize),         \
        (Ints, strides), (Ints, pads), (Int, dtype, 3), (Ints, dilation, 1, 1, 1, 1), (Bool, ceil_mode, false)) {    \
    (void)dtype; /* of positions, which the mask has none of */                                                      \
    pool_with_mask(op, x, ksize, strides, pads, dilation, ceil_mode, y, argmax);                                     \
  }                                                                                                                  \
  IR_OP(MaxPoolGradWithArgmax##VERSION, aclnnMaxPool2dWithMaskBackward, (In, x), (In, grad), (In, argmax), (Out, y), \
        (Ints, ksize), (Ints, strides), (Ints, pads), (Int, dtype, 3), (Ints, dilation, 1, 1, 1, 1),                 \
        (Bool, ceil_mode, false)) {                                                                                  \
    (void)dtype;                                                                                                     \
    pool_with_mask_grad(op, x, grad, argmax, ksize, strides, pads, dilation, ceil_mode, y);                          \
  }
MASKED(V1)
MASKED(V2)
#undef MASKED
namespace {
/// What of grad lies where the largest of the windows are, [N, C, …].
void second_gradient(Op& op, int spatial, const Windows& w, const TensorView& grad, const TensorView& y) {
  if (op.inferring() || y.empty()) return;
  const Dims outputs = w.outputs();
  const TensorView again = ir::temporary(op, w.x.dtype, outputs),
                   at = ir::temporary(op, spatial == 2 ? DType::Int64 : DType::Int32, outputs);
  // The gradient gets the same zeros around it, so that positions of the padded image hold for it.
  Windows of_grad = w;
  of_grad.x = w.own(grad);
  max_pool(op, spatial, w, false, again, &at);
  make_even(op, of_grad, 0.0);
  const int64_t n = outputs[0], c = outputs[1], images = std::max<int64_t>(1, n * c);
  const TensorView flat = ir::reshaped(op, of_grad.x, {n, c, of_grad.x.numel() / images});
  Temp wide(DType::Int64), taken;
  call(op, "aclnnCast", at, DType::Int64, wide);
  call(op, "aclnnGather", flat, 2, ir::reshaped(op, *wide, {n, c, at.numel() / images}), taken);
  call(op, "aclnnInplaceCopy", w.own(y), ir::reshaped(op, *taken, outputs));
}
}  // namespace
ABOUT(MaxPoolGradGrad, Vector, "Second gradient of MaxPool: grad where the largest are",
      "MaxPool 的二阶梯度：取最大值位置处的 grad")
IR_OP(MaxPoolGradGrad, MaxPoolGradGrad, (In, x1), (In, x2), (In, grad), (Out, y), (Ints, ksize), (Ints, strides),
      (Text, padding), (Text, data_format, "NHWC")) {
  const Windows w = windows_of(op, 2, *x1, data_format, {*ksize, *strides, {}, {}, padding_of(op, "padding", padding)});
  op.require_same_shape("grad", *grad, "x1", *x1);
  op.result_like("y", *y, *x2, grad->dtype);
  second_gradient(op, 2, w, *grad, *y);
}
ABOUT(MaxPool3DGradGrad, Vector, "Second gradient of MaxPool3D: grads where the largest are",
      "MaxPool3D 的二阶梯度：取最大值位置处的 grads")
IR_OP(MaxPool3DGradGrad, MaxPool3DGradGrad, (In, orig_x), (In, orig_y), (In, grads), (Out, y), (Ints, ksize),
      (Ints, strides), (Ints, pads), (Text, data_format, "NDHWC")) {
  const Windows w = windows_of(op, 3, *orig_x, data_format, {*ksize, *strides, *pads, {}});
  op.require_same_shape("grads", *grads, "orig_x", *orig_x);
  op.require(ir::dims_of(*orig_y) == w.client_outputs(), "orig_y is {}, want shape {}", describe(*orig_y),
             fmt::join(w.client_outputs(), ","));
  op.result_like("y", *y, *orig_y, grads->dtype);
  second_gradient(op, 3, w, *grads, *y);
}

// --- maxima with their places among all elements of an image ------------------------------------------------------
// Places are those of TensorFlow, in the order rows, columns, channels. UINT16, the default, is the mask of a card,
// whose values only the gradients read: here it holds the place within the window.
namespace {

struct Places {
  int64_t height, width, channels, columns, kernel_width, row_step, column_step, top, left;

  Places(const Windows& w, int64_t outputs_in_row)
      : height(w.x.dims[2]),
        width(w.x.dims[3]),
        channels(w.x.dims[1]),
        columns(outputs_in_row),
        kernel_width(w.kernel[1]),
        row_step(w.strides[0]),
        column_step(w.strides[1]),
        top(w.before[0]),
        left(w.before[1]) {}
  /// The element of an image that `place` of output (point, channel) means.
  int64_t element(int64_t place, bool in_window, int64_t point, int64_t channel) const {
    if (!in_window) return place;
    const int64_t row = point / columns * row_step - top + place / kernel_width,
                  column = point % columns * column_step - left + place % kernel_width;
    return (row * width + column) * channels + channel;
  }
  /// The place of a pixel of the image, given what is asked for.
  int64_t place(int64_t row, int64_t column, bool in_window, int64_t point, int64_t channel) const {
    if (!in_window) return (row * width + column) * channels + channel;
    return (row - (point / columns * row_step - top)) * kernel_width + column - (point % columns * column_step - left);
  }
};

/// The pooling of an image whose channels are last, and the places as they are stored.
Windows places_of(const Op& op, const In& x, const Ints& ksize, const Ints& strides, const char* padding) {
  const Padding how = padding_of(op, "padding", padding);
  op.require(how != Padding::Given, "attribute padding is \"{}\", want SAME or VALID", padding);
  return windows_of(op, 2, *x, "NHWC", {*ksize, *strides, {}, {}, how});
}
void require_places(const Op& op, const In& argmax, const Windows& w) {
  op.require(ir::dims_of(*argmax) == w.client_outputs(), "argmax is {}, want shape {}", describe(*argmax),
             fmt::join(w.client_outputs(), ","));
  op.require(argmax->dtype == DType::Int32 || argmax->dtype == DType::Int64 || argmax->dtype == DType::UInt16,
             "argmax is {}, want INT32, INT64 or UINT16", describe(*argmax));
}
/// f(image, element of the image, element of the result) for all places.
template <class F>
void each_place(const TensorView& argmax, const Places& p, F&& f) {
  const std::vector<int64_t> at = integers_of(argmax);
  const int64_t points = argmax.dims[1] * argmax.dims[2], size = p.height * p.width * p.channels;
  parallel_for(argmax.dims[0], 1, [&](int64_t begin, int64_t end) {
    for (; begin < end; ++begin)
      for (int64_t i = 0; i < points * p.channels; ++i) {
        const int64_t place = at[static_cast<size_t>(begin * points * p.channels + i)];
        const int64_t e = p.element(place, argmax.dtype == DType::UInt16, i / p.channels, i % p.channels);
        if (e < 0 || e >= size) fail_kernel(fmt::format("argmax has {}, which is no place in the image", place));
        f(begin * size + e, begin * points * p.channels + i);
      }
  });
}

}  // namespace
ABOUT(MaxPoolWithArgmax, Vector, "Largest of the windows of images [N, H, W, C], and where they are",
      "图像 [N, H, W, C] 的最大池化及最大值位置")
IR_OP(MaxPoolWithArgmax, MaxPoolWithArgmax, (In, x), (Out, y), (Out, argmax), (Ints, ksize), (Ints, strides),
      (Text, padding), (Int, Targmax, 7)) {
  const Windows w = places_of(op, x, ksize, strides, padding);
  ir::result(op, "y", *y, w.client_outputs(), x->dtype);
  ir::result(op, "argmax", *argmax, w.client_outputs(), static_cast<DType>(Targmax));
  op.require(argmax->dtype == DType::Int32 || argmax->dtype == DType::Int64 || argmax->dtype == DType::UInt16,
             "argmax is {}, want INT32, INT64 or UINT16", describe(*argmax));
  if (op.inferring() || y->empty()) return;
  const TensorView at = ir::temporary(op, DType::Int64, w.outputs());
  max_pool(op, 2, w, false, w.own(*y), &at);
  op.launch(
      [at, to = *argmax, p = Places(w, w.sizes[1]), even = w.even(), padded = w.x.dims[3] + w.before[1] + w.after[1]] {
        const int64_t points = at.dims[2] * at.dims[3], n = at.numel();
        const auto* from = at.as<int64_t>();
        std::vector<int64_t> places(static_cast<size_t>(n));
        const bool in_window = to.dtype == DType::UInt16;
        parallel_for(n, 4096, [&](int64_t begin, int64_t end) {
          for (; begin < end; ++begin) {  // of [N, H, W, C]
            const int64_t channel = begin % p.channels, point = begin / p.channels % points;
            const int64_t pixel = from[(begin / p.channels / points * p.channels + channel) * points + point];
            // Positions are of the padded image where the padding is uneven.
            const int64_t row = even ? pixel / p.width : pixel / padded - p.top,
                          column = even ? pixel % p.width : pixel % padded - p.left;
            places[static_cast<size_t>(begin)] = p.place(row, column, in_window, point, channel);
          }
        });
        write_all(to, places);
      });
}
namespace {
/// y, of which `cost` is the work, from grad at the places of argmax: f(y's elements, pixel, grad's elements, place).
template <class F>
void plan_at_places(Op& op, const Windows& w, const In& grad, const In& argmax, const Out& y, int64_t cost, F f) {
  if (op.inferring() || y->empty()) return;
  op.work(cost);
  op.launch([f, g = *grad, at = *argmax, to = *y, p = Places(w, w.sizes[1])] {
    ir::visit_numbers(to.dtype, [&]<class T>() {
      ScratchScope scratch;
      const T* from = linalg::dense_copy<T>(g, scratch);
      const linalg::Result<T> made(to, scratch);
      std::fill_n(made.data, to.numel(), T(0));
      each_place(at, p, [&](int64_t pixel, int64_t i) { f(made.data, pixel, from, i); });
      made.give();
    });
  });
}
}  // namespace
ABOUT(MaxPoolGradWithArgmax, Vector, "Gradient of MaxPoolWithArgmax", "MaxPoolWithArgmax 的反向梯度")
IR_OP(MaxPoolGradWithArgmax, MaxPoolGradWithArgmax, (In, x), (In, grad), (In, argmax), (Out, y), (Ints, ksize),
      (Ints, strides), (Text, padding)) {
  const Windows w = places_of(op, x, ksize, strides, padding);
  require_places(op, argmax, w);
  op.require_same_shape("grad", *grad, "argmax", *argmax);
  op.result_like("y", *y, *x, grad->dtype);
  plan_at_places(op, w, grad, argmax, y, y->numel() + grad->numel() * 8,
                 [](auto* to, int64_t pixel, const auto* from, int64_t i) { to[pixel] += from[i]; });
}
ABOUT(MaxPoolGradGradWithArgmax, Vector, "Second gradient of MaxPoolWithArgmax: grad at its places",
      "MaxPoolWithArgmax 的二阶梯度：取各位置处的 grad")
IR_OP(MaxPoolGradGradWithArgmax, MaxPoolGradGradWithArgmax, (In, x), (In, grad), (In, argmax), (Out, y), (Ints, ksize),
      (Ints, strides), (Text, padding)) {
  const Windows w = places_of(op, x, ksize, strides, padding);
  require_places(op, argmax, w);
  op.require_same_shape("grad", *grad, "x", *x);
  op.result_like("y", *y, *argmax, grad->dtype);
  plan_at_places(op, w, grad, argmax, y, y->numel() * 8,
                 [](auto* to, int64_t pixel, const auto* from, int64_t i) { to[i] = from[pixel]; });
}

// --- means --------------------------------------------------------------------------------------------------------
namespace {

/// How much of each window lies in the image, [1, 1, …]: what uneven padding that does not count leaves of a mean.
TensorView shares(Op& op, int spatial, const Windows& w) {
  Windows ones = w;
  Dims image = {1, 1}, sizes = {1, 1};
  for (int d = 2; d < w.x.rank; ++d) image.push_back(w.x.dims[d]);
  sizes.insert(sizes.end(), w.sizes.begin(), w.sizes.end());
  ones.x = ir::temporary(op, w.x.dtype, image);
  call(op, "aclnnInplaceOne", ones.x);
  make_even(op, ones, 0.0);
  const TensorView share = ir::temporary(op, w.x.dtype, sizes);
  if (spatial == 2) call(op, "aclnnAvgPool2d", ones.x, w.kernel, w.strides, ones.before, false, true, 0, 0, share);
  else call(op, "aclnnAvgPool3d", ones.x, w.kernel, w.strides, ones.before, false, true, 0, share);
  return share;
}

void avg_pool(Op& op, int spatial, Windows w, bool ceil_mode, bool count_pads, int64_t divisor, const TensorView& y) {
  op.require(w.even() || !ceil_mode, "the padding is uneven ({} and {}) and ceil_mode is set: want one of them",
             fmt::join(w.before, ","), fmt::join(w.after, ","));
  const bool correct = !w.even() && !count_pads && divisor == 0;
  TensorView share;
  if (correct) share = shares(op, spatial, w);
  make_even(op, w, 0.0);
  if (spatial == 2)
    call(op, "aclnnAvgPool2d", w.x, w.kernel, w.strides, w.before, ceil_mode, count_pads, divisor, 0, y);
  else call(op, "aclnnAvgPool3d", w.x, w.kernel, w.strides, w.before, ceil_mode, count_pads, divisor, y);
  if (correct) call(op, "aclnnInplaceDiv", y, share);
}

/// The gradient; `w.x` has no memory, only its shape counts.
void avg_pool_grad(Op& op, int spatial, const Windows& w, bool ceil_mode, bool count_pads, int64_t divisor,
                   const TensorView& upper, const TensorView& dx) {
  op.require(w.even() || !ceil_mode, "the padding is uneven and ceil_mode is set: want one of them");
  TensorView grad = upper;
  if (!w.even() && !count_pads && divisor == 0) {
    grad = ir::temporary(op, upper.dtype, ir::dims_of(upper));
    call(op, "aclnnDiv", upper, shares(op, spatial, w), grad);
  }
  Dims dims = ir::dims_of(w.x), before = w.before;
  for (size_t d = 2; !w.even() && d < dims.size(); ++d) {
    dims[d] += w.before[d - 2] + w.after[d - 2];
    before[d - 2] = 0;
  }
  const TensorView to = w.even() ? dx : ir::temporary(op, dx.dtype, dims);
  if (spatial == 2)
    call(op, "aclnnAvgPool2dBackward", grad, to, w.kernel, w.strides, before, ceil_mode, count_pads, divisor, 0, to);
  else call(op, "aclnnAvgPool3dBackward", grad, to, w.kernel, w.strides, before, ceil_mode, count_pads, divisor, to);
  if (!w.even()) call(op, "aclnnInplaceCopy", dx, inner_of(w, to));
}

void plan_mean(Op& op, int spatial, const In& x, const char* format, const Attributes& a, bool count_pads,
               int64_t divisor, const Out& y) {
  const Windows w = windows_of(op, spatial, *x, format, a);
  ir::result(op, "y", *y, w.client_outputs(), x->dtype);
  avg_pool(op, spatial, w, a.ceil_mode, count_pads, divisor, w.own(*y));
}

void plan_mean_grad(Op& op, int spatial, const Dims& size, const In& grad, const char* format, const Attributes& a,
                    bool count_pads, int64_t divisor, const char* name, const Out& dx) {
  ir::result(op, name, *dx, size, grad->dtype);
  const Windows w = windows_of(op, spatial, *dx, format, a);
  avg_pool_grad(op, spatial, w, a.ceil_mode, count_pads, divisor, w.own(*grad), w.own(*dx));
}

}  // namespace

// Padding of SAME never counts.
ABOUT(AvgPool, Vector, "Mean of the windows of an image", "二维平均池化")
IR_OP(AvgPool, AvgPool, (In, x), (Out, y), (Ints, ksize), (Ints, strides), (Text, padding),
      (Text, data_format, "NHWC")) {
  plan_mean(op, 2, x, data_format, {*ksize, *strides, {}, {}, padding_of(op, "padding", padding)}, false, 0, y);
}
ABOUT(AvgPoolGrad, Vector, "Gradient of AvgPool", "AvgPool 的反向梯度")
IR_OP(AvgPoolGrad, AvgPoolGrad, (In, orig_input_shape), (In, input_grad), (Out, out_grad), (Ints, ksize),
      (Ints, strides), (Text, padding), (Text, data_format, "NHWC")) {
  plan_mean_grad(op, 2, ir::shape_from(op, "orig_input_shape", orig_input_shape, *out_grad), input_grad, data_format,
                 {*ksize, *strides, {}, {}, padding_of(op, "padding", padding)}, false, 0, "out_grad", out_grad);
}
IR_OP(AvgPoolV2, AvgPool, (In, x), (Out, y), (Ints, ksize), (Ints, strides), (Text, padding_mode, "CALCULATED"),
      (Ints, pads, 0, 0, 0, 0), (Text, data_format, "NCHW"), (Bool, global_pooling, false), (Bool, ceil_mode, false),
      (Bool, exclusive, true), (Int, divisor_override, 0)) {
  plan_mean(op, 2, x, data_format,
            {*ksize, *strides, *pads, {}, padding_of(op, "padding_mode", padding_mode), ceil_mode, global_pooling},
            !exclusive, divisor_override, y);
}
IR_OP(AvgPoolV2Grad, AvgPoolGrad, (In, orig_input_shape), (In, input_grad), (Out, out_grad), (Ints, ksize),
      (Ints, strides), (Text, padding_mode, "CALCULATED"), (Ints, pads, 0, 0, 0, 0), (Text, data_format, "NCHW"),
      (Bool, global_pooling, false), (Bool, ceil_mode, false), (Bool, exclusive, true), (Int, divisor_override, 0)) {
  plan_mean_grad(op, 2, ir::shape_from(op, "orig_input_shape", orig_input_shape, *out_grad), input_grad, data_format,
                 {*ksize, *strides, *pads, {}, padding_of(op, "padding_mode", padding_mode), ceil_mode, global_pooling},
                 !exclusive, divisor_override, "out_grad", out_grad);
}
ABOUT(AvgPool3D, Vector, "Mean of the windows of a volume", "三维平均池化")
IR_OP(AvgPool3D, AvgPool3D, (In, x), (Out, y), (Ints, ksize), (Ints, strides), (Ints, pads), (Bool, ceil_mode, false),
      (Bool, count_include_pad, true), (Int, divisor_override, 0), (Text, data_format, "NDHWC")) {
  plan_mean(op, 3, x, data_format, {*ksize, *strides, *pads, {}, Padding::Given, ceil_mode}, count_include_pad,
            divisor_override, y);
}
// filter and multiplier are what a card multiplies by: windows of ones, and one over their sizes.
IR_OP(AvgPool3DD, AvgPool3D, (In, x), (OptIn, filter), (OptIn, multiplier), (Out, y), (Ints, ksize), (Ints, strides),
      (Ints, pads), (Bool, ceil_mode, false), (Bool, count_include_pad, true), (Int, divisor_override, 0),
      (Text, data_format, "NDHWC")) {
  (void)filter, (void)multiplier;
  plan_mean(op, 3, x, data_format, {*ksize, *strides, *pads, {}, Padding::Given, ceil_mode}, count_include_pad,
            divisor_override, y);
}
ABOUT(AvgPool3DGrad, Vector, "Gradient of AvgPool3D", "AvgPool3D 的反向梯度")
IR_OP(AvgPool3DGrad, AvgPool3DGrad, (In, orig_input_shape), (In, grads), (Out, output), (Ints, ksize), (Ints, strides),
      (Ints, pads), (Bool, ceil_mode, false), (Bool, count_include_pad, true), (Int, divisor_override, 0),
      (Text, data_format, "NDHWC")) {
  plan_mean_grad(op, 3, ir::shape_from(op, "orig_input_shape", orig_input_shape, *output), grads, data_format,
                 {*ksize, *strides, *pads, {}, Padding::Given, ceil_mode}, count_include_pad, divisor_override,
                 "output", output);
}

// --- adaptive -----------------------------------------------------------------------------------------------------
namespace {
Dims adaptive_dims(const Op& op, const TensorView& x, const Dims& size) {
  op.require(size.size() == 2 && (x.rank == 3 || x.rank == 4),
             "x is {} and output_size has {} values, want an image and 2", describe(x), size.size());
  Dims dims = ir::dims_of(x);
  std::copy(size.begin(), size.end(), dims.end() - 2);
  return dims;
}
}  // namespace
IR_OP(AdaptiveAvgPool2d, aclnnAdaptiveAvgPool2d, (In, x), (Out, y), (Ints, output_size)) {
  ir::result(op, "y", *y, adaptive_dims(op, *x, *output_size), x->dtype);
  call(op, "aclnnAdaptiveAvgPool2d", x, output_size, y);
}
IR_OP(AdaptiveAvgPool2dGrad, aclnnAdaptiveAvgPool2dBackward, (In, input_grad), (Out, output_grad),
      (Ints, orig_input_shape)) {
  ir::result(op, "output_grad", *output_grad, *orig_input_shape, input_grad->dtype);
  call(op, "aclnnAdaptiveAvgPool2dBackward", input_grad, output_grad, output_grad);
}
// MindSpore's names
IR_OP(AdaptiveAvgPool, aclnnAdaptiveAvgPool2d, (In, x), (In, output_size), (Out, y)) {
  const Dims size = op.integers("output_size", output_size.handle);
  op.require(size.size() == 2 && x->rank >= 3, "output_size has {} values and x is {}, want 2, and images", size.size(),
             describe(*x));
  Dims dims = ir::dims_of(*x);
  dims[dims.size() - 2] = size[0], dims.back() = size[1];
  ir::result(op, "y", *y, dims, x->dtype);
  call(op, "aclnnAdaptiveAvgPool2d", x, size, y);
}
IR_OP(CustAdaptiveAvgPool2D, aclnnAdaptiveAvgPool2d, (In, x), (Out, y), (Ints, output_size)) {
  ir::result(op, "y", *y, adaptive_dims(op, *x, *output_size), x->dtype);
  call(op, "aclnnAdaptiveAvgPool2d", x, output_size, y);
}
IR_OP(CustAdaptiveAvgPool2DGrad, aclnnAdaptiveAvgPool2dBackward, (In, input_grad), (In, orig_input_shape),
      (Out, output_grad)) {
  ir::result(op, "output_grad", *output_grad, ir::shape_from(op, "orig_input_shape", orig_input_shape, *output_grad),
             input_grad->dtype);
  call(op, "aclnnAdaptiveAvgPool2dBackward", input_grad, output_grad, output_grad);
}
IR_OP(AdaptiveMaxPool2d, aclnnAdaptiveMaxPool2d, (In, x), (Out, y), (Out, argmax), (Ints, output_size)) {
  const Dims dims = adaptive_dims(op, *x, *output_size);
  ir::result(op, "y", *y, dims, x->dtype);
  ir::result(op, "argmax", *argmax, dims, DType::Int32);
  call(op, "aclnnAdaptiveMaxPool2d", x, output_size, y, argmax);
}
ABOUT(GlobalAveragePool, Vector, "Mean of each channel", "每通道的均值")
IR_OP(GlobalAveragePool, GlobalAveragePool, (In, x), (Out, y)) {
  op.require(x->rank >= 3, "x is {}, want a batch, channels and more", describe(*x));
  Dims over = ir::all_axes(x->rank);
  over.erase(over.begin(), over.begin() + 2);
  ir::result(op, "y", *y, ir::reduced(*x, over, true), x->dtype);
  call(op, "aclnnMean", x, over, true, y->dtype, y);
}

}  // namespace updraft
