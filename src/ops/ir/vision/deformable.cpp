// What a deformable convolution reads: each position of each window at an offset of its own, between pixels, times a
// factor. A convolution whose stride is the size of the window does the rest.
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/ir/shape/layout.h"

namespace updraft {
namespace {

/// All in [N, H, W, C]. Offsets are [N, out, 3, groups, kernel]: along the width, along the height, and the factor.
struct Windows {
  TensorView x, offsets;
  int64_t batch = 0, channels = 0, groups = 0;
  int64_t in[2] = {}, out[2] = {}, kernel[2] = {}, stride[2] = {}, padding[2] = {},
          dilation[2] = {};  ///< height, width
  int64_t per_group() const { return channels / groups; }
  int64_t positions() const { return groups * kernel[0] * kernel[1]; }
};

TensorView channels_last(const TensorView& v, bool already) { return already ? v : permute(v, {0, 2, 3, 1}); }

Windows windows_of(const Op& op, const In& x, const In& offsets, const Ints& strides, const Ints& pads,
                   const Ints& ksize, const Ints& dilations, Text format, int64_t groups, bool modulated) {
  ir::want(op, "modulated", modulated, true);
  const bool last = ir::layout_of(op, 2, format).last;
  op.require(x->rank == 4 && offsets->rank == 4 && is_floating(x->dtype) && is_floating(offsets->dtype),
             "x is {}, offsets {}: want images and their offsets, both with 4 dimensions", describe(*x),
             describe(*offsets));
  op.require(strides.size() == 4 && dilations.size() == 4 && pads.size() == 4 && ksize.size() == 2,
             "attributes strides, dilations, pads and ksize have {}, {}, {} and {} values, want 4, 4, 4 and 2",
             strides.size(), dilations.size(), pads.size(), ksize.size());
  Windows w{.x = channels_last(*x, last), .offsets = channels_last(*offsets, last)};
  w.batch = w.x.dims[0];
  w.channels = w.x.dims[3];
  w.groups = groups;
  op.require(groups > 0 && w.channels % groups == 0, "attribute deformable_groups is {}, x is {}: want a divisor",
             groups, describe(*x));
  for (size_t d = 0; d < 2; ++d) {
    const size_t at = last ? d + 1 : d + 2;
    w.in[d] = w.x.dims[d + 1];
    w.kernel[d] = ksize[d];
    w.stride[d] = strides[at];
    w.dilation[d] = dilations[at];
    w.padding[d] = pads[2 * d];
    op.require(w.kernel[d] > 0 && w.stride[d] > 0 && w.dilation[d] > 0, "ksize, strides and dilations must be above 0");
    w.out[d] = w.offsets.dims[d + 1];
    const int64_t room = w.in[d] + pads[2 * d] + pads[2 * d + 1] - w.dilation[d] * (w.kernel[d] - 1) - 1;
    op.require(room >= 0 && w.out[d] == room / w.stride[d] + 1, "offsets is {}, want {} windows in dimension {}",
               describe(*offsets), room < 0 ? 0 : room / w.stride[d] + 1, at);
  }
  op.require(w.offsets.dims[0] == w.batch && w.offsets.dims[3] == 3 * w.positions(),
             "offsets is {}, want {} images and {} channels", describe(*offsets), w.batch, 3 * w.positions());
  return w;
}

/// A place between four pixels, and how much of each it takes; pixels outside count as 0.
struct Place {
  int64_t at[4];                               ///< of the pixel, -1 outside
  float weight[4], by_height[4], by_width[4];  ///< and how that changes with the place

  Place(const Windows& w, float h, float v) {
    const float top = std::floor(h), left = std::floor(v), down = h - top, right = v - left;
    for (int i = 0; i < 4; ++i) {
      const int low = i / 2, far = i % 2;
      const float y = top + static_cast<float>(low), x = left + static_cast<float>(far);
      const bool inside = y >= 0 && x >= 0 && y < static_cast<float>(w.in[0]) && x < static_cast<float>(w.in[1]);
      at[i] = inside ? static_cast<int64_t>(y) * w.in[1] + static_cast<int64_t>(x) : -1;
      const float a = low ? down : 1 - down, b = far ? right : 1 - right;
      weight[i] = a * b;
      by_height[i] = low ? b : -b;
      by_width[i] = far ? a : -a;
    }
  }
};

/// f(place, factor, the place's offset among the image's, first channel, first element of the result) for all positions
/// of an image and a group.
template <class F>
void each_position(const Windows& w, const float* offsets, int64_t group, F&& f) {
  const int64_t kernel = w.kernel[0] * w.kernel[1], row = w.out[1] * w.kernel[1] * w.channels;
  for (int64_t oh = 0; oh < w.out[0]; ++oh)
    for (int64_t ow = 0; ow < w.out[1]; ++ow) {
      const int64_t window = (oh * w.out[1] + ow) * 3 * w.positions();
      for (int64_t kh = 0; kh < w.kernel[0]; ++kh)
        for (int64_t kw = 0; kw < w.kernel[1]; ++kw) {
          const int64_t at = window + group * kernel + kh * w.kernel[1] + kw;
          const auto h = static_cast<float>(oh * w.stride[0] - w.padding[0] + kh * w.dilation[0]),
                     v = static_cast<float>(ow * w.stride[1] - w.padding[1] + kw * w.dilation[1]);
          const Place place(w, h + offsets[at + w.positions()], v + offsets[at]);
          const int64_t channel = group * w.per_group();
          f(place, offsets[at + 2 * w.positions()], at, channel,
            (oh * w.kernel[0] + kh) * row + (ow * w.kernel[1] + kw) * w.channels + channel);
        }
    }
}

int64_t result_size(const Windows& w) { return w.out[0] * w.kernel[0] * w.out[1] * w.kernel[1] * w.channels; }
ir::Dims result_dims(const Windows& w, bool last) {
  const int64_t height = w.out[0] * w.kernel[0], width = w.out[1] * w.kernel[1];
  return last ? ir::Dims{w.batch, height, width, w.channels} : ir::Dims{w.batch, w.channels, height, width};
}

void read_windows(const Windows& w, const TensorView& y) {
  const std::vector<float> x = floats_of(w.x), offsets = floats_of(w.offsets);
  std::vector<float> result(static_cast<size_t>(w.batch * result_size(w)));
  const int64_t image = w.in[0] * w.in[1] * w.channels, per_image = w.offsets.numel() / std::max<int64_t>(1, w.batch);
  parallel_for(w.batch * w.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / w.groups;
      const float* from = x.data() + n * image;
      float* to = result.data() + n * result_size(w);
      each_position(w, offsets.data() + n * per_image, i % w.groups,
                    [&](const Place& p, float factor, int64_t, int64_t channel, int64_t first) {
                      for (int64_t c = 0; c < w.per_group(); ++c) {
                        float sum = 0;
                        for (int k = 0; k < 4; ++k)
                          if (p.at[k] >= 0) sum += p.weight[k] * from[p.at[k] * w.channels + channel + c];
                        to[first + c] = sum * factor;
                      }
                    });
    }
  });
  write_all(y, result);
}

