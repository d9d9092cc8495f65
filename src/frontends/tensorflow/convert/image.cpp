// Images: their size. The graph's operators have channels second.
#include <string_view>

#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

void resize(Conversion& c) {
  const Endpoint x = c.in(0);
  const bool bilinear = std::string_view(c.row.type) == "ResizeBilinear";
  Endpoint turned = c.transpose(x, {0, 3, 1, 2});
  if (bilinear) turned = c.cast(turned, DType::Float);  // as TensorFlow gives it
  const Endpoint sized =
      c.emit(c.row.ascend, {turned, c.in(1)},
             {{"align_corners", c.flag("align_corners")}, {"half_pixel_centers", c.flag("half_pixel_centers")}});
  c.give(c.transpose(sized, {0, 2, 3, 1}));
}

void resize_gradient(Conversion& c) {
  const Endpoint dy = c.transpose(c.in(0), {0, 3, 1, 2}), x = c.transpose(c.in(1), {0, 3, 1, 2});
  const Endpoint sized =
      c.emit(c.row.ascend, {dy, x},
             {{"align_corners", c.flag("align_corners")}, {"half_pixel_centers", c.flag("half_pixel_centers")}});
  c.give(c.transpose(sized, {0, 2, 3, 1}));
}

void resize_nearest_gradient(Conversion& c) {
  const Endpoint dy = c.transpose(c.in(0), {0, 3, 1, 2});
  const Endpoint sized =
      c.emit(c.row.ascend, {dy, c.in(1)},
             {{"align_corners", c.flag("align_corners")}, {"half_pixel_centers", c.flag("half_pixel_centers")}});
  c.give(c.transpose(sized, {0, 2, 3, 1}));
}

constexpr Row kRows[] = {
    {"ResizeBilinear", resize, "ResizeBilinearV2"},
    {"ResizeBilinearGrad", resize_gradient, "ResizeBilinearV2Grad"},
    {"ResizeNearestNeighbor", resize, "ResizeNearestNeighborV2"},
    {"ResizeNearestNeighborGrad", resize_nearest_gradient, "ResizeNearestNeighborV2Grad"},
};

}  // namespace

std::span<const Row> image_rows() { return kRows; }

}  // namespace updraft::tensorflow
