// Constants, ranges, fills, random numbers.
#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

void constant(Conversion& c) {
  Tensor value;
  if (const TensorProto* t = c.tensor("value")) {
    c.require(t->type != ElementType::String, "it holds texts, which the virtual NPU has not");
    value = t->value;
  } else if (const TensorProto* sparse = c.tensor("sparse_value")) {
    value = sparse->value;
  } else if (c.has("value_float")) {
    value = Tensor::of(c.real("value_float"));
  } else if (c.has("value_floats")) {
    value = Tensor::of(c.reals("value_floats"));
  } else if (c.has("value_int")) {
    value = Tensor::of(c.integer("value_int"));
  } else if (c.has("value_ints")) {
    value = Tensor::of(c.integers("value_ints"));
  } else {
    c.refuse("it holds texts or nothing, want a tensor or numbers");
  }
  c.give(0, c.build.constant(c.name, std::move(value)));
}

void constant_of_shape(Conversion& c) {
  Tensor value = scalar_tensor(0, DType::Float);
  if (const TensorProto* t = c.tensor("value")) value = t->value;
  c.require(value.count() == 1, "attribute value has {} elements, want 1", value.count());
  value.dims.clear();
  c.result("Fill", {c.in(0), c.constant(std::move(value), "value")});
}

void range(Conversion& c) { c.result("Range", {c.in(0), c.in(1), c.in(2)}); }

void eye_like(Conversion& c) {
  const Endpoint x = c.in(0);
  const DType type = c.element_type("dtype", c.type(x));
  c.require(c.rank(x) == 2, "the input is {}, want two dimensions", describe(c.desc(x)));
  const int64_t rows = c.size(x, 0, "the input"), columns = c.size(x, 1, "the input"), k = c.integer("k", 0);
  if (k == 0 && rows > 0 && columns > 0) {
    c.result("Eye", {}, {{"num_rows", rows}, {"num_columns", columns}, {"dtype", static_cast<int64_t>(type)}});
    return;
  }
  c.few(c.few(rows, "rows") * c.few(columns, "columns"), "elements");
  std::vector<double> values(static_cast<size_t>(rows * columns), 0);
  for (int64_t r = 0; r < rows; ++r)
    if (r + k >= 0 && r + k < columns) values[static_cast<size_t>(r * columns + r + k)] = 1;
  c.give(0, c.build.constant(c.name, numbers_tensor(values, {rows, columns}, type)));
}

/// Nothing is dropped in inference, nor by a ratio of 0. Whether that is so may be computed while the graph runs.
void dropout(Conversion& c) {
  c.ignore("is_test");
  const Endpoint x = c.in(0);
  const DType mask_type = c.opset < 10 ? c.type(x) : DType::Bool;
  const bool asks = c.opset >= 12 && c.has(2);
  const Tensor* training = asks ? c.value(c.in(2)) : nullptr;
  const Tensor* ratio = c.has(1) && c.opset >= 12 ? c.value(c.in(1)) : nullptr;
  const bool keeps = !asks || (training && training->integers().at(0) == 0) || (ratio && ratio->reals().at(0) == 0);
  c.ignore("seed"), c.ignore("ratio");
  if (keeps) {
    c.give(0, x);
    if (c.wants(1)) c.give(1, c.emit("Fill", {c.shape(x), c.scalar(1, mask_type)}));
    return;
  }
  const Endpoint none = c.scalar(0, DType::Float);
  const Endpoint given = c.has(1) ? c.cast(c.in(1), DType::Float) : c.scalar(0.5, DType::Float);
  const Endpoint dropped = c.emit("SelectV2", {c.reshape(c.in(2), Dims{}), c.reshape(given, Dims{}), none});
  const int64_t seed = c.integer("seed", 0);
  const Endpoint numbers = c.emit("RandomUniform", {c.shape(x)},
                                  {{"dtype", static_cast<int64_t>(DType::Float)}, {"seed", seed}, {"seed2", seed}});
  const Endpoint kept = c.emit("GreaterEqual", {numbers, dropped});
  const Endpoint scale = c.emit("RealDiv", {c.scalar(1, DType::Float), c.sub(c.scalar(1, DType::Float), dropped)});
  c.give(0, c.emit("SelectV2", {kept, c.mul(x, c.cast(scale, c.type(x))), c.scalar_like(0, x)}));
  c.give(1, c.cast(kept, mask_type));
}

constexpr Row kRows[] = {
    {"Constant", 1, constant, "Const", "no texts", "不支持文本"},
    {"ConstantOfShape", 9, constant_of_shape, "Fill"},
    {"Dropout", 6, dropout, "RandomUniform, GreaterEqual, SelectV2"},
    {"EyeLike", 9, eye_like, "Eye"},
    {"Range", 11, range, "Range"},
};

}  // namespace

std::span<const Row> constant_rows() { return kRows; }

}  // namespace updraft::onnx