void gradients(const Windows& w, const TensorView& grad, const TensorView& grad_x, const TensorView& grad_offsets) {
  const std::vector<float> x = floats_of(w.x), offsets = floats_of(w.offsets), by = floats_of(grad);
  std::vector<float> to_x(x.size(), 0.0f), to_offsets(offsets.size(), 0.0f);
  const int64_t image = w.in[0] * w.in[1] * w.channels, per_image = w.offsets.numel() / std::max<int64_t>(1, w.batch);
  parallel_for(w.batch * w.groups, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t n = i / w.groups;
      const float *from = x.data() + n * image, *g = by.data() + n * result_size(w);
      float *to = to_x.data() + n * image, *to_offset = to_offsets.data() + n * per_image;
      each_position(w, offsets.data() + n * per_image, i % w.groups,
                    [&](const Place& p, float factor, int64_t at, int64_t channel, int64_t first) {
                      double value = 0, height = 0, width = 0;  // what the corners give cancels
                      for (int k = 0; k < 4; ++k) {
                        if (p.at[k] < 0) continue;
                        const int64_t pixel = p.at[k] * w.channels + channel;
                        for (int64_t c = 0; c < w.per_group(); ++c) {
                          const double product =
                              static_cast<double>(g[first + c]) * static_cast<double>(from[pixel + c]);
                          to[pixel + c] += g[first + c] * factor * p.weight[k];
                          value += product * static_cast<double>(p.weight[k]);
                          height += product * static_cast<double>(p.by_height[k]);
                          width += product * static_cast<double>(p.by_width[k]);
                        }
                      }
                      to_offset[at] = static_cast<float>(width) * factor;
                      to_offset[at + w.positions()] = static_cast<float>(height) * factor;
                      to_offset[at + 2 * w.positions()] = static_cast<float>(value);
                    });
    }
  });
  write_all(grad_x, to_x);
  write_all(grad_offsets, to_offsets);
}

}  // namespace

ABOUT(DeformableOffsets, Vector, "The windows of a deformable convolution, read at offsets between pixels",
      "可变形卷积的各窗口：按偏移在像素间双线性取值并乘以系数")
IR_OP(DeformableOffsets, DeformableOffsets, (In, x), (In, offsets), (Out, y), (Ints, strides), (Ints, pads),
      (Ints, ksize), (Ints, dilations, 1, 1, 1, 1), (Text, data_format, "NCHW"), (Int, deformable_groups, 1),
      (Bool, modulated, true)) {
  const Windows w =
      windows_of(op, x, offsets, strides, pads, ksize, dilations, data_format, deformable_groups, modulated);
  const bool last = ir::layout_of(op, 2, data_format).last;
  ir::result(op, "y", *y, result_dims(w, last), x->dtype);
  if (y->empty()) return;
  op.work(y->numel() * 10);
  op.launch([w, to = channels_last(*y, last)] { read_windows(w, to); });
}

ABOUT(DeformableOffsetsGrad, Vector, "Gradients of DeformableOffsets for x and the offsets",
      "DeformableOffsets 对 x 与 offsets 的反向梯度")
IR_OP(DeformableOffsetsGrad, DeformableOffsetsGrad, (In, grad), (In, x), (In, offsets), (Out, grad_x),
      (Out, grad_offsets), (Ints, strides), (Ints, pads), (Ints, ksize), (Ints, dilations, 1, 1, 1, 1),
      (Text, data_format, "NCHW"), (Int, deformable_groups, 1), (Bool, modulated, true)) {
  const Windows w =
      windows_of(op, x, offsets, strides, pads, ksize, dilations, data_format, deformable_groups, modulated);
  const bool last = ir::layout_of(op, 2, data_format).last;
  const ir::Dims dims = result_dims(w, last);
  op.require_shape("grad", *grad, dims.data(), 4);
  op.result_like("grad_x", *grad_x, *x, x->dtype);
  op.result_like("grad_offsets", *grad_offsets, *offsets, offsets->dtype);
  op.work(grad->numel() * 20);
  op.launch([w, g = channels_last(*grad, last), to_x = channels_last(*grad_x, last),
             to_offsets = channels_last(*grad_offsets, last)] { gradients(w, g, to_x, to_offsets); });
}

}  // namespace updraft
