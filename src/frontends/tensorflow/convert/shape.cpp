// Shapes, and tensors put together and taken apart.
#include <algorithm>

#include "frontends/tensorflow/convert/families.h"

namespace updraft::tensorflow {
namespace {

int64_t number_of(DType type) { return static_cast<int64_t>(type); }

void shape(Conversion& c) {
  c.result("Shape", {c.in(0)}, {{"dtype", number_of(c.element_type("out_type", DType::Int32))}});
}
void shapes(Conversion& c) {
  const DType type = c.element_type("out_type", DType::Int32);
  for (size_t i = 0; i < c.inputs(); ++i) {
    const std::string name = c.name + "/" + std::to_string(i);
    c.give(c.build("Shape", name, {c.in(i)}, {{"dtype", number_of(type)}}));
  }
}
void size(Conversion& c) {
  c.result("Size", {c.in(0)}, {{"dtype", number_of(c.element_type("out_type", DType::Int32))}});
}
void reshape(Conversion& c) { c.result("Reshape", {c.in(0), c.in(1)}); }
void squeeze(Conversion& c) { c.result("Squeeze", {c.in(0)}, {{"axis", c.integers("squeeze_dims")}}); }

void expand(Conversion& c) {
  const int64_t at = c.integer_in(1, "the axis");
  c.give(c.unsqueeze(c.in(0), {at}));
}

void transpose(Conversion& c) { c.result("Transpose", {c.in(0), c.in(1)}); }

void concat(Conversion& c) {  // the axis comes last, in the older form first
  const bool older = std::string_view(c.row.type) == "Concat";
  const auto parts = older ? c.all(1) : c.all(0, 1);
  const Endpoint axis = older ? c.in(0) : c.in(c.inputs() - 1);
  c.require(!parts.empty(), "there are no inputs");
  c.result("ConcatV2", {parts, axis}, {{"N", static_cast<int64_t>(parts.size())}});
}
void pack(Conversion& c) {
  c.require(c.inputs() > 0, "there are no inputs");
  c.result("Pack", {c.all()}, {{"axis", c.integer("axis", 0)}, {"N", static_cast<int64_t>(c.inputs())}});
}
void unpack(Conversion& c) {
  const int64_t n = c.few(c.integer("num"), "outputs");
  c.result("Unpack", {c.in(0)}, {{"num", n}, {"axis", c.integer("axis", 0)}}, static_cast<size_t>(n));
}
void split(Conversion& c) {
  const int64_t n = c.few(c.integer("num_split"), "outputs");
  c.result("Split", {c.in(0), c.in(1)}, {{"num_split", n}}, static_cast<size_t>(n));
}
void split_sizes(Conversion& c) {
  const int64_t n = c.few(c.integer("num_split"), "outputs");
  c.result("SplitV", {c.in(0), c.in(1), c.in(2)}, {{"num_split", n}}, static_cast<size_t>(n));
}

/// StridedSlice and its gradient.
void strided_slice(Conversion& c) {
  Attributes masks;
  for (const char* mask : {"begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"})
    masks[mask] = c.integer(mask, 0);
  same_inputs(c, masks);
}

/// Where the parts of a concatenation begin.
void concat_offset(Conversion& c) {
  const int64_t axis = c.integer_in(0, "the axis");
  int64_t at = 0;
  for (size_t i = 1; i < c.inputs(); ++i) {
    const Dims shape = c.integers_in(i, "a shape");
    std::vector<int32_t> offset(shape.size(), 0);
    const size_t a = static_cast<size_t>(c.axis(axis, static_cast<int64_t>(shape.size())));
    offset[a] = static_cast<int32_t>(at);
    at += shape[a];
    c.give(c.constant(Tensor::of_int32(offset), fmt::format("offset{}", i - 1)));
  }
}

/// Sizes put together from several lists, as gradients of reductions compute the shape of what was reduced.
void dynamic_stitch(Conversion& c) {
  const size_t n = c.inputs() / 2;
  c.require(n > 0 && c.inputs() == 2 * n, "there are {} inputs, want as many indices as data", c.inputs());
  c.require(c.integer("N", static_cast<int64_t>(n)) == static_cast<int64_t>(n), "attribute N is {}, want {}",
            c.integer("N", 0), n);
  const DType type = c.type(c.in(n));
  c.require(type == DType::Int32 || type == DType::Int64, "the data are {}, want INT32 or INT64",
            describe(c.desc(c.in(n))));
  Dims all;
  for (size_t i = 0; i < n; ++i) {
    const Dims places = c.integers_in(i, "the indices"), data = c.integers_in(n + i, "the data");
    c.require(places.size() == data.size(), "there are {} indices and {} values, want one value for each",
              places.size(), data.size());
    for (size_t k = 0; k < places.size(); ++k) {
      c.require(places[k] >= 0, "index {} is negative", places[k]);
      if (c.few(places[k], "indices") >= static_cast<int64_t>(all.size()))
        all.resize(static_cast<size_t>(places[k]) + 1);
      all[static_cast<size_t>(places[k])] = data[k];
    }
  }
  c.give(c.constant(type == DType::Int64 ? Tensor::of(all) : Tensor::of_int32({all.begin(), all.end()})));
}

/// The axes over which gradients of broadcast operands are summed up.
void broadcast_gradient_axes(Conversion& c) {
  const Dims a = c.integers_in(0, "a shape"), b = c.integers_in(1, "a shape");
  const size_t rank = std::max(a.size(), b.size());
  auto size = [&](const Dims& dims, size_t d) { return d + dims.size() < rank ? 1 : dims[d + dims.size() - rank]; };
  const bool wide = c.type(c.in(0)) == DType::Int64;
  for (const bool first : {true, false}) {
    const Dims &own = first ? a : b, &other = first ? b : a;
    Dims axes;
    for (size_t d = 0; d < rank; ++d) {
      const bool absent = d + own.size() < rank;
      if (absent || (size(own, d) == 1 && size(other, d) != 1) || (size(own, d) == 1 && size(other, d) == 1))
        axes.push_back(static_cast<int64_t>(d));
    }
    c.give(
        c.constant(wide ? Tensor::of(axes) : Tensor::of_int32({axes.begin(), axes.end()}), first ? "axes" : "axes1"));
  }
}

void mirror_pad(Conversion& c) { c.result("MirrorPad", {c.in(0), c.in(1)}, {{"mode", c.text("mode", "REFLECT")}}); }

/// The side of a block of pixels of an image with its channels last.
int64_t block_of(Conversion& c) {
  const int64_t b = c.integer("block_size");
  c.require(c.channels_last() && c.text("data_format", "NHWC") == "NHWC", "attribute data_format is not NHWC");
  c.require(b >= 1 && b <= 1 << 16, "attribute block_size is {}, want 1 to {}", b, 1 << 16);
  return b;
}

/// Pixels of a block become channels: [N, H / b, b, W / b, b, C] with the blocks' places behind.
void space_to_depth(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t b = block_of(c);
  const int64_t h = c.size(x, 1, "the input"), w = c.size(x, 2, "the input"), n = c.size(x, 3, "the input");
  c.require(h % b == 0 && w % b == 0, "the input is {}, want multiples of {}", describe(c.desc(x)), b);
  const Endpoint parts = c.reshape(x, Dims{-1, h / b, b, w / b, b, n});
  c.give(c.reshape(c.transpose(parts, {0, 1, 3, 2, 4, 5}), Dims{-1, h / b, w / b, b * b * n}));
}
void depth_to_space(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t b = block_of(c);
  const int64_t h = c.size(x, 1, "the input"), w = c.size(x, 2, "the input"), n = c.size(x, 3, "the input");
  c.require(n % (b * b) == 0, "the input is {}, want a multiple of {} channels", describe(c.desc(x)), b * b);
  const Endpoint parts = c.reshape(x, Dims{-1, h, w, b, b, n / (b * b)});
  c.give(c.reshape(c.transpose(parts, {0, 1, 3, 2, 4, 5}), Dims{-1, h * b, w * b, n / (b * b)}));
}

/// Dilated convolutions were once written so: blocks of the image become samples.
void space_to_batch(Conversion& c) {
  const Dims block = c.integers_in(1, "the block"), pads = c.integers_in(2, "the padding");
  const auto m = static_cast<int64_t>(block.size());
  const Endpoint x = c.in(0);
  const int64_t rank = c.rank(x);
  c.require(rank > m && static_cast<int64_t>(pads.size()) == 2 * m, "the input is {} and the block has {} values",
            describe(c.desc(x)), m);
  Dims all(static_cast<size_t>(2 * rank), 0);
  std::ranges::copy(pads, all.begin() + 2);
  const Endpoint padded =
      c.emit("Pad", {x, c.constant(Tensor{DType::Int64, {rank, 2}, Tensor::of(all).data}, "paddings")});
  Dims parts = {-1}, order, merged = {-1};
  for (int64_t d = 0; d < m; ++d) {
    const int64_t size = c.size(padded, d + 1, "the input"), b = block[static_cast<size_t>(d)];
    c.require(b >= 1 && size % b == 0, "{} pixels with their padding are no multiple of the block, {}", size, b);
    parts.insert(parts.end(), {size / b, b});
    order.push_back(2 * d + 2);
    merged.push_back(size / b);
  }
  order.push_back(0);
  for (int64_t d = 0; d < m; ++d) order.push_back(2 * d + 1);
  for (int64_t d = m + 1; d < rank; ++d) {
    const int64_t size = c.size(padded, d, "the input");
    order.push_back(d + m);
    parts.push_back(size);
    merged.push_back(size);
  }
  c.give(c.reshape(c.transpose(c.reshape(padded, parts), order), merged));
}
void batch_to_space(Conversion& c) {
  const Dims block = c.integers_in(1, "the block"), crops = c.integers_in(2, "the crops");
  const auto m = static_cast<int64_t>(block.size());
  const Endpoint x = c.in(0);
  const int64_t rank = c.rank(x);
  c.require(rank > m && static_cast<int64_t>(crops.size()) == 2 * m, "the input is {} and the block has {} values",
            describe(c.desc(x)), m);
  Dims parts(block.begin(), block.end()), order = {m}, merged = {-1}, begin, end, axes;
  parts.push_back(-1);
  for (int64_t d = 1; d < rank; ++d) parts.push_back(c.size(x, d, "the input"));
  for (int64_t d = 0; d < m; ++d) {
    const auto at = static_cast<size_t>(d);
    order.insert(order.end(), {m + 1 + d, d});
    const int64_t size = c.dims(x)[at + 1] * block[at];
    merged.push_back(size);
    begin.push_back(crops[2 * at]);
    end.push_back(size - crops[2 * at + 1]);
    axes.push_back(d + 1);
  }
  for (int64_t d = m + 1; d < rank; ++d) {
    order.push_back(m + d);
    merged.push_back(c.dims(x)[static_cast<size_t>(d)]);
  }
  c.give(c.slice(c.reshape(c.transpose(c.reshape(x, parts), order), merged), begin, end, axes));
}

void reverse_sequence(Conversion& c) {
  same_inputs(c, {{"seq_dim", c.integer("seq_dim")}, {"batch_dim", c.integer("batch_dim", 0)}});
}
void of_format(Conversion& c) {
  same_inputs(c, {{"src_format", c.text("src_format", "NHWC")}, {"dst_format", c.text("dst_format", "NCHW")}});
}
void mirror_gradient(Conversion& c) { same_inputs(c, {{"mode", c.text("mode")}}); }
void square_blocks(Conversion& c) { same_inputs(c, {{"block_size", c.integer("block_size")}}); }

constexpr Row kRows[] = {
    {"BatchToSpace", square_blocks, "BatchToSpace"},
    {"BatchToSpaceND", batch_to_space, "Reshape, Transpose, StridedSliceV2"},
    {"BroadcastArgs", same, "BroadcastArgs"},
    {"BroadcastGradientArgs", broadcast_gradient_axes, "", "the shapes are known", "须已知形状"},
    {"BroadcastTo", same, "BroadcastTo"},
    {"Concat", concat, "ConcatV2"},
    {"ConcatOffset", concat_offset, "", "the shapes are known", "须已知形状"},
    {"ConcatV2", concat, "ConcatV2"},
    {"DataFormatDimMap", of_format, "DataFormatDimMap"},
    {"DataFormatVecPermute", of_format, "DataFormatVecPermute"},
    {"DepthToSpace", depth_to_space, "Reshape, Transpose"},
    {"DynamicStitch", dynamic_stitch, "", "integers that are known", "须为已知整数"},
    {"ExpandDims", expand, "Unsqueeze"},
    {"LinSpace", same, "LinSpace"},
    {"MirrorPad", mirror_pad, "MirrorPad"},
    {"MirrorPadGrad", mirror_gradient, "MirrorPadGrad"},
    {"Pack", pack, "Pack"},
    {"Pad", same, "Pad"},
    {"PadV2", same, "PadV2"},
    {"Rank", same, "Rank"},
    {"Reshape", reshape, "Reshape"},
    {"ReverseSequence", reverse_sequence, "ReverseSequence"},
    {"ReverseV2", same, "ReverseV2"},
    {"Roll", same, "RollV2"},
    {"Shape", shape, "Shape"},
    {"ShapeN", shapes, "Shape"},
    {"Size", size, "Size"},
    {"Slice", same, "Slice"},
    {"SpaceToBatch", square_blocks, "SpaceToBatch"},
    {"SpaceToBatchND", space_to_batch, "Pad, Reshape, Transpose"},
    {"SpaceToDepth", space_to_depth, "Reshape, Transpose"},
    {"Split", split, "Split"},
    {"SplitV", split_sizes, "SplitV"},
    {"Squeeze", squeeze, "Squeeze"},
    {"StridedSlice", strided_slice, "StridedSlice"},
    {"StridedSliceGrad", strided_slice, "StridedSliceGrad"},
    {"Tile", same, "Tile"},
    {"Transpose", transpose, "Transpose"},
    {"Unpack", unpack, "Unpack"},
    {"UnravelIndex", same, "UnravelIndex"},
};

}  // namespace

std::span<const Row> shape_rows() { return kRows; }

}  // namespace updraft::tensorflow
