// Convolutions.
#include <algorithm>

#include "frontends/onnx/convert/families.h"
#include "frontends/onnx/convert/window.h"

namespace updraft::onnx {
namespace {

const char* format_of(size_t spatial) { return spatial == 2 ? "NCHW" : "NCDHW"; }

Dims kernel_of(Conversion& c, Endpoint filter) {
  const Dims& dims = c.dims(filter);
  c.require(dims.size() >= 3 && std::ranges::all_of(dims, [](int64_t n) { return n > 0; }),
            "the filter is {}, want known sizes of three dimensions or more", describe(dims));
  return {dims.begin() + 2, dims.end()};
}

void convolution(Conversion& c) {
  Endpoint x = c.in(0), filter = c.in(1);
  const Endpoint bias = c.maybe(2);
  Window w = window_of(c, x, kernel_of(c, filter));
  const bool line = w.spatial() == 1;
  c.require(w.spatial() <= 3, "{} spatial dimensions, want 1 to 3", w.spatial());
  if (line) {
    w = with_height(w);
    x = c.unsqueeze(x, {kHeight});
    filter = c.unsqueeze(filter, {kHeight});
  }
  const char* type = w.spatial() == 2 ? "Conv2D" : "Conv3D";
  const Attributes attributes = {{"strides", with_channels(w.strides)},
                                 {"pads", w.pads()},
                                 {"dilations", with_channels(w.dilations)},
                                 {"groups", c.integer("group", 1)},
                                 {"data_format", format_of(w.spatial())}};
  if (!line) c.result(type, {x, filter, bias}, attributes);
  else c.result("Squeeze", {c.emit(type, {x, filter, bias}, attributes)}, {{"axis", Dims{kHeight}}});
}

/// Uneven padding is cut off behind a convolution without any.
void transposed(Conversion& c) {
  Endpoint x = c.in(0), filter = c.in(1);
  const Endpoint bias = c.maybe(2);
  const std::string automatic = c.text("auto_pad", "NOTSET");
  const Dims wanted = c.integers("output_shape");
  Window w;
  {
    const Dims kernel = kernel_of(c, filter);
    w.kernel = c.integers("kernel_shape", kernel);
  }
  const size_t n = w.kernel.size();
  c.require(n >= 1 && n <= 3 && static_cast<size_t>(c.rank(x)) == n + 2,
            "the input is {}, the kernel has {} dimensions", describe(c.desc(x)), n);
  w.strides = c.integers("strides", Dims(n, 1));
  w.dilations = c.integers("dilations", Dims(n, 1));
  const Dims pads = c.integers("pads", Dims(2 * n, 0));
  Dims extra = c.integers("output_padding", Dims(n, 0));
  c.require(w.strides.size() == n && w.dilations.size() == n && pads.size() == 2 * n && extra.size() == n,
            "attributes have not {} values for each side", n);
  w.before.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(n));
  w.after.assign(pads.begin() + static_cast<std::ptrdiff_t>(n), pads.end());
  const bool same = automatic == "SAME_UPPER" || automatic == "SAME_LOWER";
  if (automatic == "VALID") w.before = w.after = Dims(n, 0);
  if (same || !wanted.empty()) {
    c.require(wanted.empty() || wanted.size() == n || wanted.size() == n + 2, "attribute output_shape has {} values",
              wanted.size());
    for (size_t d = 0; d < n; ++d) {
      const int64_t reach = (w.kernel[d] - 1) * w.dilations[d] + 1;
      int64_t total;  // of the padding
      if (!wanted.empty()) {
        const int64_t size = c.size(x, static_cast<int64_t>(d) + 2, "the input, with output_shape,");
        total = w.strides[d] * (size - 1) + extra[d] + reach - wanted[wanted.size() - n + d];
      } else {
        total = reach + extra[d] - w.strides[d];
      }
      if (total < 0) {  // larger than what the filter reaches
        extra[d] -= total;
        total = 0;
      }
      w.before[d] = automatic == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.after[d] = total - w.before[d];
    }
  }
  const bool line = n == 1;
  if (line) {
    w = with_height(w);
    extra.insert(extra.begin(), 0);
    x = c.unsqueeze(x, {kHeight});
    filter = c.unsqueeze(filter, {kHeight});
  }
  const Window own = w;
  // What the operator cannot leave out itself is computed and cut off.
  const bool cut = !w.even();
  if (cut) w.before = w.after = Dims(w.spatial(), 0);
  const char* type = w.spatial() == 2 ? "Conv2DTranspose" : "Conv3DTranspose";
  Dims output_padding = {0, 0};
  output_padding.insert(output_padding.end(), extra.begin(), extra.end());
  const Attributes attributes = {{"strides", with_channels(w.strides)},     {"pads", w.pads()},
                                 {"dilations", with_channels(w.dilations)}, {"groups", c.integer("group", 1)},
                                 {"data_format", format_of(w.spatial())},   {"output_padding", output_padding}};
  const std::vector<Operand> operands = {c.ints(Dims(w.spatial() + 2, 0)), x, filter, bias};
  if (!cut && !line) {
    c.result(type, operands, attributes);
    return;
  }
  Endpoint y = c.emit(type, operands, attributes);
  if (cut) {
    Dims begin, end, axes;
    for (size_t d = 0; d < own.spatial(); ++d) {
      begin.push_back(own.before[d]);
      end.push_back(own.after[d] ? -own.after[d] : INT64_MAX);
      axes.push_back(static_cast<int64_t>(d) + 2);
    }
    y = c.slice(y, begin, end, axes);
  }
  if (line) c.result("Squeeze", {y}, {{"axis", Dims{kHeight}}});
  else c.result("Identity", {y});
}

constexpr Row kRows[] = {
    {"Conv", 1, convolution, "Conv2D, Conv3D"},
    {"ConvTranspose", 1, transposed, "Conv2DTranspose, Conv3DTranspose"},
};

}  // namespace

std::span<const Row> convolution_rows() { return kRows; }

}  // namespace updraft::onnx
