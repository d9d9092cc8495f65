// Regions of images, read between pixels: each cell of a region's grid is the mean of samples in it.
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

struct Grid {
  int64_t images = 0, channels = 0, height = 0, width = 0, rows = 0, columns = 0, samples = 0, mode = 0;
  float scale = 1;
  int64_t cells() const { return rows * columns; }
};

/// How much of a pixel a cell takes.
struct Tap {
  int64_t pixel;
  float weight;
};
/// Of one region: image, and the taps of cell i in [first[i], first[i + 1]).
struct Region {
  int64_t image = 0;
  std::vector<Tap> taps;
  std::vector<size_t> first;
};

constexpr int64_t kEndIsLast = 1;     ///< the region's end is its last pixel, so it is one longer
constexpr int64_t kPixelCentres = 3;  ///< places count from the centres of pixels, and no region is made longer

struct Between {
  int64_t low, high;
  float part;
};
/// False where the place is outside: more than one pixel before the first, or beyond the last.
bool between(float at, int64_t size, Between* b) {
  if (!(at >= -1) || at > static_cast<float>(size)) return false;
  at = std::max(at, 0.0f);
  b->low = std::min(static_cast<int64_t>(at), size - 1);
  b->high = std::min(b->low + 1, size - 1);
  b->part = b->high > b->low ? at - static_cast<float>(b->low) : 0.0f;
  return true;
}

Region region_of(const float* roi, const Grid& g) {
  Region r;
  r.image = static_cast<int64_t>(roi[0]);
  if (r.image < 0 || r.image >= g.images)
    fail_kernel(fmt::format("a row of rois is of image {}, there are {}", roi[0], g.images));
  const float shift = g.mode == kPixelCentres ? 0.5f : 0.0f, more = g.mode == kEndIsLast ? 1.0f : 0.0f;
  const float left = roi[1] * g.scale - shift, top = roi[2] * g.scale - shift;
  float wide = (roi[3] + more) * g.scale - shift - left, high = (roi[4] + more) * g.scale - shift - top;
  if (g.mode != kPixelCentres) wide = std::max(wide, 1.0f), high = std::max(high, 1.0f);
  const float down = high / static_cast<float>(g.rows), right = wide / static_cast<float>(g.columns);
  auto samples = [&](float cell) {
    return g.samples > 0 ? g.samples : std::clamp<int64_t>(static_cast<int64_t>(std::ceil(cell)), 0, 4096);
  };
  const int64_t ny = samples(down), nx = samples(right);
  const float share = ny * nx > 0 ? 1.0f / static_cast<float>(ny * nx) : 0.0f;
  for (int64_t cell = 0; cell < g.cells(); ++cell) {
    r.first.push_back(r.taps.size());
    for (int64_t i = 0; i < ny * nx; ++i) {
      const float y =
          top +
          (static_cast<float>(cell / g.columns) + (static_cast<float>(i / nx) + 0.5f) / static_cast<float>(ny)) * down;
      const float x =
          left +
          (static_cast<float>(cell % g.columns) + (static_cast<float>(i % nx) + 0.5f) / static_cast<float>(nx)) * right;
      Between v, h;
      if (!between(y, g.height, &v) || !between(x, g.width, &h)) continue;
      for (int k = 0; k < 4; ++k) {
        const int64_t pixel = (k / 2 ? v.high : v.low) * g.width + (k % 2 ? h.high : h.low);
        r.taps.push_back({pixel, share * (k / 2 ? v.part : 1 - v.part) * (k % 2 ? h.part : 1 - h.part)});
      }
    }
  }
  r.first.push_back(r.taps.size());
  return r;
}

std::vector<Region> regions_of(const TensorView& rois, const Grid& g) {
  const std::vector<float> rows = floats_of(rois);
  std::vector<Region> regions(static_cast<size_t>(rois.dims[0]));
  for (size_t i = 0; i < regions.size(); ++i) regions[i] = region_of(rows.data() + 5 * i, g);
  return regions;
}

Grid grid_of(const Op& op, const In& rois, const OptIn& rois_n, double scale, int64_t rows, int64_t columns,
             int64_t samples, int64_t mode) {
  op.require(!rois_n, "rois_n is {}, want none: rois names the image of each region",
             rois_n ? describe(*rois_n).text() : "");
  op.require(rois->rank == 2 && rois->dims[1] == 5 && is_floating(rois->dtype),
             "rois is {}, want [regions, 5]: the image and two corners", describe(*rois));
  op.require(rows > 0 && columns > 0, "pooled_height is {} and pooled_width {}, want above 0", rows, columns);
  op.require(mode == 0 || mode == kEndIsLast || mode == kPixelCentres, "roi_end_mode is {}, want 0, 1 or 3", mode);
  return {.rows = rows, .columns = columns, .samples = samples, .mode = mode, .scale = static_cast<float>(scale)};
}

