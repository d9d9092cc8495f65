// Elements by their indices: taken, written and added.
#include <algorithm>

#include "ops/index/rows.h"
#include "ops/ir/index/places.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

/// Fails where an index is negative: the steps below would count it from the end.
void require_from_front(Op& op, const TensorView& indices) {
  op.launch([indices] {
    ScratchScope scratch;
    const int64_t* at = read_indices(indices, scratch);
    const int64_t* end = at + indices.numel();
    const int64_t* least = std::min_element(at, end);
    if (least != end && *least < 0) fail_kernel(fmt::format("index {} is out of range: it is negative", *least));
  });
}
/// Indices from 0 on: negative ones counted from the end of a dimension of `size`, where that is asked for.
TensorView wrapped(Op& op, const In& indices, int64_t size, bool wrap) {
  if (!wrap) {
    require_from_front(op, *indices);
    return *indices;
  }
  Temp negative, shifted, at(indices->dtype);
  call(op, "aclnnLtScalar", indices, 0, negative);
  call(op, "aclnnAdds", indices, size, 1, shifted);
  call(op, "aclnnSWhere", *negative, *shifted, indices, at);
  return *at;
}

void gather(Op& op, const In& x, const In& indices, int64_t axis, int64_t batch_dims, bool wrap, const Out& y) {
  const int64_t d = ir::axis_of(op, "axis", axis, x->rank);
  op.require(x->rank > 0, "x is {}, want one dimension or more", describe(*x));
  op.require(batch_dims >= 0 && batch_dims <= d && batch_dims <= indices->rank,
             "attribute batch_dims is {}, want at most {}", batch_dims, d);
  Dims dims(x->dims, x->dims + d);
  dims.insert(dims.end(), indices->dims + batch_dims, indices->dims + indices->rank);
  dims.insert(dims.end(), x->dims + d + 1, x->dims + x->rank);
  ir::result(op, "y", *y, dims, x->dtype);
  call(op, "aclnnGatherV3", x, d, wrapped(op, indices, x->dims[d], wrap), batch_dims, 0, y);
}

/// indices [..., k] as k tensors of indices for the first dimensions of `x`.
class Places {
 public:
  Places(const Op& op, const TensorView& x, const TensorView& indices) {
    op.require(indices.rank >= 1 && indices.dims[indices.rank - 1] <= x.rank,
               "indices is {}, want places in the first dimensions of {}", describe(indices), describe(x));
    const int last = indices.rank - 1;
    for (int64_t k = 0; k < indices.dims[last]; ++k) {
      TensorView one = ir::part_of(indices, last, k, 1);
      --one.rank;
      views_.push_back(one);
    }
    Dims dims(indices.dims, indices.dims + last);
    dims.insert(dims.end(), x.dims + indices.dims[last], x.dims + x.rank);
    shape_ = dims;
  }
  std::vector<const TensorView*> list() const {
    std::vector<const TensorView*> all;
    for (const TensorView& v : views_) all.push_back(&v);
    return all;
  }
  const Dims& shape() const { return shape_; }  ///< of what lies there

 private:
  std::vector<TensorView> views_;
  Dims shape_;
};

