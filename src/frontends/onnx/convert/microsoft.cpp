// Operators of the domain com.microsoft, which onnxruntime's rewrites and exporters for it make.
#include "frontends/onnx/convert/families.h"
#include "frontends/onnx/convert/window.h"

namespace updraft::onnx {
namespace {

void gelu(Conversion& c) { c.result("GeluV2", {c.in(0)}, {{"approximate", "none"}}); }
void bias_gelu(Conversion& c) { c.result("GeluV2", {c.add(c.in(0), c.in(1))}, {{"approximate", "none"}}); }
void fast_gelu(Conversion& c) {
  c.result("GeluV2", {c.has(1) ? c.add(c.in(0), c.in(1)) : c.in(0)}, {{"approximate", "tanh"}});
}
void quick_gelu(Conversion& c) { c.result("Swish", {c.in(0)}, {{"scale", c.real("alpha", 1.702f)}}); }

Endpoint last_rows(Conversion& c, Endpoint x, Endpoint scale, Endpoint offset, float epsilon) {
  if (!offset) offset = c.emit("ZerosLike", {scale});
  const int64_t axis = c.rank(x) - c.rank(scale);
  return c
      .node("LayerNormV3", {x, scale, offset},
            {{"begin_norm_axis", axis}, {"begin_params_axis", axis}, {"epsilon", epsilon}})
      .out();
}
/// y = LayerNorm(x + skip + bias); the fourth output is the sum.
void skip_layer_norm(Conversion& c) {
  Endpoint sum = c.add(c.in(0), c.in(1));
  if (const Endpoint bias = c.maybe(4)) sum = c.add(sum, bias);
  c.give(0, last_rows(c, sum, c.in(2), c.maybe(3), c.real("epsilon", 1e-12f)));
  c.give(3, sum);
}
void skip_rms_norm(Conversion& c) {
  Endpoint sum = c.add(c.in(0), c.in(1));
  if (const Endpoint bias = c.maybe(3)) sum = c.add(sum, bias);
  c.give(0, c.node("RmsNorm", {sum, c.in(2)}, {{"epsilon", c.real("epsilon", 1e-12f)}}).out());
  c.give(3, sum);
}

void fused_matmul(Conversion& c) {
  const Endpoint a = c.in(0), b = c.in(1);
  c.require(c.rank(a) >= 2 && c.rank(b) >= 2, "the inputs are {} and {}, want matrices", describe(c.desc(a)),
            describe(c.desc(b)));
  c.only("transBatchA", c.integer("transBatchA", 0), 0);
  c.only("transBatchB", c.integer("transBatchB", 0), 0);
  const float alpha = c.real("alpha", 1);
  const Attributes turns = {{"adj_x1", c.flag("transA")}, {"adj_x2", c.flag("transB")}};
  if (alpha == 1) {
    c.result("BatchMatMulV2", {a, b}, turns);
    return;
  }
  const Endpoint y = c.emit("BatchMatMulV2", {a, b}, turns);
  c.result("Mul", {y, c.scalar_like(alpha, y)});
}

Endpoint activated(Conversion& c, Endpoint x) {
  const std::string type = c.text("activation", "");
  const std::vector<float> p = c.reals("activation_params");
  auto parameter = [&](size_t i, float other) { return i < p.size() ? p[i] : other; };
  if (type.empty()) return x;
  if (type == "Relu" || type == "Sigmoid" || type == "Tanh" || type == "HardSwish") return c.emit(type, {x});
  if (type == "LeakyRelu") return c.emit(type, {x}, {{"negative_slope", parameter(0, 0.01f)}});
  if (type == "HardSigmoid") return c.emit(type, {x}, {{"alpha", parameter(0, 0.2f)}, {"beta", parameter(1, 0.5f)}});
  if (type == "Clip")
    return c.emit("ClipByValueV2", {x, c.scalar_like(parameter(0, -3.402823466e+38f), x),
                                    c.scalar_like(parameter(1, 3.402823466e+38f), x)});
  c.refuse("attribute activation is \"{}\", which is not implemented", type);
}

/// activation(conv(x, w) + bias + z)
void fused_conv(Conversion& c) {
  const Endpoint x = c.in(0), filter = c.in(1);
  const Dims dims = c.dims(filter);
  c.require(dims.size() == 4 || dims.size() == 5, "the filter is {}, want 4 or 5 dimensions", describe(dims));
  const Window w = window_of(c, x, {dims.begin() + 2, dims.end()});
  Endpoint y = c.emit(w.spatial() == 2 ? "Conv2D" : "Conv3D", {x, filter, c.maybe(2)},
                      {{"strides", with_channels(w.strides)},
                       {"pads", w.pads()},
                       {"dilations", with_channels(w.dilations)},
                       {"groups", c.integer("group", 1)},
                       {"data_format", w.spatial() == 2 ? "NCHW" : "NCDHW"}});
  if (const Endpoint z = c.maybe(3)) y = c.add(y, z);
  c.give(0, activated(c, y));
}

/// alpha * A B + beta * C, then an activation whose parameters have names of their own.
void fused_gemm(Conversion& c) {
  const Attributes turns = {{"transpose_x1", c.flag("transA")}, {"transpose_x2", c.flag("transB")}};
  const float alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  Endpoint y = c.emit("MatMulV2", {c.in(0), c.in(1)}, turns);
  if (alpha != 1) y = c.mul(y, alpha);
  if (const Endpoint bias = c.maybe(2)) y = c.add(y, beta == 1 ? bias : c.mul(bias, beta));
  for (const char* unused : {"activation_alpha", "activation_beta", "activation_gamma"})
    c.require(!c.has(unused), "attribute {} is given, want none", unused);
  c.give(0, activated(c, y));
}
void bias_add(Conversion& c) { c.result("Add", {c.add(c.in(0), c.in(1)), c.in(2)}); }
void gemm_fast_gelu(Conversion& c) {
  const Endpoint y = c.emit("BatchMatMulV2", {c.in(0), c.in(1)});
  c.result("GeluV2", {c.has(2) ? c.add(y, c.in(2)) : y}, {{"approximate", "tanh"}});
}

constexpr Row kRows[] = {
    {"BiasAdd", 1, bias_add, "Add"},
    {"BiasGelu", 1, bias_gelu, "Add, GeluV2"},
    {"FastGelu", 1, fast_gelu, "GeluV2"},
    {"FusedConv", 1, fused_conv, "Conv2D, Conv3D"},
    {"FusedGemm", 1, fused_gemm, "MatMulV2, Add"},
    {"FusedMatMul", 1, fused_matmul, "BatchMatMulV2"},
    {"Gelu", 1, gelu, "GeluV2"},
    {"GemmFastGelu", 1, gemm_fast_gelu, "BatchMatMulV2, GeluV2"},
    {"QuickGelu", 1, quick_gelu, "Swish"},
    {"SkipLayerNormalization", 1, skip_layer_norm, "Add, LayerNormV3"},
    {"SkipSimplifiedLayerNormalization", 1, skip_rms_norm, "Add, RmsNorm"},
};

}  // namespace

std::span<const Row> microsoft_rows() { return kRows; }

}  // namespace updraft::onnx
