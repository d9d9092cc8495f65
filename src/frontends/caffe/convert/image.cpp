// Images: their size.
#include "frontends/caffe/convert/families.h"

namespace updraft::caffe {
namespace {

/// Bilinear, with the corners' pixels at the corners. Negative pads cut off.
void interp(Conversion& c) {
  Endpoint x = c.in(0);
  const int64_t before = c.param.integer("pad_beg", 0), behind = c.param.integer("pad_end", 0);
  const int64_t zoom = c.param.integer("zoom_factor", 1), shrink = c.param.integer("shrink_factor", 1);
  const bool by_factors = c.param.has("zoom_factor") || c.param.has("shrink_factor");
  const bool by_size = c.param.has("height") || c.param.has("width");
  c.require(c.rank(x) == 4, "bottom is {}, want 4 dimensions", describe(c.desc(x)));
  c.require(before <= 0 && behind <= 0, "interp_param.pad_beg is {} and pad_end {}, want none above 0", before, behind);
  c.require(zoom > 0 && zoom <= 65536 && shrink > 0,
            "interp_param.zoom_factor is {} and shrink_factor {}, want positive ones (65536 at most)", zoom, shrink);
  c.require(by_factors != by_size && c.inputs() == 1,
            "want either zoom_factor and shrink_factor or height and width, and one bottom");
  Dims to;
  for (int64_t d = 2; d < 4; ++d) {
    if (by_size) {
      to.push_back(c.param.integer(d == 2 ? "height" : "width"));
    } else {
      const int64_t size = c.size(x, d, "the bottom, with factors,") + before + behind;
      const int64_t small = (size - 1) / shrink + 1;
      to.push_back(small + (small - 1) * (zoom - 1));
    }
    c.require(to.back() > 0 && to.back() <= INT32_MAX, "the result has the size {} in dimension {}", to.back(), d);
  }
  if (before || behind) x = c.slice(x, Dims(2, -before), Dims(2, behind ? behind : INT64_MAX), {2, 3});
  c.result("ResizeBilinearV2", {x, c.ints(to)}, {{"align_corners", true}});
}

constexpr Row kRows[] = {
    {"Interp", interp, "interp_param", "ResizeBilinearV2"},
};

}  // namespace

std::span<const Row> image_rows() { return kRows; }

}  // namespace updraft::caffe
