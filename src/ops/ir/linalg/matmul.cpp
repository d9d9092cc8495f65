// Products of matrices.
#include "ops/matmul/matmul.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

constexpr int kKeepType = 0;  // cubeMathType

void product(Op& op, const In& x1, const In& x2, const OptIn& bias, bool turn1, bool turn2, const Out& y) {
  const TensorView a = ir::turned(op, "x1", *x1, turn1), b = ir::turned(op, "x2", *x2, turn2);
  const ViewOf right(b, *x2.handle);
  if (a.dtype == DType::Int8 && b.dtype == DType::Int8 && !bias) {  // products of bytes are INT32
    Temp wide_a(DType::Int32), wide_b(DType::Int32), wide(DType::Int32);
    call(op, "aclnnCast", a, DType::Int32, wide_a);
    call(op, "aclnnCast", b, DType::Int32, wide_b);
    if (ir::type_of(*y, DType::Int32) == DType::Int32) return call(op, "aclnnMatmul", *wide_a, *wide_b, y, kKeepType);
    call(op, "aclnnMatmul", *wide_a, *wide_b, wide, kKeepType);
    return call(op, "aclnnCast", *wide, y->dtype, y);
  }
  if (!bias) return call(op, "aclnnMatmul", a, right, y, kKeepType);
  if (a.rank == 2 && b.rank == 2) return call(op, "aclnnAddmm", bias, a, right, 1, 1, y, kKeepType);
  check_product(op, a, b, *y);
  const TensorView add = bias->expand_as(*y);
  plan_product(op, a, b, *y, {.beta = 1, .add = &add, .right = right.constant});
}

void require_no_offset(const Op& op, const OptIn& offset_w, int64_t offset_x) {
  op.require(!offset_w, "offset_w is given, want none: products of quantised numbers are not implemented");
  ir::want(op, "offset_x", offset_x, int64_t{0});
}

}  // namespace

ABOUT(FullyConnection, Cube, "y = x as a matrix @ w (transposed, unless it is already) + b",
      "y = x 展平为矩阵后 @ w（未转置时先转置）+ b")
IR_OP(FullyConnection, FullyConnection, (In, x), (In, w), (OptIn, b), (OptIn, offset_w), (Out, y), (Int, num_output),
      (Bool, transpose, false), (Int, axis, 1), (Int, offset_x, 0)) {
  require_no_offset(op, offset_w, offset_x);
  const int64_t at = ir::axis_of(op, "axis", axis, x->rank);
  const ir::Dims dims = ir::dims_of(*x);
  ir::Dims to(dims.begin(), dims.begin() + at);
  const int64_t rows = ir::count_of(to), columns = rows > 0 ? x->numel() / rows : 0;
  to.push_back(num_output);
  op.require(w->rank >= 2 && w->dims[transpose ? w->rank - 1 : 0] == num_output && w->numel() == columns * num_output,
             "w is {}, want {} outputs of {} inputs, with transpose the inputs first", describe(*w), num_output,
             columns);
  ir::result(op, "y", *y, to, x->dtype);
  const TensorView flat = ir::reshaped(op, *x, {rows, columns}),
                   matrix =
                       ir::reshaped(op, *w, transpose ? ir::Dims{columns, num_output} : ir::Dims{num_output, columns}),
                   result = TensorView::contiguous(y->data, y->dtype, ir::Dims{rows, num_output}.data(), 2);
  op.require(y->is_contiguous(), "y is {}, want elements side by side", describe(*y));
  const ViewOf right(transpose ? matrix : matrix.transpose(0, 1), *w.handle);
  if (b) return call(op, "aclnnAddmm", b, flat, right, 1, 1, result, kKeepType);
  call(op, "aclnnMatmul", flat, right, result, kKeepType);
}

