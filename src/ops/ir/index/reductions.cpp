// Elements put into rows that are multiplied, divided, or compared with what lies there; and segments of rows that
// are reduced.
#include <algorithm>
#include <limits>

#include "ops/ir/index/places.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

constexpr int64_t kMultiply = 2, kLargest = 3, kLeast = 4;  // as aclnnScatterReduce numbers them

/// rows [n, …] with updates [m, …] put at `places` [m].
TensorView reduced_into(Op& op, const TensorView& rows, const TensorView& places, const TensorView& updates,
                        int64_t how) {
  TensorView at = places;
  for (int d = 1; d < updates.rank; ++d) at.dims[d] = updates.dims[d], at.strides[d] = 0;
  at.rank = updates.rank;
  const TensorView out = ir::temporary(op, rows.dtype, ir::dims_of(rows));
  call(op, "aclnnScatterReduce", rows, 0, at, updates, how, true, out);
  return out;
}

int64_t product_of(const int64_t* begin, const int64_t* end) {
  int64_t n = 1;
  for (; begin != end; ++begin) n *= *begin;
  return n;
}

/// What var is with updates at the places that the rows of `indices` name in its first dimensions.
TensorView with_updates(Op& op, const TensorView& var, const TensorView& indices, const TensorView& updates,
                        int64_t how) {
  const int last = indices.rank - 1;
  op.require(indices.rank >= 1 && indices.dims[last] >= 1 && indices.dims[last] <= var.rank,
             "indices is {}, want places in the first dimensions of {}", describe(indices), describe(var));
  const auto depth = static_cast<int>(indices.dims[last]);
  Dims shape(indices.dims, indices.dims + last);
  shape.insert(shape.end(), var.dims + depth, var.dims + var.rank);
  op.require(ir::dims_of(updates) == shape, "updates is {}, want shape {}", describe(updates),
             describe_shape(shape.data(), static_cast<int>(shape.size())));
  const int64_t count = product_of(indices.dims, indices.dims + last),
                rest = product_of(var.dims + depth, var.dims + var.rank);
  ir::require_places(op, indices, var.dims);  // as one number a place outside could be another place
  TensorView place;
  int64_t step = 1;
  for (int d = depth - 1; d >= 0; step *= var.dims[d], --d) {
    TensorView one = ir::part_of(indices, last, d, 1);
    --one.rank;
    Temp scaled(indices.dtype), sum(indices.dtype);
    call(op, "aclnnMuls", one, step, scaled);
    if (d < depth - 1) {
      call(op, "aclnnAdd", place, *scaled, 1, sum);
      place = *sum;
    } else {
      place = *scaled;
    }
  }
  const TensorView rows = ir::reshaped(op, var, {product_of(var.dims, var.dims + depth), rest});
  const TensorView out =
      reduced_into(op, rows, ir::reshaped(op, place, {count}), ir::reshaped(op, updates, {count, rest}), how);
  return ir::reshaped(op, out, ir::dims_of(var));
}

/// The same where every element of `indices` is a row of var. One number is an update for all of them.
TensorView with_rows(Op& op, const TensorView& var, const TensorView& indices, TensorView updates, int64_t how) {
  op.require(var.rank > 0, "var is {}, want one dimension or more", describe(var));
  if (updates.rank == 0) {
    Dims dims = ir::dims_of(indices);
    dims.insert(dims.end(), var.dims + 1, var.dims + var.rank);
    updates = updates.expand(dims.data(), static_cast<int>(dims.size()));
  }
  TensorView places = indices;
  places.dims[places.rank] = 1;
  places.strides[places.rank++] = 1;
  return with_updates(op, var, places, updates, how);
}

void divide(Op& op, const InOut& var, const TensorView& by) {
  if (is_floating(var->dtype)) call(op, "aclnnInplaceDiv", var, by);
  else call(op, "aclnnInplaceDivMod", var, by, 1);  // towards 0
}
TensorView ones(Op& op, const TensorView& like) {
  const TensorView all = ir::temporary(op, like.dtype, ir::dims_of(like));
  call(op, "aclnnInplaceOne", all);
  return all;
}

}  // namespace

#define SCATTER(NAME, HOW)                                                                                          \
  IR_OP(ScatterNd##NAME, ScatterNd##NAME, (InOut, var), (In, indices), (In, updates), (Bool, use_locking, false)) { \
    (void)use_locking;                                                                                              \
    call(op, "aclnnInplaceCopy", var, with_updates(op, *var, *indices, *updates, HOW));                             \
  }                                                                                                                 \
  IR_OP(Scatter##NAME, ScatterNd##NAME, (InOut, var), (In, indices), (In, updates), (Bool, use_locking, false)) {   \
    (void)use_locking;                                                                                              \
    call(op, "aclnnInplaceCopy", var, with_rows(op, *var, *indices, *updates, HOW));                                \
  }                                                                                                                 \
  IR_OP(TensorScatter##NAME, ScatterNd##NAME, (In, input), (In, indices), (In, updates), (Out, output)) {           \
    ir::copy(op, "output", with_updates(op, *input, *indices, *updates, HOW), output, input->dtype);                \
  }
