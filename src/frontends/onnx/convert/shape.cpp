// Other shapes for the same elements, parts of tensors and tensors put together.
#include <algorithm>
#include <cstdlib>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

void shape(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t begin = c.integer("start", 0);
  if (begin == 0 && !c.has("end")) {
    c.result("Shape", {x}, {{"dtype", DType::Int64}});
    return;
  }
  const int64_t end = c.integer("end", INT64_MAX);
  c.result("StridedSliceV2", {c.shape(x), c.ints({begin}), c.ints({end}), c.ints({0}), c.ints({1})});
}
void size(Conversion& c) { c.result("Size", {c.in(0)}, {{"dtype", DType::Int64}}); }

void reshape(Conversion& c) {
  const Endpoint x = c.in(0), to = c.in(1);
  const bool zero_is_zero = c.flag("allowzero");
  const TensorDesc& desc = c.desc(x);
  const Tensor* value = c.value(to);
  // The graph's operator copies a dimension for 0 only where there are elements.
  if (value && desc.known() && desc.count() == 0) {
    Dims dims = value->integers();
    int64_t known = 1, all = 1;
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] == 0 && !zero_is_zero && d < desc.dims.size()) dims[d] = desc.dims[d];
      if (dims[d] > 0) known *= dims[d];
    }
    for (int64_t n : desc.dims)
      if (n > 0) all *= n;
    const bool empty = std::ranges::count(dims, 0) > 0;
    for (int64_t& n : dims)
      if (n == -1) n = empty ? all / known : 0;
    c.result("Reshape", {x, c.ints(dims)});
    return;
  }
  c.result("Reshape", {x, to});
}

void flatten(Conversion& c) { c.result("Flatten", {c.in(0)}, {{"axis", c.integer("axis", 1)}}); }

/// Axes are an attribute before version 13.
void squeeze(Conversion& c) {
  const Endpoint x = c.in(0);
  if (c.opset < 13) {
    c.result("Squeeze", {x}, {{"axis", c.integers("axes")}});
    return;
  }
  c.result("SqueezeV3", {x, c.maybe(1)});
}
void unsqueeze(Conversion& c) {
  const Endpoint x = c.in(0);
  if (c.opset < 13) c.result("Unsqueeze", {x}, {{"axes", c.integers("axes")}});
  else c.result("UnsqueezeV3", {x, c.in(1)});
}

void transpose(Conversion& c) {
  const Endpoint x = c.in(0);
  Dims order = c.integers("perm");
  if (!c.has("perm"))
    for (int64_t d = c.rank(x) - 1; d >= 0; --d) order.push_back(d);
  c.result("Transpose", {x, c.ints(order)});
}

void concat(Conversion& c) {
  std::vector<Endpoint> parts = c.all();
  c.require(!parts.empty(), "there are no inputs");
  c.result("ConcatV2", {parts, c.integer_scalar(c.integer("axis"))}, {{"N", static_cast<int64_t>(parts.size())}});
}

void split(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t axis = c.integer("axis", 0), n = static_cast<int64_t>(c.outputs());
  Endpoint sizes;
  if (c.opset < 13) {
    if (c.has("split")) sizes = c.ints(c.integers("split"));
  } else {
    sizes = c.maybe(1);
  }
  if (c.has("num_outputs"))
    c.require(c.integer("num_outputs") == n, "attribute num_outputs is {}, there are {} outputs",
              c.integer("num_outputs"), n);
  if (!sizes && c.opset >= 18) {  // the last part may be smaller
    const int64_t d = c.axis(axis, c.rank(x)), all = c.dims(x)[static_cast<size_t>(d)];
    if (all >= 0) {
      const int64_t each = (all + n - 1) / n;
      Dims parts(static_cast<size_t>(n), each);
      for (int64_t i = 0; i < n; ++i) parts[static_cast<size_t>(i)] = std::clamp<int64_t>(all - i * each, 0, each);
      sizes = c.ints(parts);
    }
  }
  if (sizes) c.result("SplitV", {x, sizes, c.integer_scalar(axis)}, {{"num_split", n}}, c.outputs());
  else c.result("Split", {c.integer_scalar(axis), x}, {{"num_split", n}}, c.outputs());
}

