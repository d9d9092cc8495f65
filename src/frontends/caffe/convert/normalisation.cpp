// Normalisations.
#include "frontends/caffe/convert/families.h"

namespace updraft::caffe {
namespace {

/// Mean and variance are kept as sums with the weight that they have; the third blob is that weight.
void batch_norm(Conversion& c) {
  const Endpoint x = c.in(0);
  c.param.ignore("moving_average_fraction");
  const auto epsilon = static_cast<float>(c.param.real("eps", 1e-5));
  c.require(
      c.param.flag("use_global_stats", true),
      "batch_norm_param.use_global_stats is false: it computes the statistics of its batch, as in training; leave "
      "it out");
  c.require(c.rank(x) >= 2, "bottom is {}, want channels", describe(c.desc(x)));
  const int64_t channels = c.size(x, 1, "the bottom");
  const Tensor sums[] = {c.weights(0, {channels}, "mean"), c.weights(1, {channels}, "variance")};
  const double weight = c.weights(2, {1}, "scale factor").reals()[0], factor = weight == 0 ? 0 : 1 / weight;
  auto scaled = [&](size_t i, const char* what) {
    std::vector<double> values = sums[i].reals();
    for (double& v : values) v *= factor;
    return c.constant(frontends::numbers_tensor(values, {channels}, DType::Float), what);
  };
  auto filled = [&](double value, const char* what) {
    const std::vector<double> values(static_cast<size_t>(channels), value);
    return c.constant(frontends::numbers_tensor(values, {channels}, DType::Float), what);
  };
  const Endpoint mean = scaled(0, "mean"), variance = scaled(1, "variance");
  c.result("BNInfer", {x, filled(1, "scale"), filled(0, "offset"), mean, variance}, {{"epsilon", epsilon}});
}

/// Over the channels around, x / (k + alpha / n * sum of squares)^beta. Within a channel it is the mean of the squares
/// around, with 1 in place of k.
void local_response(Conversion& c) {
  static constexpr std::string_view kRegions[] = {"ACROSS_CHANNELS", "WITHIN_CHANNEL"};
  const Endpoint x = c.in(0);
  const bool within = c.param.choice("norm_region", kRegions, 0) == 1;
  const int64_t size = c.param.integer("local_size", 5);
  const double alpha = c.param.real("alpha", 1), beta = c.param.real("beta", 0.75), k = c.param.real("k", 1);
  c.param.ignore("engine");
  c.require(size > 0 && size % 2 == 1, "lrn_param.local_size is {}, want an odd number", size);
  c.require(c.rank(x) == 4, "bottom is {}, want 4 dimensions", describe(c.desc(x)));
  if (!within) {
    const Endpoint base = frontends::local_response_base(c, x, size, alpha, k);
    c.result("RealDiv", {x, c.emit("Pow", {base, c.scalar_like(beta, x)})});
    return;
  }
  const int64_t pad = (size - 1) / 2;
  const Endpoint mean = c.emit("AvgPoolV2", {c.emit("Square", {x})},
                               {{"ksize", Dims{1, 1, size, size}},
                                {"strides", Dims{1, 1, 1, 1}},
                                {"pads", Dims(4, pad)},
                                {"exclusive", false},
                                {"data_format", "NCHW"}});
  c.result("Mul",
           {x, c.emit("Power", {mean},
                      {{"power", static_cast<float>(-beta)}, {"scale", static_cast<float>(alpha)}, {"shift", 1.0F}})});
}

Endpoint mean_of(Conversion& c, Endpoint x, Endpoint axes) {
  return c.emit("ReduceMean", {x, axes}, {{"keep_dims", true}, {"noop_with_empty_axes", false}});
}

/// Mean 0 and, unless it is not wanted, deviation 1, of each channel or of each image.
void mean_variance(Conversion& c) {
  const Endpoint x = c.in(0);
  const bool variance = c.param.flag("normalize_variance", true), across = c.param.flag("across_channels", false);
  const double epsilon = c.param.real("eps", 1e-9);
  c.require(c.rank(x) == 4, "bottom is {}, want 4 dimensions", describe(c.desc(x)));
  const Endpoint axes = c.ints(across ? Dims{1, 2, 3} : Dims{2, 3}), mean = mean_of(c, x, axes);
  if (!variance) {
    c.result("Sub", {x, mean});
    return;
  }
  const Endpoint from = c.sub(x, mean);
  const Endpoint deviation = c.emit("Sqrt", {mean_of(c, c.emit("Square", {from}), axes)});
  c.result("RealDiv", {from, c.add(deviation, epsilon)});
}

/// x / its length * scale; the length is of each pixel's channels or of the whole image.
void normalize(Conversion& c) {
  const Endpoint x = c.in(0);
  const int64_t rank = c.rank(x);
  const bool whole = c.param.flag("across_spatial", true), shared = c.param.flag("channel_shared", true);
  const double epsilon = c.param.real("eps", 1e-10);
  c.param.ignore("scale_filler");
  c.require(rank >= 2, "bottom is {}, want channels", describe(c.desc(x)));
  Dims axes = {1};
  for (int64_t d = 2; whole && d < rank; ++d) axes.push_back(d);
  const Endpoint squares = c.emit("ReduceSum", {c.emit("Square", {x}), c.ints(axes)}, {{"keep_dims", true}});
  const Endpoint length = c.emit("Sqrt", {c.add(squares, epsilon)});
  const Endpoint factor = c.blob(0, {shared ? 1 : c.size(x, 1, "the bottom")}, "scale");
  c.result("Mul", {c.div(x, length), aligned(c, factor, 1, rank)});
}

constexpr Row kRows[] = {
    {"BatchNorm", batch_norm, "batch_norm_param", "BNInfer", "no statistics of the batch", "不支持 batch 统计量"},
    {"LRN", local_response, "lrn_param", "Square, PadV3, Pow, AvgPoolV2, Power"},
    {"MVN", mean_variance, "mvn_param", "ReduceMean, Square, Sqrt", "bottoms of 4 dimensions", "bottom 为 4 维"},
    {"Normalize", normalize, "norm_param", "ReduceSum, Sqrt, Mul"},
};

}  // namespace

std::span<const Row> normalisation_rows() { return kRows; }

}  // namespace updraft::caffe
