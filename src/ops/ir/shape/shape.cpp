// Other shapes and types for the same elements. What a graph may do without copying is copied here.
#include <algorithm>

#include "ops/ir/shapes.h"

namespace updraft {
namespace {

using ir::Dims;

/// y has the elements of x in row-major order.
void reshape(Op& op, const char* name, const In& x, const Dims& dims, const Out& y) {
  op.require(ir::count_of(dims) == x->numel(), "x is {}, which cannot have shape {}", describe(*x),
             describe_shape(dims.data(), static_cast<int>(dims.size())));
  ir::result(op, name, *y, dims, x->dtype);
  call(op, "aclnnInplaceCopy", y, ir::reshaped(op, *x, dims));
}

Dims squeezed(const Op& op, const TensorView& x, const Dims& axes) {
  const Dims at = ir::axes_of(op, "axis", axes, x.rank);
  Dims dims;
  for (int d = 0; d < x.rank; ++d) {
    const bool named = std::ranges::count(at, d) > 0;
    op.require(!named || x.dims[d] == 1, "x is {}: dimension {} is not 1", describe(x), d);
    if (!(named || (axes.empty() && x.dims[d] == 1))) dims.push_back(x.dims[d]);
  }
  return dims;
}
Dims unsqueezed(const Op& op, const TensorView& x, const Dims& axes) {
  const int rank = x.rank + static_cast<int>(axes.size());
  const Dims at = ir::axes_of(op, "axes", axes, rank);
  Dims dims = ir::dims_of(x);
  for (int64_t d : at) dims.insert(dims.begin() + d, 1);
  return dims;
}

/// -1 is what is left; 0 is the dimension of x at that place.
Dims reshape_dims(const Op& op, const TensorView& x, Dims dims) {
  int64_t known = 1, open = -1;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0 && !x.empty() && d < static_cast<size_t>(x.rank)) dims[d] = x.dims[d];
    op.require(dims[d] >= -1 && (dims[d] >= 0 || open < 0), "shape has {} in dimension {}, want sizes and one -1",
               dims[d], d);
    if (dims[d] < 0) open = static_cast<int64_t>(d);
    else known *= dims[d];
  }
  if (open >= 0) {
    op.require(known > 0 && x.numel() % known == 0, "x is {}: {} elements do not divide its {}", describe(x), known,
               x.numel());
    dims[static_cast<size_t>(open)] = x.numel() / known;
  }
  return dims;
}

void broadcast(Op& op, const In& x, const Dims& dims, const Out& y) {
  ir::copy(op, x->expand(dims.data(), static_cast<int>(dims.size())), y);
}
/// -1 is the size that x has there.
Dims with_sizes_of(const TensorView& x, Dims shape) {
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto of_x = static_cast<int64_t>(d) + x.rank - static_cast<int64_t>(shape.size());
    if (shape[d] == -1) shape[d] = of_x >= 0 ? x.dims[of_x] : 1;
  }
  return shape;
}
Dims broadcast_dims(const TensorView& x, const Dims& shape) {
  const Dims to = with_sizes_of(x, shape);
  Dims dims(kMaxDims);
  dims.resize(
      static_cast<size_t>(broadcast_shape(x.dims, x.rank, to.data(), static_cast<int>(to.size()), dims.data())));
  return dims;
}

Dims flattened(const Op& op, const TensorView& x, int64_t first, int64_t last) {
  const int64_t from = ir::axis_of(op, "axis", first, x.rank), to = ir::axis_of(op, "end_axis", last, x.rank);
  op.require(from <= to, "axis {} lies behind end_axis {}", first, last);
  if (x.rank == 0) return {1};
  Dims dims(x.dims, x.dims + from);
  dims.push_back(ir::count_of(Dims(x.dims + from, x.dims + to + 1)));
  dims.insert(dims.end(), x.dims + to + 1, x.dims + x.rank);
  return dims;
}

}  // namespace

