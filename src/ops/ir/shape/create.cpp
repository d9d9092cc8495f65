// Tensors from numbers: fills, ranges, triangles, one-hot rows.
#include <cmath>

#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

void fill(Op& op, const Dims& dims, const In& value, const Out& y) {
  ir::result(op, "y", *y, dims, value->dtype);
  call(op, "aclnnInplaceFillTensor", y, value);
}

}  // namespace

IR_OP(Fill, aclnnInplaceFillTensor, (In, dims), (In, value), (Out, y)) {
  fill(op, ir::shape_from(op, "dims", dims, *y), value, y);
}
IR_OP(FillD, aclnnInplaceFillTensor, (In, value), (Out, y), (Ints, dims)) { fill(op, *dims, value, y); }
IR_OP(FillV2, aclnnInplaceFillScalar, (In, dims), (Out, y), (Float, value, 0)) {
  ir::result(op, "y", *y, ir::shape_from(op, "dims", dims, *y), DType::Float);
  call(op, "aclnnInplaceFillScalar", y, value);
}
IR_OP(FillV2D, aclnnInplaceFillScalar, (Out, y), (Float, value, 0), (Ints, dims)) {
  ir::result(op, "y", *y, *dims, DType::Float);
  call(op, "aclnnInplaceFillScalar", y, value);
}
ABOUT(OnesLike, Vector, "Ones in the shape of x", "与 x 同形的全 1 张量")
IR_OP(OnesLike, OnesLike, (In, x), (Out, y)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnInplaceOne", y);
}
ABOUT(ZerosLike, Vector, "Zeros in the shape of x", "与 x 同形的全 0 张量")
IR_OP(ZerosLike, ZerosLike, (In, x), (Out, y)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnInplaceZero", y);
}
ABOUT(Empty, Vector, "A tensor of the given shape, of zeros", "给定形状的全 0 张量")
IR_OP(Empty, Empty, (In, shape), (Out, y), (Int, dtype, 3), (Bool, init, false)) {
  (void)init;  // TorchAir scatters into tensors that it did not ask to be cleared, and counts on zeros beside
  ir::result(op, "y", *y, ir::shape_from(op, "shape", shape, *y), static_cast<DType>(dtype));
  call(op, "aclnnInplaceZero", y);
}

