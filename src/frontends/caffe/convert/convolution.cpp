// Convolutions.
#include <algorithm>

#include "frontends/caffe/convert/families.h"

namespace updraft::caffe {

Dims with_channels(const Dims& values) {
  Dims all = {1, 1};
  all.insert(all.end(), values.begin(), values.end());
  return all;
}

Dims spatial(Conversion& c, const std::string& all, const std::string& name, size_t n, int64_t other) {
  const std::string high = name + "_h", wide = name + "_w";
  Dims values = c.param.integers(all);
  if (c.param.has(high) || c.param.has(wide)) {
    c.require(values.empty(), "{} is given, and {} or {}, too", all, high, wide);
    c.require(n == 2, "{} and {} are given for {} spatial dimensions, want 2", high, wide, n);
    values = {c.param.integer(high, other), c.param.integer(wide, other)};
  }
  if (values.empty()) values = {other};
  c.require(values.size() == 1 || values.size() == n, "{} has {} values for {} spatial dimensions", all, values.size(),
            n);
  return values.size() == n ? values : Dims(n, values[0]);
}

namespace {

struct Windows {
  Dims kernel;
  Attributes attributes;
};

Windows windows_of(Conversion& c, Endpoint x) {
  const Message& p = c.param;
  for (const char* how : {"engine", "force_nd_im2col", "weight_filler", "bias_filler"}) p.ignore(how);
  const int64_t rank = c.rank(x), axis = c.axis_of(x, "axis", 1);
  c.require(rank == 4 || rank == 5, "bottom is {}, want 4 or 5 dimensions (images or volumes)", describe(c.desc(x)));
  c.require(axis == 1, "convolution_param.axis is {}, want 1", axis);
  const auto n = static_cast<size_t>(rank - 2);
  Windows w;
  w.kernel = spatial(c, "kernel_size", "kernel", n, 0);
  const Dims strides = spatial(c, "stride", "stride", n, 1), pads = spatial(c, "pad", "pad", n, 0);
  Dims dilations = p.integers("dilation");
  if (dilations.empty()) dilations = {1};
  if (dilations.size() == 1) dilations.assign(n, dilations[0]);
  c.require(dilations.size() == n, "dilation has {} values for {} spatial dimensions", dilations.size(), n);
  Dims both;
  for (size_t d = 0; d < n; ++d) {
    c.require(w.kernel[d] > 0 && strides[d] > 0 && dilations[d] > 0 && pads[d] >= 0,
              "kernel_size, stride, dilation and pad are {}, {}, {} and {}, want positive ones (pad: 0 or more)",
              describe(w.kernel), describe(strides), describe(dilations), describe(pads));
    both.insert(both.end(), 2, pads[d]);
  }
  w.attributes = {{"strides", with_channels(strides)},
                  {"pads", both},
                  {"dilations", with_channels(dilations)},
                  {"data_format", n == 2 ? "NCHW" : "NCDHW"}};
  return w;
}

/// Every bottom has a top, and all have the same filters. Those of a transposed convolution have the channels of the
/// bottom first.
void convolutions(Conversion& c, bool transposed) {
  const int64_t outputs = c.param.integer("num_output"), groups = c.param.integer("group", 1);
  const bool bias = c.param.flag("bias_term", true);
  c.require(c.inputs() > 0, "there is no bottom");
  for (const Endpoint x : c.all()) {
    Windows w = windows_of(c, x);
    const int64_t channels = c.size(x, 1, "the bottom");
    c.require(groups > 0 && outputs > 0 && channels % groups == 0 && outputs % groups == 0,
              "{} channels become {} in {} groups, want multiples", channels, outputs, groups);
    Dims filter = transposed ? Dims{channels, outputs / groups} : Dims{outputs, channels / groups};
    filter.insert(filter.end(), w.kernel.begin(), w.kernel.end());
    w.attributes["groups"] = groups;
    const Endpoint weights = c.blob(0, filter, "filter");
    const Operand add = bias ? Operand(c.blob(1, {outputs}, "bias")) : Operand(nullptr);
    const bool image = w.kernel.size() == 2;
    if (!transposed) {
      c.result(image ? "Conv2D" : "Conv3D", {x, weights, add}, w.attributes);
      continue;
    }
    const Dims none(static_cast<size_t>(c.rank(x)), 0);
    w.attributes["output_padding"] = none;
    c.result(image ? "Conv2DTranspose" : "Conv3DTranspose", {c.ints(none), x, weights, add}, w.attributes);
  }
}

void convolution(Conversion& c) { convolutions(c, false); }
void deconvolution(Conversion& c) { convolutions(c, true); }

constexpr Row kRows[] = {
    {"Convolution", convolution, "convolution_param", "Conv2D, Conv3D", "bottoms of 4 or 5 dimensions",
     "bottom 为 4 或 5 维"},
    {"ConvolutionDepthwise", convolution, "convolution_param", "Conv2D"},
    {"Deconvolution", deconvolution, "convolution_param", "Conv2DTranspose, Conv3DTranspose",
     "bottoms of 4 or 5 dimensions", "bottom 为 4 或 5 维"},
    {"DepthwiseConvolution", convolution, "convolution_param", "Conv2D"},
};

}  // namespace

std::span<const Row> convolution_rows() { return kRows; }

}  // namespace updraft::caffe