SCATTER(Max, kLargest)
SCATTER(Min, kLeast)
#undef SCATTER
ABOUT(ScatterNdMax, Vector, "The larger of updates and what lies where indices name",
      "indices 所指位置取与 updates 的较大值")
ABOUT(ScatterNdMin, Vector, "The smaller of updates and what lies where indices name",
      "indices 所指位置取与 updates 的较小值")
ABOUT(ScatterMul, Vector, "Multiplies the rows that indices name by updates", "indices 所指各行乘以 updates")
IR_OP(ScatterMul, ScatterMul, (InOut, var), (In, indices), (In, updates), (Bool, use_locking, false)) {
  (void)use_locking;
  call(op, "aclnnInplaceCopy", var, with_rows(op, *var, *indices, *updates, kMultiply));
}
ABOUT(ScatterDiv, Vector, "Divides the rows that indices name by updates", "indices 所指各行除以 updates")
IR_OP(ScatterDiv, ScatterDiv, (InOut, var), (In, indices), (In, updates), (Bool, use_locking, false)) {
  (void)use_locking;
  if (!is_floating(var->dtype)) return divide(op, var, with_rows(op, ones(op, *var), *indices, *updates, kMultiply));
  // The product of all divisors of an element is too large for the halves, and may be for FLOAT.
  Temp wide(DType::Double), divisors(DType::Double);
  call(op, "aclnnCast", var, DType::Double, wide);
  call(op, "aclnnCast", updates, DType::Double, divisors);
  call(op, "aclnnInplaceDiv", *wide, with_rows(op, ones(op, *wide), *indices, *divisors, kMultiply));
  call(op, "aclnnInplaceCopy", var, *wide);
}

namespace {

/// y[s] is the reduction of the rows of segment s; `empty` where there is none. Negative segments are left out.
void segments(Op& op, const In& x, const In& segment_ids, const In& num_segments, int64_t how, const Out& y) {
  const int64_t n = integer_of(op, "num_segments", num_segments.handle);
  op.require(n >= 0, "num_segments is {}, want 0 or more", n);
  op.require(
      segment_ids->rank <= x->rank && std::equal(segment_ids->dims, segment_ids->dims + segment_ids->rank, x->dims),
      "x is {} and segment_ids is {}: want a segment for each row", describe(*x), describe(*segment_ids));
  Dims dims = {n};
  dims.insert(dims.end(), x->dims + segment_ids->rank, x->dims + x->rank);
  ir::result(op, "y", *y, dims, x->dtype);
  ++dims[0];
  const TensorView all = ir::temporary(op, x->dtype, dims);
  if (how == kMultiply) {
    call(op, "aclnnInplaceOne", all);
  } else if (!is_floating(x->dtype)) {
    call(op, "aclnnInplaceFillScalar", all, ir::integer_end(x->dtype, how == kLargest));
  } else {
    constexpr double kMostBFloat16 = 0x1.FEp127;
    const double most = x->dtype == DType::Float16    ? 65504.0
                        : x->dtype == DType::BFloat16 ? kMostBFloat16
                        : x->dtype == DType::Double   ? std::numeric_limits<double>::max()
                                                      : static_cast<double>(std::numeric_limits<float>::max());
    call(op, "aclnnInplaceFillScalar", all, how == kLargest ? -most : most);
  }
  Temp negative, at(segment_ids->dtype);
  call(op, "aclnnLtScalar", segment_ids, 0, negative);
  call(op, "aclnnSWhere", *negative, ir::constant(op, segment_ids->dtype, static_cast<double>(n)), segment_ids, at);
  const TensorView result = with_rows(op, all, *at, *x, how);
  call(op, "aclnnInplaceCopy", y, ir::part_of(result, 0, 0, n));
}

}  // namespace
ABOUT(UnsortedSegmentMax, Vector, "The largest of the rows of x with the same segment", "按段号取 x 各行的最大值")
IR_OP(UnsortedSegmentMax, UnsortedSegmentMax, (In, x), (In, segment_ids), (In, num_segments), (Out, y)) {
  segments(op, x, segment_ids, num_segments, kLargest, y);
}
ABOUT(UnsortedSegmentMin, Vector, "The smallest of the rows of x with the same segment", "按段号取 x 各行的最小值")
IR_OP(UnsortedSegmentMin, UnsortedSegmentMin, (In, x), (In, segment_ids), (In, num_segments), (Out, y)) {
  segments(op, x, segment_ids, num_segments, kLeast, y);
}
ABOUT(UnsortedSegmentProd, Vector, "Products of the rows of x with the same segment", "按段号求 x 各行之积")
IR_OP(UnsortedSegmentProd, UnsortedSegmentProd, (In, x), (In, segment_ids), (In, num_segments), (Out, y)) {
  segments(op, x, segment_ids, num_segments, kMultiply, y);
}

}  // namespace updraft