enum class Put { Set, Add, Subtract };
/// var at `places`: set, or added to.
template <class Var, class Updates>
void put(Op& op, const Var& var, const std::vector<const TensorView*>& places, const Updates& updates, Put how) {
  if (how != Put::Subtract) return call(op, "aclnnIndexPutImpl", var, places, updates, how == Put::Add, false);
  Temp negative;
  call(op, "aclnnNeg", updates, negative);
  call(op, "aclnnIndexPutImpl", var, places, *negative, true, false);
}
void put_nd(Op& op, const Out& var, const In& indices, const In& updates, Put how) {
  const Places places(op, *var, *indices);
  op.require(ir::dims_of(*updates) == places.shape(), "updates is {}, want shape {}", describe(*updates),
             describe_shape(places.shape().data(), static_cast<int>(places.shape().size())));
  ir::require_places(op, *indices, var->dims);
  put(op, var, places.list(), updates, how);
}
/// Rows of var by indices of any shape, of which none counts from the end. One number is an update for all of them.
void put_in_rows(Op& op, const InOut& var, const In& indices, const In& updates, Put how) {
  op.require(var->rank > 0, "var is {}, want one dimension or more", describe(*var));
  require_index(op, "indices", *indices);
  op.require(updates->dtype == var->dtype, "updates is {}, want the type of var, {}", describe(*updates),
             describe(*var));
  Dims want = ir::dims_of(*indices), rows = {indices->numel()};
  want.insert(want.end(), var->dims + 1, var->dims + var->rank);
  rows.insert(rows.end(), var->dims + 1, var->dims + var->rank);
  op.require(updates->rank == 0 || ir::dims_of(*updates) == want, "updates is {}, want shape {}", describe(*updates),
             describe_shape(want.data(), static_cast<int>(want.size())));
  TensorView values = *updates;
  if (how == Put::Subtract) {
    Temp negative;
    call(op, "aclnnNeg", updates, negative);
    values = *negative;
  }
  if (values.rank) values = ir::reshaped(op, values, rows);
  else values = values.expand(rows.data(), static_cast<int>(rows.size()));
  const TensorView at = ir::reshaped(op, *indices, {indices->numel()});
  op.work(4 * values.numel());
  op.kernel_scratch(rows_bytes(at));
  op.launch([table = *var, at, values, how] {
    ScratchScope scratch;
    const Rows rows = rows_of(table, 0, at, values, false, scratch);
    if (how == Put::Set) put_rows(rows);
    else add_rows(rows, nullptr);
  });
}

}  // namespace

ABOUT(Gather, Vector, "Slices of x along its first dimension, or along axis, by indices",
      "沿首维或 axis 按索引取 x 的切片")
IR_OP(Gather, Gather, (In, x), (In, indices), (Out, y), (Bool, validate_indices, true), (Int, batch_dims, 0),
      (Bool, is_preprocessed, false), (Bool, negative_index_support, false)) {
  (void)validate_indices, (void)is_preprocessed;  // indices are checked always
  gather(op, x, indices, batch_dims, batch_dims, negative_index_support, y);
}
IR_OP(GatherV2, Gather, (In, x), (In, indices), (In, axis), (Out, y), (Int, batch_dims, 0),
      (Bool, is_preprocessed, false), (Bool, negative_index_support, false)) {
  (void)is_preprocessed;
  gather(op, x, indices, integer_of(op, "axis", axis.handle), batch_dims, negative_index_support, y);
}
IR_OP(GatherV2D, Gather, (In, x), (In, indices), (Out, y), (Int, axis)) { gather(op, x, indices, axis, 0, false, y); }
IR_OP(GatherElements, aclnnGather, (In, x), (In, index), (Out, y), (Int, dim, 0)) {
  op.result_like("y", *y, *index, x->dtype);
  call(op, "aclnnGather", x, dim, index, y);
}
ABOUT(CustGatherDGradV2, Vector, "Gradient of taking elements along a dimension: grad added to zeros at index",
      "按维取元素的反向梯度：将 grad 累加到全 0 张量中 index 所指的位置")
IR_OP(CustGatherDGradV2, CustGatherDGradV2, (In, x), (In, index), (In, grad), (Out, output), (Int, dim)) {
  op.result_like("output", *output, *x, grad->dtype);
  const TensorView zeros = ir::temporary(op, grad->dtype, ir::dims_of(*x));
  call(op, "aclnnInplaceZero", zeros);
  call(op, "aclnnScatterAdd", zeros, dim, index, grad, output);
}
ABOUT(GatherNd, Vector, "Parts of x at the places that the rows of indices name", "取 indices 各行所指位置的 x 的部分")
IR_OP(GatherNd, GatherNd, (In, x), (In, indices), (Out, y), (Bool, negative_index_support, false)) {
  if (!negative_index_support) require_from_front(op, *indices);
  const Places places(op, *x, *indices);
  ir::result(op, "y", *y, places.shape(), x->dtype);
  if (places.list().empty()) return call(op, "aclnnInplaceCopy", y, x->expand_as(*y));
  call(op, "aclnnIndex", x, places.list(), y);
}
IR_OP(IndexByTensor, aclnnIndex, (In, x), (Tensors, indices), (Out, y), (Ints, indices_mask, nullptr)) {
  std::vector<const TensorView*> list;
  size_t next = 0;
  for (size_t d = 0; d < indices_mask.size(); ++d) list.push_back(indices_mask[d] ? &indices[next++] : nullptr);
  for (; next < indices.size(); ++next) list.push_back(&indices[next]);
  op.require(list.size() <= static_cast<size_t>(x->rank), "x is {} and has {} indices", describe(*x), list.size());
  call(op, "aclnnIndex", x, list, y);
}