ABOUT(Reshape, Vector, "x in another shape", "改变 x 的形状")
IR_OP(Reshape, Reshape, (In, x), (In, shape), (Out, y), (Int, axis, 0), (Int, num_axes, -1)) {
  ir::want(op, "axis", axis, int64_t{0});
  ir::want(op, "num_axes", num_axes, int64_t{-1});
  reshape(op, "y", x, reshape_dims(op, *x, ir::shape_from(op, "shape", shape, *y)), y);
}
ABOUT(Squeeze, Vector, "x without dimensions of one element", "去掉 x 中长度为 1 的维度")
IR_OP(Squeeze, Squeeze, (In, x), (Out, y), (Ints, axis, nullptr)) { reshape(op, "y", x, squeezed(op, *x, *axis), y); }
IR_OP(SqueezeV2, Squeeze, (In, x), (Out, y), (Ints, axis, nullptr)) { reshape(op, "y", x, squeezed(op, *x, *axis), y); }
IR_OP(SqueezeV3, Squeeze, (In, x), (OptIn, axes), (Out, y)) {
  reshape(op, "y", x, squeezed(op, *x, axes ? op.integers("axes", axes.handle) : Dims{}), y);
}
ABOUT(Unsqueeze, Vector, "x with dimensions of one element put in", "为 x 插入长度为 1 的维度")
IR_OP(Unsqueeze, Unsqueeze, (In, x), (Out, y), (Ints, axes, nullptr)) {
  reshape(op, "y", x, unsqueezed(op, *x, *axes), y);
}
IR_OP(UnsqueezeV2, Unsqueeze, (In, x), (Out, y), (Ints, axis, nullptr)) {
  reshape(op, "y", x, unsqueezed(op, *x, *axis), y);
}
IR_OP(UnsqueezeV3, Unsqueeze, (In, x), (In, axes), (Out, y)) {
  reshape(op, "y", x, unsqueezed(op, *x, op.integers("axes", axes.handle)), y);
}
IR_OP(ExpandDims, Unsqueeze, (In, x), (In, axis), (Out, y)) {
  reshape(op, "y", x, unsqueezed(op, *x, {integer_of(op, "axis", axis.handle)}), y);
}
ABOUT(Flatten, Vector, "x as a matrix", "将 x 展平为矩阵")
IR_OP(Flatten, Flatten, (In, x), (Out, y), (Int, axis, 1)) {
  const int64_t at = axis < 0 ? axis + x->rank : axis;
  op.require(at >= 0 && at <= x->rank, "attribute axis is {}, x is {}", axis, describe(*x));
  reshape(op, "y", x, {ir::count_of(Dims(x->dims, x->dims + at)), ir::count_of(Dims(x->dims + at, x->dims + x->rank))},
          y);
}
ABOUT(FlattenV2, Vector, "x with the dimensions from axis to end_axis as one", "将 x 的 axis 到 end_axis 维合并")
IR_OP(FlattenV2, FlattenV2, (In, x), (Out, y), (Int, axis, 1), (Int, end_axis, -1)) {
  reshape(op, "y", x, flattened(op, *x, axis, end_axis), y);
}

ABOUT(BroadcastTo, Vector, "y = x, repeated to the given shape", "y = x，广播到给定形状")
IR_OP(BroadcastTo, BroadcastTo, (In, x), (In, shape), (Out, y)) {
  broadcast(op, x, with_sizes_of(*x, ir::shape_from(op, "shape", shape, *y)), y);
}
IR_OP(BroadcastToD, BroadcastTo, (In, x), (Out, y), (Ints, shape)) { broadcast(op, x, with_sizes_of(*x, *shape), y); }
IR_OP(Expand, BroadcastTo, (In, x), (In, shape), (Out, y)) {
  broadcast(op, x, broadcast_dims(*x, ir::shape_from(op, "shape", shape, *y)), y);
}
IR_OP(ExpandD, BroadcastTo, (In, x), (Out, y), (Ints, shape)) { broadcast(op, x, broadcast_dims(*x, *shape), y); }

// --- copies -------------------------------------------------------------------------------------------------------
ABOUT(Identity, Vector, "y = x, in the format of y", "y = x，采用 y 的格式")
IR_OP(Identity, Identity, (In, x), (Out, y)) {
  // Formats of a product may have another number of dimensions for the same elements.
  const bool other = !op.inferring() && x->numel() == y->numel() && !x->same_shape(*y);
  ir::copy(op, other ? ir::reshaped(op, *x, ir::dims_of(*y)) : *x, y);
}
IR_OP(TensorMove, Identity, (In, x), (Out, y)) { ir::copy(op, *x, y); }
IR_OP(StopGradient, Identity, (In, x), (Out, y)) { ir::copy(op, *x, y); }
IR_OP(GuaranteeConst, Identity, (In, x), (Out, y)) { ir::copy(op, *x, y); }
IR_OP(EnsureShape, Identity, (In, input), (Out, output), (Ints, shape)) {
  op.require(shape.size() == static_cast<size_t>(input->rank), "input is {}, attribute shape has {} values",
             describe(*input), shape.size());
  for (int d = 0; d < input->rank; ++d)
    op.require(shape[static_cast<size_t>(d)] < 0 || shape[static_cast<size_t>(d)] == input->dims[d],
               "input is {}, want {} in dimension {}", describe(*input), shape[static_cast<size_t>(d)], d);
  ir::copy(op, "output", *input, output, input->dtype);
}
ABOUT(IdentityN, Vector, "Each y is its x", "逐个拷贝 x 到 y")
IR_OP(IdentityN, IdentityN, (Tensors, x), (OutTensors, y)) {
  op.require(x.size() == y.size(), "there are {} inputs and {} outputs", x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i) ir::copy(op, "y", x[i], Out{y.handle->items[i]}, x[i].dtype);
}
IR_OP(Cast, aclnnCast, (In, x), (Out, y), (Int, dst_type)) {
  const auto type = static_cast<DType>(dst_type);
  op.result_like("y", *y, *x, type);
  op.require(y->dtype == type, "y is {}, attribute dst_type is {}", describe(*y), name_of(type));
  call(op, "aclnnCast", x, type, y);
}
IR_OP(CastLike, aclnnCast, (In, x), (In, target), (Out, y)) {
  op.result_like("y", *y, *x, target->dtype);
  call(op, "aclnnCast", x, y->dtype, y);
}
ABOUT(Bitcast, Vector, "The bits of x as another type; of narrower ones several to an element, in a dimension more",
      "将 x 的比特解释为另一类型；更窄时每个元素成为多个，位于新增的末维")
