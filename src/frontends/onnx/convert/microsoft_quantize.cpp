// Quantised operators of the domain com.microsoft: computed by what the numbers stand for.
#include "frontends/onnx/convert/families.h"
#include "frontends/onnx/convert/quantized.h"

namespace updraft::onnx {
namespace {

/// What inputs i (numbers), i + 1 (scale) and i + 2 (zero point, optional) stand for.
Endpoint meant(Conversion& c, size_t i) {
  return c.mul(centred(c, c.in(i), c.maybe(i + 2), DType::Float), c.in(i + 1));
}
/// The result by the scale and the zero point at i and i + 1.
void quantized(Conversion& c, Endpoint y, size_t i, DType type) {
  const Endpoint zero = c.maybe(i + 1);
  saturate(c, c.emit("RealDiv", {y, c.in(i)}), zero, zero ? c.type(zero) : type);
}

void binary(Conversion& c) { quantized(c, c.emit(c.row.ascend, {meant(c, 0), meant(c, 3)}), 6, c.type(c.in(0))); }
void unary(Conversion& c) { quantized(c, c.emit(c.row.ascend, {meant(c, 0)}), 3, c.type(c.in(0))); }
void leaky_relu(Conversion& c) {
  const float slope = c.real("alpha", 0.01f);
  quantized(c, c.emit("LeakyRelu", {meant(c, 0)}, {{"negative_slope", slope}}), 3, c.type(c.in(0)));
}
void global_average_pool(Conversion& c) {
  const bool last = c.flag("channels_last");
  const int64_t rank = c.rank(c.in(0));
  Dims axes;
  for (int64_t d = last ? 1 : 2; d < (last ? rank - 1 : rank); ++d) axes.push_back(d);
  const Attributes keep = {{"keep_dims", true}, {"noop_with_empty_axes", false}};
  quantized(c, c.emit("ReduceMean", {meant(c, 0), c.ints(axes)}, keep), 3, c.type(c.in(0)));
}
/// Inputs: scale and zero point of the result, then a tensor with its scale and its zero point each.
void concat(Conversion& c) {
  c.require(c.inputs() >= 5 && (c.inputs() - 2) % 3 == 0, "{} inputs, want 2 and 3 for each tensor", c.inputs());
  std::vector<Endpoint> parts;
  for (size_t i = 2; i < c.inputs(); i += 3) parts.push_back(meant(c, i));
  quantized(c, c.concat(parts, c.integer("axis")), 0, c.type(c.in(2)));
}

Endpoint product(Conversion& c, Endpoint a, Endpoint b) {
  return c.emit(c.rank(a) == 2 && c.rank(b) == 2 ? "MatMulV2" : "BatchMatMulV2", {a, b});
}
void matmul_to_float(Conversion& c) {
  const Endpoint a = centred(c, c.in(0), c.maybe(4), DType::Float), b = centred(c, c.in(1), c.maybe(5), DType::Float);
  const Endpoint y = c.mul(product(c, a, b), c.mul(c.in(2), c.in(3)));
  c.give(0, c.has(6) ? c.add(y, c.in(6)) : y);
}
/// The left operand is quantised to its own range first, and rounded so.
void dynamic_matmul(Conversion& c) {
  const Endpoint x = c.in(0);
  const Dynamic range = dynamic_of(c, x);
  const Endpoint whole = saturated(c, c.emit("RealDiv", {x, range.scale}), range.zero, DType::UInt8);
  const Endpoint a = c.sub(whole, c.cast(range.zero, DType::Float));
  const Endpoint b = centred(c, c.in(1), c.maybe(3), DType::Float);
  const Endpoint y = c.mul(product(c, a, b), c.mul(range.scale, c.in(2)));
  c.give(0, c.has(4) ? c.add(y, c.in(4)) : y);
}

void quantize(Conversion& c) {
  const Endpoint x = c.in(0), scale = c.in(1), zero = c.maybe(2);
  const int64_t axis = c.integer("axis", 1);
  const Endpoint by = c.cast(spread(c, scale, x, axis, 0), DType::Float);
  saturate(c, c.emit("RealDiv", {c.cast(x, DType::Float), by}), zero ? spread(c, zero, x, axis, 0) : Endpoint{},
           zero ? c.type(zero) : DType::UInt8);
}
void dequantize(Conversion& c) {
  const Endpoint x = c.in(0), scale = c.in(1), zero = c.maybe(2);
  const int64_t axis = c.integer("axis", 1);
  const Endpoint whole = centred(c, x, zero ? spread(c, zero, x, axis, 0) : Endpoint{}, DType::Float);
  const Endpoint y = c.mul(whole, c.cast(spread(c, scale, x, axis, 0), DType::Float));
  c.give(0, c.cast(y, c.type(scale)));
}

constexpr Row kRows[] = {
    {"DequantizeLinear", 1, dequantize, "Sub, Mul"},
    {"DynamicQuantizeMatMul", 1, dynamic_matmul, "Rint, MatMulV2, BatchMatMulV2"},
    {"MatMulIntegerToFloat", 1, matmul_to_float, "MatMulV2, BatchMatMulV2"},
    {"QLinearAdd", 1, binary, "Add"},
    {"QLinearConcat", 1, concat, "ConcatV2"},
    {"QLinearGlobalAveragePool", 1, global_average_pool, "ReduceMean"},
    {"QLinearLeakyRelu", 1, leaky_relu, "LeakyRelu"},
    {"QLinearMul", 1, binary, "Mul"},
    {"QLinearSigmoid", 1, unary, "Sigmoid"},
    {"QuantizeLinear", 1, quantize, "RealDiv, Rint, ClipByValueV2"},
};

}  // namespace

std::span<const Row> microsoft_quantize_rows() { return kRows; }

}  // namespace updraft::onnx
