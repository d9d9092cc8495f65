// Operators of the domain ai.onnx.ml that work on numbers.
#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

/// Elements of the last dimension by their places; a vector is one row.
void array_feature_extractor(Conversion& c) {
  Endpoint x = c.in(0);
  if (c.rank(x) == 1) x = c.unsqueeze(x, {0});
  c.result("GatherV2", {x, c.reshape(c.in(1), Dims{-1}), c.integer_scalar(-1)}, {{"negative_index_support", true}});
}

void binarizer(Conversion& c) {
  const Endpoint x = c.in(0);
  const Endpoint above = c.emit("Greater", {x, c.scalar_like(c.real("threshold", 0), x)});
  c.result("Cast", {above}, {{"dst_type", static_cast<int64_t>(c.type(x))}});
}

/// (x - offset) * scale, of each feature or of all.
void scaler(Conversion& c) {
  const Endpoint x = c.cast(c.in(0), DType::Float);
  auto values = [&](const char* attribute, float other) {
    std::vector<float> list = c.reals(attribute);
    if (list.empty()) list = {other};
    return c.constant(Tensor::of(list), attribute);
  };
  c.result("Mul", {c.sub(x, values("offset", 0)), values("scale", 1)});
}

constexpr Row kRows[] = {
    {"ArrayFeatureExtractor", 1, array_feature_extractor, "GatherV2"},
    {"Binarizer", 1, binarizer, "Greater, Cast"},
    {"Scaler", 1, scaler, "Sub, Mul"},
};

}  // namespace

std::span<const Row> ml_rows() { return kRows; }

}  // namespace updraft::onnx