IR_OP(Range, aclnnArange, (In, start), (In, limit), (In, delta), (Out, y)) {
  const double from = number_of(op, "start", start.handle), to = number_of(op, "limit", limit.handle),
               step = number_of(op, "delta", delta.handle);
  op.require(step != 0, "delta is 0");
  const double n = std::ceil((to - from) / step);
  ir::result(op, "y", *y, {n > 0 ? static_cast<int64_t>(n) : 0}, start->dtype);
  const bool whole = is_integral(start->dtype) && is_integral(limit->dtype) && is_integral(delta->dtype);
  if (whole)
    call(op, "aclnnArange", static_cast<int64_t>(from), static_cast<int64_t>(to), static_cast<int64_t>(step), y);
  else call(op, "aclnnArange", from, to, step, y);
}
// x holds the same numbers: a card has them from there.
IR_OP(RangeD, aclnnArange, (In, x), (Out, y), (Float, start), (Float, limit), (Float, delta)) {
  (void)limit;
  op.result_like("y", *y, *x, x->dtype);
  const TensorView places = ir::temporary(op, DType::Float, ir::dims_of(*x));
  Temp steps, numbers;
  call(op, "aclnnArange", int64_t{0}, x->numel(), int64_t{1}, places);
  call(op, "aclnnMuls", places, delta, steps);
  call(op, "aclnnAdds", *steps, start, 1, numbers);
  ir::copy(op, "y", *numbers, y, x->dtype);
}
IR_OP(LogSpaceD, aclnnLogSpace, (In, assist), (Out, y), (Float, start), (Float, end), (Int, steps, 100),
      (Float, base, 10), (Int, dtype, 1)) {
  (void)assist;  // 0, 1, 2 …
  op.require(dtype == 0 || dtype == 1, "attribute dtype is {}, want 0 (FLOAT16) or 1 (FLOAT)", dtype);
  ir::result(op, "y", *y, {steps}, dtype == 0 ? DType::Float16 : DType::Float);
  call(op, "aclnnLogSpace", static_cast<double>(start), static_cast<double>(end), steps, static_cast<double>(base), y);
}
IR_OP(LinSpace, aclnnLinspace, (In, start), (In, stop), (In, num), (Out, output)) {
  const int64_t n = integer_of(op, "num", num.handle);
  ir::result(op, "output", *output, {n}, start->dtype);
  call(op, "aclnnLinspace", number_of(op, "start", start.handle), number_of(op, "stop", stop.handle), n, output);
}
IR_OP(Eye, aclnnEye, (Out, y), (Int, num_rows), (Int, num_columns, 0), (Ints, batch_shape, nullptr), (Int, dtype, 0)) {
  op.require(batch_shape.size() == 0, "attribute batch_shape has {} values, want none", batch_shape.size());
  const int64_t columns = num_columns > 0 ? num_columns : num_rows;
  ir::result(op, "y", *y, {num_rows, columns}, static_cast<DType>(dtype));
  call(op, "aclnnEye", num_rows, columns, y);
}
IR_OP(Tril, aclnnTril, (In, x), (Out, y), (Int, diagonal, 0)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnTril", x, diagonal, y);
}
IR_OP(Triu, aclnnTriu, (In, x), (Out, y), (Int, diagonal, 0)) {
  op.result_like("y", *y, *x, x->dtype);
  call(op, "aclnnTriu", x, diagonal, y);
}
IR_OP(FillDiagonal, aclnnInplaceFillDiagonal, (In, x), (Out, y), (Float, fill_value), (Bool, wrap, false)) {
  ir::copy(op, *x, y);
  call(op, "aclnnInplaceFillDiagonal", y, fill_value, wrap);
}
IR_OP(Trace, aclnnTrace, (In, x), (Out, y)) { call(op, "aclnnTrace", x, y); }

namespace {
void one_hot(Op& op, const In& x, int64_t depth, const In& on, const In& off, int64_t axis, const Out& y) {
  op.require(depth >= 0, "depth is {}, want 0 or more", depth);
  const int64_t d = ir::axis_of(op, "axis", axis, x->rank + 1);
  Dims dims = ir::dims_of(*x);
  dims.insert(dims.begin() + d, depth);
  ir::result(op, "y", *y, dims, on->dtype);
  call(op, "aclnnOneHot", x, depth, on, off, d, y);
}
}  // namespace
IR_OP(OneHot, aclnnOneHot, (In, x), (In, depth), (In, on_value), (In, off_value), (Out, y), (Int, axis, -1)) {
  one_hot(op, x, integer_of(op, "depth", depth.handle), on_value, off_value, axis, y);
}
IR_OP(OneHotD, aclnnOneHot, (In, x), (In, on_value), (In, off_value), (Out, y), (Int, depth), (Int, axis, -1)) {
  one_hot(op, x, depth, on_value, off_value, axis, y);
}

ABOUT(MatrixBandPart, Vector, "The band of matrices from num_lower below to num_upper above the diagonal",
      "矩阵对角线下 num_lower 至上 num_upper 的带状部分")
IR_OP(MatrixBandPart, MatrixBandPart, (In, x), (In, num_lower), (In, num_upper), (Out, y)) {
  const int64_t lower = integer_of(op, "num_lower", num_lower.handle),
                upper = integer_of(op, "num_upper", num_upper.handle);
  op.result_like("y", *y, *x, x->dtype);
  TensorView v = *x;
  if (upper >= 0) {
    Temp below(x->dtype);
    call(op, "aclnnTril", v, upper, below);
    v = *below;
  }
  if (lower >= 0) call(op, "aclnnTriu", v, -lower, y);
  else call(op, "aclnnInplaceCopy", y, v);
}

}  // namespace updraft
