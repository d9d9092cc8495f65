// Regions of images, each cell of a region's grid in a channel of its own: the mean of the pixels that it touches.
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

struct Pooling {
  int64_t images = 0, height = 0, width = 0, outputs = 0, group = 0;
  float scale = 1;
  int64_t channels() const { return outputs * group * group; }
};

struct Cell {
  int64_t image = 0, top = 0, bottom = 0, left = 0, right = 0;
  bool empty() const { return bottom <= top || right <= left; }
  int64_t area() const { return (bottom - top) * (right - left); }
};

/// rois is [batch, 5, regions]; the regions are counted through all of it.
struct Rois {
  std::vector<float> values;
  int64_t regions;
  explicit Rois(const TensorView& v) : values(floats_of(v)), regions(v.dims[2]) {}
  float at(int64_t region, int64_t k) const {
    return values[static_cast<size_t>((region / regions * 5 + k) * regions + region % regions)];
  }
};

/// Corners are whole pixels of the original image, the last one inclusive.
Cell cell_of(const Rois& rois, int64_t region, const Pooling& p, int64_t row, int64_t column) {
  auto along = [&](int64_t first, int64_t at, int64_t size, int64_t* begin, int64_t* end) {
    const float start = std::nearbyint(rois.at(region, first)) * p.scale;
    const float stop = std::nearbyint(rois.at(region, first + 2) + 1.0f) * p.scale;
    const float step = std::max(stop - start, 0.1f) / static_cast<float>(p.group);
    const auto most = static_cast<float>(size);
    auto within = [most](float v) { return static_cast<int64_t>(std::isnan(v) ? 0.0f : std::clamp(v, 0.0f, most)); };
    *begin = within(std::floor(static_cast<float>(at) * step + start));
    *end = within(std::ceil(static_cast<float>(at + 1) * step + start));
  };
  Cell c;
  along(1, column, p.width, &c.left, &c.right);
  along(2, row, p.height, &c.top, &c.bottom);
  if (c.empty()) return c;
  c.image = static_cast<int64_t>(rois.at(region, 0));
  if (c.image < 0 || c.image >= p.images)
    fail_kernel(fmt::format("a region of rois is of image {}, there are {}", rois.at(region, 0), p.images));
  return c;
}

/// f(region, its cell in the channel); for each channel, the regions in order.
template <class F>
void each_cell(const Rois& rois, int64_t regions, const Pooling& p, F&& f) {
  const int64_t cells = p.group * p.group;
  parallel_for(p.channels(), 1, [&](int64_t begin, int64_t end) {
    for (int64_t channel = begin; channel < end; ++channel)
      for (int64_t region = 0; region < regions; ++region)
        f(region, channel, cell_of(rois, region, p, channel % cells / p.group, channel % p.group));
  });
}

Pooling pooling_of(const Op& op, const In& rois, double scale, int64_t outputs, int64_t group) {
  op.require(rois->rank == 3 && rois->dims[1] == 5 && is_floating(rois->dtype),
             "rois is {}, want [batch, 5, regions]: the image and two corners", describe(*rois));
  op.require(outputs > 0 && group > 0, "output_dim is {} and group_size {}, want above 0", outputs, group);
  return {.outputs = outputs, .group = group, .scale = static_cast<float>(scale)};
}

}  // namespace

ABOUT(PSROIPoolingV2, Vector, "Means of the pixels of each cell of each region, each cell of a channel of its own",
      "位置敏感的候选框池化：每个网格取各自通道内像素的均值")
namespace {
void pool_regions(Op& op, const In& x, const In& rois, const Out& y, double spatial_scale, int64_t output_dim,
                  int64_t group_size) {
  Pooling p = pooling_of(op, rois, spatial_scale, output_dim, group_size);
  op.require(x->rank == 4 && is_floating(x->dtype) && x->dims[1] == p.channels(),
             "x is {}, want [N,C,H,W] with {} channels", describe(*x), p.channels());
  p.images = x->dims[0], p.height = x->dims[2], p.width = x->dims[3];
  ir::result(op, "y", *y, {rois->dims[0] * rois->dims[2], output_dim, group_size, group_size}, x->dtype);
  if (y->empty()) return;
  op.work(y->numel() * 16);
  op.launch([p, from = *x, r = *rois, to = *y] {
    const Rois rois(r);
    const std::vector<float> pixels = floats_of(from);
    std::vector<float> result(static_cast<size_t>(to.numel()));
    each_cell(rois, to.dims[0], p, [&](int64_t region, int64_t channel, const Cell& c) {
      double sum = 0;
      const float* plane = pixels.data() + (c.image * p.channels() + channel) * p.height * p.width;
      for (int64_t h = c.top; h < c.bottom; ++h)
        for (int64_t w = c.left; w < c.right; ++w) sum += static_cast<double>(plane[h * p.width + w]);
      result[static_cast<size_t>(region * p.channels() + channel)] =
          c.empty() ? 0.0f : static_cast<float>(sum / static_cast<double>(c.area()));
    });
    write_all(to, result);
  });
}
}  // namespace
IR_OP(PSROIPoolingV2, PSROIPoolingV2, (In, x), (In, rois), (Out, y), (Float, spatial_scale), (Int, output_dim),
      (Int, group_size)) {
  pool_regions(op, x, rois, y, spatial_scale, output_dim, group_size);
}
IR_OP(PSROIPooling, PSROIPoolingV2, (In, x), (In, rois), (Out, y), (Int, output_dim), (Int, group_size),
      (Float, spatial_scale)) {
  pool_regions(op, x, rois, y, spatial_scale, output_dim, group_size);
}

ABOUT(PSROIPoolingGradV2D, Vector, "Gradient of PSROIPoolingV2 for the images", "PSROIPoolingV2 对输入图像的反向梯度")
IR_OP(PSROIPoolingGradV2D, PSROIPoolingGradV2D, (In, x), (In, rois), (Out, y), (Float, spatial_scale),
      (Int, output_dim), (Int, group_size), (Ints, input_size)) {
  Pooling p = pooling_of(op, rois, spatial_scale, output_dim, group_size);
  op.require(input_size.size() == 2, "attribute input_size has {} values, want height and width", input_size.size());
  p.images = rois->dims[0], p.height = input_size[0], p.width = input_size[1];
  const int64_t dims[] = {rois->dims[0] * rois->dims[2], output_dim, group_size, group_size};
  op.require_shape("x", *x, dims, 4);
  ir::result(op, "y", *y, {p.images, p.channels(), p.height, p.width}, x->dtype);
  if (y->empty()) return;
  op.work(y->numel() + x->numel() * 16);
  op.launch([p, by = *x, r = *rois, to = *y] {
    const Rois rois(r);
    const std::vector<float> slopes = floats_of(by);
    std::vector<double> result(static_cast<size_t>(to.numel()), 0.0);
    each_cell(rois, by.dims[0], p, [&](int64_t region, int64_t channel, const Cell& c) {
      if (c.empty()) return;
      const double share = static_cast<double>(slopes[static_cast<size_t>(region * p.channels() + channel)]) /
                           static_cast<double>(c.area());
      double* plane = result.data() + (c.image * p.channels() + channel) * p.height * p.width;
      for (int64_t h = c.top; h < c.bottom; ++h)
        for (int64_t w = c.left; w < c.right; ++w) plane[h * p.width + w] += share;
    });
    write_all(to, result);
  });
}

}  // namespace updraft
