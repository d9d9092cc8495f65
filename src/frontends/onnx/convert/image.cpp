// Images: resizing, sampling by grids.
#include <algorithm>
#include <cmath>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

bool all_ones(const std::vector<double>& values, size_t from, size_t to) {
  return std::all_of(values.begin() + static_cast<std::ptrdiff_t>(from),
                     values.begin() + static_cast<std::ptrdiff_t>(to), [](double v) { return v == 1; });
}

struct Resizing {
  Endpoint x, roi, scales, sizes;
  std::string coordinates, mode, nearest;
};

/// Images by whole numbers and by what the faster types know. False: it is none of that.
bool resize_image(Conversion& c, const Resizing& r) {
  if (c.has("axes") || c.rank(r.x) != 4 || !is_floating(c.type(r.x)) || c.type(r.x) == DType::Double) return false;
  if (c.flag("antialias") || c.text("keep_aspect_ratio_policy", "stretch") != "stretch") return false;
  const Dims& dims = c.dims(r.x);
  Endpoint size;
  bool exact = true;  // the sizes say the scales
  if (r.sizes) {
    const Tensor* value = c.value(r.sizes);
    if (!value || dims[0] < 0 || dims[1] < 0) return false;
    const auto to = value->integers();
    if (to.size() != 4 || to[0] != dims[0] || to[1] != dims[1]) return false;
    size = c.ints({to[2], to[3]});
  } else {
    const Tensor* value = c.value(r.scales);
    if (!value) return false;
    const auto by = value->reals();
    if (by.size() != 4 || !all_ones(by, 0, 2)) return false;
    // beyond this no size can be said in int64_t; the negation catches NaN
    if (!(by[2] > 0 && by[3] > 0 && by[2] < 1e9 && by[3] < 1e9)) return false;
    exact = by[2] == std::floor(by[2]) && by[3] == std::floor(by[3]);
    if (!exact && (dims[2] < 0 || dims[3] < 0)) return false;
    if (!exact) {
      const double h = static_cast<double>(dims[2]) * by[2], w = static_cast<double>(dims[3]) * by[3];
      if (h != std::floor(h) || w != std::floor(w)) return false;
    }
    if (dims[2] >= 0 && dims[3] >= 0) {
      size = c.ints({static_cast<int64_t>(static_cast<double>(dims[2]) * by[2]),
                     static_cast<int64_t>(static_cast<double>(dims[3]) * by[3])});
    } else {
      const Endpoint now = c.slice(c.shape(r.x), {2}, {4}, {0});
      size = c.mul(now, c.ints({static_cast<int64_t>(by[2]), static_cast<int64_t>(by[3])}));
    }
  }
  if (r.mode == "nearest") {
    const bool plain = r.coordinates == "asymmetric" && r.nearest == "floor";
    // With whole scales the nearest element is the same by all these rules.
    const bool whole = exact && !r.sizes && (r.coordinates == "half_pixel" || r.coordinates == "pytorch_half_pixel");
    if (!plain && !whole) return false;
    c.result("ResizeNearestNeighborV2", {r.x, size});
    return true;
  }
  if (r.mode != "linear") return false;
  const bool corners = r.coordinates == "align_corners", half = r.coordinates == "half_pixel";
  if (!corners && !half) return false;
  c.result("ResizeBilinearV2", {r.x, size},
           {{"align_corners", corners}, {"half_pixel_centers", half}, {"dtype", static_cast<int64_t>(c.type(r.x))}});
  return true;
}

void resize(Conversion& c) {
  Resizing r;
  r.x = c.in(0);
  r.mode = c.text("mode", "nearest");
  if (r.mode == "bilinear" || r.mode == "trilinear") r.mode = "linear";
  if (c.opset < 11) {
    r.coordinates = "asymmetric";
    r.nearest = "floor";
    if (c.has("scales")) {
      const auto by = c.reals("scales");
      r.scales = c.constant(Tensor::of(by));
    } else {
      r.scales = c.in(1);
    }
  } else {
    r.coordinates = c.text("coordinate_transformation_mode", "half_pixel");
    r.nearest = c.text("nearest_mode", "round_prefer_floor");
    r.roi = c.maybe(1);
    r.scales = c.maybe(2);
    r.sizes = c.maybe(3);
    // An input without elements is one that is not there.
    if (r.scales && c.desc(r.scales).count() == 0) r.scales = {};
    if (r.sizes && c.desc(r.sizes).count() == 0) r.sizes = {};
    if (r.roi && c.desc(r.roi).count() == 0) r.roi = {};
  }
  c.require(r.scales || r.sizes, "neither scales nor sizes are given");
  if (r.sizes) r.scales = {};
  const Attributes attributes = {{"coordinate_transformation_mode", r.coordinates},
                                 {"cubic_coeff_a", c.real("cubic_coeff_a", -0.75f)},
                                 {"exclude_outside", c.integer("exclude_outside", 0)},
                                 {"extrapolation_value", c.real("extrapolation_value", 0)},
                                 {"mode", r.mode},
                                 {"nearest_mode", r.nearest},
                                 {"axes", c.integers("axes")},
                                 {"antialias", c.flag("antialias")},
                                 {"keep_aspect_ratio_policy", c.text("keep_aspect_ratio_policy", "stretch")}};
  if (resize_image(c, r)) return;
  c.result("Resize", {r.x, r.roi, r.scales, r.sizes}, attributes);
}

