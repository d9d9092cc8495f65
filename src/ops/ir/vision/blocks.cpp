// Blocks of pixels that become channels or batches, and back.
#include <algorithm>

#include "ops/index/indices.h"
#include "ops/ir/shape/layout.h"
#include "ops/linalg/dense.h"

namespace updraft {
namespace {

using ir::Dims;

/// x [N, spatial…, rest…] with crops or paddings of two values for each of the block's dimensions.
Dims pairs_of(const Op& op, const char* name, const Dims& values, size_t blocks) {
  op.require(values.size() == 2 * blocks && std::ranges::all_of(values, [](int64_t v) { return v >= 0; }),
             "{} has {} values, want {} of 0 or more", name, values.size(), 2 * blocks);
  return values;
}
void require_blocks(const Op& op, const TensorView& x, const Dims& block) {
  op.require(!block.empty() && x.rank >= static_cast<int>(block.size()) + 1 &&
                 std::ranges::all_of(block, [](int64_t b) { return b >= 1; }),
             "x is {} and has {} sizes of blocks, want a dimension for each, and 1 or more", describe(x), block.size());
}

/// Whether the blocks are of the dimensions behind the channels: where the client's tensor is of the format NCHW, or y
/// has the shape that follows from it. `grow`: batches become blocks.
bool channels_second(const Op& op, const In& x, const Dims& block, const Dims& pairs, bool grow, const Out& y) {
  constexpr int32_t kNchw = 0;
  if (x->rank != 4 || block.size() != 2 || pairs.size() != 4) return false;
  if (x.handle->format == kNchw) return true;
  if (op.inferring() || y->rank != 4) return false;
  const auto fits = [&](int first) {
    for (int d = 0; d < 2; ++d) {
      const int64_t ends = pairs[static_cast<size_t>(2 * d)] + pairs[static_cast<size_t>(2 * d + 1)],
                    b = block[static_cast<size_t>(d)];
      if (grow ? y->dims[first + d] != x->dims[first + d] * b - ends
               : y->dims[first + d] * b != x->dims[first + d] + ends)
        return false;
    }
    return y->dims[first == 1 ? 3 : 1] == x->dims[first == 1 ? 3 : 1];
  };
  return fits(2) && !fits(1);
}
/// N, C, H, W as N, H, W, C, and back.
TensorView channels_last(const TensorView& v) { return permute(v, {0, 2, 3, 1}); }
Dims channels_back(const Dims& d) { return {d[0], d[3], d[1], d[2]}; }

/// The elements of `v` in the order of dimensions `order`, with the shape `dims`, as y.
void give(Op& op, const TensorView& v, const Dims& order, const Dims& dims, const Out& y) {
  ir::result(op, "y", *y, dims, v.dtype);
  if (op.inferring()) return;
  call(op, "aclnnInplaceCopy", y, ir::reshaped(op, permute(v, order), dims));
}

void space_to_batch(Op& op, const In& given, const Dims& block, const Dims& pads, const Out& y) {
  const bool second = channels_second(op, given, block, pads, false, y);
  const TensorView moved = second ? channels_last(*given) : *given, *x = &moved;
  require_blocks(op, *x, block);
  pairs_of(op, "paddings", pads, block.size());
  Dims padded = ir::dims_of(*x);
  for (size_t d = 0; d < block.size(); ++d) {
    padded[d + 1] += pads[2 * d] + pads[2 * d + 1];
    op.require(padded[d + 1] % block[d] == 0, "dimension {} is {} with its padding: blocks of {} do not divide it",
               d + 1, padded[d + 1], block[d]);
  }
  TensorView from = *x;
  if (std::ranges::any_of(pads, [](int64_t p) { return p != 0; })) {
    from = ir::temporary(op, x->dtype, padded);
    TensorView inner = from;
    for (size_t d = 0; d < block.size(); ++d)
      inner = ir::part_of(inner, static_cast<int>(d) + 1, pads[2 * d], x->dims[d + 1]);
    call(op, "aclnnInplaceZero", from);
    call(op, "aclnnInplaceCopy", inner, *x);
  }
  Dims split = {padded[0]}, order, result = {padded[0]};
  for (size_t d = 0; d < block.size(); ++d) {
    split.insert(split.end(), {padded[d + 1] / block[d], block[d]});
    order.push_back(2 * static_cast<int64_t>(d) + 2);
    result[0] *= block[d];
    result.push_back(padded[d + 1] / block[d]);
  }
  order.push_back(0);
  for (size_t d = 0; d < block.size(); ++d) order.push_back(2 * static_cast<int64_t>(d) + 1);
  for (size_t d = block.size() + 1; d < padded.size(); ++d) {
    order.push_back(static_cast<int64_t>(split.size()));
    split.push_back(padded[d]);
    result.push_back(padded[d]);
  }
  if (!second) return give(op, ir::reshaped(op, from, split), order, result, y);
  ir::result(op, "y", *y, channels_back(result), x->dtype);
  if (!op.inferring())
    call(op, "aclnnInplaceCopy", channels_last(*y),
         ir::reshaped(op, permute(ir::reshaped(op, from, split), order), result));
}

void batch_to_space(Op& op, const In& given, const Dims& block, const Dims& crops, const Out& y) {
  const bool second = channels_second(op, given, block, crops, true, y);
  const TensorView moved = second ? channels_last(*given) : *given, *x = &moved;
  require_blocks(op, *x, block);
  pairs_of(op, "crops", crops, block.size());
  const int64_t all = ir::count_of(block), n = all > 0 ? x->dims[0] / all : 0;
  op.require(x->dims[0] % all == 0, "x is {}: {} blocks do not divide its batches", describe(*x), all);
  Dims split = block, order = {static_cast<int64_t>(block.size())}, whole = {n}, result = {n};
  split.insert(split.end(), x->dims, x->dims + x->rank);
  split[block.size()] = n;
  for (size_t d = 0; d < block.size(); ++d) {
    order.insert(order.end(), {static_cast<int64_t>(block.size() + 1 + d), static_cast<int64_t>(d)});
    whole.push_back(x->dims[d + 1] * block[d]);
    result.push_back(whole.back() - crops[2 * d] - crops[2 * d + 1]);
    op.require(result.back() >= 0, "crops are {} and {} of a dimension of {}", crops[2 * d], crops[2 * d + 1],
               whole.back());
  }
  for (int d = static_cast<int>(block.size()) + 1; d < x->rank; ++d) {
    order.push_back(static_cast<int64_t>(block.size()) + d);
    whole.push_back(x->dims[d]);
    result.push_back(x->dims[d]);
  }
  ir::result(op, "y", *y, second ? channels_back(result) : result, x->dtype);
  if (op.inferring()) return;
  TensorView v = ir::reshaped(op, permute(ir::reshaped(op, *x, split), order), whole);
  for (size_t d = 0; d < block.size(); ++d) v = ir::part_of(v, static_cast<int>(d) + 1, crops[2 * d], result[d + 1]);
  call(op, "aclnnInplaceCopy", second ? channels_last(*y) : *y, v);
}

}  // namespace

ABOUT(SpaceToBatchND, Vector, "Blocks of the dimensions behind the first become batches", "将空间维的分块移到批次维")
IR_OP(SpaceToBatchND, SpaceToBatchND, (In, x), (In, block_shape), (In, paddings), (Out, y)) {
  space_to_batch(op, x, op.integers("block_shape", block_shape.handle), op.integers("paddings", paddings.handle), y);
}
IR_OP(SpaceToBatch, SpaceToBatchND, (In, x), (In, paddings), (Out, y), (Int, block_size)) {
  space_to_batch(op, x, {block_size, block_size}, op.integers("paddings", paddings.handle), y);
}
IR_OP(SpaceToBatchD, SpaceToBatchND, (In, x), (Out, y), (Int, block_size), (Ints, paddings)) {
  space_to_batch(op, x, {block_size, block_size}, *paddings, y);
}
ABOUT(BatchToSpaceND, Vector, "Batches become blocks of the dimensions behind the first", "将批次维移回空间维的分块")
IR_OP(BatchToSpaceND, BatchToSpaceND, (In, x), (In, block_shape), (In, crops), (Out, y)) {
  batch_to_space(op, x, op.integers("block_shape", block_shape.handle), op.integers("crops", crops.handle), y);
}
IR_OP(BatchToSpace, BatchToSpaceND, (In, x), (In, crops), (Out, y), (Int, block_size)) {
  batch_to_space(op, x, {block_size, block_size}, op.integers("crops", crops.handle), y);
}
IR_OP(BatchToSpaceD, BatchToSpaceND, (In, x), (Out, y), (Int, block_size), (Ints, crops)) {
  batch_to_space(op, x, {block_size, block_size}, *crops, y);
}

ABOUT(SpaceToDepth, Vector, "Blocks of pixels become channels", "将像素分块移到通道维")
IR_OP(SpaceToDepth, SpaceToDepth, (In, x), (Out, y), (Int, block_size), (Text, data_format, "NHWC")) {
  op.require(x->rank == 4 && block_size >= 2, "x is {} and block_size {}, want four dimensions and 2 or more",
             describe(*x), block_size);
  const ir::Layout layout = ir::layout_of(op, 2, data_format);
  const TensorView v = layout.first(*x);
  const int64_t b = block_size, n = v.dims[0], c = v.dims[1], h = v.dims[2] / b, w = v.dims[3] / b;
  op.require(v.dims[2] % b == 0 && v.dims[3] % b == 0, "x is {}: blocks of {} do not divide it", describe(*x), b);
  const Dims dims = {n, c * b * b, h, w};
  ir::result(op, "y", *y, layout.own(dims), x->dtype);
  if (op.inferring()) return;
  const TensorView split = ir::reshaped(op, v, {n, c, h, b, w, b});
  call(op, "aclnnInplaceCopy", layout.first(*y), ir::reshaped(op, permute(split, {0, 3, 5, 1, 2, 4}), dims));
}
ABOUT(DepthToSpace, Vector, "Channels become blocks of pixels", "将通道维移回像素分块")
IR_OP(DepthToSpace, DepthToSpace, (In, x), (Out, y), (Int, block_size), (Text, mode, "DCR"),
      (Text, data_format, "NHWC")) {
  const std::string_view how = mode;
  op.require(x->rank == 4 && block_size >= 2, "x is {} and block_size {}, want four dimensions and 2 or more",
             describe(*x), block_size);
  op.require(how == "DCR" || how == "CRD", "attribute mode is \"{}\", want DCR or CRD", how);
  const ir::Layout layout = ir::layout_of(op, 2, data_format);
  const TensorView v = layout.first(*x);
  const int64_t b = block_size, n = v.dims[0], c = v.dims[1] / (b * b), h = v.dims[2], w = v.dims[3];
  op.require(v.dims[1] % (b * b) == 0, "x is {}: {} do not divide its channels", describe(*x), b * b);
  const Dims dims = {n, c, h * b, w * b};
  ir::result(op, "y", *y, layout.own(dims), x->dtype);
  if (op.inferring()) return;
  const TensorView split = how == "DCR" ? permute(ir::reshaped(op, v, {n, b, b, c, h, w}), {0, 3, 4, 1, 5, 2})
                                        : permute(ir::reshaped(op, v, {n, c, b, b, h, w}), {0, 1, 4, 2, 5, 3});
  call(op, "aclnnInplaceCopy", layout.first(*y), ir::reshaped(op, split, dims));
}
ABOUT(ShuffleChannel, Vector, "Channels of the groups in turn", "按组交错排列通道")
IR_OP(ShuffleChannel, ShuffleChannel, (In, x), (Out, y), (Int, group, 1)) {
  op.require(x->rank >= 2 && group >= 1 && x->dims[1] % group == 0, "x is {}: {} groups do not divide its channels",
             describe(*x), group);
  Dims split = ir::dims_of(*x), order = ir::all_axes(x->rank + 1);
  split[1] /= group;
  split.insert(split.begin() + 1, group);
  std::swap(order[1], order[2]);
  give(op, ir::reshaped(op, *x, split), order, ir::dims_of(*x), y);
}

// --- formats ------------------------------------------------------------------------------------------------------
namespace {
/// For each letter of `to` its place in `from`.
Dims places_of(const Op& op, std::string_view from, std::string_view to) {
  Dims places;
  for (const char letter : to) {
    const size_t at = from.find(letter);
    op.require(from.size() == to.size() && at != std::string_view::npos,
               "attributes src_format and dst_format are \"{}\" and \"{}\", want the same letters", from, to);
    places.push_back(static_cast<int64_t>(at));
  }
  return places;
}
}  // namespace
ABOUT(DataFormatVecPermute, Vector, "Sizes, or pairs, of the dimensions of one format in the order of another",
      "将按一种数据格式排列的值改为另一种格式的次序")
IR_OP(DataFormatVecPermute, DataFormatVecPermute, (In, x), (Out, y), (Text, src_format, "NHWC"),
      (Text, dst_format, "NCHW")) {
  std::string from(src_format), to(dst_format);
  if (x->rank >= 1 && x->dims[0] == static_cast<int64_t>(from.size()) - 2)  // of images alone
    for (std::string* word : {&from, &to}) std::erase_if(*word, [](char c) { return c == 'N' || c == 'C'; });
  op.require(x->rank >= 1 && x->rank <= 2 && x->dims[0] == static_cast<int64_t>(from.size()),
             "x is {}, want a row for each of \"{}\"", describe(*x), from);
  const Dims places = places_of(op, from, to);
  op.result_like("y", *y, *x, x->dtype);
  if (op.inferring()) return;
  for (size_t i = 0; i < places.size(); ++i)
    call(op, "aclnnInplaceCopy", ir::part_of(*y, 0, static_cast<int64_t>(i), 1), ir::part_of(*x, 0, places[i], 1));
}

ABOUT(DataFormatDimMap, Vector, "Numbers of the dimensions of one format in another",
      "将一种数据格式的维度编号换为另一种格式的编号")
IR_OP(DataFormatDimMap, DataFormatDimMap, (In, x), (Out, y), (Text, src_format, "NHWC"), (Text, dst_format, "NCHW")) {
  const Dims places = places_of(op, dst_format, src_format);
  op.require(x->dtype == DType::Int32 || x->dtype == DType::Int64, "x is {}, want INT32 or INT64", describe(*x));
  op.result_like("y", *y, *x, x->dtype);
  op.work(x->numel() * 2);
  op.launch([from = *x, to = *y, places] {
    std::vector<double> v = linalg::gather(from);
    const auto n = static_cast<int64_t>(places.size());
    for (double& e : v)
      e = static_cast<double>(places[static_cast<size_t>(checked_index(static_cast<int64_t>(e), n, 0, true))]);
    linalg::scatter(to, v);
  });
}

}  // namespace updraft