void read_regions(const TensorView& x, const TensorView& rois, const Grid& g, const TensorView& y) {
  const std::vector<float> from = floats_of(x);
  const std::vector<Region> regions = regions_of(rois, g);
  std::vector<float> to(static_cast<size_t>(y.numel()));
  parallel_for(rois.dims[0] * g.channels, 8, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Region& r = regions[static_cast<size_t>(i / g.channels)];
      const float* plane = from.data() + (r.image * g.channels + i % g.channels) * g.height * g.width;
      for (int64_t cell = 0; cell < g.cells(); ++cell) {
        double sum = 0;
        for (size_t k = r.first[static_cast<size_t>(cell)]; k < r.first[static_cast<size_t>(cell) + 1]; ++k)
          sum += static_cast<double>(r.taps[k].weight) * static_cast<double>(plane[r.taps[k].pixel]);
        to[static_cast<size_t>(i * g.cells() + cell)] = static_cast<float>(sum);
      }
    }
  });
  write_all(y, to);
}

/// Each plane of the result belongs to one thread, so its sums have one order.
void spread_regions(const TensorView& dy, const TensorView& rois, const Grid& g, const TensorView& dx) {
  const std::vector<float> from = floats_of(dy);
  const std::vector<Region> regions = regions_of(rois, g);
  const int64_t pixels = g.height * g.width;
  std::vector<double> to(static_cast<size_t>(dx.numel()), 0.0);
  parallel_for(g.images * g.channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      double* plane = to.data() + i * pixels;
      for (size_t n = 0; n < regions.size(); ++n) {
        const Region& r = regions[n];
        if (r.image != i / g.channels) continue;
        const float* by = from.data() + (static_cast<int64_t>(n) * g.channels + i % g.channels) * g.cells();
        for (int64_t cell = 0; cell < g.cells(); ++cell)
          for (size_t k = r.first[static_cast<size_t>(cell)]; k < r.first[static_cast<size_t>(cell) + 1]; ++k)
            plane[r.taps[k].pixel] += static_cast<double>(r.taps[k].weight) * static_cast<double>(by[cell]);
      }
    }
  });
  write_all(dx, to);
}

}  // namespace

ABOUT(ROIAlign, Vector, "Means of samples between pixels, in each cell of a grid over each region",
      "各候选框网格内双线性采样的均值")
IR_OP(ROIAlign, ROIAlign, (In, features), (In, rois), (OptIn, rois_n), (Out, y), (Float, spatial_scale),
      (Int, pooled_height), (Int, pooled_width), (Int, sample_num, 2), (Int, roi_end_mode, 1)) {
  Grid g = grid_of(op, rois, rois_n, spatial_scale, pooled_height, pooled_width, sample_num, roi_end_mode);
  op.require(features->rank == 4 && is_floating(features->dtype), "features is {}, want floating-point [N,C,H,W]",
             describe(*features));
  g.images = features->dims[0], g.channels = features->dims[1];
  g.height = features->dims[2], g.width = features->dims[3];
  ir::result(op, "y", *y, {rois->dims[0], g.channels, g.rows, g.columns}, features->dtype);
  if (y->empty()) return;
  op.require(!features->empty(), "features is {}, and rois has regions of it", describe(*features));
  op.work(y->numel() * 4 * std::max<int64_t>(1, sample_num * sample_num));
  op.launch([g, x = *features, r = *rois, to = *y] { read_regions(x, r, g, to); });
}

ABOUT(ROIAlignGrad, Vector, "Gradient of ROIAlign for the features", "ROIAlign 对特征图的反向梯度")
IR_OP(ROIAlignGrad, ROIAlignGrad, (In, ydiff), (In, rois), (OptIn, rois_n), (Out, xdiff), (Ints, xdiff_shape),
      (Int, pooled_width), (Int, pooled_height), (Float, spatial_scale), (Int, sample_num, 2), (Int, roi_end_mode, 1)) {
  Grid g = grid_of(op, rois, rois_n, spatial_scale, pooled_height, pooled_width, sample_num, roi_end_mode);
  op.require(xdiff_shape.size() == 4, "attribute xdiff_shape has {} values, want 4", xdiff_shape.size());
  g.images = xdiff_shape[0], g.channels = xdiff_shape[1], g.height = xdiff_shape[2], g.width = xdiff_shape[3];
  const int64_t dims[] = {rois->dims[0], g.channels, g.rows, g.columns};
  op.require_shape("ydiff", *ydiff, dims, 4);
  ir::result(op, "xdiff", *xdiff, {g.images, g.channels, g.height, g.width}, ydiff->dtype);
  if (xdiff->empty()) return;
  op.work(ydiff->numel() * 4 * std::max<int64_t>(1, sample_num * sample_num));
  op.launch([g, by = *ydiff, r = *rois, to = *xdiff] { spread_regions(by, r, g, to); });
}

}  // namespace updraft
