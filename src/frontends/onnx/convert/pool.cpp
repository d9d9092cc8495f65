// Pooling.
#include <algorithm>
#include <limits>

#include "frontends/onnx/convert/families.h"
#include "frontends/onnx/convert/window.h"

namespace updraft::onnx {
namespace {

Attributes window_attributes(const Conversion& c, const Window& w) {
  return {{"ksize", with_channels(w.kernel)},
          {"strides", with_channels(w.strides)},
          {"pads", w.pads()},
          {"ceil_mode", c.flag("ceil_mode")},
          {"data_format", w.spatial() == 2 ? "NCHW" : "NCDHW"}};
}

/// One spatial dimension is computed as two.
struct Planes {
  Endpoint x;
  Window w;
  bool line;
};
Planes planes_of(Conversion& c) {
  Planes p{c.in(0), {}, false};
  p.w = window_of(c, p.x, {});
  c.require(p.w.spatial() >= 1 && p.w.spatial() <= 3, "{} spatial dimensions, want 1 to 3", p.w.spatial());
  p.line = p.w.spatial() == 1;
  if (p.line) {
    p.x = c.unsqueeze(p.x, {kHeight});
    p.w = with_height(p.w);
  }
  return p;
}
void finish(Conversion& c, const Planes& p, std::string_view type, const Attributes& attributes) {
  if (!p.line) c.result(type, {p.x}, attributes);
  else c.result("Squeeze", {c.emit(type, {p.x}, attributes)}, {{"axis", Dims{kHeight}}});
}

double lowest(DType type) {
  switch (type) {
    case DType::Int8: return -128;
    case DType::UInt8: return 0;
    default: return -std::numeric_limits<double>::infinity();
  }
}

/// Largest elements and where they are in the whole input.
void max_with_indices(Conversion& c, Planes p) {
  const int64_t order = c.integer("storage_order", 0);
  c.require(order == 0 || order == 1, "attribute storage_order is {}, want 0 or 1", order);
  const Dims own = c.dims(p.x);
  Dims before(p.w.spatial(), 0);
  if (!p.w.even()) {
    Dims pads = {0, 0, 0, 0};
    for (int64_t n : p.w.pads()) pads.push_back(n);
    before = p.w.before;
    p.x = c.emit("PadV3", {p.x, c.ints(pads), c.scalar_like(lowest(c.type(p.x)), p.x)}, {{"mode", "constant"}});
    p.w.before = p.w.after = Dims(p.w.spatial(), 0);
  }
  Attributes attributes = window_attributes(c, p.w);
  attributes["pads"] = p.w.before;
  attributes["dilation"] = with_channels(p.w.dilations);
  attributes["dtype"] = int64_t{3};
  graph::Node& n = c.node(p.w.spatial() == 2 ? "MaxPoolWithArgmaxV3" : "MaxPool3DWithArgmaxV2", {p.x}, attributes);
  Endpoint y = n.out(0), at = c.cast(n.out(1), DType::Int64);
  // Places in the padded plane as places in the plane.
  const bool moved = std::ranges::any_of(before, [](int64_t b) { return b != 0; }) || c.dims(p.x) != own || order == 1;
  Dims sizes(own.begin() + 2, own.end());
  c.require(std::ranges::all_of(sizes, [](int64_t s) { return s >= 0; }),
            "the input is {}, want known sizes with Indices", describe(own));
  if (moved) {
    const Dims& wide = c.dims(p.x);
    Endpoint place, rest = at;
    for (size_t d = 0; d < sizes.size(); ++d) {
      int64_t below = 1, own_below = 1;
      for (size_t k = d + 1; k < sizes.size(); ++k) below *= wide[k + 2];
      // Row after row, or column after column.
      if (order == 0)
        for (size_t k = d + 1; k < sizes.size(); ++k) own_below *= sizes[k];
      else
        for (size_t k = 0; k < d; ++k) own_below *= sizes[k];
      const Endpoint one = c.emit("FloorDiv", {rest, c.integer_scalar(below)});
      const Endpoint part = c.mul(c.add(one, -static_cast<double>(before[d])), static_cast<double>(own_below));
      place = d == 0 ? part : c.add(place, part);
      rest = c.emit("FloorMod", {rest, c.integer_scalar(below)});
    }
    at = place;
  }
  int64_t elements = 1;
  for (int64_t s : sizes) elements *= s;
  const int64_t channels = c.size(p.x, 1, "the input"), samples = c.size(p.x, 0, "the input");
  c.few(c.few(channels, "channels") * c.few(samples, "samples"), "planes");
  std::vector<double> offsets;
  for (int64_t i = 0; i < channels * samples; ++i) offsets.push_back(static_cast<double>(i * elements));
  Dims shape = {samples, channels};
  shape.resize(own.size(), 1);
  at = c.add(at, c.constant(numbers_tensor(offsets, shape, DType::Int64)));
  if (p.line) {
    y = c.squeeze(y, {kHeight});
    at = c.squeeze(at, {kHeight});
  }
  c.give(0, y);
  c.give(1, at);
}

/// Padding that the pooling operators do not take: more than half of what a window reaches.
bool wide_padding(const Window& w) {
  for (size_t d = 0; d < w.spatial(); ++d)
    if (std::max(w.before[d], w.after[d]) > ((w.kernel[d] - 1) * w.dilations[d] + 1) / 2) return true;
  return false;
}
/// What a last window that begins inside the padded input reaches behind it.
Dims behind(Conversion& c, const Planes& p) {
  Dims more(p.w.spatial(), 0);
  if (!c.flag("ceil_mode")) return more;
  for (size_t d = 0; d < more.size(); ++d) {
    const int64_t size = c.size(p.x, static_cast<int64_t>(d) + 2, "the input, with ceil_mode,");
    const int64_t reach = (p.w.kernel[d] - 1) * p.w.dilations[d] + 1,
                  room = size + p.w.before[d] + p.w.after[d] - reach;
    const int64_t rest = room % p.w.strides[d];
    const int64_t next = (room / p.w.strides[d] + 1) * p.w.strides[d];  // where one more window begins
    if (rest != 0 && next < size + p.w.before[d]) more[d] = p.w.strides[d] - rest;
  }
  return more;
}
Endpoint surrounded(Conversion& c, Endpoint x, const Dims& before, const Dims& after, double value) {
  Dims pads = {0, 0, 0, 0};
  for (size_t d = 0; d < before.size(); ++d) pads.insert(pads.end(), {before[d], after[d]});
  return c.emit("PadV3", {x, c.ints(pads), c.scalar_like(value, x)}, {{"mode", "constant"}});
}
Dims sum_of(Dims a, const Dims& b) {
  for (size_t d = 0; d < a.size(); ++d) a[d] += b[d];
  return a;
}

void max_pool(Conversion& c) {
  Planes p = planes_of(c);
  if (c.wants(1) || (p.w.dilated() && p.w.spatial() == 2)) return max_with_indices(c, p);
  c.ignore("storage_order");  // of the indices
  const bool wide = wide_padding(p.w);
  if (wide) {
    p.x = surrounded(c, p.x, p.w.before, sum_of(p.w.after, behind(c, p)), lowest(c.type(p.x)));
    p.w.before = p.w.after = Dims(p.w.spatial(), 0);
  }
  Attributes attributes = window_attributes(c, p.w);
  const bool up = !wide && c.flag("ceil_mode");
  attributes["ceil_mode"] = up;
  if (p.w.spatial() == 2) {
    finish(c, p, "MaxPoolV3", attributes);
    return;
  }
  attributes["padding"] = "CALCULATED";
  attributes["ceil_mode"] = static_cast<int64_t>(up);
  attributes["dilation"] = with_channels(p.w.dilations);
  finish(c, p, "MaxPool3D", attributes);
}

/// The sums of the windows: a convolution of each channel by ones.
Endpoint window_sums(Conversion& c, Endpoint x, const Window& w, int64_t channels) {
  Dims dims = {channels, 1};
  dims.insert(dims.end(), w.kernel.begin(), w.kernel.end());
  std::vector<double> ones(static_cast<size_t>(c.few(graph::count_of(dims), "elements of windows")), 1);
  return c.emit(w.spatial() == 2 ? "Conv2D" : "Conv3D", {x, c.constant(numbers_tensor(ones, dims, c.type(x)))},
                {{"strides", with_channels(w.strides)},
                 {"pads", Dims(2 * w.spatial(), 0)},
                 {"dilations", with_channels(w.dilations)},
                 {"groups", channels},
                 {"data_format", w.spatial() == 2 ? "NCHW" : "NCDHW"}});
}
/// Sums and numbers of elements, for windows that the pooling operators do not have.
struct Sums {
  Endpoint sum, count;
};
Sums sums_of(Conversion& c, const Planes& p, Endpoint x, bool padding_counts) {
  const Dims none(p.w.spatial(), 0), more = behind(c, p);
  const int64_t channels = c.size(x, 1, "the input");
  Dims plane = {1, 1};
  for (size_t d = 0; d < p.w.spatial(); ++d) plane.push_back(c.size(x, static_cast<int64_t>(d) + 2, "the input"));
  const Endpoint padded = surrounded(c, x, p.w.before, sum_of(p.w.after, more), 0);
  const Endpoint one = c.constant(numbers_tensor(
      std::vector<double>(static_cast<size_t>(c.few(graph::count_of(plane), "elements")), 1), plane, c.type(x)));
  const Endpoint counted = padding_counts ? surrounded(c, surrounded(c, one, p.w.before, p.w.after, 1), none, more, 0)
                                          : surrounded(c, one, p.w.before, sum_of(p.w.after, more), 0);
  return {window_sums(c, padded, p.w, channels), window_sums(c, counted, p.w, 1)};
}

void average_pool(Conversion& c) {
  const Planes p = planes_of(c);
  const bool all = c.flag("count_include_pad");
  if (p.w.dilated() || wide_padding(p.w) || (!all && !p.w.even())) {
    const Sums s = sums_of(c, p, p.x, all);
    if (p.line) c.result("Squeeze", {c.div(s.sum, s.count)}, {{"axis", Dims{kHeight}}});
    else c.result("RealDiv", {s.sum, s.count});
    return;
  }
  Attributes attributes = window_attributes(c, p.w);
  if (p.w.spatial() == 2) attributes["exclusive"] = !all;
  else attributes["count_include_pad"] = all;
  finish(c, p, p.w.spatial() == 2 ? "AvgPoolV2" : "AvgPool3D", attributes);
}

Dims spatial_axes(Conversion& c, Endpoint x) {
  Dims axes;
  for (int64_t d = 2; d < c.rank(x); ++d) axes.push_back(d);
  return axes;
}
void global_max(Conversion& c) {
  const Endpoint x = c.in(0);
  c.result("ReduceMax", {x, c.ints(spatial_axes(c, x))}, {{"keep_dims", true}});
}

/// (sum of |x|^p)^(1/p)
Endpoint powered(Conversion& c, Endpoint x, int64_t p) {
  return c.emit("Pow", {c.emit("Abs", {x}), c.scalar_like(static_cast<double>(p), x)});
}
void root(Conversion& c, Endpoint sum, int64_t p) {
  c.result("Pow", {sum, c.scalar_like(1.0 / static_cast<double>(p), sum)});
}
void global_lp(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t p = c.integer("p", 2);
  root(c, c.emit("ReduceSum", {powered(c, x, p), c.ints(spatial_axes(c, x))}, {{"keep_dims", true}}), p);
}
void lp_pool(Conversion& c) {
  Planes planes = planes_of(c);
  const int64_t p = c.integer("p", 2);
  const Window& w = planes.w;
  if (w.dilated() || wide_padding(w)) {
    Endpoint sum = sums_of(c, planes, powered(c, planes.x, p), true).sum;
    if (planes.line) sum = c.squeeze(sum, {kHeight});
    return root(c, sum, p);
  }
  Attributes attributes = window_attributes(c, w);
  if (w.spatial() == 2) attributes["exclusive"] = false;
  else attributes["count_include_pad"] = true;
  attributes["divisor_override"] = int64_t{1};
  Endpoint sum = c.emit(w.spatial() == 2 ? "AvgPoolV2" : "AvgPool3D", {powered(c, planes.x, p)}, attributes);
  if (planes.line) sum = c.squeeze(sum, {kHeight});
  root(c, sum, p);
}

/// Each element where MaxPool found it, 0 elsewhere. Places count in the input that pooling had; a larger output_shape
/// has zeros behind it.
void max_unpool(Conversion& c) {
  const Endpoint x = c.in(0), at = c.in(1);
  const Window w = window_of(c, x, {});
  Dims own = {c.size(x, 0, "the input"), c.size(x, 1, "the input")};
  int64_t count = own[0] * own[1];
  for (size_t d = 0; d < w.spatial(); ++d) {
    const int64_t n = c.size(x, static_cast<int64_t>(d) + 2, "the input");
    own.push_back((n - 1) * w.strides[d] + w.kernel[d] - w.before[d] - w.after[d]);
    c.require(own.back() > 0, "the output would be {}", describe(own));
    count *= own.back();
  }
  const Endpoint zeros = c.emit("Fill", {c.ints({count}), c.scalar_like(0, x)});
  Endpoint y = c.emit("ScatterElements", {zeros, c.reshape(at, Dims{-1}), c.reshape(x, Dims{-1})},
                      {{"axis", int64_t{0}}, {"reduction", "none"}});
  if (!c.has(2)) {
    c.result("Reshape", {y, c.ints(own)});
    return;
  }
  const Dims wanted = c.integers_in(2, "output_shape");
  c.require(wanted.size() == own.size(), "output_shape is {} for an output of {}", describe(wanted), describe(own));
  Dims pads;
  for (size_t d = 0; d < own.size(); ++d) {
    c.require(wanted[d] >= own[d], "output_shape is {}, want at least {}", describe(wanted), describe(own));
    pads.insert(pads.end(), {0, wanted[d] - own[d]});
  }
  c.result("PadV3", {c.reshape(y, own), c.ints(pads), c.scalar_like(0, x)}, {{"mode", "constant"}});
}

constexpr Row kRows[] = {
    {"AveragePool", 7, average_pool, "AvgPoolV2, AvgPool3D"},
    {"GlobalAveragePool", 1, same, "GlobalAveragePool"},
    {"GlobalLpPool", 2, global_lp, "ReduceSum"},
    {"GlobalMaxPool", 1, global_max, "ReduceMax"},
    {"LpPool", 2, lp_pool, "AvgPoolV2, AvgPool3D"},
    {"MaxPool", 1, max_pool, "MaxPoolV3, MaxPool3D, MaxPoolWithArgmaxV3"},
    {"MaxUnpool", 9, max_unpool, "ScatterElements, PadV3"},
};

}  // namespace

std::span<const Row> pool_rows() { return kRows; }

}  // namespace updraft::onnx
