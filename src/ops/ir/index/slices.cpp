// Parts of tensors, cutting them up and putting them together.
#include "ops/ir/index/slices.h"

#include <algorithm>

#include "tensor/extent.h"

namespace updraft {
namespace ir {

TensorView strided_slice(const Op& op, const TensorView& x, const Dims& begin, const Dims& end, const Dims& strides,
                         const SliceMasks& masks) {
  op.require(begin.size() == end.size() && begin.size() == strides.size() && begin.size() <= 32,
             "begin, end and strides have {}, {} and {} values, want equally many", begin.size(), end.size(),
             strides.size());
  auto on = [](int64_t mask, size_t i) { return (mask >> i & 1) != 0; };
  size_t taken = 0, ellipses = 0;  // dimensions of x that are spelled
  for (size_t i = 0; i < begin.size(); ++i) {
    ellipses += on(masks.ellipsis, i);
    taken += !on(masks.ellipsis, i) && !on(masks.new_axis, i);
  }
  op.require(ellipses <= 1, "attribute ellipsis_mask is {}, want at most one bit", masks.ellipsis);
  op.require(taken <= static_cast<size_t>(x.rank), "begin has values for {} dimensions, x is {}", taken, describe(x));
  TensorView from = x, to;
  to.dtype = x.dtype;
  to.data = x.data;
  int d = 0;
  auto keep = [&](int64_t dim, int64_t stride) {
    op.require(to.rank < kMaxDims, "the result has more than {} dimensions", kMaxDims);
    to.dims[to.rank] = dim;
    to.strides[to.rank++] = stride;
  };
  auto whole = [&] {
    keep(from.dims[d], from.strides[d]);
    ++d;
  };
  for (size_t i = 0; i < begin.size(); ++i) {
    if (on(masks.ellipsis, i)) {
      for (auto n = static_cast<size_t>(x.rank) - taken; n > 0; --n) whole();
      continue;
    }
    if (on(masks.new_axis, i)) {
      keep(1, 1);
      continue;
    }
    const int64_t size = x.dims[d], step = strides[i];
    const bool shrink = on(masks.shrink_axis, i);
    op.require(step != 0, "stride {} is 0", i);
    int64_t first = begin[i] < 0 ? begin[i] + size : begin[i], n = 1;
    if (shrink) {
      op.require(first >= 0 && first < size, "begin {} is {}, dimension {} has {}", i, begin[i], d, size);
    } else {
      auto clamped = [&](int64_t at) {
        return std::clamp<int64_t>(at < 0 ? at + size : at, step > 0 ? 0 : -1, step > 0 ? size : size - 1);
      };
      first = on(masks.begin, i) ? (step > 0 ? 0 : size - 1) : clamped(begin[i]);
      const int64_t stop = on(masks.end, i) ? (step > 0 ? size : -1) : clamped(end[i]);
      n = std::max<int64_t>(0, step > 0 ? (stop - first + step - 1) / step : (first - stop - step - 1) / -step);
    }
    const TensorView part = part_of(from, d, first, n, step);
    if (part.data && n > 0) to.data = to.as<char>() + (part.as<char>() - from.as<char>());
    if (!shrink) keep(n, part.strides[d]);
    ++d;
  }
  while (d < x.rank) whole();
  return to;
}

TensorView as_strided(const Op& op, const char* name, const TensorView& x, const Dims& size, const Dims& strides,
                      int64_t offset) {
  op.require(size.size() <= static_cast<size_t>(kMaxDims) && size.size() == strides.size(),
             "{}: size has {} values and stride {}, want equally many and at most {}", name, size.size(),
             strides.size(), kMaxDims);
  op.require(x.is_contiguous(), "{} is {}, want contiguous memory", name, describe(x));
  TensorView v = x;
  v.rank = static_cast<int>(size.size());
  std::copy(size.begin(), size.end(), v.dims);
  std::copy(strides.begin(), strides.end(), v.strides);
  const auto bytes = static_cast<int64_t>(size_of(x.dtype));
  const std::optional<Extent> extent = extent_of(v);
  op.require(extent && offset >= 0 &&
                 (v.empty() || (offset <= x.numel() && offset * bytes + extent->low >= 0 &&
                                offset * bytes + extent->high <= static_cast<int64_t>(x.bytes()))),
             "size, stride and offset {} reach outside the {} elements of {}", offset, x.numel(), name);
  if (v.data && !v.empty()) v.data = v.as<char>() + offset * bytes;
  return v;
}

}  // namespace ir

namespace {

using ir::Dims;

void slice(Op& op, const In& x, const Dims& offsets, const Dims& size, const Out& y) {
  op.require(offsets.size() == static_cast<size_t>(x->rank) && size.size() == offsets.size(),
             "offsets and size have {} and {} values, want {}", offsets.size(), size.size(), x->rank);
  TensorView v = *x;
  for (int d = 0; d < v.rank; ++d) {
    const auto i = static_cast<size_t>(d);
    const int64_t n = size[i] == -1 ? v.dims[d] - offsets[i] : size[i];
    op.require(offsets[i] >= 0 && n >= 0 && offsets[i] + n <= v.dims[d],
               "{} elements from {} on are outside dimension {} of {}", n, offsets[i], d, describe(*x));
    v = ir::part_of(v, d, offsets[i], n);
  }
  ir::copy(op, v, y);
}

void transpose(Op& op, const In& x, const Dims& order, const Out& y) {
  op.require(order.size() == static_cast<size_t>(x->rank), "perm has {} values, want {}", order.size(), x->rank);
  const Dims axes = ir::axes_of(op, "perm", order, x->rank);
  op.require(axes.size() == order.size(), "perm is no order of {} dimensions", x->rank);
  Dims from;
  for (int64_t d : order) from.push_back(d < 0 ? d + x->rank : d);
  ir::copy(op, permute(*x, from), y);
}

}  // namespace

ABOUT(Slice, Vector, "The part of x of the given size at the given offsets", "x 中位于给定偏移、给定大小的部分")
IR_OP(Slice, Slice, (In, x), (In, offsets), (In, size), (Out, y)) {
  slice(op, x, op.integers("offsets", offsets.handle), op.integers("size", size.handle), y);
}
IR_OP(SliceD, Slice, (In, x), (Out, y), (Ints, offsets), (Ints, size)) { slice(op, x, *offsets, *size, y); }
IR_OP(SliceDV2, Slice, (In, x), (In, offsets), (Out, y), (Ints, size)) {
  slice(op, x, op.integers("offsets", offsets.handle), *size, y);
}

#define MASKS \
  (Int, begin_mask, 0), (Int, end_mask, 0), (Int, ellipsis_mask, 0), (Int, new_axis_mask, 0), (Int, shrink_axis_mask, 0)
#define GIVEN_MASKS \
  ir::SliceMasks { begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask }
ABOUT(StridedSlice, Vector, "The part of x from begin to end by strides", "x 从 begin 到 end、按步长的部分")
IR_OP(StridedSlice, StridedSlice, (In, x), (In, begin), (In, end), (In, strides), (Out, y), MASKS) {
  ir::copy(op,
           ir::strided_slice(op, *x, op.integers("begin", begin.handle), op.integers("end", end.handle),
                             op.integers("strides", strides.handle), GIVEN_MASKS),
           y);
}
IR_OP(StridedSliceD, StridedSlice, (In, x), (Out, y), (Ints, begin), (Ints, end), (Ints, strides), MASKS) {
  ir::copy(op, ir::strided_slice(op, *x, *begin, *end, *strides, GIVEN_MASKS), y);
}
namespace {
/// begin, end and strides for all dimensions from those of some axes.
void slice_axes(Op& op, const In& x, const In& begin, const In& end, const OptIn& axes, const OptIn& strides,
                const ir::SliceMasks& masks, const Out& y) {
  const Dims from = op.integers("begin", begin.handle), to = op.integers("end", end.handle);
  const Dims steps = strides ? op.integers("strides", strides.handle) : Dims(from.size(), 1);
  if (!axes) return ir::copy(op, ir::strided_slice(op, *x, from, to, steps, masks), y);
  const Dims at = op.integers("axes", axes.handle);
  op.require(!masks.begin && !masks.end && !masks.ellipsis && !masks.new_axis && !masks.shrink_axis,
             "axes and a mask are given, want one of them");
  op.require(at.size() == from.size() && to.size() == from.size() && steps.size() == from.size(),
             "begin, end, axes and strides have {}, {}, {} and {} values, want equally many", from.size(), to.size(),
             at.size(), steps.size());
  ir::axes_of(op, "axes", at, x->rank);
  TensorView v = *x;
  for (size_t i = 0; i < at.size(); ++i) {
    const int64_t d = ir::axis_of(op, "axes", at[i], x->rank);
    Dims first(static_cast<size_t>(x->rank), 0), last = ir::dims_of(v), step(static_cast<size_t>(x->rank), 1);
    const auto k = static_cast<size_t>(d);
    first[k] = from[i];
    last[k] = to[i];
    step[k] = steps[i];
    v = ir::strided_slice(op, v, first, last, step, {});
  }
  ir::copy(op, v, y);
}
}  // namespace
IR_OP(StridedSliceV2, StridedSlice, (In, x), (In, begin), (In, end), (OptIn, axes), (OptIn, strides), (Out, y), MASKS) {
  slice_axes(op, x, begin, end, axes, strides, GIVEN_MASKS, y);
}
IR_OP(StridedSliceV3, StridedSlice, (In, x), (In, begin), (In, end), (OptIn, axes), (OptIn, strides), (Out, y)) {
  slice_axes(op, x, begin, end, axes, strides, {}, y);
}
namespace {
void slice_grad(Op& op, const Dims& shape, const Dims& begin, const Dims& end, const Dims& strides, const In& dy,
                const ir::SliceMasks& masks, const Out& output) {
  ir::result(op, "output", *output, shape, dy->dtype);
  const TensorView part = ir::strided_slice(op, *output, begin, end, strides, masks);
  op.require_same_shape("dy", *dy, "the part of output", part);
  call(op, "aclnnInplaceZero", output);
  call(op, "aclnnInplaceCopy", part, dy);
}
}  // namespace
ABOUT(StridedSliceGrad, Vector, "Gradient of StridedSlice: dy at its place, zeros elsewhere",
      "StridedSlice 的反向梯度：dy 置于原位，其余为 0")
IR_OP(StridedSliceGrad, StridedSliceGrad, (In, shape), (In, begin), (In, end), (In, strides), (In, dy), (Out, output),
      MASKS) {
  slice_grad(op, ir::shape_from(op, "shape", shape, *output), op.integers("begin", begin.handle),
             op.integers("end", end.handle), op.integers("strides", strides.handle), dy, GIVEN_MASKS, output);
}
IR_OP(StridedSliceGradD, StridedSliceGrad, (In, dy), (Out, output), (Ints, shape), (Ints, begin), (Ints, end),
      (Ints, strides), MASKS) {
  slice_grad(op, *shape, *begin, *end, *strides, dy, GIVEN_MASKS, output);
}
ABOUT(StridedSliceAssign, Vector, "Writes input_value into a part of var", "将 input_value 写入 var 的一部分")
IR_OP(StridedSliceAssign, StridedSliceAssign, (InOut, var), (In, begin), (In, end), (In, strides), (In, input_value),
      MASKS) {
  const TensorView part =
      ir::strided_slice(op, *var, op.integers("begin", begin.handle), op.integers("end", end.handle),
                        op.integers("strides", strides.handle), GIVEN_MASKS);
  op.require_same_shape("input_value", *input_value, "the part of var", part);
  call(op, "aclnnInplaceCopy", part, input_value);
}
#undef GIVEN_MASKS
#undef MASKS

ABOUT(Transpose, Vector, "x with its dimensions in the order that perm gives", "按 perm 重排 x 的维度")
IR_OP(Transpose, Transpose, (In, x), (In, perm), (Out, y)) { transpose(op, x, op.integers("perm", perm.handle), y); }
IR_OP(TransposeD, Transpose, (In, x), (Out, y), (Ints, perm)) { transpose(op, x, *perm, y); }
// Dimensions behind those that are named stay where they are.
IR_OP(Permute, Transpose, (In, x), (Out, y), (Ints, order, 0)) {
  ir::Dims all = *order;
  for (auto d = static_cast<int64_t>(all.size()); d < x->rank; ++d) all.push_back(d);
  transpose(op, x, all, y);
}

ABOUT(AsStrided, Vector, "The elements of x's memory that a size, strides and an offset name",
      "由大小、步长与偏移指定的 x 内存中的元素")
IR_OP(AsStrided, AsStrided, (In, x), (In, size), (In, stride), (OptIn, storage_offset), (Out, y)) {
  const int64_t offset = storage_offset ? integer_of(op, "storage_offset", storage_offset.handle) : 0;
  ir::copy(op,
           ir::as_strided(op, "x", *x, op.integers("size", size.handle), op.integers("stride", stride.handle), offset),
           y);
}
ABOUT(ViewCopy, Vector, "Copies elements of src's memory to elements of dst's, each named by size, strides and offset",
      "将 src 内存中的元素拷贝到 dst 内存中，二者均由大小、步长与偏移指定")
IR_OP(ViewCopy, ViewCopy, (InOut, dst), (In, dst_size), (In, dst_stride), (In, dst_storage_offset), (In, src),
      (In, src_size), (In, src_stride), (In, src_storage_offset)) {
  const TensorView to = ir::as_strided(op, "dst", *dst, op.integers("dst_size", dst_size.handle),
                                       op.integers("dst_stride", dst_stride.handle),
                                       integer_of(op, "dst_storage_offset", dst_storage_offset.handle)),
                   from = ir::as_strided(op, "src", *src, op.integers("src_size", src_size.handle),
                                         op.integers("src_stride", src_stride.handle),
                                         integer_of(op, "src_storage_offset", src_storage_offset.handle));
  op.require_same_shape("dst", to, "src", from);
  call(op, "aclnnInplaceCopy", to, from);
}

// --- in pieces ----------------------------------------------------------------------------------------------------
namespace {

Out item(const OutTensors& y, size_t i) {
  if (!y.handle->items[i]) throw Error(code::kAclnnNullptr, "y{} is null", i);
  return {y.handle->items[i]};
}

void split(Op& op, const In& x, Dims sizes, int64_t split_dim, int64_t num_split, const OutTensors& y) {
  const int64_t d = ir::axis_of(op, "split_dim", split_dim, x->rank);
  op.require(x->rank > 0 && static_cast<int64_t>(y.size()) == num_split && sizes.size() == y.size(),
             "there are {} outputs and {} sizes, attribute num_split is {}", y.size(), sizes.size(), num_split);
  int64_t all = 0;
  for (int64_t n : sizes) all += n < 0 ? 0 : n;
  for (int64_t& n : sizes)
    if (n == -1) n = x->dims[d] - all, all = x->dims[d];
  op.require(all == x->dims[d] && std::ranges::all_of(sizes, [](int64_t n) { return n >= 0; }),
             "the sizes are {} together, want the {} of dimension {} of x", all, x->dims[d], d);
  int64_t at = 0;
  for (size_t i = 0; i < y.size(); at += sizes[i++])
    ir::copy(op, "y", ir::part_of(*x, static_cast<int>(d), at, sizes[i]), item(y, i), x->dtype);
}
void split_evenly(Op& op, const In& x, int64_t split_dim, int64_t num_split, const OutTensors& y) {
  const int64_t d = ir::axis_of(op, "split_dim", split_dim, x->rank);
  op.require(x->rank > 0 && num_split > 0 && x->dims[d] % num_split == 0,
             "x is {}: {} parts of dimension {} are uneven", describe(*x), num_split, d);
  split(op, x, Dims(static_cast<size_t>(num_split), x->dims[d] / num_split), d, num_split, y);
}

void concatenate(Op& op, const Tensors& x, int64_t axis, int64_t n, const Out& y) {
  op.require(x.size() > 0 && static_cast<int64_t>(x.size()) == n, "x has {} tensors, attribute N is {}", x.size(), n);
  // PyTorch's legacy: empty vectors match every shape. The first of the others says what all are.
  const auto skipped = [&](size_t i) { return x[i].rank == 1 && x[i].dims[0] == 0; };
  size_t first = 0;
  while (first + 1 < x.size() && skipped(first)) ++first;
  const TensorView& like = x[first];
  const bool scalars = like.rank == 0;  // are joined as vectors of one element
  const int64_t d = ir::axis_of(op, "concat_dim", axis, scalars ? 1 : like.rank);
  Dims dims = scalars ? Dims{1} : ir::dims_of(like);
  for (size_t i = first + 1; i < x.size(); ++i) {
    if (!scalars && skipped(i)) continue;
    op.require(x[i].rank == like.rank, "x{} is {}, x{} is {}", i, describe(x[i]), first, describe(like));
    dims[static_cast<size_t>(d)] += scalars ? 1 : x[i].dims[d];
  }
  ir::result(op, "y", *y, dims, like.dtype);
  if (!scalars) {
    call(op, "aclnnCat", x, d, y);
    return;
  }
  op.require(first == 0, "x0 is {} and x{} is {}", describe(x[0]), first, describe(like));
  for (size_t i = 0; i < x.size(); ++i) {
    TensorView place = ir::part_of(*y, 0, static_cast<int64_t>(i), 1);
    place.rank = 0;
    call(op, "aclnnInplaceCopy", place, x[i]);
  }
}

}  // namespace
ABOUT(Split, Vector, "Cuts x along a dimension into num_split even parts", "沿某维将 x 均分为 num_split 份")
IR_OP(Split, Split, (In, split_dim), (In, x), (OutTensors, y), (Int, num_split)) {
  split_evenly(op, x, integer_of(op, "split_dim", split_dim.handle), num_split, y);
}
IR_OP(SplitD, Split, (In, x), (OutTensors, y), (Int, split_dim), (Int, num_split)) {
  split_evenly(op, x, split_dim, num_split, y);
}
IR_OP(SplitV, aclnnSplitWithSize, (In, x), (In, size_splits), (In, split_dim), (OutTensors, y), (Int, num_split)) {
  split(op, x, op.integers("size_splits", size_splits.handle), integer_of(op, "split_dim", split_dim.handle), num_split,
        y);
}
IR_OP(SplitVD, aclnnSplitWithSize, (In, x), (OutTensors, y), (Ints, size_splits), (Int, split_dim), (Int, num_split)) {
  split(op, x, *size_splits, split_dim, num_split, y);
}
ABOUT(Unpack, Vector, "The parts of x along axis, without it", "沿 axis 拆开 x，去掉该维")
IR_OP(Unpack, Unpack, (In, x), (OutTensors, y), (Int, num), (Int, axis, 0)) {
  const int64_t d = ir::axis_of(op, "axis", axis, x->rank);
  op.require(x->rank > 0 && num == x->dims[d] && static_cast<int64_t>(y.size()) == num,
             "x is {}, attribute num is {} and there are {} outputs", describe(*x), num, y.size());
  Dims order = ir::all_axes(x->rank);
  order.erase(order.begin() + d);
  for (size_t i = 0; i < y.size(); ++i) {
    TensorView part = permute(ir::part_of(*x, static_cast<int>(d), static_cast<int64_t>(i), 1), order);
    part.rank = x->rank - 1;
    ir::copy(op, "y", part, item(y, i), x->dtype);
  }
}
IR_OP(Pack, aclnnStack, (Tensors, x), (Out, y), (Int, axis, 0), (Int, N)) {
  op.require(x.size() > 0 && static_cast<int64_t>(x.size()) == N, "x has {} tensors, attribute N is {}", x.size(), N);
  const int64_t d = ir::axis_of(op, "axis", axis, x[0].rank + 1);
  Dims dims = ir::dims_of(x[0]);
  dims.insert(dims.begin() + d, N);
  ir::result(op, "y", *y, dims, x[0].dtype);
  call(op, "aclnnStack", x, d, y);
}
IR_OP(ParallelConcat, aclnnCat, (Tensors, values), (Out, output_data), (Ints, shape), (Int, N)) {
  op.require(static_cast<int64_t>(values.size()) == N, "values has {} tensors, attribute N is {}", values.size(), N);
  ir::result(op, "output_data", *output_data, *shape, values[0].dtype);
  call(op, "aclnnCat", values, 0, output_data);
}
IR_OP(Concat, aclnnCat, (In, concat_dim), (Tensors, x), (Out, y), (Int, N, 1)) {
  concatenate(op, x, integer_of(op, "concat_dim", concat_dim.handle), N, y);
}
IR_OP(ConcatD, aclnnCat, (Tensors, x), (Out, y), (Int, concat_dim), (Int, N, 1)) {
  concatenate(op, x, concat_dim, N, y);
}
IR_OP(ConcatV2, aclnnCat, (Tensors, x), (In, concat_dim), (Out, y), (Int, N, 1)) {
  concatenate(op, x, integer_of(op, "concat_dim", concat_dim.handle), N, y);
}
IR_OP(ConcatV2D, aclnnCat, (Tensors, x), (Out, y), (Int, concat_dim), (Int, N, 1)) {
  concatenate(op, x, concat_dim, N, y);
}

// --- repeated, turned and padded ----------------------------------------------------------------------------------
namespace {
void tile(Op& op, const In& x, const Dims& multiples, const Out& y) {
  // MindSpore gives more of them than x has dimensions: those in front are of dimensions of 1.
  op.require(multiples.size() >= static_cast<size_t>(x->rank), "multiples has {} values, want {} or more",
             multiples.size(), x->rank);
  Dims dims = ir::dims_of(*x);
  dims.insert(dims.begin(), multiples.size() - dims.size(), 1);
  for (size_t d = 0; d < dims.size(); ++d)
    op.require(!__builtin_mul_overflow(dims[d], multiples[d], &dims[d]),
               "x is {} and multiples has {}: no tensor is so large", describe(*x), multiples[d]);
  ir::result(op, "y", *y, dims, x->dtype);
  call(op, "aclnnRepeat", x, multiples, y);
}
void reverse(Op& op, const In& x, const Dims& axis, const Out& y) {
  op.result_like("y", *y, *x, x->dtype);
  const Dims at = ir::axes_of(op, "axis", axis, x->rank);
  if (at.empty()) return call(op, "aclnnInplaceCopy", y, x);
  call(op, "aclnnFlip", x, at, y);
}

/// [before, after] of each dimension.
using Paddings = std::vector<std::pair<int64_t, int64_t>>;
Paddings paddings_of(const Op& op, const Dims& values, int rank, bool contiguous) {
  const auto n = static_cast<size_t>(rank);
  op.require(values.size() == 2 * n, "paddings has {} values, want {}", values.size(), 2 * n);
  Paddings p;
  for (size_t d = 0; d < n; ++d) {
    p.emplace_back(values[contiguous ? 2 * d : d], values[contiguous ? 2 * d + 1 : n + d]);
  }
  return p;
}
Paddings paddings_of(const Op& op, const IntLists& lists, int rank) {
  Dims values;
  for (const Dims& pair : *lists) values.insert(values.end(), pair.begin(), pair.end());
  return paddings_of(op, values, rank, true);
}
Dims padded(const Op& op, const TensorView& x, const Paddings& p, bool back = false) {
  Dims dims = ir::dims_of(x);
  for (size_t d = 0; d < dims.size(); ++d) {
    int64_t more = 0;
    op.require(
        !__builtin_add_overflow(p[d].first, p[d].second, &more) &&
            !(back ? __builtin_sub_overflow(dims[d], more, &dims[d]) : __builtin_add_overflow(dims[d], more, &dims[d])),
        "paddings are {} and {} in dimension {}: no tensor is so large", p[d].first, p[d].second, d);
  }
  return dims;
}
/// As aclnn has them: the last dimension first.
Dims backwards(const Paddings& p, size_t count) {
  Dims values;
  for (size_t i = 0; i < count; ++i) {
    const auto& [before, after] = p[p.size() - 1 - i];
    values.insert(values.end(), {before, after});
  }
  return values;
}
void pad_constant(Op& op, const In& x, const Paddings& p, double value, const Out& y) {
  ir::result(op, "y", *y, padded(op, *x, p), x->dtype);
  call(op, "aclnnConstantPadNd", x, backwards(p, p.size()), value, y);
}

const char* edge_twin(std::string_view mode, size_t spatial, bool backward) {
  static constexpr const char* kReflect[] = {"aclnnReflectionPad1d", "aclnnReflectionPad2d", "aclnnReflectionPad3d"};
  static constexpr const char* kEdge[] = {"aclnnReplicationPad1d", "aclnnReplicationPad2d", "aclnnReplicationPad3d"};
  static constexpr const char* kReflectBack[] = {"aclnnReflectionPad1dBackward", "aclnnReflectionPad2dBackward",
                                                 "aclnnReflectionPad3dBackward"};
  static constexpr const char* kEdgeBack[] = {"aclnnReplicationPad1dBackward", "aclnnReplicationPad2dBackward",
                                              "aclnnReplicationPad3dBackward"};
  const bool reflect = mode == "reflect";
  return (backward ? (reflect ? kReflectBack : kEdgeBack) : (reflect ? kReflect : kEdge))[spatial - 1];
}
/// Only constants may be taken away as well as put on.
void require_positive(const Op& op, const Paddings& p) {
  for (size_t d = 0; d < p.size(); ++d)
    op.require(p[d].first >= 0 && p[d].second >= 0, "paddings are {} and {} in dimension {}, want 0 or more",
               p[d].first, p[d].second, d);
}
/// By what lies at the edges, in up to three of the last dimensions; the others become one.
void pad_edges(Op& op, std::string_view mode, const In& x, const Paddings& p, bool backward, const Out& y) {
  require_positive(op, p);
  op.require(mode == "reflect" || mode == "edge", "attribute mode is \"{}\", want constant, reflect or edge", mode);
  size_t spatial = 0;
  for (size_t d = 0; d < p.size(); ++d)
    if (spatial > 0 || p[d].first > 0 || p[d].second > 0) ++spatial;
  ir::result(op, "y", *y, padded(op, *x, p, backward), x->dtype);
  if (spatial == 0) return call(op, "aclnnInplaceCopy", y, x);
  op.require(spatial <= 3, "{} dimensions are padded, want at most the last 3", spatial);
  auto planes = [&](const TensorView& v) {
    Dims dims(v.dims + v.rank - spatial, v.dims + v.rank);
    int64_t lead = 1;
    for (int d = 0; d < v.rank - static_cast<int>(spatial); ++d) lead *= v.dims[d];
    dims.insert(dims.begin(), lead);
    return dims;
  };
  op.require(y->is_contiguous(), "y is {}, want contiguous memory", describe(*y));
  const TensorView from = ir::reshaped(op, *x, planes(*x)), to = ir::reshaped(op, *y, planes(*y));
  if (backward) call(op, edge_twin(mode, spatial, true), from, to, backwards(p, spatial), to);
  else call(op, edge_twin(mode, spatial, false), from, backwards(p, spatial), to);
}
}  // namespace
IR_OP(Tile, aclnnRepeat, (In, x), (In, multiples), (Out, y)) {
  tile(op, x, op.integers("multiples", multiples.handle), y);
}
IR_OP(TileD, aclnnRepeat, (In, x), (Out, y), (Ints, multiples)) { tile(op, x, *multiples, y); }
IR_OP(TileWithAxis, aclnnRepeat, (In, x), (Out, y), (Int, axis, 1), (Int, tiles)) {
  Dims multiples(static_cast<size_t>(x->rank), 1);
  op.require(x->rank > 0, "x is {}, want one dimension or more", describe(*x));
  multiples[static_cast<size_t>(ir::axis_of(op, "axis", axis, x->rank))] = tiles;
  tile(op, x, multiples, y);
}
IR_OP(ReverseV2, aclnnFlip, (In, x), (In, axis), (Out, y)) { reverse(op, x, op.integers("axis", axis.handle), y); }
IR_OP(ReverseV2D, aclnnFlip, (In, x), (Out, y), (Ints, axis)) { reverse(op, x, *axis, y); }
IR_OP(Roll, aclnnRoll, (In, x), (Out, y), (Ints, shifts), (Ints, dims, nullptr)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnRoll", x, shifts, dims, y);
}
IR_OP(RollV2, aclnnRoll, (In, input), (In, shift), (In, axes), (Out, output)) {
  op.result_like("output", *output, *input, input->dtype);
  call(op, "aclnnRoll", input, op.integers("shift", shift.handle), op.integers("axes", axes.handle), output);
}
IR_OP(Pad, aclnnConstantPadNd, (In, x), (In, paddings), (Out, y)) {
  pad_constant(op, x, paddings_of(op, op.integers("paddings", paddings.handle), x->rank, true), 0, y);
}
IR_OP(PadD, aclnnConstantPadNd, (In, x), (Out, y), (IntLists, paddings)) {
  pad_constant(op, x, paddings_of(op, paddings, x->rank), 0, y);
}
IR_OP(PadV2, aclnnConstantPadNd, (In, x), (In, paddings), (In, constant_values), (Out, y)) {
  const Paddings p = paddings_of(op, op.integers("paddings", paddings.handle), x->rank, true);
  ir::result(op, "y", *y, padded(op, *x, p), x->dtype);  // known before the value is
  pad_constant(op, x, p, number_of(op, "constant_values", constant_values.handle), y);
}
IR_OP(PadV3, aclnnConstantPadNd, (In, x), (In, paddings), (OptIn, constant_values), (Out, y), (Text, mode, "constant"),
      (Bool, paddings_contiguous, true)) {
  const Paddings p = paddings_of(op, op.integers("paddings", paddings.handle), x->rank, paddings_contiguous);
  if (std::string_view(mode) != "constant") return pad_edges(op, mode, x, p, false, y);
  ir::result(op, "y", *y, padded(op, *x, p), x->dtype);
  pad_constant(op, x, p, constant_values ? number_of(op, "constant_values", constant_values.handle) : 0, y);
}
IR_OP(PadV3D, aclnnConstantPadNd, (In, x), (Out, y), (IntLists, paddings), (Int, constant_values, 0),
      (Text, mode, "constant"), (Bool, paddings_contiguous, true)) {
  ir::want(op, "paddings_contiguous", paddings_contiguous, true);
  const Paddings p = paddings_of(op, paddings, x->rank);
  if (std::string_view(mode) != "constant") return pad_edges(op, mode, x, p, false, y);
  pad_constant(op, x, p, static_cast<double>(constant_values), y);
}
ABOUT(PadV3Grad, Vector, "Gradient of PadV3 by reflection or by its edges", "PadV3（反射或边缘填充）的反向梯度")
IR_OP(PadV3Grad, PadV3Grad, (In, x), (In, paddings), (Out, y), (Text, mode, "reflect"),
      (Bool, paddings_contiguous, true)) {
  pad_edges(op, mode, x, paddings_of(op, op.integers("paddings", paddings.handle), x->rank, paddings_contiguous), true,
            y);
}
ABOUT(MirrorPad, Vector, "Pads by reflection at the edges", "以边缘反射填充")
namespace {
/// The edges stand twice: … b a | a b c | c b …; one dimension after the other.
void pad_symmetric(Op& op, const In& x, const Paddings& pads, const Out& y) {
  for (int d = 0; d < x->rank; ++d) {
    const auto [front, behind] = pads[static_cast<size_t>(d)];
    op.require(front >= 0 && behind >= 0 && front <= x->dims[d] && behind <= x->dims[d],
               "paddings are {} and {} of {} elements, want 0 to {}", front, behind, x->dims[d], x->dims[d]);
  }
  ir::result(op, "y", *y, padded(op, *x, pads), x->dtype);
  TensorView inner = *y;
  for (int d = 0; d < x->rank; ++d) inner = ir::part_of(inner, d, pads[static_cast<size_t>(d)].first, x->dims[d]);
  call(op, "aclnnInplaceCopy", inner, x);
  for (int d = 0; d < x->rank; ++d) {
    TensorView all = *y;  // whole in the dimensions before, what is written of those behind
    for (int k = d + 1; k < x->rank; ++k) all = ir::part_of(all, k, pads[static_cast<size_t>(k)].first, x->dims[k]);
    const auto [front, behind] = pads[static_cast<size_t>(d)];
    const int64_t end = front + x->dims[d];
    if (front) call(op, "aclnnFlip", ir::part_of(all, d, front, front), Dims{d}, ir::part_of(all, d, 0, front));
    if (behind)
      call(op, "aclnnFlip", ir::part_of(all, d, end - behind, behind), Dims{d}, ir::part_of(all, d, end, behind));
  }
}
}  // namespace
IR_OP(MirrorPad, MirrorPad, (In, x), (In, paddings), (Out, y), (Text, mode)) {
  const std::string_view word = mode;
  op.require(word == "REFLECT" || word == "SYMMETRIC", "attribute mode is \"{}\", want REFLECT or SYMMETRIC", word);
  const Paddings p = paddings_of(op, op.integers("paddings", paddings.handle), x->rank, true);
  if (word == "REFLECT") return pad_edges(op, "reflect", x, p, false, y);
  pad_symmetric(op, x, p, y);
}

}  // namespace updraft
