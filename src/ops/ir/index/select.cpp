// Elements by masks and by tensors of places, and tensors as one answer: how clients that compile each operator by
// itself (torch_npu with jit_compile, and on older products) index, fill, repeat and compare.
#include <string_view>

#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

/// The list that indexing has, with nothing where `given` is 0.
std::vector<const TensorView*> places(const Op& op, const TensorView& x, const In& given, const Tensors& indices) {
  std::vector<const TensorView*> list;
  size_t next = 0;
  for (int64_t one : op.integers("indexed_sizes", given.handle)) {
    op.require(!one || next < indices.size(), "indexed_sizes names more than the {} indices that there are",
               indices.size());
    list.push_back(one ? &indices[next++] : nullptr);
  }
  op.require(next == indices.size(), "indexed_sizes names {} of {} indices", next, indices.size());
  op.require(list.size() <= static_cast<size_t>(x.rank), "x is {} and has {} indices", describe(x), list.size());
  return list;
}

}  // namespace

IR_OP(TensorEqual, aclnnEqual, (In, input_x), (In, input_y), (Out, output_z)) {
  call(op, "aclnnEqual", input_x, input_y, output_z);
}
IR_OP(MaskedSelect, aclnnMaskedSelect, (In, x), (In, mask), (Out, y)) { call(op, "aclnnMaskedSelect", x, mask, y); }
IR_OP(MaskedScatter, aclnnInplaceMaskedScatter, (In, x), (In, mask), (In, updates), (Out, y)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnInplaceCopy", y, x);
  call(op, "aclnnInplaceMaskedScatter", y, mask, updates);
}

IR_OP(Index, aclnnIndex, (In, x), (In, indexed_sizes), (In, indexed_strides), (Tensors, indices), (Out, y)) {
  (void)indexed_strides;  // the shape of y
  call(op, "aclnnIndex", x, places(op, *x, indexed_sizes, indices), y);
}
// The IR calls the output x as well; clients of the aclop give it memory of its own where they converted the input.
IR_OP(IndexPutV2, aclnnIndexPutImpl, (In, x), (In, value), (In, indexed_sizes), (In, indexed_strides),
      (Tensors, indices), (Out, y), (Bool, accumulate, false)) {
  (void)indexed_strides;
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnInplaceCopy", y, x);
  call(op, "aclnnIndexPutImpl", y, places(op, *x, indexed_sizes, indices), value, accumulate, false);
}
ABOUT(IndexFillD, Vector, "x where assist1 is not 0, assist2 elsewhere", "assist1 非 0 处取 x，其余取 assist2")
IR_OP(IndexFillD, IndexFillD, (In, x), (In, assist1), (In, assist2), (Out, y), (Int, dim)) {
  (void)dim;  // the two say it for each element
  op.result_like("y", *y, *x, x->dtype);
  Temp stays;
  call(op, "aclnnNeScalar", assist1, 0, stays);
  call(op, "aclnnSWhere", *stays, x, assist2, y);
}

IR_OP(RepeatInterleave, aclnnRepeatInterleaveWithDim, (In, x), (In, repeats), (Out, y), (Int, axis, 1000)) {
  constexpr int64_t kFlat = 1000;
  const int64_t n = y->numel();
  if (repeats->numel() == 1) {
    const int64_t times = integer_of(op, "repeats", repeats.handle);
    if (axis == kFlat) return call(op, "aclnnRepeatInterleaveInt", x, times, n, y);
    return call(op, "aclnnRepeatInterleaveIntWithDim", x, times, axis, times * x->dims[x->wrap_dim(axis)], y);
  }
  if (axis == kFlat) return call(op, "aclnnRepeatInterleave", x, repeats, n, y);
  const int d = x->wrap_dim(axis);
  op.require(y->rank == x->rank, "y is {}, want {} dimensions", describe(*y), x->rank);
  call(op, "aclnnRepeatInterleaveWithDim", x, repeats, axis, y->dims[d], y);
}

IR_OP(EmbeddingBag, aclnnEmbeddingBag, (In, weight), (In, indices), (In, offsets), (OptIn, per_sample_weights),
      (Out, output), (Out, offset2bag), (Out, bag_size), (Out, max_indices), (Text, mode, "mean"),
      (Bool, scale_grad_by_freq, false), (Bool, sparse, false), (Bool, include_last_offset, false),
      (Int, padding_idx, -1)) {
  const std::string_view word = mode;
  op.require(word == "sum" || word == "mean" || word == "max",
             "attribute mode is \"{}\", want \"sum\", \"mean\" or \"max\"", word);
  call(op, "aclnnEmbeddingBag", weight, indices, offsets, scale_grad_by_freq,
       word == "sum"    ? 0
       : word == "mean" ? 1
                        : 2,
       sparse, per_sample_weights, include_last_offset, padding_idx, output, offset2bag, bag_size, max_indices);
}

}  // namespace updraft