ABOUT(ScatterNd, Vector, "x added to zeros at the places that the rows of indices name",
      "将 x 累加到全 0 张量中 indices 各行所指的位置")
IR_OP(ScatterNd, ScatterNd, (In, indices), (In, x), (In, shape), (Out, y)) {
  ir::result(op, "y", *y, ir::shape_from(op, "shape", shape, *y), x->dtype);
  call(op, "aclnnInplaceZero", y);
  put_nd(op, y, indices, x, Put::Add);
}
IR_OP(ScatterNdD, ScatterNd, (In, indices), (In, x), (Out, y), (Ints, shape)) {
  ir::result(op, "y", *y, *shape, x->dtype);
  call(op, "aclnnInplaceZero", y);
  put_nd(op, y, indices, x, Put::Add);
}
#define SCATTER(NAME, HOW)                                                                                          \
  IR_OP(ScatterNd##NAME, ScatterNd##NAME, (InOut, var), (In, indices), (In, updates), (Bool, use_locking, false)) { \
    (void)use_locking;                                                                                              \
    put_nd(op, var, indices, updates, HOW);                                                                         \
  }                                                                                                                 \
  IR_OP(Scatter##NAME, ScatterNd##NAME, (InOut, var), (In, indices), (In, updates), (Bool, use_locking, false)) {   \
    (void)use_locking;                                                                                              \
    put_in_rows(op, var, indices, updates, HOW);                                                                    \
  }                                                                                                                 \
  IR_OP(TensorScatter##NAME, ScatterNd##NAME, (In, x), (In, indices), (In, updates), (Out, y)) {                    \
    ir::copy(op, *x, y);                                                                                            \
    put_nd(op, y, indices, updates, HOW);                                                                           \
  }
SCATTER(Update, Put::Set)
SCATTER(Add, Put::Add)
SCATTER(Sub, Put::Subtract)
#undef SCATTER
ABOUT(ScatterNdUpdate, Vector, "Writes updates at the places that indices name", "将 updates 写入 indices 所指位置")
ABOUT(ScatterNdAdd, Vector, "Adds updates at the places that indices name", "将 updates 累加到 indices 所指位置")
ABOUT(ScatterNdSub, Vector, "Subtracts updates at the places that indices name", "从 indices 所指位置减去 updates")
IR_OP(Scatter, aclnnInplaceScatterUpdate, (InOut, var), (In, indices), (In, updates), (Text, reduce), (Int, axis, 0)) {
  ir::want(op, "reduce", reduce, "update");
  call(op, "aclnnInplaceScatterUpdate", var, indices, updates, axis);
}
IR_OP(ScatterNonAliasingAdd, ScatterNdAdd, (In, x), (In, indices), (In, updates), (Out, y)) {
  ir::copy(op, *x, y);
  put_nd(op, y, indices, updates, Put::Add);
}
namespace {
void scatter_elements(Op& op, const In& data, const In& indices, const In& updates, int64_t axis,
                      std::string_view reduction, const Out& y) {
  static constexpr std::string_view kReductions[] = {"none", "add", "mul", "max", "min"};
  const auto how = std::ranges::find(kReductions, reduction) - std::begin(kReductions);
  op.require(how < std::ssize(kReductions), "attribute reduction is \"{}\", want none, add, mul, max or min",
             reduction);
  op.result_like("y", *y, *data, data->dtype);
  // Negative indices count from the end.
  const int64_t d = ir::axis_of(op, "axis", axis, data->rank);
  Temp negative, moved(indices->dtype), from_front(indices->dtype);
  call(op, "aclnnLtScalar", indices, 0, negative);
  call(op, "aclnnAdds", indices, data->rank ? data->dims[d] : 1, 1, moved);
  call(op, "aclnnSWhere", *negative, *moved, indices, from_front);
  if (how <= 2) call(op, "aclnnScatter", data, axis, *from_front, updates, how, y);
  else call(op, "aclnnScatterReduce", data, axis, *from_front, updates, how, true, y);
}
}  // namespace
IR_OP(ScatterElements, aclnnScatter, (In, data), (In, indices), (In, updates), (Out, y), (Int, axis, 0),
      (Text, reduction, "none")) {
  scatter_elements(op, data, indices, updates, axis, reduction, y);
}
IR_OP(ScatterElementsV2, aclnnScatter, (In, data), (In, indices), (In, updates), (Out, y), (Int, axis, 0),
      (Text, reduction, "none")) {
  scatter_elements(op, data, indices, updates, axis, reduction, y);
}
IR_OP(InplaceIndexAdd, aclnnIndexAdd, (InOut, var), (In, indices), (In, updates), (OptIn, alpha), (Int, axis)) {
  TensorView source = *updates;
  if (alpha) {
    Temp scaled(updates->dtype);
    call(op, "aclnnMul", updates, alpha, scaled);
    source = *scaled;
  }
  call(op, "aclnnIndexAdd", var, axis, indices, source, 1, var);
}
ABOUT(UnsortedSegmentSum, Vector, "Sums of the rows of x with the same segment; rows of negative ones are left out",
      "按段号对 x 的行求和，段号为负的行不计入")
