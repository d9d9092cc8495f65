// Resizing of images by TensorFlow's rules, of cubic curves, of areas and of filters.
#include <array>
#include <cfloat>
#include <cmath>
#include <numbers>

#include "ops/gathered.h"
#include "ops/ir/shapes.h"
#include "ops/ir/vision/taps.h"

namespace updraft {
namespace {

using ir::Dims;

/// How far a pixel of the result lies from the next one, in pixels of the image.
float distance(int64_t from, int64_t to, bool corners) {
  if (corners && to > 1) return static_cast<float>(from - 1) / static_cast<float>(to - 1);
  return static_cast<float>(from) / static_cast<float>(to);
}
int64_t within(int64_t i, int64_t size) { return std::clamp<int64_t>(i, 0, size - 1); }

// --- cubic curves ----------------------------------------------------------------------------------------------------
/// The weights of four pixels, of which the second lies `share` before the point.
std::array<float, 4> cubic_weights(double share, double a) {
  const auto near = [a](double x) { return ((a + 2) * x - (a + 3)) * x * x + 1; };
  const auto far = [a](double x) { return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a; };
  return {static_cast<float>(far(share + 1)), static_cast<float>(near(share)), static_cast<float>(near(1 - share)),
          static_cast<float>(far(2 - share))};
}
/// TensorFlow knows the curve at 1024 points. Between centres of pixels what lies outside does not count, else the last
/// pixel stands for it.
PixelTaps cubic_taps(int64_t from, int64_t to, bool corners, bool centres) {
  constexpr float kPoints = 1024;
  const float step = distance(from, to, corners);
  PixelTaps taps;
  for (int64_t i = 0; i < to; ++i) {
    const float at = centres ? (static_cast<float>(i) + 0.5F) * step - 0.5F : static_cast<float>(i) * step;
    const float low = std::floor(at);
    const float share = std::nearbyint((at - low) * kPoints) / kPoints;
    std::array<float, 4> weights = cubic_weights(static_cast<double>(share), centres ? -0.5 : -0.75);
    const int64_t first = static_cast<int64_t>(low) - 1;
    if (centres) {
      float sum = 0;
      for (int64_t k = 0; k < 4; ++k) {
        float& w = weights[static_cast<size_t>(k)];
        if (within(first + k, from) != first + k) w = 0;
        sum += w;
      }
      if (std::abs(sum) >= 1000 * FLT_MIN)
        for (float& w : weights) w /= sum;
    }
    for (int64_t k = 0; k < 4; ++k) taps.add(within(first + k, from), weights[static_cast<size_t>(k)]);
    taps.close();
  }
  return taps;
}

// --- areas -----------------------------------------------------------------------------------------------------------
PixelTaps area_taps(int64_t from, int64_t to, bool corners) {
  const float step = distance(from, to, corners);
  PixelTaps taps;
  for (int64_t i = 0; i < to; ++i) {
    if (step == 0) {  // the only pixel
      taps.add(0, 1);
      taps.close();
      continue;
    }
    const float begin = static_cast<float>(i) * step, end = static_cast<float>(i + 1) * step;
    for (auto k = static_cast<int64_t>(std::floor(begin)); static_cast<float>(k) < end; ++k) {
      const float share = std::min(static_cast<float>(k + 1), end) - std::max(static_cast<float>(k), begin);
      taps.add(within(k, from), share / step);
    }
    taps.close();
  }
  return taps;
}

// --- filters ---------------------------------------------------------------------------------------------------------
struct Filter {
  std::string_view name;
  float radius;
  float (*weight)(float x, float radius);  ///< x is not negative
};
float lanczos(float x, float radius) {
  if (x > radius) return 0;
  if (x <= 1e-3F) return 1;
  const float turn = std::numbers::pi_v<float> * x;
  return radius * std::sin(turn) * std::sin(turn / radius) / (turn * turn);
}
float gaussian(float x, float radius) {
  const float sigma = radius / 3;
  return x >= radius ? 0 : std::exp(-x * x / (2 * sigma * sigma));
}
float keys(float x, float) {
  if (x >= 2) return 0;
  return x >= 1 ? ((-0.5F * x + 2.5F) * x - 4) * x + 2 : (1.5F * x - 2.5F) * x * x + 1;
}
float mitchell(float x, float) {
  if (x >= 2) return 0;
  return x >= 1 ? (((-7.0F / 18) * x + 2) * x - 10.0F / 3) * x + 16.0F / 9 : (((7.0F / 6) * x - 2) * x) * x + 8.0F / 9;
}
constexpr Filter kFilters[] = {{"lanczos1", 1, lanczos},
                               {"lanczos3", 3, lanczos},
                               {"lanczos5", 5, lanczos},
                               {"gaussian", 1.5F, gaussian},
                               {"box", 1, [](float x, float) { return x < 0.5F    ? 1.0F
                                                                      : x == 0.5F ? 0.5F
                                                                                  : 0.0F; }},
                               {"triangle", 1, [](float x, float) { return x < 1 ? 1 - x : 0.0F; }},
                               {"keyscubic", 2, keys},
                               {"mitchellcubic", 2, mitchell}};
const Filter& filter_of(const Op& op, std::string_view name) {
  for (const Filter& f : kFilters)
    if (f.name == name) return f;
  op.refuse(
      "attribute kernel_type is \"{}\", want lanczos1, lanczos3, lanczos5, gaussian, box, triangle, keyscubic or "
      "mitchellcubic",
      name);
}

/// The result is the image, scaled and then moved. What lies outside of the image is 0.
PixelTaps filter_taps(const Filter& filter, int64_t from, int64_t to, float scale, float translation, bool antialias) {
  if (!(scale > 0)) fail_kernel(fmt::format("scale_and_translate: scale is {}, want a number above 0", scale));
  const float back = 1 / scale, moved = -back * translation, wide = antialias ? std::max(back, 1.0F) : 1.0F;
  PixelTaps taps;
  for (int64_t i = 0; i < to; ++i, taps.close()) {
    const float at = (static_cast<float>(i) + 0.5F) * back + moved;
    if (!(at >= 0) || at > static_cast<float>(from)) continue;
    const float reach = filter.radius * wide, size = static_cast<float>(from);
    const auto begin = static_cast<int64_t>(std::ceil(std::max(at - reach - 0.5F, 0.0F)));
    const auto end = static_cast<int64_t>(std::floor(std::min(at + reach - 0.5F, size)));
    const size_t first = taps.weights.size();
    float sum = 0;
    for (int64_t k = std::max<int64_t>(0, begin); k <= std::min(end, from - 1); ++k) {
      const float w = filter.weight(std::abs((static_cast<float>(k) + 0.5F - at) / wide), filter.radius);
      taps.add(k, w);
      sum += w;
    }
    if (std::abs(sum) < 1000 * FLT_MIN) continue;
    for (size_t k = first; k < taps.weights.size(); ++k) taps.weights[k] /= sum;
  }
  return taps;
}

/// [N, H, W, C] with the height and width that `size` names.
Dims of_size(const Op& op, const TensorView& images, const In& size) {
  const Dims to = op.integers("size", size.handle);
  op.require(images.rank == 4 && to.size() == 2 && to[0] > 0 && to[1] > 0,
             "images is {} and size has {} values, want [N, H, W, C] and a height and width above 0", describe(images),
             to.size());
  op.require(images.dims[1] > 0 && images.dims[2] > 0, "images is {}, want pixels", describe(images));
  return {images.dims[0], to[0], to[1], images.dims[3]};
}
void require_pairs(const Op& op, const In& scale, const In& translation) {
  op.require(scale->rank == 1 && scale->dims[0] == 2 && translation->rank == 1 && translation->dims[0] == 2,
             "scale is {} and translation {}, want two numbers each", describe(*scale), describe(*translation));
}
PlaneTaps filter_planes(const Filter& filter, const TensorView& image, const TensorView& result,
                        const TensorView& scale, const TensorView& translation, bool antialias) {
  const std::vector<float> s = floats_of(scale), t = floats_of(translation);
  return {filter_taps(filter, image.dims[1], result.dims[1], s[0], t[0], antialias),
          filter_taps(filter, image.dims[2], result.dims[2], s[1], t[1], antialias)};
}

}  // namespace

IR_OP(ResizeBicubic, aclnnUpsampleBicubic2d, (In, images), (In, size), (Out, y), (Bool, align_corners, false),
      (Bool, half_pixel_centers, false), (Type, dtype, DType::Float)) {
  op.require(!align_corners || !half_pixel_centers, "attributes align_corners and half_pixel_centers are both true");
  const Dims to = op.integers("size", size.handle);
  op.require(images->rank == 4 && to.size() == 2 && to[0] > 0 && to[1] > 0,
             "images is {} and size has {} values, want [N, C, H, W] and a height and width above 0", describe(*images),
             to.size());
  op.require(images->dims[2] > 0 && images->dims[3] > 0, "images is {}, want pixels", describe(*images));
  ir::result(op, "y", *y, {images->dims[0], images->dims[1], to[0], to[1]}, dtype);
  plan_taps(op, *images, *y, false, [=, x = *images] {
    return PlaneTaps{cubic_taps(x.dims[2], to[0], align_corners, half_pixel_centers),
                     cubic_taps(x.dims[3], to[1], align_corners, half_pixel_centers)};
  });
}
IR_OP(CustResizeBicubic, aclnnUpsampleBicubic2d, (In, images), (In, size), (Out, y), (Bool, align_corners, false),
      (Bool, half_pixel_centers, false)) {
  call(op, "ResizeBicubic", images, size, y, align_corners, half_pixel_centers, ir::type_of(*y, DType::Float));
}
ABOUT(ResizeBicubicGrad, Vector, "Gradient of ResizeBicubic for the images", "ResizeBicubic 对图像的反向梯度")
IR_OP(ResizeBicubicGrad, ResizeBicubicGrad, (In, grads), (In, original_image), (Out, y), (Bool, align_corners, false),
      (Bool, half_pixel_centers, false)) {
  op.require(!align_corners || !half_pixel_centers, "attributes align_corners and half_pixel_centers are both true");
  const TensorView &g = *grads, &x = *original_image;
  op.require(g.rank == 4 && x.rank == 4 && g.dims[0] == x.dims[0] && g.dims[1] == x.dims[1],
             "grads is {} and original_image {}, want [N, C, H, W] with the same N and C", describe(g), describe(x));
  op.require(g.dims[2] > 0 && g.dims[3] > 0 && x.dims[2] > 0 && x.dims[3] > 0,
             "grads is {} and original_image {}, want pixels", describe(g), describe(x));
  op.result_like("y", *y, x, x.dtype);
  plan_taps(op, g, *y, false, [=, x = *original_image, g = *grads] {
    return PlaneTaps{cubic_taps(x.dims[2], g.dims[2], align_corners, half_pixel_centers).turned(x.dims[2]),
                     cubic_taps(x.dims[3], g.dims[3], align_corners, half_pixel_centers).turned(x.dims[3])};
  });
}
ABOUT(ResizeArea, AICPU, "Images [N, H, W, C] of another size: means of the areas that pixels cover",
      "按像素覆盖面积的均值缩放图像 [N, H, W, C]")
IR_OP(ResizeArea, ResizeArea, (In, images), (In, size), (Out, y), (Bool, align_corners, false)) {
  const Dims to = of_size(op, *images, size);
  ir::result(op, "y", *y, to, DType::Float);
  plan_taps(op, *images, *y, true, [=, x = *images] {
    return PlaneTaps{area_taps(x.dims[1], to[1], align_corners), area_taps(x.dims[2], to[2], align_corners)};
  });
}
ABOUT(ScaleAndTranslate, AICPU, "Images [N, H, W, C] scaled and moved, between pixels by a filter",
      "缩放并平移图像 [N, H, W, C]，按滤波核插值")
IR_OP(ScaleAndTranslate, ScaleAndTranslate, (In, images), (In, size), (In, scale), (In, translation), (Out, y),
      (Text, kernel_type, "lanczos3"), (Bool, antialias, true)) {
  const Filter& filter = filter_of(op, kernel_type);
  require_pairs(op, scale, translation);
  ir::result(op, "y", *y, of_size(op, *images, size), DType::Float);
  plan_taps(op, *images, *y, true, [&filter, antialias, x = *images, y = *y, s = *scale, t = *translation] {
    return filter_planes(filter, x, y, s, t, antialias);
  });
}
ABOUT(ScaleAndTranslateGrad, AICPU, "Gradient of ScaleAndTranslate for the images",
      "ScaleAndTranslate 对图像的反向梯度")
IR_OP(ScaleAndTranslateGrad, ScaleAndTranslateGrad, (In, grads), (In, original_image), (In, scale), (In, translation),
      (Out, y), (Text, kernel_type, "lanczos3"), (Bool, antialias, true)) {
  const Filter& filter = filter_of(op, kernel_type);
  require_pairs(op, scale, translation);
  const TensorView &g = *grads, &x = *original_image;
  op.require(g.rank == 4 && x.rank == 4 && g.dims[0] == x.dims[0] && g.dims[3] == x.dims[3],
             "grads is {} and original_image {}, want [N, H, W, C] with the same N and C", describe(g), describe(x));
  op.result_like("y", *y, x, x.dtype);
  plan_taps(op, g, *y, true, [&filter, antialias, x = *y, g = *grads, s = *scale, t = *translation] {
    const PlaneTaps taps = filter_planes(filter, x, g, s, t, antialias);
    return PlaneTaps{taps.rows.turned(x.dims[1]), taps.columns.turned(x.dims[2])};
  });
}

}  // namespace updraft
