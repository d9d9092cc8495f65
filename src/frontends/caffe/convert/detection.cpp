// What detectors have beside their convolutions.
#include <algorithm>
#include <cmath>

#include "frontends/caffe/convert/families.h"

namespace updraft::caffe {
namespace {

struct Pair {
  double high, wide;
};
/// Two numbers by one field or by two; 0 where none is given.
Pair pair_of(Conversion& c, const std::string& name) {
  const std::string high = name + "_h", wide = name + "_w";
  const bool both = c.param.has(high) || c.param.has(wide);
  c.require(!both || !c.param.has(name == "img" ? "img_size" : name), "{} is given, and {} or {}, too", name, high,
            wide);
  if (both) return {c.param.real(high), c.param.real(wide)};
  const double one = c.param.real(name == "img" ? "img_size" : name, 0);
  return {one, one};
}

std::vector<double> ratios_of(Conversion& c) {
  const bool flip = c.param.flag("flip", true);
  std::vector<double> all = {1};
  for (const double ratio : c.param.reals("aspect_ratio")) {
    c.require(ratio > 0, "prior_box_param.aspect_ratio is {}, want positive ones", ratio);
    if (std::ranges::any_of(all, [&](double r) { return std::abs(r - ratio) < 1e-6; })) continue;
    all.push_back(ratio);
    if (flip) all.push_back(1 / ratio);
  }
  return all;
}

/// Boxes around the centre of each cell of the first bottom, as parts of the image that the second one is, and their
/// variances. They follow from sizes alone.
void prior_box(Conversion& c) {
  const Endpoint x = c.in(0);
  c.require(c.rank(x) == 4, "bottom is {}, want 4 dimensions", describe(c.desc(x)));
  const int64_t rows = c.size(x, 2, "the bottom"), columns = c.size(x, 3, "the bottom");
  const std::vector<double> least = c.param.reals("min_size"), most = c.param.reals("max_size"), ratios = ratios_of(c);
  std::vector<double> variances = c.param.reals("variance");
  const bool clip = c.param.flag("clip", false);
  const double offset = c.param.real("offset", 0.5);
  Pair image = pair_of(c, "img"), step = pair_of(c, "step");
  if (image.high == 0 || image.wide == 0)
    image = {static_cast<double>(c.size(c.in(1), 2, "the image")),
             static_cast<double>(c.size(c.in(1), 3, "the image"))};
  if (step.high == 0 || step.wide == 0)
    step = {image.high / static_cast<double>(rows), image.wide / static_cast<double>(columns)};
  if (variances.empty()) variances = {0.1};
  c.require(!least.empty() && (most.empty() || most.size() == least.size()),
            "prior_box_param has {} min_size and {} max_size, want as many", least.size(), most.size());
  c.require(variances.size() == 1 || variances.size() == 4, "prior_box_param.variance has {} values, want 1 or 4",
            variances.size());
  c.few(c.few(c.few(rows, "rows") * c.few(columns, "columns"), "cells") *
            static_cast<int64_t>(least.size() * (ratios.size() + 1)),
        "boxes");
  std::vector<double> all;
  auto add = [&](double x0, double y0, double width, double height) {
    for (const double v : {(x0 - width / 2) / image.wide, (y0 - height / 2) / image.high, (x0 + width / 2) / image.wide,
                           (y0 + height / 2) / image.high})
      all.push_back(clip ? std::clamp(v, 0.0, 1.0) : v);
  };
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      for (size_t s = 0; s < least.size(); ++s) {
        const double at_x = (static_cast<double>(column) + offset) * step.wide,
                     at_y = (static_cast<double>(row) + offset) * step.high;
        const double small = std::floor(least[s]);  // Caffe takes whole sizes
        add(at_x, at_y, small, small);
        if (!most.empty()) {
          const double middle = std::sqrt(small * std::floor(most[s]));
          add(at_x, at_y, middle, middle);
        }
        for (size_t r = 1; r < ratios.size(); ++r)
          add(at_x, at_y, small * std::sqrt(ratios[r]), small / std::sqrt(ratios[r]));
      }
  const size_t numbers = all.size();
  for (size_t i = 0; i < numbers; ++i) all.push_back(variances[variances.size() == 1 ? 0 : i % 4]);
  const Dims dims = {1, 2, static_cast<int64_t>(numbers)};
  c.give(c.build.constant(c.name, frontends::numbers_tensor(all, dims, DType::Float)));
}

constexpr Row kRows[] = {
    {"PriorBox", prior_box, "prior_box_param", "Const"},
};

}  // namespace

std::span<const Row> detection_rows() { return kRows; }

}  // namespace updraft::caffe
