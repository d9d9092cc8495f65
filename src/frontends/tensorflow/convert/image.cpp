// Images: their size, parts of them, and colours. The graph's operators that resize have channels second.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

Endpoint channels_second(Conversion& c, size_t i) { return c.transpose(c.in(i), {0, 3, 1, 2}); }

/// The operator that the row names; what it gives has the channels last again.
void resized(Conversion& c, Endpoint image, Endpoint other) {
  const Endpoint made =
      c.emit(c.row.ascend, {image, other},
             {{"align_corners", c.flag("align_corners")}, {"half_pixel_centers", c.flag("half_pixel_centers")}});
  c.give(c.transpose(made, {0, 2, 3, 1}));
}

/// An image, or a gradient, and a size.
void resize(Conversion& c) { resized(c, channels_second(c, 0), c.in(1)); }
/// Whatever comes in, TensorFlow gives floats.
void resize_to_float(Conversion& c) { resized(c, c.cast(channels_second(c, 0), DType::Float), c.in(1)); }
/// A gradient, and the image that it is for.
void gradient_of_image(Conversion& c) { resized(c, channels_second(c, 0), channels_second(c, 1)); }

/// Boxes cut out of images, and what is known of them when the gradient comes.
void crop(Conversion& c) {
  Attributes attributes = {{"method", c.text("method", "bilinear")}};
  const std::string_view type = c.row.type;
  if (type == "CropAndResize") attributes["extrapolation_value"] = c.real("extrapolation_value", 0.0f);
  if (type == "CropAndResizeGradImage") attributes["T"] = c.element_type("T");
  same_inputs(c, std::move(attributes));
}

constexpr Row kRows[] = {
    {"AdjustContrastv2", same, "AdjustContrast"},
    {"AdjustHue", same, "AdjustHue"},
    {"AdjustSaturation", same, "AdjustSaturation"},
    {"CropAndResize", crop, "CropAndResize"},
    {"CropAndResizeGradBoxes", crop, "CropAndResizeGradBoxes"},
    {"CropAndResizeGradImage", crop, "CropAndResizeGradImage"},
    {"HSVToRGB", same, "HSVToRGB"},
    {"RGBToHSV", same, "RGBToHSV"},
    {"ResizeBilinear", resize_to_float, "ResizeBilinearV2"},
    {"ResizeBilinearGrad", gradient_of_image, "ResizeBilinearV2Grad"},
    {"ResizeNearestNeighbor", resize, "ResizeNearestNeighborV2"},
    {"ResizeNearestNeighborGrad", resize, "ResizeNearestNeighborV2Grad"},
};

}  // namespace

std::span<const Row> image_rows() { return kRows; }

}  // namespace updraft::tensorflow