namespace {
void segment_sum(Op& op, const In& x, const In& segment_ids, int64_t segments, const Out& y) {
  op.require(segments >= 0, "num_segments is {}, want 0 or more", segments);
  op.require(
      segment_ids->rank <= x->rank && std::equal(segment_ids->dims, segment_ids->dims + segment_ids->rank, x->dims),
      "x is {} and segment_ids is {}: want a segment for each row", describe(*x), describe(*segment_ids));
  Dims dims = {segments};
  dims.insert(dims.end(), x->dims + segment_ids->rank, x->dims + x->rank);
  ir::result(op, "y", *y, dims, x->dtype);
  // Negative segments go to a row of their own behind the others.
  ++dims[0];
  const TensorView all = ir::temporary(op, x->dtype, dims);
  Temp negative, at(segment_ids->dtype);
  call(op, "aclnnLtScalar", segment_ids, 0, negative);
  call(op, "aclnnSWhere", *negative, ir::constant(op, segment_ids->dtype, static_cast<double>(segments)), segment_ids,
       at);
  call(op, "aclnnInplaceZero", all);
  put(op, all, {&*at}, x, Put::Add);
  call(op, "aclnnInplaceCopy", y, ir::part_of(all, 0, 0, segments));
}
}  // namespace
IR_OP(UnsortedSegmentSum, UnsortedSegmentSum, (In, x), (In, segment_ids), (In, num_segments), (Out, y),
      (Bool, is_preprocessed, false)) {
  (void)is_preprocessed;
  segment_sum(op, x, segment_ids, integer_of(op, "num_segments", num_segments.handle), y);
}
IR_OP(UnsortedSegmentSumD, UnsortedSegmentSum, (In, x), (In, segment_ids), (Out, y), (Int, num_segments)) {
  segment_sum(op, x, segment_ids, num_segments, y);
}

// The number of segments stands in the last row: segments come in order.
IR_OP(SegmentSum, UnsortedSegmentSum, (In, x), (In, segment_ids), (Out, y)) {
  const Dims ids = op.integers("segment_ids", segment_ids.handle);
  op.require(std::ranges::is_sorted(ids) && (ids.empty() || ids[0] >= 0),
             "segment_ids are not in order, want numbers from 0 on that never fall");
  segment_sum(op, x, segment_ids, ids.empty() ? 0 : ids.back() + 1, y);
}