void grid_sample(Conversion& c) {
  const Endpoint x = c.in(0);
  std::string mode = c.text("mode", c.opset < 20 ? "bilinear" : "linear");
  if (mode == "linear") mode = "bilinear";
  if (mode == "cubic") mode = "bicubic";
  const int64_t rank = c.rank(x);
  c.require(rank == 4 || rank == 5, "the input is {}, want 4 or 5 dimensions", describe(c.desc(x)));
  c.result(rank == 4 ? "GridSampler2D" : "GridSampler3D", {x, c.in(1)},
           {{"interpolation_mode", mode},
            {"padding_mode", c.text("padding_mode", "zeros")},
            {"align_corners", c.flag("align_corners")}});
}

void affine_grid(Conversion& c) {
  c.result("AffineGrid", {c.in(0), c.in(1)}, {{"align_corners", c.flag("align_corners")}});
}

void non_max_suppression(Conversion& c) {
  c.result("NonMaxSuppressionV6", {c.in(0), c.in(1), c.maybe(2), c.maybe(3), c.maybe(4)},
           {{"center_point_box", c.integer("center_point_box", 0)}});
}

/// Sums of what overlapping blocks have for each place of the image. Sizes of image and blocks may be computed while
/// the graph runs, so the places are computed as well: [k1, …, kD, o1, …, oD] for D dimensions, o of them blocks.
void col2im(Conversion& c) {
  const Endpoint x = c.in(0), image = c.cast(c.in(1), DType::Int64), block = c.cast(c.in(2), DType::Int64);
  const int64_t n = c.size(image, 0, "image_shape");
  c.require(c.rank(x) == 3 && n >= 1 && n <= 3,
            "the input is {} and image_shape {}, want 3 dimensions and 1 to 3 sizes", describe(c.desc(x)),
            describe(c.desc(image)));
  const auto count = static_cast<size_t>(n);
  const Dims dilations = c.integers("dilations", Dims(count, 1)), strides = c.integers("strides", Dims(count, 1)),
             pads = c.integers("pads", Dims(2 * count, 0));
  c.require(dilations.size() == count && strides.size() == count && pads.size() == 2 * count &&
                std::ranges::all_of(strides, [](int64_t v) { return v > 0; }),
            "dilations, pads and strides are {}, {} and {} for {} dimensions", describe(dilations), describe(pads),
            describe(strides), n);
  const Endpoint zero = c.integer_scalar(0), one = c.integer_scalar(1);
  auto number = [&](int64_t v) { return c.integer_scalar(v); };
  auto along = [&](Endpoint e, int64_t axis) {
    Dims others;
    for (int64_t d = 0; d < 2 * n; ++d)
      if (d != axis) others.push_back(d);
    return c.unsqueeze(e, others);
  };
  Endpoint places, inside, columns = one, area = one;
  for (int64_t d = 0; d < n; ++d) {
    const auto k = static_cast<size_t>(d);
    const Endpoint size = c.gather(image, number(d), 0), kernel = c.gather(block, number(d), 0);
    const Endpoint reach = c.add(c.mul(c.sub(kernel, one), number(dilations[k])), one);
    const Endpoint room = c.sub(c.add(size, number(pads[k] + pads[k + count])), reach);
    const Endpoint steps = c.add(c.emit("FloorDiv", {room, number(strides[k])}), one);
    const Endpoint within = c.mul(c.emit("Range", {zero, kernel, one}), number(dilations[k]));
    const Endpoint start = c.sub(c.mul(c.emit("Range", {zero, steps, one}), number(strides[k])), number(pads[k]));
    const Endpoint at = c.add(along(within, d), along(start, n + d));
    const Endpoint fits = c.emit("LogicalAnd", {c.emit("GreaterEqual", {at, zero}), c.emit("Less", {at, size})});
    places = places ? c.add(c.mul(places, size), at) : at;
    inside = inside ? c.emit("LogicalAnd", {inside, fits}) : fits;
    columns = c.mul(columns, c.mul(kernel, steps));
    area = c.mul(area, size);
  }
  // Rows of places that are not in the image have the segment -1, which is left out.
  const Endpoint segments = c.reshape(c.emit("SelectV2", {inside, places, number(-1)}), Dims{-1});
  const Endpoint shape = c.concat({c.ints({0, -1}), c.unsqueeze(columns, {0})}, 0);
  const Endpoint rows = c.transpose(c.reshape(x, shape), {2, 0, 1});
  const Endpoint sums = c.emit("UnsortedSegmentSum", {rows, segments, area});
  c.result("Reshape", {c.transpose(sums, {1, 2, 0}), c.concat({c.ints({0, 0}), image}, 0)});
}

constexpr Row kRows[] = {
    {"NonMaxSuppression", 10, non_max_suppression, "NonMaxSuppressionV6"},
    {"Col2Im", 18, col2im, "UnsortedSegmentSum"},
    {"AffineGrid", 20, affine_grid, "AffineGrid"},
    {"GridSample", 16, grid_sample, "GridSampler2D, GridSampler3D"},
    {"Resize", 10, resize, "ResizeNearestNeighborV2, ResizeBilinearV2, Resize"},
    {"Upsample", 7, resize, "ResizeNearestNeighborV2, Resize"},
};

}  // namespace

std::span<const Row> image_rows() { return kRows; }

}  // namespace updraft::onnx