IR_OP(Bitcast, Bitcast, (In, x), (Out, y), (Type, type), (Bool, keep_dim, false)) {
  const DType to = type;
  const auto from = static_cast<int64_t>(size_of(x->dtype)), into = static_cast<int64_t>(size_of(to));
  op.require(from > 0 && into > 0, "attribute type is {}, x is {}: want types of whole bytes", name_of(to),
             describe(*x));
  Dims dims = ir::dims_of(*x);
  if (into < from) {
    if (!keep_dim) dims.push_back(from / into);
    else if (!dims.empty()) dims.back() *= from / into;
    op.require(!keep_dim || x->rank > 0, "x has no dimension to hold {} elements for one", from / into);
  } else if (into > from) {
    const int64_t parts = into / from;
    op.require(!dims.empty() && (keep_dim ? dims.back() % parts == 0 : dims.back() == parts),
               "attribute type is {}, x is {}: want {} {} in its last dimension", name_of(to), describe(*x),
               keep_dim ? "a multiple of" : "just", parts);
    if (keep_dim) dims.back() /= parts;
    else dims.pop_back();
  }
  const TensorView side_by_side = ir::reshaped(op, *x, ir::dims_of(*x));
  ir::copy(op, TensorView::contiguous(side_by_side.data, to, dims.data(), static_cast<int>(dims.size())), y);
}

// --- what shapes are ----------------------------------------------------------------------------------------------
namespace {
void write(Op& op, const char* name, const Out& y, const Dims& dims, Dims values, DType type) {
  ir::result(op, name, *y, dims, type);
  op.require(is_integral(y->dtype), "{} is {}, want integers", name, describe(*y));
  const TensorView one = *y;
  for (size_t i = 0; i < values.size(); ++i) {
    TensorView at = one;
    if (at.rank) at = ir::part_of(at, 0, static_cast<int64_t>(i), 1);
    call(op, "aclnnInplaceFillScalar", at, values[i]);
  }
}
}  // namespace
ABOUT(Shape, Vector, "The dimensions of x", "x 的形状")
IR_OP(Shape, Shape, (In, x), (Out, y), (Int, dtype, 3)) {
  write(op, "y", y, {x->rank}, ir::dims_of(*x), static_cast<DType>(dtype));
}
IR_OP(ShapeN, Shape, (Tensors, x), (OutTensors, y), (Int, dtype, 3)) {
  op.require(x.size() == y.size(), "there are {} inputs and {} outputs", x.size(), y.size());
  for (size_t i = 0; i < x.size(); ++i)
    write(op, "y", Out{y.handle->items[i]}, {x[i].rank}, ir::dims_of(x[i]), static_cast<DType>(dtype));
}
IR_OP(GetShape, Shape, (Tensors, x), (Out, y)) {
  op.require(x.size() == 1, "there are {} inputs, want one", x.size());
  write(op, "y", y, {x[0].rank}, ir::dims_of(x[0]), DType::Int32);
}
ABOUT(Size, Vector, "The number of elements of x", "x 的元素个数")
IR_OP(Size, Size, (In, x), (Out, y), (Int, dtype, 3)) {
  write(op, "y", y, {}, {x->numel()}, static_cast<DType>(dtype));
}
ABOUT(Rank, Vector, "The number of dimensions of x", "x 的维数")
IR_OP(Rank, Rank, (In, x), (Out, y)) { write(op, "y", y, {}, {x->rank}, DType::Int32); }

}  // namespace updraft
