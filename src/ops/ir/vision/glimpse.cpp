// Windows that are cut out of images at given places, with noise where there is no image.
#include <cmath>

#include "ops/gathered.h"
#include "ops/ir/random/seeds.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

struct Spread {
  float least, most, mean, deviation;
};
Spread spread_of(const float* pixels, int64_t count) {
  Spread s{pixels[0], pixels[0], 0, 0};
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < count; ++i) {
    s.least = std::min(s.least, pixels[i]);
    s.most = std::max(s.most, pixels[i]);
    sum += static_cast<double>(pixels[i]);
    squares += static_cast<double>(pixels[i]) * static_cast<double>(pixels[i]);
  }
  const double mean = sum / static_cast<double>(count);
  s.mean = static_cast<float>(mean);
  s.deviation = static_cast<float>(std::sqrt(std::max(0.0, squares / static_cast<double>(count) - mean * mean)));
  return s;
}

struct Places {
  bool centered, normalized;
  /// The first pixel of `window`, by the offset along a dimension of `size`.
  int64_t first(float offset, int64_t size, int64_t window) const {
    const auto all = static_cast<float>(size);
    if (normalized) offset *= all;
    if (centered) offset = offset / 2 + all / 2;
    const float at = offset - static_cast<float>(window) / 2;
    constexpr float kFar = 1e9F;  // beyond all images
    return std::isnan(at) ? static_cast<int64_t>(-kFar) : static_cast<int64_t>(std::clamp(at, -kFar, kFar));
  }
};

}  // namespace

ABOUT(ExtractGlimpse, AICPU, "Windows of a size cut out of images [N, H, W, C] around offsets",
      "按 offsets 从图像 [N, H, W, C] 截取指定大小的窗口")
IR_OP(ExtractGlimpse, ExtractGlimpse, (In, x), (In, size), (In, offsets), (Out, y), (Bool, centered, true),
      (Bool, normalized, true), (Bool, uniform_noise, true), (Text, noise, "uniform")) {
  const std::string_view word = noise;
  op.require(word == "uniform" || word == "gaussian" || word == "zero",
             "attribute noise is \"{}\", want uniform, gaussian or zero", noise);
  op.require(!uniform_noise || word == "uniform", "attribute uniform_noise is true and noise \"{}\"", noise);
  const ir::Dims to = op.integers("size", size.handle);
  op.require(x->rank == 4 && x->dtype == DType::Float, "x is {}, want FLOAT [N, H, W, C]", describe(*x));
  op.require(to.size() == 2 && to[0] > 0 && to[1] > 0, "size has {} values, want a height and a width above 0",
             to.size());
  const int64_t pairs[] = {x->dims[0], 2};
  op.require_shape("offsets", *offsets, pairs, 2);
  ir::result(op, "y", *y, {x->dims[0], to[0], to[1], x->dims[3]}, DType::Float);
  if (op.inferring() || y->empty()) return;
  op.require(!x->empty(), "x is {}, want pixels", describe(*x));
  if (word == "uniform") call(op, "aclnnInplaceUniform", y, 0.0, 1.0, ir::fresh_seed(), 0);
  else if (word == "gaussian") call(op, "aclnnInplaceNormal", y, 0.0, 1.0, ir::fresh_seed(), 0);
  op.launch([from = *x, where = *offsets, out = *y, places = Places{centered, normalized}, uniform = word == "uniform",
             gaussian = word == "gaussian"] {
    const std::vector<float> pixels = floats_of(from), at = floats_of(where);
    std::vector<float> made = floats_of(out);  // noise
    const int64_t height = from.dims[1], width = from.dims[2], channels = from.dims[3];
    const int64_t image = height * width * channels, rows = out.dims[1], columns = out.dims[2];
    for (int64_t n = 0; n < from.dims[0]; ++n) {
      const Spread s = spread_of(pixels.data() + n * image, image);
      const int64_t top = places.first(at[static_cast<size_t>(2 * n)], height, rows),
                    left = places.first(at[static_cast<size_t>(2 * n) + 1], width, columns);
      float* to = made.data() + n * rows * columns * channels;
      for (int64_t p = 0; p < rows * columns; ++p, to += channels) {
        const int64_t row = top + p / columns, column = left + p % columns;
        if (row >= 0 && row < height && column >= 0 && column < width) {
          std::copy_n(pixels.data() + n * image + (row * width + column) * channels, channels, to);
          continue;
        }
        for (int64_t c = 0; c < channels; ++c)
          to[c] = uniform    ? s.least + to[c] * (s.most - s.least)
                  : gaussian ? std::clamp(s.mean + to[c] * s.deviation, s.least, s.most)
                             : 0;
      }
    }
    write_all(out, made);
  });
}

}  // namespace updraft
