// Quantised numbers: computed by what they stand for.
#include <algorithm>

#include "frontends/onnx/convert/families.h"
#include "frontends/onnx/convert/quantized.h"
#include "frontends/onnx/convert/window.h"

namespace updraft::onnx {
namespace {

struct Range {
  double low, high;
};
Range range_of(Conversion& c, DType type) {
  switch (type) {
    case DType::Int8: return {-128, 127};
    case DType::UInt8: return {0, 255};
    case DType::Int16: return {-32768, 32767};
    case DType::UInt16: return {0, 65535};
    default: c.refuse("{} is no type to quantise to, want INT8, UINT8, INT16 or UINT16", updraft::name_of(type));
  }
}

}  // namespace

Endpoint spread(Conversion& c, Endpoint v, Endpoint x, int64_t axis, int64_t block) {
  const int64_t rank = c.rank(x), own = c.rank(v);
  if (own == 0) return v;
  if (own == 1 && block == 0) {
    if (rank == 0) return c.reshape(v, Dims{});
    const int64_t n = c.dims(v)[0];
    if (n == 1) return v;
    Dims shape(static_cast<size_t>(rank), 1);
    shape[static_cast<size_t>(c.axis(axis, rank))] = -1;
    return c.reshape(v, shape);
  }
  c.require(block > 0 && own == rank, "scales are {} for {} with block_size {}", describe(c.desc(v)),
            describe(c.desc(x)), block);
  const int64_t d = c.axis(axis, rank);
  std::vector<int64_t> at;
  for (int64_t i = 0; i < c.few(c.size(x, d, "the input"), "elements"); ++i) at.push_back(i / block);
  return c.gather(v, c.ints(at), d);
}

Endpoint saturated(Conversion& c, Endpoint value, Endpoint zero, DType to) {
  const Range r = range_of(c, to);
  Endpoint y = c.emit("Rint", {value});
  if (zero) y = c.add(y, c.cast(zero, DType::Float));
  return c.emit("ClipByValueV2", {y, c.scalar(r.low, DType::Float), c.scalar(r.high, DType::Float)});
}
void saturate(Conversion& c, Endpoint value, Endpoint zero, DType to) {
  c.result("Cast", {saturated(c, value, zero, to)}, {{"dst_type", static_cast<int64_t>(to)}});
}

Endpoint centred(Conversion& c, Endpoint x, Endpoint zero, DType type) {
  if (!zero) return c.cast(x, type);
  return c.cast(c.sub(c.cast(x, DType::Int32), c.cast(zero, DType::Int32)), type);
}

Dynamic dynamic_of(Conversion& c, Endpoint x) {
  const Endpoint zero = c.scalar(0, DType::Float);
  Dims axes;
  for (int64_t d = 0; d < c.rank(x); ++d) axes.push_back(d);
  const Endpoint all = c.ints(axes);
  const Endpoint low = c.emit("Minimum", {c.emit("ReduceMin", {x, all}), zero});
  const Endpoint high = c.emit("Maximum", {c.emit("ReduceMax", {x, all}), zero});
  const Endpoint scale = c.emit("RealDiv", {c.sub(high, low), c.scalar(255, DType::Float)});
  const Endpoint at =
      c.emit("ClipByValueV2", {c.emit("Neg", {c.emit("RealDiv", {low, scale})}), zero, c.scalar(255, DType::Float)});
  return {scale, c.cast(c.emit("Rint", {at}), DType::UInt8)};
}

namespace {

/// What a node QuantizeLinear or DequantizeLinear of ours takes.
bool one_node(Conversion& c, Endpoint scale, int64_t block, DType whole) {
  return block == 0 && c.rank(scale) <= 1 && (whole == DType::Int8 || whole == DType::UInt8);
}

void quantize(Conversion& c) {
  const Endpoint x = c.in(0), scale = c.in(1), zero = c.maybe(2);
  const int64_t axis = c.integer("axis", 1), block = c.integer("block_size", 0);
  c.ignore("saturate");   // of types of eight bits with a fraction
  c.ignore("precision");  // float is enough for all that are here
  const DType to = zero                           ? c.type(zero)
                   : c.integer("output_dtype", 0) ? c.element_type("output_dtype", DType::UInt8)
                                                  : DType::UInt8;
  c.ignore("output_dtype");
  if (one_node(c, scale, block, to)) {
    std::vector<Operand> inputs = {x, c.cast(scale, DType::Float)};
    if (zero) inputs.emplace_back(zero);
    c.result("QuantizeLinear", inputs, {{"axis", axis}, {"dtype", static_cast<int64_t>(to)}});
    return;
  }
  const Endpoint wide =
      c.emit("RealDiv", {c.cast(x, DType::Float), c.cast(spread(c, scale, x, axis, block), DType::Float)});
  saturate(c, wide, zero ? spread(c, zero, x, axis, block) : Endpoint{}, to);
}

void dequantize(Conversion& c) {
  const Endpoint x = c.in(0), scale = c.in(1), zero = c.maybe(2);
  const int64_t axis = c.integer("axis", 1), block = c.integer("block_size", 0);
  const DType type = c.integer("output_dtype", 0) ? c.element_type("output_dtype", DType::Float) : c.type(scale);
  if (one_node(c, scale, block, c.type(x)) && type == DType::Float) {
    std::vector<Operand> inputs = {x, scale};
    if (zero) inputs.emplace_back(zero);
    c.result("DequantizeLinear", inputs, {{"axis", axis}});
    return;
  }
  const Endpoint whole = centred(c, x, zero ? spread(c, zero, x, axis, block) : Endpoint{}, DType::Float);
  const Endpoint by = c.cast(spread(c, scale, x, axis, block), DType::Float);
  if (type == DType::Float) c.result("Mul", {whole, by});
  else c.result("Cast", {c.mul(whole, by)}, {{"dst_type", static_cast<int64_t>(type)}});
}

void dynamic(Conversion& c) {
  const Endpoint x = c.in(0);
  const Dynamic range = dynamic_of(c, x);
  c.give(1, range.scale);
  c.give(2, range.zero);
  saturate(c, c.emit("RealDiv", {x, range.scale}), range.zero, DType::UInt8);
}

/// A value for each row or column, as a matrix broadcasts it.
Endpoint of_rows(Conversion& c, Endpoint v) {
  return v && c.rank(v) == 1 && c.dims(v)[0] != 1 ? c.unsqueeze(v, {1}) : v;
}
Endpoint product(Conversion& c, Endpoint a, Endpoint b) {
  return c.emit(c.rank(a) == 2 && c.rank(b) == 2 ? "MatMulV2" : "BatchMatMulV2", {a, b});
}

void matmul_integer(Conversion& c) {
  const Endpoint a = centred(c, c.in(0), of_rows(c, c.maybe(2)), DType::Double),
                 b = centred(c, c.in(1), c.maybe(3), DType::Double);
  c.result("Cast", {product(c, a, b)}, {{"dst_type", static_cast<int64_t>(DType::Int32)}});
}

void quantized_matmul(Conversion& c) {
  const Endpoint a = centred(c, c.in(0), of_rows(c, c.in(2)), DType::Float),
                 b = centred(c, c.in(3), c.in(5), DType::Float);
  const Endpoint scale =
      c.emit("RealDiv", {c.mul(c.cast(of_rows(c, c.in(1)), DType::Float), c.cast(c.in(4), DType::Float)),
                         c.cast(of_rows(c, c.in(6)), DType::Float)});
  const Endpoint zero = c.in(7);
  saturate(c, c.mul(product(c, a, b), scale), of_rows(c, zero), c.type(zero));
}

/// [O] as [O, 1, 1, 1] for filters, or [1, O, 1, 1] for results.
Endpoint of_channels(Conversion& c, Endpoint v, int64_t rank, int64_t d) {
  if (!v || c.rank(v) == 0 || c.dims(v)[0] == 1) return v;
  Dims shape(static_cast<size_t>(rank), 1);
  shape[static_cast<size_t>(d)] = -1;
  return c.reshape(v, shape);
}
Endpoint convolution(Conversion& c, Endpoint x, Endpoint filter) {
  const Dims dims = c.dims(filter);
  c.require(dims.size() == 4 || dims.size() == 5, "the filter is {}, want 4 or 5 dimensions", describe(dims));
  const Window w = window_of(c, x, {dims.begin() + 2, dims.end()});
  return c.emit(w.spatial() == 2 ? "Conv2D" : "Conv3D", {x, filter},
                {{"strides", with_channels(w.strides)},
                 {"pads", w.pads()},
                 {"dilations", with_channels(w.dilations)},
                 {"groups", c.integer("group", 1)},
                 {"data_format", w.spatial() == 2 ? "NCHW" : "NCDHW"}});
}
void convolution_integer(Conversion& c) {
  const int64_t rank = c.rank(c.in(0));
  const Endpoint x = centred(c, c.in(0), c.maybe(2), DType::Double);
  const Endpoint w = centred(c, c.in(1), of_channels(c, c.maybe(3), rank, 0), DType::Double);
  c.result("Cast", {convolution(c, x, w)}, {{"dst_type", static_cast<int64_t>(DType::Int32)}});
}
void quantized_convolution(Conversion& c) {
  const int64_t rank = c.rank(c.in(0));
  const Endpoint x = centred(c, c.in(0), c.in(2), DType::Float);
  const Endpoint w = centred(c, c.in(3), of_channels(c, c.in(5), rank, 0), DType::Float);
  Endpoint y = convolution(c, x, w);
  if (const Endpoint bias = c.maybe(8)) y = c.add(y, c.cast(of_channels(c, bias, rank, 1), DType::Float));
  const Endpoint scale = c.emit("RealDiv", {c.mul(of_channels(c, c.in(4), rank, 1), c.in(1)), c.in(6)});
  const Endpoint zero = c.in(7);
  saturate(c, c.mul(y, scale), zero, c.type(zero));
}

constexpr Row kRows[] = {
    {"ConvInteger", 10, convolution_integer, "Conv2D, Conv3D, Cast"},
    {"DequantizeLinear", 10, dequantize, "DequantizeLinear, Sub, Mul"},
    {"DynamicQuantizeLinear", 11, dynamic, "ReduceMin, ReduceMax, Rint"},
    {"MatMulInteger", 10, matmul_integer, "MatMulV2, BatchMatMulV2, Cast"},
    {"QLinearConv", 10, quantized_convolution, "Conv2D, Conv3D, Rint"},
    {"QLinearMatMul", 10, quantized_matmul, "MatMulV2, BatchMatMulV2, Rint"},
    {"QuantizeLinear", 10, quantize, "QuantizeLinear, RealDiv, Rint, ClipByValueV2, Cast",
     "no types of eight bits with a fraction and none below eight bits", "不支持 8 位浮点与低于 8 位的类型"},
};

}  // namespace

std::span<const Row> quantize_rows() { return kRows; }

}  // namespace updraft::onnx
