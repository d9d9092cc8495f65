// Colours of images, of which the last dimension holds red, green and blue: hue, saturation, contrast.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "ops/ir/shapes.h"
#include "ops/linalg/dense.h"
#include "tensor/real_types.h"

namespace updraft {
namespace {

using ir::Dims;

template <class C>
struct Pixel {
  C a, b, c;  ///< red, green and blue, or hue, saturation and value
};

/// y = change(pixel, amount) for each pixel; halves are computed in floats. `amount` is a tensor of one number, or
/// absent.
template <class Change>
void change_pixels(Op& op, const In& images, const TensorView* amount, const Out& y, Change change) {
  op.require(images->rank >= 1 && images->dims[images->rank - 1] == 3 && is_floating(images->dtype),
             "images is {}, want numbers with a fraction and 3 channels in the last dimension", describe(*images));
  op.require(!amount || amount->numel() == 1, "what changes the images is {}, want one number",
             amount ? describe(*amount).text() : "");
  op.result_like("y", *y, *images, images->dtype);
  op.work(images->numel() * 8);
  op.kernel_scratch(linalg::copy_bytes(*images) + linalg::result_bytes(*y));
  op.launch([from = *images, by = amount ? *amount : TensorView(), to = *y, change] {
    const double number = by.data ? linalg::gather(by)[0] : 0;
    linalg::visit_computed(from.dtype, [&]<class T>() {
      if constexpr (std::is_floating_point_v<T>) {
        ScratchScope scratch;
        const T* x = linalg::dense_copy<T>(from, scratch);
        const linalg::Result<T> result(to, scratch);
        parallel_for(from.numel() / 3, 4096, [&](int64_t begin, int64_t end) {
          for (int64_t i = 3 * begin; i < 3 * end; i += 3) {
            const Pixel<T> made = change(Pixel<T>{x[i], x[i + 1], x[i + 2]}, static_cast<T>(number));
            result.data[i] = made.a, result.data[i + 1] = made.b, result.data[i + 2] = made.c;
          }
        });
        result.give();
      }
    });
  });
}

/// Where a colour stands on the circle of six, of which red is 0, green 2 and blue 4.
template <class C>
C sixths(Pixel<C> p, C most, C range) {
  if (range == 0) return 0;
  const C h = p.a == most ? (p.b - p.c) / range : p.b == most ? (p.c - p.a) / range + 2 : (p.a - p.b) / range + 4;
  return h < 0 ? h + 6 : h;
}
template <class C>
Pixel<C> hsv_of(Pixel<C> p) {
  const C most = std::max({p.a, p.b, p.c}), range = most - std::min({p.a, p.b, p.c});
  return {sixths(p, most, range) / 6, most > 0 ? range / most : C{0}, most};
}
template <class C>
Pixel<C> rgb_of(Pixel<C> p) {
  const C h = p.a * 6;
  auto channel = [&](C share) { return (1 - p.b + p.b * std::clamp(share, C{0}, C{1})) * p.c; };
  return {channel(std::abs(h - 3) - 1), channel(2 - std::abs(h - 2)), channel(2 - std::abs(h - 4))};
}
/// The colour moved on by `turns` of the circle.
template <class C>
Pixel<C> turned(Pixel<C> p, C turns) {
  const C most = std::max({p.a, p.b, p.c}), least = std::min({p.a, p.b, p.c});
  C h = std::fmod(sixths(p, most, most - least) + 6 * turns, C{6});
  if (h < 0) h += 6;
  const C sector = std::floor(h), share = h - sector, even = std::fmod(sector, C{2}) == 0 ? share : 1 - share;
  const C middle = least + even * (most - least);
  switch (static_cast<int>(sector)) {
    case 0: return {most, middle, least};
    case 1: return {middle, most, least};
    case 2: return {least, most, middle};
    case 3: return {least, middle, most};
    case 4: return {middle, least, most};
    default: return {most, least, middle};
  }
}

}  // namespace

ABOUT(RGBToHSV, AICPU, "Red, green and blue as hue, saturation and value", "由 RGB 转换为 HSV")
IR_OP(RGBToHSV, RGBToHSV, (In, images), (Out, y)) {
  change_pixels(op, images, nullptr, y, [](auto p, auto) { return hsv_of(p); });
}
ABOUT(HSVToRGB, AICPU, "Hue, saturation and value as red, green and blue", "由 HSV 转换为 RGB")
IR_OP(HSVToRGB, HSVToRGB, (In, images), (Out, y)) {
  change_pixels(op, images, nullptr, y, [](auto p, auto) { return rgb_of(p); });
}
ABOUT(AdjustHue, AICPU, "Images with their hue moved on by delta turns", "将图像色相旋转 delta 圈")
IR_OP(AdjustHue, AdjustHue, (In, images), (In, delta), (Out, y), (Text, data_format, "HWC")) {
  ir::want(op, "data_format", data_format, "HWC");
  change_pixels(op, images, &*delta, y, [](auto p, auto turns) { return turned(p, turns); });
}
ABOUT(AdjustSaturation, AICPU, "Images with their saturation times scale, at most 1",
      "将图像饱和度乘以 scale，上限为 1")
IR_OP(AdjustSaturation, AdjustSaturation, (In, images), (In, scale), (Out, y)) {
  change_pixels(op, images, &*scale, y, []<class C>(Pixel<C> p, C factor) {
    Pixel<C> hsv = hsv_of(p);
    hsv.b = std::clamp(hsv.b * factor, C{0}, C{1});
    return rgb_of(hsv);
  });
}
ABOUT(AdjustContrast, Vector, "(images - mean) * contrast_factor + mean, by the means of each channel of each image",
      "(images - mean) * contrast_factor + mean，mean 为每幅图像各通道的均值")
IR_OP(AdjustContrast, AdjustContrast, (In, images), (In, contrast_factor), (Out, y), (Text, data_format, "HWC"),
      (Text, mean_mode, "chn_wise")) {
  ir::want(op, "data_format", data_format, "HWC");
  ir::want(op, "mean_mode", mean_mode, "chn_wise");
  op.require(images->rank >= 3 && is_floating(images->dtype),
             "images is {}, want numbers with a fraction and [..., height, width, channels]", describe(*images));
  op.result_like("y", *y, *images, images->dtype);
  op.require(contrast_factor->numel() == 1, "contrast_factor is {}, want one number", describe(*contrast_factor));
  const DType wide = wide_type(images->dtype);
  Temp from(wide), apart(wide), scaled(wide), made(wide);
  call(op, "aclnnCast", images, wide, from);
  const TensorView mean = ir::temporary(op, wide, ir::reduced(*images, {images->rank - 3, images->rank - 2}, true));
  call(op, "aclnnMean", *from, Dims{images->rank - 3, images->rank - 2}, true, wide, mean);
  call(op, "aclnnSub", *from, mean, 1, apart);
  call(op, "aclnnMul", *apart, contrast_factor, scaled);
  call(op, "aclnnAdd", *scaled, mean, 1, made);
  call(op, "aclnnCast", *made, images->dtype, y);
}

}  // namespace updraft