void slice_by_attributes(Conversion& c) {
  const Endpoint x = c.in(0);
  const Dims begin = c.integers("starts"), end = c.integers("ends");
  Dims axes = c.integers("axes");
  if (!c.has("axes"))
    for (size_t d = 0; d < begin.size(); ++d) axes.push_back(static_cast<int64_t>(d));
  c.result("StridedSliceV2", {x, c.ints(begin), c.ints(end), c.ints(axes), c.ints(Dims(begin.size(), 1))});
}
void slice(Conversion& c) { c.result("StridedSliceV2", {c.in(0), c.in(1), c.in(2), c.maybe(3), c.maybe(4)}); }

void expand(Conversion& c) { c.result("Expand", {c.in(0), c.in(1)}); }

void tile(Conversion& c) { c.result("Tile", {c.in(0), c.in(1)}); }

/// [N, C, H, W] and [N, C / b^2, H b, W b]; `order` puts the six dimensions in place.
void depth_to_space(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t b = c.integer("blocksize");
  const std::string mode = c.text("mode", "DCR");
  c.require(mode == "DCR" || mode == "CRD", "attribute mode is \"{}\", want DCR or CRD", mode);
  c.require(c.rank(x) == 4 && b > 0 && b < 1 << 15, "the input is {} and blocksize {}", describe(c.desc(x)), b);
  const int64_t depth = c.size(x, 1, "the input"), height = c.dims(x)[2], width = c.size(x, 3, "the input");
  c.require(depth % (b * b) == 0, "the input is {} and blocksize {}", describe(c.desc(x)), b);
  const int64_t rest = depth / (b * b);
  const bool crd = mode == "CRD";
  const Endpoint cut = c.reshape(x, crd ? Dims{0, rest, b, b, height, width} : Dims{0, b, b, rest, height, width});
  const Endpoint turned = c.transpose(cut, crd ? Dims{0, 1, 4, 2, 5, 3} : Dims{0, 3, 4, 1, 5, 2});
  c.result("Reshape", {turned, c.ints({0, rest, height < 0 ? -1 : height * b, width * b})});
}
void space_to_depth(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t b = c.integer("blocksize");
  c.require(c.rank(x) == 4 && b > 0 && b < 1 << 15, "the input is {} and blocksize {}", describe(c.desc(x)), b);
  const int64_t depth = c.size(x, 1, "the input"), height = c.size(x, 2, "the input"),
                width = c.size(x, 3, "the input");
  c.require(height % b == 0 && width % b == 0, "the input is {}, want multiples of {}", describe(c.desc(x)), b);
  const Endpoint cut = c.reshape(x, Dims{0, depth, height / b, b, width / b, b});
  c.result("Reshape", {c.transpose(cut, {0, 3, 5, 1, 2, 4}), c.ints({0, depth * b * b, height / b, width / b})});
}

/// Pads as ONNX has them, [begins, ends] of some axes, as pairs of all dimensions.
Endpoint pairs(Conversion& c, Endpoint x, Endpoint pads, Endpoint axes) {
  const Endpoint turned = c.transpose(c.reshape(c.cast(pads, DType::Int64), Dims{2, -1}), {1, 0});
  if (!axes) return c.reshape(turned, Dims{-1});
  const int64_t rank = c.rank(x);
  if (const Tensor* at = c.value(axes)) {
    const Dims list = at->integers();
    // Row d of the table is the pair of axis d; the last one, which others take, is of zeros.
    std::vector<int64_t> rows(static_cast<size_t>(rank), static_cast<int64_t>(list.size()));
    for (size_t i = 0; i < list.size(); ++i) rows[static_cast<size_t>(c.axis(list[i], rank))] = static_cast<int64_t>(i);
    const Endpoint table = c.concat({turned, c.constant(numbers_tensor({0, 0}, {1, 2}, DType::Int64))}, 0);
    return c.reshape(c.gather(table, c.ints(rows), 0), Dims{-1});
  }
  const Endpoint none =
      c.constant(numbers_tensor(std::vector<double>(static_cast<size_t>(2 * rank), 0), {rank, 2}, DType::Int64));
  const Endpoint places = c.emit("FloorMod", {c.cast(axes, DType::Int64), c.integer_scalar(rank)});
  return c.reshape(c.emit("TensorScatterUpdate", {none, c.unsqueeze(places, {-1}), turned}), Dims{-1});
}

