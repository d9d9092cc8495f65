// Other shapes for the same elements, parts of blobs and blobs put together.
#include <algorithm>

#include "frontends/caffe/convert/families.h"

namespace updraft::caffe {
namespace {

using Size = Conversion::Size;

/// `axis`, or its older name, which counts from the front alone.
int64_t axis_by_two_names(Conversion& c, const char* older) {
  const bool has = c.param.has(older);
  c.require(!has || !c.param.has("axis"), "{} has axis and {}, want one of them", c.row.param, older);
  return c.axis_of(c.in(0), has ? older : "axis", 1);
}

void concat(Conversion& c) {
  const int64_t axis = axis_by_two_names(c, "concat_dim");
  if (c.inputs() == 1) return pass(c);
  c.result("ConcatV2", {c.all(), c.integer_scalar(axis)}, {{"N", static_cast<int64_t>(c.inputs())}});
}

void slice(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t axis = axis_by_two_names(c, "slice_dim"), size = c.size(x, axis, "the bottom");
  const auto parts = static_cast<int64_t>(c.tops());
  Dims points = c.param.integers("slice_point"), sizes;
  c.require(parts > 0, "there is no top");
  if (points.empty()) {
    c.require(size % parts == 0, "{} does not fall into {} equal parts", size, parts);
    sizes.assign(c.tops(), size / parts);
  } else {
    c.require(points.size() + 1 == c.tops(), "slice_param.slice_point has {} values for {} tops, want {}",
              points.size(), parts, parts - 1);
    points.push_back(size);
    int64_t before = 0;
    for (const int64_t point : points) {
      c.require(point > before, "slice_param.slice_point must rise from 0 to {}, the size of dimension {}", size, axis);
      sizes.push_back(point - before);
      before = point;
    }
  }
  if (parts == 1) return pass(c);
  c.result("SplitV", {x, c.ints(sizes), c.integer_scalar(axis)}, {{"num_split", parts}}, c.tops());
}

void split(Conversion& c) {
  for (size_t i = 0; i < c.tops(); ++i) c.give(c.in(0));
}

void nothing(Conversion&) {}

void dropout(Conversion& c) {
  for (const char* how : {"dropout_ratio", "scale_train"}) c.param.ignore(how);
  pass(c);
}

/// The dimensions from `axis` on, `num_axes` of them or all, become others. 0 copies one, -1 is what is left.
void reshape(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t rank = c.rank(x), given = c.param.integer("axis", 0), axes = c.param.integer("num_axes", -1);
  const int64_t begin = given >= 0 ? given : rank + given + 1, end = axes == -1 ? rank : begin + axes;
  c.require(begin >= 0 && begin <= rank && axes >= -1 && end <= rank,
            "reshape_param.axis is {} and num_axes {}, the bottom is {}", given, axes, describe(c.desc(x)));
  const Message shape = c.param.message("shape");
  const Dims wanted = shape.integers("dim");
  c.require(std::ranges::count(wanted, -1) <= 1 && std::ranges::all_of(wanted, [](int64_t d) { return d >= -1; }),
            "reshape_param.shape is {}, want sizes, 0 for those of the bottom and one -1 at most", describe(wanted));
  std::vector<Size> sizes;
  for (int64_t d = 0; d < begin; ++d) sizes.push_back(Size::same(d));
  for (size_t i = 0; i < wanted.size(); ++i) {
    const int64_t d = begin + static_cast<int64_t>(i);
    c.require(wanted[i] != 0 || d < rank, "reshape_param.shape has a 0 for dimension {}, the bottom is {}", d,
              describe(c.desc(x)));
    sizes.push_back(wanted[i] == 0 ? Size::same(d) : Size::of(wanted[i]));
  }
  for (int64_t d = end; d < rank; ++d) sizes.push_back(Size::same(d));
  c.result_reshaped(x, sizes);
}

void flatten(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t rank = c.rank(x), begin = c.axis_of(x, "axis", 1), end = c.axis_of(x, "end_axis", -1);
  c.require(begin <= end, "flatten_param.axis is {} and end_axis {}", begin, end);
  std::vector<Size> sizes;
  for (int64_t d = 0; d < begin; ++d) sizes.push_back(Size::same(d));
  sizes.push_back(Size::product(begin, end + 1));
  for (int64_t d = end + 1; d < rank; ++d) sizes.push_back(Size::same(d));
  c.result_reshaped(x, sizes);
}

/// The part of the first bottom that has the second one's sizes from `axis` on.
void crop(Conversion& c) {
  const Endpoint x = c.in(0), like = c.in(1);
  const int64_t rank = c.rank(x), axis = c.axis_of(x, "axis", 2);
  Dims offsets = c.param.integers("offset");
  const auto count = static_cast<size_t>(rank - axis);
  if (offsets.empty()) offsets = {0};
  if (offsets.size() == 1) offsets.assign(count, offsets[0]);
  c.require(offsets.size() == count, "crop_param.offset has {} values for {} dimensions from axis {} on",
            offsets.size(), count, axis);
  c.require(c.rank(like) == rank, "bottoms are {} and {}, want as many dimensions", describe(c.desc(x)),
            describe(c.desc(like)));
  Dims axes, ends;
  bool known = true;
  for (int64_t d = axis; d < rank; ++d) {
    const auto at = static_cast<size_t>(d);
    const int64_t offset = offsets[axes.size()], from = c.dims(x)[at], size = c.dims(like)[at];
    c.require(offset >= 0 && (from < 0 || size < 0 || offset + size <= from),
              "dimension {} of the bottom has size {}, want {} and the offset {} at least", d, from, size, offset);
    known = known && size >= 0;
    axes.push_back(d);
    ends.push_back(offset + size);
  }
  const Endpoint begin = c.ints(offsets);
  const Endpoint end = known ? c.ints(ends) : c.add(c.gather(c.shape(like), c.ints(axes), 0), begin);
  c.result("StridedSliceV2", {x, begin, end, c.ints(axes), c.ints(Dims(count, 1))});
}

void tile(Conversion& c) {
  const int64_t tiles = c.param.integer("tiles");
  c.require(tiles > 0, "tile_param.tiles is {}, want 1 or more", tiles);
  c.result("TileWithAxis", {c.in(0)}, {{"axis", c.axis_of(c.in(0), "axis", 1)}, {"tiles", tiles}});
}

/// Dimensions that are not named follow in their order.
void permute(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t rank = c.rank(x);
  Dims order = c.param.integers("order");
  for (size_t i = 0; i < order.size(); ++i)
    c.require(order[i] >= 0 && order[i] < rank && std::ranges::count(order, order[i]) == 1,
              "permute_param.order is {}, the bottom is {}", describe(order), describe(c.desc(x)));
  for (int64_t d = 0; d < rank; ++d)
    if (std::ranges::count(order, d) == 0) order.push_back(d);
  c.result("Transpose", {x, c.ints(order)});
}

/// The first channels of all groups, then the second ones.
void shuffle(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t groups = c.param.integer("group", 1), channels = c.size(x, 1, "the bottom");
  c.require(groups > 0 && channels % groups == 0, "{} channels in {} groups", channels, groups);
  c.require(c.rank(x) == 4, "bottom is {}, want 4 dimensions", describe(c.desc(x)));
  const Endpoint cut = c.reshape(x, Dims{0, groups, channels / groups, -1});
  c.result("Reshape", {c.transpose(cut, {0, 2, 1, 3}), c.shape(x)});
}

constexpr Row kRows[] = {
    {"Concat", concat, "concat_param", "ConcatV2"},
    {"Crop", crop, "crop_param", "StridedSliceV2"},
    {"Dropout", dropout, "dropout_param", ""},
    {"Flatten", flatten, "flatten_param", "Reshape"},
    {"Permute", permute, "permute_param", "Transpose"},
    {"Reshape", reshape, "reshape_param", "Reshape"},
    {"ShuffleChannel", shuffle, "shuffle_channel_param", "Reshape, Transpose"},
    {"Silence", nothing, "", ""},
    {"Slice", slice, "slice_param", "SplitV"},
    {"Split", split, "", ""},
    {"Tile", tile, "tile_param", "TileWithAxis"},
};

}  // namespace

std::span<const Row> shape_rows() { return kRows; }

}  // namespace updraft::caffe