// --- rows of a copy -----------------------------------------------------------------------------------------------
namespace {
/// Rows of y by a list, one after the other: later ones see what earlier ones wrote.
void change_rows(Op& op, const In& x, const Ints& indices, const In& v, const Out& y, Put how) {
  op.require(x->rank > 0 && v->rank == x->rank && v->dims[0] == static_cast<int64_t>(indices.size()),
             "x is {} and v {}, indices has {} values: want a row of v for each", describe(*x), describe(*v),
             indices.size());
  ir::copy(op, *x, y);
  if (op.inferring()) return;
  for (size_t i = 0; i < indices.size(); ++i) {
    op.require(indices[i] >= -x->dims[0] && indices[i] < x->dims[0], "index {} is {}, x is {}", i, indices[i],
               describe(*x));
    const TensorView row = ir::part_of(*y, 0, indices[i] < 0 ? indices[i] + x->dims[0] : indices[i], 1),
                     from = ir::part_of(*v, 0, static_cast<int64_t>(i), 1);
    if (how == Put::Set) call(op, "aclnnInplaceCopy", row, from);
    else call(op, how == Put::Add ? "aclnnInplaceAdd" : "aclnnInplaceSub", row, from, 1);
  }
}
}  // namespace
#define IN_PLACE(NAME, HOW)                                                             \
  IR_OP(Inplace##NAME, Inplace##NAME, (In, x), (In, indices), (In, v), (Out, y)) {      \
    op.require(x->rank > 0, "x is {}, want one dimension or more", describe(*x));       \
    ir::copy(op, *x, y);                                                                \
    const TensorView at = *indices;                                                     \
    put(op, y, {&at}, v, HOW);                                                          \
  }                                                                                     \
  IR_OP(Inplace##NAME##D, Inplace##NAME, (In, x), (In, v), (Out, y), (Ints, indices)) { \
    change_rows(op, x, indices, v, y, HOW);                                             \
  }
IN_PLACE(Update, Put::Set)
IN_PLACE(Add, Put::Add)
IN_PLACE(Sub, Put::Subtract)
#undef IN_PLACE
ABOUT(InplaceUpdate, Vector, "x with the rows of v in place of those that indices name",
      "将 x 中 indices 所指各行换为 v")
ABOUT(InplaceAdd, Vector, "x with v added to the rows that indices name", "x 中 indices 所指各行加上 v")
ABOUT(InplaceSub, Vector, "x with v subtracted from the rows that indices name", "x 中 indices 所指各行减去 v")
IR_OP(IndexAdd, aclnnIndexAdd, (In, var), (In, indices), (In, updates), (Out, var_out), (Int, axis, 0)) {
  op.result_like("var_out", *var_out, *var, var->dtype);
  call(op, "aclnnIndexAdd", var, axis, indices, updates, 1, var_out);
}
ABOUT(ConfusionMatrix, Vector, "How often (or with which weights) each label meets each prediction",
      "各标签与各预测共同出现的次数（或权重和）")
IR_OP(ConfusionMatrix, ConfusionMatrix, (In, labels), (In, predictions), (OptIn, weights), (Out, y), (Int, num_classes),
      (Text, dtype)) {
  static constexpr std::pair<std::string_view, DType> kTypes[] = {
      {"float32", DType::Float}, {"float16", DType::Float16}, {"int32", DType::Int32},
      {"int8", DType::Int8},     {"uint8", DType::UInt8},     {"int64", DType::Int64}};
  const auto* type = std::ranges::find(kTypes, std::string_view(dtype), &std::pair<std::string_view, DType>::first);
  op.require(type != std::end(kTypes), "attribute dtype is \"{}\", want float32, float16, int64, int32, int8 or uint8",
             dtype);
  op.require_same_shape("predictions", *predictions, "labels", *labels);
  ir::result(op, "y", *y, {num_classes, num_classes}, type->second);
  call(op, "aclnnInplaceZero", y);
  const TensorView rows = *labels, columns = *predictions;
  Temp share(type->second);
  if (weights) call(op, "aclnnCast", weights, type->second, share);
  const TensorView each = weights ? *share : ir::constant(op, type->second, 1).expand_as(*labels);
  put(op, y, {&rows, &columns}, each, Put::Add);
}
ABOUT(SparseTensorDenseMatMul, MixCube, "The product of a matrix of coordinates and values with x2",
      "坐标格式稀疏矩阵与 x2 的乘积")