/// Rounds about the edges: for each dimension the indices of what lies there.
void pad_by_indices(Conversion& c, Endpoint x, const Dims& pads, const std::string& mode) {
  Endpoint y = x;
  const int64_t rank = c.rank(x);
  c.require(static_cast<int64_t>(pads.size()) == 2 * rank, "{} pads for {} dimensions", pads.size(), rank);
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t before = pads[static_cast<size_t>(2 * d)], after = pads[static_cast<size_t>(2 * d + 1)];
    if (before == 0 && after == 0) continue;
    const int64_t n = c.size(x, d, "the input");
    c.require(n > 0, "the input is {}: nothing to repeat in dimension {}", describe(c.desc(x)), d);
    c.few(std::abs(before), "pads"), c.few(std::abs(after), "pads"), c.few(n, "elements");
    Dims at;
    for (int64_t i = -before; i < n + after; ++i) {
      const int64_t period = std::max<int64_t>(1, 2 * (n - 1));
      int64_t k = ((i % period) + period) % period;  // reflected
      if (k >= n) k = period - k;
      if (mode == "edge") k = std::clamp<int64_t>(i, 0, n - 1);
      if (mode == "wrap") k = ((i % n) + n) % n;
      at.push_back(k);
    }
    y = c.gather(y, c.ints(at), d);
  }
  c.result("Identity", {y});
}

/// The same where the pads are computed while the graph runs.
void wrap_by_computed_pads(Conversion& c, Endpoint x, Endpoint pads) {
  Endpoint y = x;
  for (int64_t d = 0; d < c.rank(x); ++d) {
    const Endpoint before = c.gather(pads, c.integer_scalar(2 * d), 0);
    const Endpoint after = c.gather(pads, c.integer_scalar(2 * d + 1), 0);
    const Endpoint n = c.gather(c.shape(x), c.integer_scalar(d), 0);
    const Endpoint at = c.emit("Range", {c.emit("Neg", {before}), c.add(n, after), c.integer_scalar(1)});
    y = c.gather(y, c.emit("FloorMod", {at, n}), d);
  }
  c.result("Identity", {y});
}

void pad(Conversion& c) {
  const Endpoint x = c.in(0);
  const std::string mode = c.text("mode", "constant");
  c.require(mode == "constant" || mode == "reflect" || mode == "edge" || mode == "wrap",
            "attribute mode is \"{}\", want constant, reflect, edge or wrap", mode);
  Endpoint pads, value, axes;
  if (c.opset < 11) {
    pads = c.ints(c.integers("pads"));
    value = c.scalar_like(c.real("value", 0), x);
  } else {
    pads = c.in(1);
    value = c.maybe(2);
    axes = c.maybe(3);
  }
  const Endpoint both = pairs(c, x, pads, axes);
  const Tensor* known = c.value(both);
  const bool negative = known && std::ranges::any_of(known->integers(), [](int64_t p) { return p < 0; });
  if (mode == "constant" && !negative) {
    if (value && c.type(value) != c.type(x)) value = c.cast(value, c.type(x));
    if (value && c.desc(value).dims.size() == 1) value = c.reshape(value, Dims{});
    c.result("PadV3", {x, both, value}, {{"mode", "constant"}});
    return;
  }
  if (!known && (mode == "reflect" || mode == "edge")) {  // of the last three dimensions
    c.result("PadV3", {x, both, nullptr}, {{"mode", mode}});
    return;
  }
  if (!known && mode == "wrap") return wrap_by_computed_pads(c, x, both);
  c.require(known, "pads are computed while the graph runs, want values that are known before");
  const Dims each = known->integers();
  if (mode != "constant") return pad_by_indices(c, x, each, mode);
  // Negative ones cut off.
  c.require(static_cast<int64_t>(each.size()) == 2 * c.rank(x), "{} pads for {} dimensions", each.size(), c.rank(x));
  Dims begin, end, axes_cut, more;
  for (size_t d = 0; 2 * d < each.size(); ++d) {
    begin.push_back(std::max<int64_t>(0, -each[2 * d]));
    end.push_back(each[2 * d + 1] < 0 ? each[2 * d + 1] : INT64_MAX);
    axes_cut.push_back(static_cast<int64_t>(d));
    more.push_back(std::max<int64_t>(0, each[2 * d]));
    more.push_back(std::max<int64_t>(0, each[2 * d + 1]));
  }
  c.result("PadV3", {c.slice(x, begin, end, axes_cut), c.ints(more), value}, {{"mode", "constant"}});
}

