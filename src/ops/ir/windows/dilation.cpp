// Grey dilation of images: the largest of each window after a filter was added to it, for each channel by itself.
#include <limits>

#include "ops/ir/windows/windows.h"

namespace updraft {
namespace {

using ir::Dims;
using ir::Windows;

/// Windows of x and what moves with them, all with the channels last; the filter is [height, width, C].
struct Dilation {
  Windows w;
  TensorView x, filter, y;

  int64_t images() const { return x.dims[0]; }
  int64_t channels() const { return x.dims[3]; }
  int64_t rows() const { return w.sizes[0]; }
  int64_t columns() const { return w.sizes[1]; }
  int64_t taps() const { return w.kernel[0] * w.kernel[1]; }
  /// The pixel below tap k of a window, or -1 outside.
  int64_t pixel(int64_t row, int64_t column, int64_t k) const {
    const int64_t h = row * w.strides[0] - w.before[0] + k / w.kernel[1] * w.dilations[0];
    const int64_t v = column * w.strides[1] - w.before[1] + k % w.kernel[1] * w.dilations[1];
    return h < 0 || v < 0 || h >= x.dims[1] || v >= x.dims[2] ? -1 : h * x.dims[2] + v;
  }
};

Dilation dilation_of(const Op& op, const In& x, const In& filter, const Ints& strides, const Ints& rates,
                     const char* padding, const Ints& pads, bool ceil_mode, const char* format) {
  op.require(filter->rank == 3, "filter is {}, want a value for each point and channel", describe(*filter));
  op.require(x->dtype == filter->dtype, "x is {} and filter {}, want one type", describe(*x), describe(*filter));
  op.require(!is_complex(x->dtype) && x->dtype != DType::Bool, "x is {}, want numbers that have an order",
             describe(*x));
  Dilation d;
  const bool last = std::string_view(format) == "NHWC";
  d.filter = last ? *filter : permute(*filter, Dims{1, 2, 0});
  d.w = ir::windows_of(op, 2, *x, format,
                       {{d.filter.dims[0], d.filter.dims[1]},
                        *strides,
                        *pads,
                        *rates,
                        ir::padding_of(op, "padding_mode", padding),
                        ceil_mode});
  d.x = ir::channels_last(d.w.layout, *x);
  op.require(d.filter.dims[2] == d.channels(), "filter is {} and x {}: not as many channels", describe(*filter),
             describe(*x));
  return d;
}

/// The largest of a window for channels [from, to), and which tap has it: the first one of equals.
template <class T>
void largest(const Dilation& d, const T* image, const T* filter, int64_t row, int64_t column, int64_t from, int64_t to,
             T* most, int32_t* at) {
  const int64_t channels = d.channels();
  std::fill(most, most + (to - from), std::numeric_limits<T>::lowest());
  if (at) std::fill(at, at + (to - from), -1);
  for (int64_t k = 0; k < d.taps(); ++k) {
    const int64_t pixel = d.pixel(row, column, k);
    if (pixel < 0) continue;
    const T *x = image + pixel * channels + from, *f = filter + k * channels + from;
    for (int64_t c = 0; c < to - from; ++c) {
      const T value = x[c] + f[c];
      const bool more = value > most[c];
      if (at) at[c] = more || at[c] < 0 ? static_cast<int32_t>(k) : at[c];
      most[c] = more ? value : most[c];
    }
  }
}

template <class T>
void dilate(const Dilation& d) {
  ScratchScope scratch;
  const T *x = linalg::dense_copy<T>(d.x, scratch), *filter = linalg::dense_copy<T>(d.filter, scratch);
  const linalg::Result<T> made(d.y, scratch);
  const int64_t channels = d.channels(), points = d.rows() * d.columns(), image = d.x.dims[1] * d.x.dims[2] * channels;
  parallel_for(d.images() * points, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, d.taps() * channels)),
               [&](int64_t begin, int64_t end) {
                 for (; begin < end; ++begin)
                   largest(d, x + begin / points * image, filter, begin % points / d.columns(), begin % d.columns(), 0,
                           channels, made.data + begin * channels, nullptr);
               });
  made.give();
}

