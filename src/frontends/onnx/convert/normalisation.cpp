// Normalisations.
#include <algorithm>

#include "frontends/onnx/convert/families.h"

namespace updraft::onnx {
namespace {

Dims without_first_two(Conversion& c, Endpoint x) {
  Dims axes;
  for (int64_t d = 2; d < c.rank(x); ++d) axes.push_back(d);
  return axes;
}

void batch_norm(Conversion& c) {
  const Endpoint x = c.in(0), scale = c.in(1), offset = c.in(2), mean = c.in(3), variance = c.in(4);
  const float epsilon = c.real("epsilon", 1e-5f), momentum = c.real("momentum", 0.9f);
  c.ignore("is_test"), c.ignore("spatial");
  if (!c.flag("training_mode")) {
    c.require(c.opset >= 14 || !c.wants(1), "it has outputs for training, want inference");
    c.result("BNInfer", {x, scale, offset, mean, variance}, {{"epsilon", epsilon}});
    return;
  }
  Dims axes = {0};
  for (int64_t d : without_first_two(c, x)) axes.push_back(d);
  graph::Node& now = c.node("ReduceMeanVariance", {x}, {{"axes", axes}, {"keep_dims", false}});
  c.result("BNInfer", {x, scale, offset, now.out(0), now.out(1)}, {{"epsilon", epsilon}});
  const double old = momentum;
  auto running = [&](Endpoint was, Endpoint is) { return c.add(c.mul(was, old), c.mul(is, 1 - old)); };
  if (c.wants(1)) c.give(1, running(mean, now.out(0)));
  if (c.wants(2)) c.give(2, running(variance, now.out(1)));
}

void layer_norm(Conversion& c) {
  Endpoint x = c.in(0), scale = c.in(1), bias = c.maybe(2);
  const int64_t rank = c.rank(x), axis = c.axis(c.integer("axis", -1), rank);
  const float epsilon = c.real("epsilon", 1e-5f);
  c.ignore("stash_type");  // statistics are float
  if (!bias) bias = c.emit("ZerosLike", {scale});
  graph::Node& n = c.node("LayerNormV3", {x, scale, bias},
                          {{"begin_norm_axis", axis}, {"begin_params_axis", axis}, {"epsilon", epsilon}});
  c.give(0, n.out(0));
  if (c.wants(1)) c.give(1, c.cast(n.out(1), DType::Float));
  if (c.wants(2)) c.give(2, c.cast(n.out(2), DType::Float));
}

/// By statistics computed here: scale and bias of any shape that fits.
void layer_norm_by_parts(Conversion& c) {
  Endpoint x = c.in(0);
  const int64_t rank = c.rank(x), axis = c.axis(c.integer("axis", -1), rank);
  const Endpoint scale = c.in(1), bias = c.maybe(2);
  const Dims& whole = c.dims(x);
  const bool fits = c.dims(scale) == Dims(whole.begin() + axis, whole.end()) &&
                    (!bias || c.dims(bias) == c.dims(scale)) &&
                    std::ranges::all_of(c.dims(scale), [](int64_t n) { return n >= 0; });
  if (fits) return layer_norm(c);
  const double epsilon = c.real("epsilon", 1e-5f);
  c.ignore("stash_type");
  Dims axes;
  for (int64_t d = axis; d < rank; ++d) axes.push_back(d);
  const Endpoint over = c.ints(axes);
  const Endpoint mean = c.emit("ReduceMean", {x, over}, {{"keep_dims", true}, {"noop_with_empty_axes", false}});
  const Endpoint from = c.sub(x, mean);
  const Endpoint variance =
      c.emit("ReduceMean", {c.emit("Square", {from}), over}, {{"keep_dims", true}, {"noop_with_empty_axes", false}});
  const Endpoint rstd = c.emit("Rsqrt", {c.add(variance, epsilon)});
  const Endpoint y = c.mul(c.mul(from, rstd), scale);
  c.give(0, bias ? c.add(y, bias) : y);
  c.give(1, c.cast(mean, DType::Float));
  c.give(2, c.cast(rstd, DType::Float));
}

void rms_norm(Conversion& c) {
  const Endpoint x = c.in(0), scale = c.in(1);
  const int64_t rank = c.rank(x), axis = c.axis(c.integer("axis", -1), rank);
  const float epsilon = c.real("epsilon", 1e-5f);
  c.ignore("stash_type");
  const Dims& whole = c.dims(x);
  const Dims& own = c.dims(scale);
  if (own == Dims(whole.begin() + axis, whole.end()) && c.type(x) == c.type(scale)) {
    graph::Node& n = c.node("RmsNorm", {x, scale}, {{"epsilon", epsilon}});
    c.give(0, n.out());
    return;
  }
  Dims axes;
  for (int64_t d = axis; d < rank; ++d) axes.push_back(d);
  const Endpoint square = c.emit("ReduceMean", {c.emit("Square", {x}), c.ints(axes)},
                                 {{"keep_dims", true}, {"noop_with_empty_axes", false}});
  c.result("Mul", {c.mul(x, c.emit("Rsqrt", {c.add(square, epsilon)})), scale});
}

void instance_norm(Conversion& c) {
  const Endpoint x = c.in(0);
  c.ignore("consumed_inputs");
  c.give(0,
         c.node("InstanceNorm", {x, c.in(1), c.in(2)}, {{"epsilon", c.real("epsilon", 1e-5f)}, {"data_format", "ND"}})
             .out());
}

/// One scale a group before version 21, one a channel since.
void group_norm(Conversion& c) {
  const Endpoint x = c.in(0);
  Endpoint scale = c.in(1), bias = c.in(2);
  const int64_t groups = c.integer("num_groups");
  c.ignore("stash_type");
  if (c.opset < 21) {
    const int64_t channels = c.few(c.size(x, 1, "the input"), "channels");
    c.require(groups > 0 && channels % groups == 0, "{} channels in {} groups", channels, groups);
    auto repeated = [&](Endpoint v) {
      std::vector<int64_t> at;
      for (int64_t i = 0; i < channels; ++i) at.push_back(i / (channels / groups));
      return c.gather(v, c.ints(at), 0);
    };
    scale = repeated(scale);
    bias = repeated(bias);
  }
  graph::Node& n = c.node("GroupNormV2", {x, scale, bias},
                          {{"num_groups", groups}, {"eps", c.real("epsilon", 1e-5f)}, {"data_format", "NCHW"}});
  c.give(0, n.out());
}

void mean_variance(Conversion& c) {
  const Endpoint x = c.in(0);
  const Endpoint axes = c.ints(c.integers("axes", {0, 2, 3}));
  const Attributes keep = {{"keep_dims", true}, {"noop_with_empty_axes", false}};
  const Endpoint from = c.sub(x, c.emit("ReduceMean", {x, axes}, keep));
  const Endpoint deviation = c.emit("Sqrt", {c.emit("ReduceMean", {c.emit("Square", {from}), axes}, keep)});
  c.result("RealDiv", {from, c.add(deviation, 1e-9)});
}

void lp_norm(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t p = c.integer("p", 2), axis = c.integer("axis", -1);
  c.require(p == 1 || p == 2, "attribute p is {}, want 1 or 2", p);
  const Endpoint power = p == 1 ? c.emit("Abs", {x}) : c.emit("Square", {x});
  Endpoint length = c.emit("ReduceSum", {power, c.ints({axis})}, {{"keep_dims", true}});
  if (p == 2) length = c.emit("Sqrt", {length});
  c.result("DivNoNan", {x, length});  // what is 0 stays 0
}

/// y = x / (bias + alpha / size * sum of the squares of the channels around)^beta
void local_response(Conversion& c) {
  const Endpoint x = c.in(0);
  const double alpha = c.real("alpha", 1e-4f), beta = c.real("beta", 0.75f), bias = c.real("bias", 1);
  const Endpoint base = frontends::local_response_base(c, x, c.integer("size"), alpha, bias);
  c.result("RealDiv", {x, c.emit("Pow", {base, c.scalar_like(beta, x)})});
}

constexpr Row kRows[] = {
    {"BatchNormalization", 7, batch_norm, "BNInfer"},
    {"GroupNormalization", 18, group_norm, "GroupNormV2"},
    {"InstanceNormalization", 1, instance_norm, "InstanceNorm"},
    {"LRN", 1, local_response, "Square, PadV3, Pow"},
    {"LayerNormalization", 17, layer_norm_by_parts, "LayerNormV3"},
    {"LpNormalization", 1, lp_norm, "ReduceSum, DivNoNan"},
    {"MeanVarianceNormalization", 9, mean_variance, "ReduceMean"},
    {"RMSNormalization", 23, rms_norm, "RmsNorm"},
    {"SimplifiedLayerNormalization", 1, rms_norm, "RmsNorm"},
};

}  // namespace

std::span<const Row> normalisation_rows() { return kRows; }

}  // namespace updraft::onnx
