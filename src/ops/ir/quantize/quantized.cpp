// Numbers of eight bits in graphs: what they stand for, and what is computed of them as they are. Types of our own: the
// ONNX front end makes the first two, passes/quantized.cpp the others.
#include "kernels/quantized.h"

#include <bit>
#include <cctype>

#include "base/scratch.h"
#include "kernels/pipeline.h"
#include "ops/convolution/convolution.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"
#include "ops/norm/vectors.h"

namespace updraft {
namespace {

/// Names of roundings are in capitals in graphs, sometimes.
std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

bool is_byte(DType t) { return t == DType::Int8 || t == DType::UInt8; }

void require_byte(const Op& op, const char* name, const TensorView& v) {
  op.require(is_byte(v.dtype), "{} is {}, want INT8 or UINT8", name, describe(v));
}

/// The attribute dtype of a result, by the numbers of aclDataType.
DType result_type(const Op& op, int64_t number, bool real) {
  const auto type = static_cast<DType>(number);
  op.require(is_byte(type) || (real && type == DType::Float), "dtype is {}, want 2 (INT8), 4 (UINT8){}", number,
             real ? " or 0 (FLOAT)" : "");
  return type;
}

/// One value for all, or one for each place of the axis, as FLOAT when it runs; absent ones are zeros.
int axis_of(const Op& op, const TensorView& x, const TensorView& scale, const OptIn& zero, int64_t axis) {
  op.require(scale.numel() == 1 || scale.rank == 1, "scale is {}, want one value or one dimension", describe(scale));
  op.require(!zero || zero->numel() == scale.numel(), "zero_point has {} values, want {} as scale",
             zero ? zero->numel() : 0, scale.numel());
  if (scale.numel() == 1) return 0;
  const int d = x.wrap_dim(axis);
  op.require(scale.numel() == x.size(d), "scale is {}, want {} values for dimension {} of {}", describe(scale),
             x.size(d), d, describe(x));
  return d;
}

/// f(scale, zero) with both as vectors of FLOAT of the same length.
template <class F>
void with_vectors(const TensorView& scale, const TensorView& zero, F&& f) {
  const int64_t n = scale.numel();
  ScratchScope scratch;
  auto* zeros = scratch.take<float>(static_cast<size_t>(n));
  const TensorView vector = TensorView::contiguous(zeros, DType::Float, &n, 1);
  if (zero.data) gather_to(zeros, DType::Float, zero);
  else fill_zero(vector);
  f(gather_to(scratch.take<float>(static_cast<size_t>(n)), DType::Float, scale), vector);
}

/// The whole number that an attribute is, within the type.
int32_t zero_of(const Op& op, const char* name, int64_t zero, DType type) {
  const int64_t low = type == DType::Int8 ? -128 : 0;
  op.require(type == DType::Float || (zero >= low && zero <= low + 255), "{} is {}, want {} to {} for {}", name, zero,
             low, low + 255, name_of(type));
  return static_cast<int32_t>(zero);
}

QuantizedResult result_of(const Op& op, float scale, int64_t zero, DType type) {
  op.require(scale > 0, "y_scale is {}, want a positive number", scale);
  return {scale, zero_of(op, "y_zero", zero, type)};
}

}  // namespace

ABOUT(QuantizeLinear, Vector, "y = saturate(round(x / scale) + zero_point), of two nearest numbers the even one",
      "y = saturate(round(x / scale) + zero_point)，居中时取偶数")
IR_OP(QuantizeLinear, QuantizeLinear, (In, x), (In, scale), (OptIn, zero_point), (Out, y), (Int, axis, 1),
      (Int, dtype, 4)) {
  const DType type = result_type(op, dtype, false);
  op.require(compute_of(x->dtype) == Compute::F32, "x is {}, want FLOAT, FLOAT16 or BFLOAT16", describe(*x));
  op.require(!zero_point || zero_point->dtype == type, "zero_point is {}, want {}",
             name_of(zero_point ? zero_point->dtype : type), name_of(type));
  op.result_like("y", *y, *x, type);
  const int d = axis_of(op, *x, *scale, zero_point, axis);
  op.work(2 * x->numel());
  op.launch([=, x = *x, scale = *scale, zero = view_or_none(zero_point), y = *y] {
    with_vectors(scale, zero, [&](const TensorView& s, const TensorView& z) { quantize(x, s, z, d, y); });
  });
}
ABOUT(Quantize, Vector, "y = saturate(round(x / scales) + zero_points), scales lie along axis",
      "y = saturate(round(x / scales) + zero_points)，scales 沿 axis 方向")
IR_OP(Quantize, Quantize, (In, x), (In, scales), (OptIn, zero_points), (Out, y), (Text, dtype), (Int, axis, 1)) {
  const std::string_view name = dtype;
  op.require(name == "torch.qint8" || name == "torch.quint8" || name == "torch.qint32",
             "attribute dtype is \"{}\", want torch.qint8, torch.quint8 or torch.qint32", name);
  const DType type = name == "torch.qint8" ? DType::Int8 : name == "torch.quint8" ? DType::UInt8 : DType::Int32;
  op.result_like("y", *y, *x, type);
  // They have the rank of x and one element along the other dimensions: torch_npu reshapes them so.
  const TensorView scale = ir::reshaped(op, *scales, {scales->numel()});
  const auto code = static_cast<int64_t>(type);
  if (!zero_points) return call(op, "aclnnQuantize", x, scale, nullptr, code, axis, y);
  call(op, "aclnnQuantize", x, scale, ir::reshaped(op, *zero_points, {zero_points->numel()}), code, axis, y);
}
ABOUT(DequantizeLinear, Vector, "y = (x - zero_point) * scale", "y = (x - zero_point) * scale")
IR_OP(DequantizeLinear, DequantizeLinear, (In, x), (In, scale), (OptIn, zero_point), (Out, y), (Int, axis, 1)) {
  require_byte(op, "x", *x);
  op.require(!zero_point || zero_point->dtype == x->dtype, "zero_point is {}, want {}",
             name_of(zero_point ? zero_point->dtype : x->dtype), name_of(x->dtype));
  op.result_like("y", *y, *x, DType::Float);
  const int d = axis_of(op, *x, *scale, zero_point, axis);
  op.work(2 * x->numel());
  op.launch([=, x = *x, scale = *scale, zero = view_or_none(zero_point), y = *y] {
    with_vectors(scale, zero, [&](const TensorView& s, const TensorView& z) { dequantize(x, s, z, d, y); });
  });
}

ABOUT(RequantConv2D, Cube,
      "Convolution of 8-bit numbers: y = quantize((sum of (x - x_zero) * filter) * scale + bias + addend)",
      "8 位整数卷积：y = quantize(sum((x - x_zero) * filter) * scale + bias + addend)")
IR_OP(RequantConv2D, RequantConv2D, (In, x), (In, filter), (In, scale), (OptIn, bias), (OptIn, addend), (Out, y),
      (Ints, strides), (Ints, pads), (Ints, dilations, 1, 1, 1, 1), (Int, groups, 1), (Int, x_zero, 0),
      (Float, y_scale, 1), (Int, y_zero, 0), (Int, dtype, 0), (Float, addend_scale, 1), (Int, addend_zero, 0),
      (Bool, relu, false)) {
  require_byte(op, "x", *x);
  op.require(filter->dtype == DType::Int8, "filter is {}, want INT8", describe(*filter));
  op.require(x->rank == 4 && filter->rank == 4, "x is {} and filter is {}, want four dimensions", describe(*x),
             describe(*filter));
  op.require(strides.size() == 4 && pads.size() == 4 && dilations.size() == 4,
             "strides, pads and dilations have {}, {} and {} values, want 4", strides.size(), pads.size(),
             dilations.size());
  const ir::Dims steps = *strides, wide = *dilations;
  const ConvolutionShape s = convolution_shape(op, *filter, {steps.begin() + 2, steps.end()}, *pads,
                                               {wide.begin() + 2, wide.end()}, false, groups);
  const DType type = result_type(op, dtype, true);
  ir::Dims dims = {x->dims[0], filter->dims[0]};
  for (int d = 0; d < 2; ++d) dims.push_back(convolution_size(s, d, x->dims[d + 2], filter->dims[d + 2], 0));
  op.require(x->dims[1] == filter->dims[1] * groups, "x is {}, want {} channels for filter {} with {} groups",
             describe(*x), filter->dims[1] * groups, describe(*filter), groups);
  ir::result(op, "y", *y, dims, type);
  op.require(scale->numel() == 1 || scale->numel() == dims[1], "scale is {}, want one value or {}", describe(*scale),
             dims[1]);
  if (bias) op.require_shape("bias", *bias, &dims[1], 1);
  const int32_t zero = zero_of(op, "x_zero", x_zero, x->dtype);
  const QuantizedResult result = result_of(op, y_scale, y_zero, type);
  QuantizedAddend more;
  if (addend) {
    require_byte(op, "addend", *addend);
    op.require_shape("addend", *addend, dims.data(), 4);
    op.require(addend_scale > 0, "addend_scale is {}, want a positive number", addend_scale);
    more = {*addend, addend_scale, zero_of(op, "addend_zero", addend_zero, addend->dtype), relu};
  }
  op.require(addend || !relu, "relu is set, want an addend with it");
  const int64_t each = filter->numel() / std::max<int64_t>(1, filter->dims[0]);
  op.work(ir::count_of(dims) * each);
  op.flops(2 * ir::count_of(dims) * each);
  op.launch([=, x = *x, filter = *filter, kept = filter.handle->constant, scale = *scale, bias = view_or_none(bias),
             y = *y] { quantized_convolution(s, x, zero, filter, kept, scale, bias, more, result, y); });
}
ABOUT(RequantMatMul, Cube, "Product of numbers of eight bits: y = quantize((sum of (x1 - x_zero) * x2) * scale + bias)",
      "8 位整数矩阵乘：y = quantize(sum((x1 - x_zero) * x2) * scale + bias)")
IR_OP(RequantMatMul, RequantMatMul, (In, x1), (In, x2), (In, scale), (OptIn, bias), (Out, y),
      (Bool, transpose_x2, false), (Int, x_zero, 0), (Float, y_scale, 1), (Int, y_zero, 0), (Int, dtype, 0)) {
  require_byte(op, "x1", *x1);
  op.require(x2->dtype == DType::Int8 && x2->rank == 2, "x2 is {}, want a matrix of INT8", describe(*x2));
  op.require(x1->rank >= 2, "x1 is {}, want two dimensions or more", describe(*x1));
  const TensorView weight = transpose_x2 ? x2->transpose(0, 1) : *x2;
  const DType type = result_type(op, dtype, true);
  ir::Dims dims = ir::dims_of(*x1);
  op.require(dims.back() == weight.dims[0], "x1 is {}, want {} at the end for x2 {}", describe(*x1), weight.dims[0],
             describe(*x2));
  dims.back() = weight.dims[1];
  ir::result(op, "y", *y, dims, type);
  op.require(scale->numel() == 1 || scale->numel() == weight.dims[1], "scale is {}, want one value or {}",
             describe(*scale), weight.dims[1]);
  if (bias) op.require_shape("bias", *bias, &weight.dims[1], 1);
  const int32_t zero = zero_of(op, "x_zero", x_zero, x1->dtype);
  const QuantizedResult result = result_of(op, y_scale, y_zero, type);
  op.work(y->numel() * weight.dims[0]);
  op.flops(2 * y->numel() * weight.dims[0]);
  op.launch([=, x = *x1, kept = x2.handle->constant, scale = *scale, bias = view_or_none(bias), y = *y] {
    ScratchScope scratch;
    TensorView from = x, to = y;
    if (!from.is_contiguous()) from = gather_to(scratch.take(static_cast<size_t>(x.numel())), x.dtype, x);
    if (!to.is_contiguous()) to = TensorView::contiguous(scratch.take(y.bytes()), y.dtype, y.dims, y.rank);
    const int64_t rows = y.numel() / std::max<int64_t>(1, weight.dims[1]);
    quantized_product(reshape(from, {rows, weight.dims[0]}), zero, weight, kept, scale, bias, result,
                      reshape(to, {rows, weight.dims[1]}));
    if (to.data != y.data) copy_elements(y, to);
  });
}
ABOUT(RequantAdd, Vector, "y = quantize(a + b) of numbers of eight bits, with relu of the positive part of the sum",
      "8 位整数求和：y = quantize(a + b)，relu 时取正部")
IR_OP(RequantAdd, RequantAdd, (In, a), (In, b), (Out, y), (Float, a_scale), (Int, a_zero), (Float, b_scale),
      (Int, b_zero), (Float, y_scale), (Int, y_zero), (Bool, relu, false)) {
  require_byte(op, "a", *a);
  op.require(b->dtype == a->dtype, "b is {}, want {}", describe(*b), name_of(a->dtype));
  op.require_same_shape("b", *b, "a", *a);
  op.result_like("y", *y, *a, a->dtype);
  const QuantizedResult result = result_of(op, y_scale, y_zero, a->dtype);
  const QuantizedSum q{a_scale,      static_cast<float>(zero_of(op, "a_zero", a_zero, a->dtype)),
                       b_scale,      static_cast<float>(zero_of(op, "b_zero", b_zero, a->dtype)),
                       result.scale, static_cast<float>(result.zero),
                       relu};
  op.work(2 * a->numel());
  op.launch([=, a = *a, b = *b, y = *y] { quantized_sum(a, b, q, y); });
}

ABOUT(ByteTable, Vector, "y = table[x], by the bytes of x: what is computed of single numbers of eight bits",
      "y = table[x]，以 x 的字节为下标：对单个 8 位数的逐元素计算")
IR_OP(ByteTable, ByteTable, (In, x), (In, table), (Out, y), (Int, dtype, 4)) {
  require_byte(op, "x", *x);
  const DType type = result_type(op, dtype, false);
  constexpr int64_t kNumbers = 256;
  op.require_shape("table", *table, &kNumbers, 1);
  op.require(table->dtype == type, "table is {}, want {}", describe(*table), name_of(type));
  op.result_like("y", *y, *x, type);
  op.work(x->numel());
  op.launch([=, x = *x, table = *table, y = *y] { look_up(x, table, y); });
}

IR_OP(AscendQuant, aclnnAscendQuant, (In, x), (Out, y), (Float, scale), (Float, offset), (Bool, sqrt_mode, false),
      (Text, round_mode, "Round"), (Int, dst_type, 2)) {
  call(op, "aclnnAscendQuant", x, ir::constant(op, DType::Float, scale), ir::constant(op, DType::Float, offset),
       sqrt_mode, lower(round_mode).c_str(), static_cast<int32_t>(dst_type), y);
}

IR_OP(AscendQuantV2, aclnnAscendQuantV3, (In, x), (In, scale), (OptIn, offset), (Out, y), (Bool, sqrt_mode, false),
      (Text, round_mode, "round"), (Int, dst_type, 2), (Int, axis, -1)) {
  call(op, "aclnnAscendQuantV3", x, scale, offset, sqrt_mode, lower(round_mode).c_str(), static_cast<int32_t>(dst_type),
       static_cast<int32_t>(axis), y);
}

ABOUT(AscendDequant, Vector, "Numbers of what products of integers are, times the scale of their channel",
      "整数乘积结果的反量化")
IR_OP(AscendDequant, AscendDequant, (In, x), (In, deq_scale), (Out, y), (Bool, sqrt_mode, false),
      (Bool, relu_flag, false), (Int, dtype, 0)) {
  op.require(x->dtype == DType::Int32, "x is {}, want INT32", describe(*x));
  const int channel = x->rank == 4 ? 1 : x->rank - 1;  // of images and of rows
  const int64_t channels = x->rank ? x->dims[channel] : 1, scales = deq_scale->numel();
  op.require(scales == 1 || scales == channels, "deq_scale is {}, want one scale or {}, the channels of x, {}",
             describe(*deq_scale), channels, describe(*x));
  const bool packed = deq_scale->dtype == DType::UInt64 || deq_scale->dtype == DType::Int64;
  op.require(packed || is_floating(deq_scale->dtype), "deq_scale is {}, want UINT64, or numbers with a fraction",
             describe(*deq_scale));
  const DType type = static_cast<DType>(dtype);
  op.require(type == DType::Float || type == DType::Float16, "attribute dtype is {}, want 0 (float) or 1 (float16)",
             dtype);
  op.result_like("y", *y, *x, type);
  if (op.inferring() || y->empty()) return;
  op.work(x->numel() * 2);
  op.launch([=, from = *x, by = *deq_scale, to = *y, squared = bool{sqrt_mode}, positive = bool{relu_flag}] {
    std::vector<float> factors;
    if (!packed) factors = floats_of(by);
    else  // the lower half of each is a float's bits
      for (const int64_t v : integers_of(by)) factors.push_back(std::bit_cast<float>(static_cast<uint32_t>(v)));
    const std::vector<int64_t> values = integers_of(from);
    std::vector<float> made(values.size());
    int64_t inner = 1;
    for (int d = channel + 1; d < from.rank; ++d) inner *= from.dims[d];
    for (size_t i = 0; i < made.size(); ++i) {
      const float f = factors[scales == 1 ? 0 : static_cast<size_t>(static_cast<int64_t>(i) / inner % channels)];
      const float v = static_cast<float>(values[i]) * (squared ? f * f : f);
      made[i] = positive ? std::max(v, 0.0f) : v;
    }
    write_all(to, made);
  });
}

IR_OP(DequantSwigluQuant, aclnnDequantSwigluQuantV2, (In, x), (OptIn, weight_scale), (OptIn, activation_scale),
      (OptIn, bias), (OptIn, quant_scale), (OptIn, quant_offset), (OptIn, group_index), (Out, y), (Out, scale),
      (Bool, activate_left, false), (Text, quant_mode, "static"), (Int, dst_type, 2), (Text, round_mode, "rint"),
      (Int, activate_dim, -1), (Int, swiglu_mode, 0), (Float, clamp_limit, 7), (Float, glu_alpha, 1.702f),
      (Float, glu_bias, 1)) {
  call(op, "aclnnDequantSwigluQuantV2", x, weight_scale, activation_scale, bias, quant_scale, quant_offset, group_index,
       activate_left, quant_mode, dst_type, round_mode, activate_dim, swiglu_mode, clamp_limit, glu_alpha, glu_bias, y,
       scale);
}

}  // namespace updraft