IR_OP(SparseTensorDenseMatMul, SparseTensorDenseMatMul, (In, x1_indices), (In, x1_values), (In, x1_shape), (In, x2),
      (Out, y), (Bool, adjoint_a, false), (Bool, adjoint_b, false)) {
  const Dims dims = op.integers("x1_shape", x1_shape.handle);
  op.require(dims.size() == 2 && x2->rank == 2 && x1_indices->rank == 2 && x1_indices->dims[1] == 2,
             "x1_indices is {}, x1_shape has {} values and x2 is {}: want matrices", describe(*x1_indices), dims.size(),
             describe(*x2));
  op.require(!is_complex(x2->dtype) || (!adjoint_a && !adjoint_b), "adjoints of complex matrices are not computed");
  const TensorView a = ir::temporary(op, x2->dtype, dims);
  call(op, "aclnnInplaceZero", a);
  TensorView rows = select(*x1_indices, 1, 0), columns = select(*x1_indices, 1, 1);
  put(op, a, {&rows, &columns}, x1_values, Put::Add);
  const auto turned = [](const TensorView& v, bool turn) { return turn ? permute(v, {1, 0}) : v; };
  call(op, "aclnnMatmul", turned(a, adjoint_a), turned(*x2, adjoint_b), y, 0);
}

ABOUT(NonZero, AICPU, "y = coordinates of the elements that are not 0, a row or a column each, in order",
      "按序输出非零元素的坐标，每个一行或一列")
IR_OP(NonZero, NonZero, (In, x), (Out, y), (Bool, transpose, false), (Type, dtype, DType::Int64)) {
  op.require(dtype == DType::Int64, "attribute dtype is {}, want INT64", name_of(dtype));
  call(op, transpose ? "aclnnNonzeroV2" : "aclnnNonzero", x, y);
}

IR_OP(MaskedFill, aclnnInplaceMaskedFillTensor, (In, x), (In, mask), (In, value), (Out, y)) {
  op.result_broadcast("y", *y, *x, *mask, x->dtype);
  call(op, "aclnnInplaceCopy", y, x);
  TensorView one = *value;  // of whatever shape, it is one number
  if (one.numel() == 1) one.rank = 0;
  call(op, "aclnnInplaceMaskedFillTensor", y, mask, one);
}
IR_OP(MaskedScale, aclnnMaskedScale, (In, x), (In, mask), (Out, y), (Float, value)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnMaskedScale", x, mask, value, y);
}
IR_OP(EmbeddingDenseGrad, aclnnEmbeddingDenseBackward, (In, grad), (In, indices), (Out, y), (Int, num_weights),
      (Int, padding_idx, -1), (Bool, scale_grad_by_freq, false)) {
  op.require(grad->rank > 0 && num_weights >= 0, "grad is {}, attribute num_weights is {}", describe(*grad),
             num_weights);
  ir::result(op, "y", *y, {num_weights, grad->dims[grad->rank - 1]}, grad->dtype);
  call(op, "aclnnEmbeddingDenseBackward", grad, indices, num_weights, padding_idx, scale_grad_by_freq, y);
}

IR_OP(Where, aclnnNonzero, (In, x), (Out, y)) { call(op, "aclnnNonzero", x, y); }

IR_OP(QuantUpdateScatter, aclnnInplaceQuantScatter, (InOut, var), (In, indices), (In, updates), (In, quant_scales),
      (OptIn, quant_zero_points), (Text, reduce), (Int, axis, -2), (Int, quant_axis, -1), (Text, round_mode, "rint")) {
  ir::want(op, "reduce", reduce, "update");
  ir::want(op, "round_mode", round_mode, "rint");
  constexpr int64_t kUpdate = 1;
  call(op, "aclnnInplaceQuantScatter", var, indices, updates, quant_scales, quant_zero_points, axis, quant_axis,
       kUpdate);
}

}  // namespace updraft
