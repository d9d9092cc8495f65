// Pooling.
#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

/// The attributes of windows; `size` as pads_of() has it.
Attributes windows_of(Conversion& c, FunctionRef<int64_t(size_t)> size) {
  const bool last = c.channels_last();
  const Dims sizes = c.integers("ksize"), strides = c.integers("strides");
  const Dims kernel = spatial(c, "ksize", sizes, last), steps = spatial(c, "strides", strides, last);
  const size_t n = kernel.size();
  return {{"ksize", sizes},
          {"strides", strides},
          {"data_format", format_of(n, last)},
          {"pads", pads_of(c, last ? 1 : 2, kernel, steps, Dims(n, 1), size)}};
}

/// Inputs: what went into the pool, what came out, and the gradient of that.
void max_gradient(Conversion& c) {
  Attributes attributes = windows_of(c, size_in(c, c.in(0)));
  attributes[c.row.ascend == std::string_view("MaxPoolV3Grad") ? "padding_mode" : "padding"] =
      std::string("CALCULATED");
  c.result(c.row.ascend, {c.in(0), c.in(1), c.in(2)}, attributes);
}

void mean_gradient(Conversion& c) {
  const Dims size = c.integers_in(0, "the shape of the input");
  Attributes attributes = windows_of(c, [&](size_t d) { return size.at(d); });
  // What lies outside does not count.
  if (c.row.ascend == std::string_view("AvgPoolV2Grad")) {
    attributes["padding_mode"] = std::string("CALCULATED");
    attributes["exclusive"] = true;
  } else {
    attributes["count_include_pad"] = false;
  }
  c.result(c.row.ascend, {c.ints(size), c.in(1)}, attributes);
}

void pool(Conversion& c) {
  const Endpoint x = c.in(0);
  Attributes attributes = windows_of(c, size_in(c, x));
  const std::string_view type = c.row.ascend;
  if (type == "MaxPoolV3") attributes["padding_mode"] = std::string("CALCULATED");
  if (type == "MaxPool3D") attributes["padding"] = std::string("CALCULATED");
  // What lies outside does not count.
  if (type == "AvgPoolV2") attributes["padding_mode"] = std::string("CALCULATED"), attributes["exclusive"] = true;
  if (type == "AvgPool3D") attributes["count_include_pad"] = false;
  c.result(type, {x}, attributes);
}

/// Second gradients: what went in, what came out, and the gradient of what went in.
void second_gradient(Conversion& c) {
  const bool last = c.channels_last();
  c.result("MaxPoolGradGrad", {c.in(0), c.in(1), c.in(2)},
           {{"ksize", c.integers("ksize")},
            {"strides", c.integers("strides")},
            {"padding", c.text("padding")},
            {"data_format", format_of(2, last)}});
}
void second_gradient_of_volume(Conversion& c) {
  c.result("MaxPool3DGradGrad", {c.in(0), c.in(1), c.in(2)}, windows_of(c, size_in(c, c.in(0))));
}

/// Places are among all elements of an image, not of the batch.
void with_places(Conversion& c) {
  c.require(!c.flag("include_batch_in_index"), "attribute include_batch_in_index is true");
  Attributes attributes = {
      {"ksize", c.integers("ksize")}, {"strides", c.integers("strides")}, {"padding", c.text("padding")}};
  const bool forward = c.row.type == std::string_view("MaxPoolWithArgmax");
  if (forward) attributes["Targmax"] = static_cast<int64_t>(c.element_type("Targmax", DType::Int64));
  c.result(c.row.ascend, c.operands(), std::move(attributes), forward ? 2 : 1);
}

void by_sequences(Conversion& c) { same_inputs(c, {{"overlapping", c.flag("overlapping")}}); }

constexpr Row kRows[] = {
    {"AvgPool", pool, "AvgPoolV2"},
    {"AvgPool3D", pool, "AvgPool3D"},
    {"AvgPool3DGrad", mean_gradient, "AvgPool3DGrad", "the shape of the input is known", "须已知输入大小"},
    {"AvgPoolGrad", mean_gradient, "AvgPoolV2Grad", "the shape of the input is known", "须已知输入大小"},
    {"FractionalAvgPoolGrad", by_sequences, "FractionalAvgPoolGrad"},
    {"FractionalMaxPoolGrad", by_sequences, "FractionalMaxPoolGrad"},
    {"MaxPool", pool, "MaxPoolV3"},
    {"MaxPool3D", pool, "MaxPool3D"},
    {"MaxPool3DGrad", max_gradient, "MaxPool3DGrad"},
    {"MaxPool3DGradGrad", second_gradient_of_volume, "MaxPool3DGradGrad"},
    {"MaxPoolGrad", max_gradient, "MaxPoolV3Grad"},
    {"MaxPoolGradGrad", second_gradient, "MaxPoolGradGrad"},
    {"MaxPoolGradGradWithArgmax", with_places, "MaxPoolGradGradWithArgmax", "places in an image", "仅图像内的位置"},
    {"MaxPoolGradWithArgmax", with_places, "MaxPoolGradWithArgmax", "places in an image", "仅图像内的位置"},
    {"MaxPoolWithArgmax", with_places, "MaxPoolWithArgmax", "places in an image", "仅图像内的位置"},
};

}  // namespace

std::span<const Row> pool_rows() { return kRows; }

}  // namespace updraft::tensorflow
