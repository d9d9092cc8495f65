// Convolutions. Filters lie as HWCN (DHWCN), whatever the layout of images; the graph's operators read them so where
// images have their channels last.
#include <algorithm>

#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {

Dims spatial(Conversion& c, const char* name, const Dims& values, bool last) {
  c.require(values.size() >= 3, "attribute {} has {} values, want one for each dimension", name, values.size());
  const size_t channel = last ? values.size() - 1 : 1;
  c.require(values[0] == 1 && values[channel] == 1, "attribute {} is {} for batches and {} for channels, want 1", name,
            values[0], values[channel]);
  for (int64_t v : values) c.require(v >= 1, "attribute {} has a {}, want positive values", name, v);
  Dims inner(values.begin() + 1, values.end());
  inner.erase(inner.begin() + static_cast<std::ptrdiff_t>(channel) - 1);
  return inner;
}

std::string format_of(size_t spatial, bool last) {
  return spatial == 2 ? (last ? "NHWC" : "NCHW") : (last ? "NDHWC" : "NCDHW");
}

Dims pads_of(Conversion& c, size_t first, const Dims& kernel, const Dims& strides, const Dims& dilations,
             FunctionRef<int64_t(size_t)> size) {
  const std::string word = c.text("padding");
  const size_t n = kernel.size();
  Dims pads(2 * n, 0);
  const Dims given = c.integers("explicit_paddings");
  if (word == "VALID") return pads;
  if (word == "EXPLICIT") {
    c.require(given.size() == 2 * n + 4, "attribute explicit_paddings has {} values, want {}", given.size(), 2 * n + 4);
    std::copy_n(given.begin() + static_cast<std::ptrdiff_t>(2 * first), 2 * n, pads.begin());
    return pads;
  }
  c.require(word == "SAME", "attribute padding is \"{}\", want SAME, VALID or EXPLICIT", word);
  for (size_t d = 0; d < n; ++d) {
    const int64_t most = std::max({kernel[d], strides[d], dilations[d]});
    c.require(most <= INT32_MAX, "a size, a stride or a dilation of the window is {}, want {} at most", most,
              INT32_MAX);
    const int64_t reach = (kernel[d] - 1) * dilations[d] + 1;
    int64_t all = reach - 1;  // with steps of one the size does not matter
    if (strides[d] != 1) {
      const int64_t whole = size(first + d);
      all = std::max<int64_t>(0, ((whole + strides[d] - 1) / strides[d] - 1) * strides[d] + reach - whole);
    }
    pads[2 * d] = all / 2;
    pads[2 * d + 1] = all - all / 2;
  }
  return pads;
}

