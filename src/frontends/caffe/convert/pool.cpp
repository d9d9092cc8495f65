// Pooling. Windows are counted upwards where they do not fit evenly, but the last one begins inside the image or its
// padding in front.
#include <algorithm>
#include <limits>

#include "frontends/caffe/convert/families.h"

namespace updraft::caffe {
namespace {

enum Method : size_t { kMax, kAverage, kStochastic };

struct Windows {
  Dims kernel, strides, pads;
  bool up = true;

  bool padded() const { return pads != Dims{0, 0}; }
  /// How many there are in a dimension of that size.
  int64_t count(size_t d, int64_t size) const {
    const int64_t room = size + 2 * pads[d] - kernel[d], begin = up ? room + strides[d] - 1 : room;
    const int64_t n = begin / strides[d] + 1;
    return padded() && (n - 1) * strides[d] >= size + pads[d] ? n - 1 : n;
  }
};

Windows windows_of(Conversion& c) {
  static constexpr std::string_view kRounding[] = {"CEIL", "FLOOR"};
  Windows w;
  w.kernel = spatial(c, "kernel_size", "kernel", 2, 0);
  w.strides = spatial(c, "stride", "stride", 2, 1);
  w.pads = spatial(c, "pad", "pad", 2, 0);
  w.up = c.param.choice("round_mode", kRounding, 0) == 0;
  for (size_t d = 0; d < 2; ++d)
    c.require(w.kernel[d] > 0 && w.strides[d] > 0 && w.pads[d] >= 0 && w.pads[d] < w.kernel[d],
              "kernel_size, stride and pad are {}, {} and {}, want positive ones and pads below the kernel's sizes",
              describe(w.kernel), describe(w.strides), describe(w.pads));
  return w;
}

/// Without padding Caffe has windows that begin behind the image where steps are longer than the kernel. There is
/// nothing in them.
void require_windows_inside(Conversion& c, const Windows& w, Endpoint x) {
  for (size_t d = 0; d < 2; ++d) {
    if (w.kernel[d] >= w.strides[d] || w.padded() || !w.up) continue;
    const int64_t size = c.size(x, static_cast<int64_t>(d) + 2, "the bottom, with steps longer than the kernel,");
    c.require((w.count(d, size) - 1) * w.strides[d] < size,
              "kernel_size {} with stride {} has a window outside of {}: write round_mode: FLOOR", w.kernel[d],
              w.strides[d], size);
  }
}

Attributes attributes_of(const Windows& w) {
  Dims pads;
  for (const int64_t p : w.pads) pads.insert(pads.end(), 2, p);
  return {{"ksize", with_channels(w.kernel)},
          {"strides", with_channels(w.strides)},
          {"pads", pads},
          {"ceil_mode", w.up},
          {"data_format", "NCHW"}};
}

/// More padding than half a kernel, which the graph's operators do not take: the image gets it before.
void pool_padded(Conversion& c, Endpoint x, const Windows& w, Method method) {
  Dims pads = {0, 0, 0, 0}, counts[2];
  for (size_t d = 0; d < 2; ++d) {
    const int64_t size = c.size(x, static_cast<int64_t>(d) + 2, "the bottom, with pads of more than half the kernel,");
    c.require(size + 2 * w.pads[d] >= w.kernel[d], "a window of {} does not fit into {} with {} around it", w.kernel[d],
              size, w.pads[d]);
    const int64_t n = w.count(d, size), reach = (n - 1) * w.strides[d] + w.kernel[d];
    pads.insert(pads.end(), {w.pads[d], std::max<int64_t>(0, reach - size - w.pads[d])});
    // Averages count the padding, as far as it is given.
    for (int64_t i = 0; i < c.few(n, "windows"); ++i)
      counts[d].push_back(std::min(w.kernel[d], size + 2 * w.pads[d] - i * w.strides[d]));
  }
  c.few(static_cast<int64_t>(counts[0].size() * counts[1].size()), "windows");
  const double around = method == kMax ? -std::numeric_limits<double>::infinity() : 0;
  const Endpoint padded = c.emit("PadV3", {x, c.ints(pads), c.scalar_like(around, x)}, {{"mode", "constant"}});
  Windows bare = w;
  bare.pads = {0, 0};
  bare.up = false;
  Attributes attributes = attributes_of(bare);
  if (method == kMax) {
    c.result("MaxPoolV3", {padded}, attributes);
    return;
  }
  attributes["exclusive"] = false;
  attributes["divisor_override"] = int64_t{1};
  std::vector<double> factors;
  for (const int64_t high : counts[0])
    for (const int64_t wide : counts[1]) factors.push_back(1.0 / static_cast<double>(high * wide));
  const Dims plane = {1, 1, static_cast<int64_t>(counts[0].size()), static_cast<int64_t>(counts[1].size())};
  c.result("Mul", {c.emit("AvgPoolV2", {padded}, attributes),
                   c.constant(frontends::numbers_tensor(factors, plane, c.type(x)), "factors")});
}

void pool(Conversion& c) {
  static constexpr std::string_view kMethods[] = {"MAX", "AVE", "STOCHASTIC"};
  const Endpoint x = c.in(0);
  c.param.ignore("engine");
  const auto method = static_cast<Method>(c.param.choice("pool", kMethods, kMax));
  c.require(method != kStochastic,
            "pooling_param.pool is STOCHASTIC, which draws random numbers in training; write AVE or MAX");
  c.require(c.rank(x) == 4, "bottom is {}, want 4 dimensions", describe(c.desc(x)));
  c.require(c.tops() == 1, "it has {} tops: the mask of the largest elements is not given; leave that top out",
            c.tops());
  if (c.param.flag("global_pooling", false)) {
    for (const char* size : {"kernel_size", "kernel_h", "kernel_w"})
      c.require(!c.param.has(size), "pooling_param.{} is given with global_pooling, which takes the whole image", size);
    c.require(spatial(c, "stride", "stride", 2, 1) == Dims{1, 1} && spatial(c, "pad", "pad", 2, 0) == Dims{0, 0},
              "with global_pooling stride must be 1 and pad 0");
    c.param.ignore("round_mode");
    if (method == kAverage) c.result("GlobalAveragePool", {x});
    else c.result("ReduceMax", {x, c.ints({2, 3})}, {{"keep_dims", true}});
    return;
  }
  const Windows w = windows_of(c);
  require_windows_inside(c, w, x);
  if (w.pads[0] > w.kernel[0] / 2 || w.pads[1] > w.kernel[1] / 2) return pool_padded(c, x, w, method);
  Attributes attributes = attributes_of(w);
  if (method == kAverage) attributes["exclusive"] = false;
  c.result(method == kMax ? "MaxPoolV3" : "AvgPoolV2", {x}, attributes);
}

constexpr Row kRows[] = {
    {"Pooling", pool, "pooling_param", "MaxPoolV3, AvgPoolV2, GlobalAveragePool, ReduceMax",
     "no STOCHASTIC; no second top (mask); no windows outside the image",
     "不支持 STOCHASTIC、第二个 top（掩码）、图像之外的窗口"},
};

}  // namespace

std::span<const Row> pool_rows() { return kRows; }

}  // namespace updraft::caffe