IR_OP(MatMul, aclnnMatmul, (In, x1), (In, x2), (OptIn, bias), (Out, y), (Bool, transpose_x1, false),
      (Bool, transpose_x2, false)) {
  product(op, x1, x2, bias, transpose_x1, transpose_x2, y);
}
IR_OP(MatMulV2, aclnnMatmul, (In, x1), (In, x2), (OptIn, bias), (OptIn, offset_w), (Out, y),
      (Bool, transpose_x1, false), (Bool, transpose_x2, false), (Int, offset_x, 0)) {
  require_no_offset(op, offset_w, offset_x);
  product(op, x1, x2, bias, transpose_x1, transpose_x2, y);
}
IR_OP(BatchMatMul, aclnnMatmul, (In, x1), (In, x2), (Out, y), (Bool, adj_x1, false), (Bool, adj_x2, false)) {
  product(op, x1, x2, {}, adj_x1, adj_x2, y);
}
IR_OP(BatchMatMulV2, aclnnMatmul, (In, x1), (In, x2), (OptIn, bias), (OptIn, offset_w), (Out, y), (Bool, adj_x1, false),
      (Bool, adj_x2, false), (Int, offset_x, 0)) {
  require_no_offset(op, offset_w, offset_x);
  product(op, x1, x2, bias, adj_x1, adj_x2, y);
}
IR_OP(FusedMatMul, aclnnFusedMatmul, (In, x1), (In, x2), (OptIn, bias), (OptIn, x3), (Out, y),
      (Bool, transpose_x1, false), (Bool, transpose_x2, false), (Bool, enable_hf32, false), (Text, fused_op_type, "")) {
  (void)enable_hf32;  // less exact products are allowed, none is wanted
  call(op, "aclnnFusedMatmul", ir::turned(op, "x1", *x1, transpose_x1),
       ViewOf(ir::turned(op, "x2", *x2, transpose_x2), *x2.handle), bias, x3, fused_op_type, kKeepType, y);
}
IR_OP(GEMM, aclnnAddmm, (In, a), (In, b), (In, c), (In, alpha), (In, beta), (Out, y), (Bool, transpose_a, false),
      (Bool, transpose_b, false)) {
  const TensorView left = ir::turned(op, "a", *a, transpose_a), right = ir::turned(op, "b", *b, transpose_b);
  op.require(left.rank == 2 && right.rank == 2, "a is {} and b is {}, want two matrices", describe(*a), describe(*b));
  ir::result(op, "y", *y, {left.dims[0], right.dims[1]}, c->dtype);
  call(op, "aclnnAddmm", c, left, ViewOf(right, *b.handle), number_of(op, "beta", beta.handle),
       number_of(op, "alpha", alpha.handle), y, kKeepType);
}
IR_OP(TransposeBatchMatMul, aclnnMatmul, (In, x1), (In, x2), (OptIn, bias), (OptIn, scale), (Out, y),
      (Ints, perm_x1, nullptr), (Ints, perm_x2, nullptr), (Ints, perm_y, nullptr), (Bool, enable_hf32, false),
      (Int, batch_split_factor, 1)) {
  (void)enable_hf32;  // less exact products are allowed, none is wanted
  op.require(!bias && !scale, "bias or scale is given, want neither");
  ir::want(op, "batch_split_factor", batch_split_factor, int64_t{1});
  auto ordered = [&](const char* name, const TensorView& v, const Ints& perm) {
    if (perm.size() == 0) return v;
    op.require(ir::axes_of(op, name, *perm, v.rank).size() == static_cast<size_t>(v.rank), "{} has {} values, want {}",
               name, perm.size(), v.rank);
    return permute(v, *perm);
  };
  const TensorView a = ordered("perm_x1", *x1, perm_x1), b = ordered("perm_x2", *x2, perm_x2);
  op.require(a.rank == 3 && b.rank == 3, "x1 is {} and x2 is {}, want three dimensions", describe(*x1), describe(*x2));
  const ir::Dims plain = {a.dims[0], a.dims[1], b.dims[2]}, order = perm_y.size() ? *perm_y : ir::all_axes(3);
  op.require(ir::axes_of(op, "perm_y", order, 3).size() == 3, "perm_y has {} values, want 3", order.size());
  ir::Dims dims(3), back(3);
  for (size_t d = 0; d < 3; ++d) {
    dims[d] = plain[static_cast<size_t>(order[d])];
    back[static_cast<size_t>(order[d])] = static_cast<int64_t>(d);
  }
  ir::result(op, "y", *y, dims, a.dtype);
  call(op, "aclnnMatmul", a, b, permute(*y, back), kKeepType);
}
IR_OP(Dot, aclnnDot, (In, input_x), (In, input_y), (Out, output)) { call(op, "aclnnDot", input_x, input_y, output); }

// --- biases of channels -------------------------------------------------------------------------------------------
namespace {
/// Which dimension has the channels.
int channel_of(const Op& op, const char* format, int rank) {
  const std::string_view word = format;
  op.require(word == "NHWC" || word == "NDHWC" || word == "NCHW" || word == "NCDHW",
             "attribute data_format is \"{}\", want NCHW, NHWC, NCDHW or NDHWC", word);
  return rank > 1 && word[1] == 'C' ? 1 : rank - 1;
}
}  // namespace
ABOUT(BiasAdd, Vector, "y = x + bias, a value for each channel", "y = x + bias，每通道一个值")
IR_OP(BiasAdd, BiasAdd, (In, x), (In, bias), (Out, y), (Text, data_format, "NHWC")) {
  op.require(x->rank >= 2 && bias->rank == 1, "x is {} and bias is {}, want a batch and a vector", describe(*x),
             describe(*bias));
  const int channel = channel_of(op, data_format, x->rank);
  op.require(bias->dims[0] == x->dims[channel], "bias is {}, want the {} channels of x, {}", describe(*bias),
             x->dims[channel], describe(*x));
  op.result_like("y", *y, *x, x->dtype);
  TensorView add = *x;
  for (int d = 0; d < x->rank; ++d) {
    add.dims[d] = d == channel ? bias->dims[0] : 1;
    add.strides[d] = d == channel ? bias->strides[0] : 0;
  }
  add.data = bias->data;
  add.dtype = bias->dtype;
  call(op, "aclnnAdd", x, add, 1, y);
}
ABOUT(BiasAddGrad, Vector, "The sum of x for each channel", "x 按通道求和")
IR_OP(BiasAddGrad, BiasAddGrad, (In, x), (Out, y), (Text, data_format, "NHWC")) {
  op.require(x->rank >= 2, "x is {}, want two dimensions or more", describe(*x));
  const int channel = channel_of(op, data_format, x->rank);
  ir::Dims over = ir::all_axes(x->rank);
  over.erase(over.begin() + channel);
  ir::result(op, "y", *y, {x->dims[channel]}, x->dtype);
  call(op, "aclnnReduceSum", x, over, false, y->dtype, y);
}

}  // namespace updraft