/// Cut off or filled up around the centre. The sizes may be computed while the graph runs.
void center_crop_pad(Conversion& c) {
  const Endpoint x = c.in(0), target = c.cast(c.in(1), DType::Int64);
  const int64_t rank = c.rank(x);
  Dims axes = c.integers("axes");
  if (!c.has("axes"))
    for (int64_t d = 0; d < rank; ++d) axes.push_back(d);
  std::vector<int64_t> rows(static_cast<size_t>(rank), static_cast<int64_t>(axes.size()));
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i] = c.axis(axes[i], rank);
    rows[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  }
  const Endpoint zero = c.integer_scalar(0), two = c.integer_scalar(2), at = c.ints(axes);
  const Endpoint size = c.gather(c.shape(x), at, 0);
  const Endpoint begin = c.emit("FloorDiv", {c.emit("Maximum", {c.sub(size, target), zero}), two});
  const Endpoint end = c.add(begin, c.emit("Minimum", {size, target}));
  const Endpoint more = c.emit("Maximum", {c.sub(target, size), zero});
  const Endpoint before = c.emit("FloorDiv", {more, two});
  // A pair for each of the axes, and one of zeros that the others take.
  const Endpoint both = c.concat({c.unsqueeze(before, {1}), c.unsqueeze(c.sub(more, before), {1})}, 1);
  const Endpoint table = c.concat({both, c.constant(numbers_tensor({0, 0}, {1, 2}, DType::Int64))}, 0);
  const Endpoint pads = c.reshape(c.gather(table, c.ints(rows), 0), Dims{-1});
  const Endpoint part = c.emit("StridedSliceV2", {x, begin, end, at, c.ints(Dims(axes.size(), 1))});
  c.result("PadV3", {part, pads, nullptr}, {{"mode", "constant"}});
}

constexpr Row kRows[] = {
    {"CenterCropPad", 18, center_crop_pad, "StridedSliceV2, PadV3"},
    {"Concat", 4, concat, "ConcatV2"},
    {"DepthToSpace", 1, depth_to_space, "Reshape, Transpose"},
    {"Expand", 8, expand, "Expand"},
    {"Flatten", 1, flatten, "Flatten"},
    {"Pad", 2, pad, "PadV3, GatherV2"},
    {"Reshape", 5, reshape, "Reshape"},
    {"Shape", 1, shape, "Shape"},
    {"Size", 1, size, "Size"},
    {"Slice", 1, slice_by_attributes, "StridedSliceV2"},
    {"Slice", 10, slice, "StridedSliceV2"},
    {"SpaceToDepth", 1, space_to_depth, "Reshape, Transpose"},
    {"Split", 2, split, "SplitV, Split"},
    {"Squeeze", 1, squeeze, "Squeeze, SqueezeV3"},
    {"Tile", 6, tile, "Tile"},
    {"Transpose", 1, transpose, "Transpose"},
    {"Unsqueeze", 1, unsqueeze, "Unsqueeze, UnsqueezeV3"},
};

}  // namespace

std::span<const Row> shape_rows() { return kRows; }

}  // namespace updraft::onnx
