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

/// Filters of the graph's operator have the channels last, too.
void scaled(Conversion& c) {
  same_inputs(c, {{"kernel_type", c.text("kernel_type", "lanczos3")}, {"antialias", c.flag("antialias", true)}});
}
void resize_by_area(Conversion& c) { same_inputs(c, {{"align_corners", c.flag("align_corners")}}); }

/// Windows side by side in the channels.
void patches(Conversion& c) {
  Attributes attributes = {
      {"ksizes", c.integers("ksizes")}, {"strides", c.integers("strides")}, {"padding", c.text("padding")}};
  if (c.row.type == std::string_view("ExtractImagePatches")) attributes["rates"] = c.integers("rates");
  same_inputs(c, std::move(attributes));
}
/// Random numbers are TensorFlow's own.
void glimpse(Conversion& c) {
  c.require(!c.flag("uniform_noise", true) && c.text("noise", "uniform") == "zero", "noise is random, want zeros");
  same_inputs(c, {{"centered", c.flag("centered", true)},
                  {"normalized", c.flag("normalized", true)},
                  {"uniform_noise", false},
                  {"noise", std::string("zero")}});
}
void dilation(Conversion& c) {
  same_inputs(c, {{"strides", c.integers("strides")},
                  {"rates", c.integers("rates")},
                  {"padding_mode", c.text("padding")},
                  {"data_format", std::string("NHWC")}});
}

void combined_suppression(Conversion& c) {
  c.result(c.row.ascend, c.operands(),
           {{"pad_per_class", c.flag("pad_per_class")}, {"clip_boxes", c.flag("clip_boxes", true)}}, 4);
}

constexpr Row kRows[] = {
    {"AdjustContrastv2", same, "AdjustContrast"},
    {"AdjustHue", same, "AdjustHue"},
    {"AdjustSaturation", same, "AdjustSaturation"},
    {"CombinedNonMaxSuppression", combined_suppression, "CombinedNonMaxSuppression"},
    {"CropAndResize", crop, "CropAndResize"},
    {"CropAndResizeGradBoxes", crop, "CropAndResizeGradBoxes"},
    {"CropAndResizeGradImage", crop, "CropAndResizeGradImage"},
    {"Dilation2D", dilation, "Dilation2D"},
    {"Dilation2DBackpropFilter", dilation, "Dilation2DBackpropFilter"},
    {"Dilation2DBackpropInput", dilation, "Dilation2DBackpropInput"},
    {"ExtractGlimpse", glimpse, "ExtractGlimpse", "without random noise", "不含随机噪声"},
    {"ExtractImagePatches", patches, "ExtractImagePatches"},
    {"ExtractVolumePatches", patches, "ExtractVolumePatches"},
    {"HSVToRGB", same, "HSVToRGB"},
    {"RGBToHSV", same, "RGBToHSV"},
    {"ResizeArea", resize_by_area, "ResizeArea"},
    {"ResizeBicubic", resize_to_float, "ResizeBicubic"},
    {"ResizeBicubicGrad", gradient_of_image, "ResizeBicubicGrad"},
    {"ResizeBilinear", resize_to_float, "ResizeBilinearV2"},
    {"ResizeBilinearGrad", gradient_of_image, "ResizeBilinearV2Grad"},
    {"ResizeNearestNeighbor", resize, "ResizeNearestNeighborV2"},
    {"ResizeNearestNeighborGrad", resize, "ResizeNearestNeighborV2Grad"},
    {"ScaleAndTranslate", scaled, "ScaleAndTranslate"},
    {"ScaleAndTranslateGrad", scaled, "ScaleAndTranslateGrad"},
};

}  // namespace

std::span<const Row> image_rows() { return kRows; }

}  // namespace updraft::tensorflow