/// The gradient goes to the pixels, or else to the taps, that were the largest.
template <class T>
void dilate_backward(const Dilation& d, const TensorView& grad, const TensorView& to, bool of_filter) {
  ScratchScope scratch;
  const T *x = linalg::dense_copy<T>(d.x, scratch), *filter = linalg::dense_copy<T>(d.filter, scratch),
          *dy = linalg::dense_copy<T>(grad, scratch);
  const linalg::Result<T> made(to, scratch);
  std::fill_n(made.data, to.numel(), T(0));
  const int64_t channels = d.channels(), points = d.rows() * d.columns(), image = d.x.dims[1] * d.x.dims[2] * channels;
  const auto window = [&](int64_t n, int64_t p, int64_t from, int64_t end, T* most, int32_t* at, auto&& give) {
    largest(d, x + n * image, filter, p / d.columns(), p % d.columns(), from, end, most, at);
    for (int64_t c = from; c < end; ++c)
      if (at[c - from] >= 0) give(at[c - from], c, dy[(n * points + p) * channels + c]);
  };
  if (of_filter) {
    ir::each_part(1, channels, [&](int64_t, int64_t from, int64_t end) {
      T most[64];
      int32_t at[64];
      for (int64_t p = 0; p < d.images() * points; ++p)
        window(p / points, p % points, from, end, most, at,
               [&](int64_t k, int64_t c, T g) { made.data[k * channels + c] += g; });
    });
  } else {
    ir::each_part(d.images(), channels, [&](int64_t n, int64_t from, int64_t end) {
      T most[64];
      int32_t at[64];
      for (int64_t p = 0; p < points; ++p)
        window(n, p, from, end, most, at, [&](int64_t k, int64_t c, T g) {
          made.data[n * image + d.pixel(p / d.columns(), p % d.columns(), k) * channels + c] += g;
        });
    });
  }
  made.give();
}

void plan_backward(Op& op, const Dilation& d, const In& grad, const In& like, const Out& y, bool of_filter) {
  op.require(ir::dims_of(*grad) == d.w.client_outputs(), "out_backprop is {}, which is no result of x and filter",
             describe(*grad));
  op.result_like("y", *y, *like, like->dtype);
  if (op.inferring() || y->empty()) return;
  TensorView to = ir::channels_last(d.w.layout, *y);
  if (of_filter) to = d.w.layout.last ? *y : permute(*y, Dims{1, 2, 0});
  op.work(grad->numel() * d.taps() * 4);
  op.launch([d, to, of_filter, g = ir::channels_last(d.w.layout, *grad)] {
    ir::visit_numbers(d.x.dtype, [&]<class T>() { dilate_backward<T>(d, g, to, of_filter); });
  });
}

}  // namespace

ABOUT(Dilation2D, Vector, "Largest of each window of x plus filter, by channels",
      "灰度膨胀：各窗口 x 加 filter 的最大值")
IR_OP(Dilation2D, Dilation2D, (In, x), (In, filter), (Out, y), (Ints, strides), (Ints, rates),
      (Text, padding_mode, "SAME"), (Ints, pads, 0, 0, 0, 0), (Bool, ceil_mode, false), (Text, data_format, "NHWC")) {
  Dilation d = dilation_of(op, x, filter, strides, rates, padding_mode, pads, ceil_mode, data_format);
  ir::result(op, "y", *y, d.w.client_outputs(), x->dtype);
  if (op.inferring() || y->empty()) return;
  d.y = ir::channels_last(d.w.layout, *y);
  op.work(y->numel() * d.taps() * 2);
  op.launch([d] { ir::visit_numbers(d.x.dtype, [&]<class T>() { dilate<T>(d); }); });
}
ABOUT(Dilation2DBackpropInput, Vector, "Gradient of Dilation2D for x", "Dilation2D 对 x 的反向梯度")
IR_OP(Dilation2DBackpropInput, Dilation2DBackpropInput, (In, x), (In, filter), (In, out_backprop), (Out, y),
      (Ints, strides), (Ints, rates), (Text, padding_mode, "SAME"), (Ints, pads, 0, 0, 0, 0), (Bool, ceil_mode, false),
      (Text, data_format, "NHWC")) {
  plan_backward(op, dilation_of(op, x, filter, strides, rates, padding_mode, pads, ceil_mode, data_format),
                out_backprop, x, y, false);
}
ABOUT(Dilation2DBackpropFilter, Vector, "Gradient of Dilation2D for filter", "Dilation2D 对 filter 的反向梯度")
IR_OP(Dilation2DBackpropFilter, Dilation2DBackpropFilter, (In, x), (In, filter), (In, out_backprop), (Out, y),
      (Ints, strides), (Ints, rates), (Text, padding_mode, "SAME"), (Ints, pads, 0, 0, 0, 0), (Bool, ceil_mode, false),
      (Text, data_format, "NHWC")) {
  plan_backward(op, dilation_of(op, x, filter, strides, rates, padding_mode, pads, ceil_mode, data_format),
                out_backprop, filter, y, true);
}

}  // namespace updraft