namespace {

struct Windows {
  bool last = true;
  Attributes attributes;
};

/// The attributes of a convolution with filters of these sizes; `size` as pads_of() has it.
Windows windows_of(Conversion& c, const Dims& kernel, FunctionRef<int64_t(size_t)> size) {
  Windows w;
  w.last = c.channels_last();
  const Dims strides = c.integers("strides");
  Dims dilations = c.integers("dilations");
  if (dilations.empty()) dilations.assign(strides.size(), 1);
  const Dims pads = pads_of(c, w.last ? 1 : 2, kernel, spatial(c, "strides", strides, w.last),
                            spatial(c, "dilations", dilations, w.last), size);
  w.attributes = {{"strides", strides},
                  {"dilations", dilations},
                  {"pads", pads},
                  {"data_format", format_of(kernel.size(), w.last)}};
  return w;
}

/// A filter [height, width, inputs, outputs] in the order that images of this layout want.
Endpoint filter_of(Conversion& c, Endpoint filter, bool last) {
  if (last) return filter;
  const int64_t rank = c.rank(filter);
  Dims order = {rank - 1, rank - 2};
  for (int64_t d = 0; d + 2 < rank; ++d) order.push_back(d);
  return c.transpose(filter, order);
}

Dims kernel_of(Conversion& c, Endpoint filter) {
  const Dims& dims = c.dims(filter);
  c.require(dims.size() >= 4 && std::ranges::all_of(dims, [](int64_t n) { return n > 0; }),
            "the filter is {}, want known sizes of 4 or 5 dimensions", describe(dims));
  return {dims.begin(), dims.end() - 2};
}

/// Channels of the images to those of the filter.
int64_t groups_of(Conversion& c, Endpoint x, int64_t own, bool last) {
  const int64_t channels = c.size(x, last ? c.rank(x) - 1 : 1, "the input");
  c.require(own > 0 && channels % own == 0, "the input has {} channels, the filter {}", channels, own);
  return channels / own;
}

void convolution(Conversion& c) {
  const Endpoint x = c.in(0), filter = c.in(1);
  Windows w = windows_of(c, kernel_of(c, filter), size_in(c, x));
  const Dims& f = c.dims(filter);
  w.attributes["groups"] = groups_of(c, x, f[f.size() - 2], w.last);
  c.result(c.row.ascend, {x, filter_of(c, filter, w.last)}, w.attributes);
}

/// [height, width, inputs, multiplier]: as many groups as there are inputs.
void depthwise(Conversion& c) {
  const Endpoint x = c.in(0), filter = c.in(1);
  Windows w = windows_of(c, kernel_of(c, filter), size_in(c, x));
  const Dims& f = c.dims(filter);
  const Dims flat = {f[0], f[1], 1, f[2] * f[3]};
  Endpoint grouped;
  if (const Tensor* t = c.value(filter)) {
    Tensor other = *t;
    other.dims = flat;
    grouped = c.constant(std::move(other), "filter");
  } else {
    grouped = c.reshape(filter, flat);
  }
  w.attributes["groups"] = f[2];
  c.result("Conv2D", {x, filter_of(c, grouped, w.last)}, w.attributes);
}

/// The gradient for the input, which is what transposed convolutions are here.
void input_gradient(Conversion& c) {
  const Endpoint filter = c.in(1), dy = c.in(2);
  const Dims size = c.integers_in(0, "the size of the result");
  const Endpoint like = c.constant(Tensor::of(size), "size");
  const Dims kernel = kernel_of(c, filter);
  c.require(size.size() == kernel.size() + 2, "the size of the result has {} values, want {}", size.size(),
            kernel.size() + 2);
  Windows w = windows_of(c, kernel, [&](size_t d) { return size[d]; });
  const Dims& f = c.dims(filter);
  w.attributes["groups"] = size[w.last ? size.size() - 1 : 1] / f[f.size() - 2];
  c.result(c.row.ascend, {like, filter_of(c, filter, w.last), dy}, w.attributes);
}

/// The gradient for the filter [height, width, inputs, outputs].
void filter_gradient(Conversion& c) {
  const Endpoint x = c.in(0), dy = c.in(2);
  const Dims filter = c.integers_in(1, "the size of the filter");
  c.require(filter.size() > 2 && filter.size() == static_cast<size_t>(c.rank(x)),
            "the size of the filter has {} values and the images {} dimensions, want three or more, and alike",
            filter.size(), c.rank(x));
  Windows w = windows_of(c, {filter.begin(), filter.end() - 2}, size_in(c, x));
  const int64_t own = filter[filter.size() - 2];
  w.attributes["groups"] = groups_of(c, x, own, w.last);
  if (w.last) {
    c.result(c.row.ascend, {x, c.ints(filter), dy}, w.attributes);
    return;
  }
  Dims first = {filter[filter.size() - 1], own}, back;
  for (size_t d = 0; d + 2 < filter.size(); ++d) {
    first.push_back(filter[d]);
    back.push_back(static_cast<int64_t>(d) + 2);
  }
  back.insert(back.end(), {1, 0});
  c.give(c.transpose(c.emit(c.row.ascend, {x, c.ints(first), dy}, w.attributes), back));
}

/// A filter [height, width, inputs, multiplier] as one of groups: [height, width, 1, inputs * multiplier].
Dims grouped(Conversion& c, const Dims& filter) {
  c.require(filter.size() == 4, "the filter has {} dimensions, want 4", filter.size());
  return {filter[0], filter[1], 1, filter[2] * filter[3]};
}

void depthwise_input_gradient(Conversion& c) {
  const Endpoint filter = c.in(1), dy = c.in(2);
  const Dims size = c.integers_in(0, "the size of the result");
  c.require(size.size() == 4, "the size of the result has {} values, want 4", size.size());
  Windows w = windows_of(c, kernel_of(c, filter), [&](size_t d) { return size[d]; });
  w.attributes["groups"] = c.dims(filter)[2];
  c.result("Conv2DBackpropInput",
           {c.ints(size), filter_of(c, c.reshape(filter, grouped(c, c.dims(filter))), w.last), dy}, w.attributes);
}

void depthwise_filter_gradient(Conversion& c) {
  const Endpoint x = c.in(0), dy = c.in(2);
  const Dims filter = c.integers_in(1, "the size of the filter"), flat = grouped(c, filter);
  Windows w = windows_of(c, {filter[0], filter[1]}, size_in(c, x));
  c.require(w.last, "attribute data_format is NCHW, want NHWC");
  w.attributes["groups"] = filter[2];
  c.give(c.reshape(c.emit("Conv2DBackpropFilter", {x, c.ints(flat), dy}, w.attributes), filter));
}

constexpr Row kRows[] = {
    {"Conv2D", convolution, "Conv2D"},
    {"Conv2DBackpropFilter", filter_gradient, "Conv2DBackpropFilter", "the size of the filter is known",
     "须已知卷积核大小"},
    {"Conv2DBackpropInput", input_gradient, "Conv2DBackpropInput", "the size of the result is known", "须已知结果大小"},
    {"Conv3D", convolution, "Conv3D"},
    {"Conv3DBackpropFilterV2", filter_gradient, "Conv3DBackpropFilter", "the size of the filter is known",
     "须已知卷积核大小"},
    {"Conv3DBackpropInputV2", input_gradient, "Conv3DBackpropInput", "the size of the result is known",
     "须已知结果大小"},
    {"DepthwiseConv2dNative", depthwise, "Conv2D"},
    {"DepthwiseConv2dNativeBackpropFilter", depthwise_filter_gradient, "Conv2DBackpropFilter",
     "the size of the filter is known; NHWC", "须已知卷积核大小；NHWC"},
    {"DepthwiseConv2dNativeBackpropInput", depthwise_input_gradient, "Conv2DBackpropInput",
     "the size of the result is known", "须已知结果大小"},
};

}  // namespace

std::span<const Row> convolution_rows() { return kRows; }

}  // namespace updraft::tensorflow
