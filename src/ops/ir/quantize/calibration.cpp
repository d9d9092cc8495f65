// Finds the scale and the offset with which a tensor loses least when it is quantised to eight bits.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/ir/shapes.h"

namespace updraft {
namespace {

struct Search {
  double min_percentile, max_percentile, begin, end, step;
  bool with_offset;
};
struct Found {
  float scale = 1, offset = 0;
};

/// The first bin at which the share of the elements up to it reaches `percentile`.
int64_t bin_of(const std::vector<int64_t>& cumulative, double elements, double percentile) {
  return std::count_if(cumulative.begin(), cumulative.end(),
                       [&](int64_t n) { return static_cast<double>(n) / elements < percentile; });
}

/// The sum of squares that quantising with scale and offset loses.
double loss_of(const std::vector<float>& data, Found f) {
  double loss = 0;
  for (float x : data) {
    const float number = std::clamp(std::nearbyint(x / f.scale) + f.offset, -128.0f, 127.0f);
    const auto lost = static_cast<double>((number - f.offset) * f.scale - x);
    loss += lost * lost;
  }
  return loss;
}

Found search(const std::vector<float>& data, float low, float high, const std::vector<int64_t>& cumulative,
             const Search& s) {
  const auto elements = static_cast<double>(data.size()), bins = static_cast<double>(cumulative.size());
  const double range = static_cast<double>(high) - static_cast<double>(low);
  double top = static_cast<double>(bin_of(cumulative, elements, s.max_percentile)) / bins * range +
               static_cast<double>(low),
         bottom = static_cast<double>(bin_of(cumulative, elements, 1 - s.min_percentile)) / bins * range +
                  static_cast<double>(low);
  if (s.with_offset) {
    top = std::max(top, 0.0);
    bottom = std::min(bottom, 0.0);
  } else {
    top = std::max(std::abs(top), std::abs(bottom));
  }
  const auto tries = static_cast<int64_t>(std::ceil((s.end - s.begin) / s.step));
  std::vector<Found> found(static_cast<size_t>(tries));
  std::vector<double> losses(found.size());
  parallel_for(tries, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, static_cast<int64_t>(data.size()))),
               [&](int64_t from, int64_t to) {
                 for (int64_t i = from; i < to; ++i) {
                   Found& f = found[static_cast<size_t>(i)];
                   const double most = top * (s.begin + static_cast<double>(i) * s.step);
                   double scale = s.with_offset ? (most - bottom) / 255 : most / 127;
                   if (scale < static_cast<double>(std::numeric_limits<float>::epsilon())) scale = 1;
                   f.scale = static_cast<float>(scale);
                   if (s.with_offset) f.offset = -(std::nearbyint(static_cast<float>(bottom / scale)) + 128);
                   losses[static_cast<size_t>(i)] = loss_of(data, f);
                 }
               });
  return found[static_cast<size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin())];
}

}  // namespace

ABOUT(IFMR, Vector, "Scale and offset of INT8 that lose least of data, tried by steps of its largest value",
      "按步长搜索使 data 量化为 INT8 时误差最小的 scale 与 offset")
IR_OP(IFMR, IFMR, (In, data), (In, data_min), (In, data_max), (In, cumsum), (Out, scale), (Out, offset),
      (Float, min_percentile), (Float, max_percentile), (Floats, search_range), (Float, search_step),
      (Bool, with_offset)) {
  op.require(is_floating(data->dtype) && !data->empty(), "data is {}, want floating-point values", describe(*data));
  op.require(data_min->numel() == 1 && data_max->numel() == 1, "data_min is {}, data_max is {}: want one value each",
             describe(*data_min), describe(*data_max));
  op.require(cumsum->numel() > 0 && is_integral(cumsum->dtype), "cumsum is {}, want a cumulative histogram",
             describe(*cumsum));
  op.require(search_range.size() == 2 && search_step > 0 && search_range[1] > search_range[0],
             "search_range has {} values, search_step is {}: want a begin, a later end and a step above 0",
             search_range.size(), search_step);
  op.result_like("scale", *scale, *data_min, DType::Float);
  op.result_like("offset", *offset, *data_min, DType::Float);
  const Search s{static_cast<double>(min_percentile),  static_cast<double>(max_percentile),
                 static_cast<double>(search_range[0]), static_cast<double>(search_range[1]),
                 static_cast<double>(search_step),     with_offset};
  op.work(data->numel() * 500);
  op.launch([s, x = *data, low = *data_min, high = *data_max, bins = *cumsum, to_scale = *scale, to_offset = *offset] {
    const Found f = search(floats_of(x), floats_of(low)[0], floats_of(high)[0], integers_of(bins), s);
    write_all(to_scale, std::vector<float>{f.scale});
    write_all(to_offset, std::vector<float>{f.offset});
  });
}

}  // namespace updraft
