#include "observe/compare/measures.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <thread>

#include "base/error.h"
#include "observe/compare/sums.h"

namespace updraft::compare {
namespace {

constexpr double kEpsilon = 2.220446049250313e-16;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
/// Smaller arrays are not worth a thread.
constexpr int64_t kLeastShare = 1 << 18;
constexpr int64_t kBlock = 8192;
/// Means and deviations below that are written as 0.
constexpr double kLeastShown = 0.001;

constexpr const char* kNames[kMeasures] = {
    "CosineSimilarity",          "MaxAbsoluteError",  "AccumulatedRelativeError", "RelativeEuclideanDistance",
    "KullbackLeiblerDivergence", "StandardDeviation", "MeanAbsoluteError",        "RootMeanSquareError",
    "MaxRelativeError",          "MeanRelativeError"};

/// Calls f(share, x, y) for blocks of both arrays, each share in a thread of its own.
template <class Share, class F>
std::vector<Share> each_block(const Array& x, const Array& y, int64_t count, int threads, F&& f) {
  const auto shares = static_cast<size_t>(std::clamp<int64_t>(std::min<int64_t>(threads, count / kLeastShare), 1, 256));
  std::vector<Share> results(shares);
  auto work = [&](size_t s) {
    const int64_t begin = count * static_cast<int64_t>(s) / static_cast<int64_t>(shares),
                  end = count * static_cast<int64_t>(s + 1) / static_cast<int64_t>(shares);
    std::vector<float> a(kBlock), b(kBlock);
    for (int64_t i = begin; i < end; i += kBlock) {
      const auto n = static_cast<size_t>(std::min(kBlock, end - i));
      x.to_floats(i, {a.data(), n});
      y.to_floats(i, {b.data(), n});
      f(results[s], a.data(), b.data(), n);
    }
  };
  std::vector<std::thread> team;
  for (size_t s = 1; s < shares; ++s) team.emplace_back(work, s);
  work(0);
  for (std::thread& one : team) one.join();
  return results;
}

Cell none(std::string reason) { return {"NaN", std::move(reason), kNaN}; }
Cell value(double v) { return {number_text(v), {}, v}; }

}  // namespace

const char* name_of(Measure measure) { return kNames[measure]; }

std::string number_text(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  return fmt::format("{:.6f}", v);
}

Figures figures_of(const Array& x, const Array& y, int threads, int64_t most) {
  Figures f;
  f.count = most > 0 ? std::min(most, x.count()) : x.count();
  if (f.count == 0) return f;
  Sums all;
  for (const Sums& part : each_block<Sums>(x, y, f.count, threads, add_sums)) all.add(part);
  f.xy = all.xy, f.xx = all.xx, f.yy = all.yy;
  f.max_absolute = all.max_absolute, f.absolute = all.absolute, f.square = all.square;
  f.max_relative = all.max_relative, f.relative = all.relative;
  f.x_sum = all.x, f.y_sum = all.y;
  f.x_min = all.x_min, f.x_max = all.x_max, f.y_min = all.y_min, f.y_max = all.y_max;
  f.nan = all.nan;
  if (f.nan) f.max_absolute = kNaN;
  if (std::isnan(f.relative)) f.max_relative = kNaN;
  const auto n = static_cast<double>(f.count);
  const Scale sx{f.x_min, f.x_max - f.x_min, f.x_sum / n}, sy{f.y_min, f.y_max - f.y_min, f.y_sum / n};
  Spread spread;
  for (const Spread& part : each_block<Spread>(
           x, y, f.count, threads,
           [&](Spread& to, const float* a, const float* b, size_t m) { add_spread(to, sx, sy, a, b, m); }))
    spread.add(part);
  f.x_deviation = std::sqrt(spread.x_square / n);
  f.y_deviation = std::sqrt(spread.y_square / n);
  const auto px = static_cast<float>(spread.x_sum), py = static_cast<float>(spread.y_sum);
  double divergence = 0;
  for (double part : each_block<double>(
           x, y, f.count, threads,
           [&](double& to, const float* a, const float* b, size_t m) { to += divergence_of(sx, sy, px, py, a, b, m); }))
    divergence += part;
  f.divergence =
      all.nan_input || !std::isfinite(f.x_max - f.x_min) || !std::isfinite(f.y_max - f.y_min) ? kNaN : divergence;
  return f;
}

Cell cell_of(Measure measure, const Figures& f, bool scalar, const std::string& mine, const std::string& golden) {
  const auto n = static_cast<double>(f.count);
  switch (measure) {
    case kCosineSimilarity: {
      if (scalar) return {"1.000000", "This tensor is scalar.", 1};
      const double x = std::sqrt(f.xx), y = std::sqrt(f.yy);
      if (x <= kEpsilon && y < kEpsilon) return {"1.0", {}, 1};
      if (std::sqrt(x) <= kEpsilon)
        return none(fmt::format("Cannot compare by Cosine Similarity: all elements are zero in {}.", mine));
      if (std::sqrt(y) <= kEpsilon)
        return none(fmt::format("Cannot compare by Cosine Similarity: all elements are zero in {}.", golden));
      const double cosine = f.xy / x / y;
      return value(cosine > 1 ? 1 : cosine);
    }
    case kMaxAbsoluteError: return value(f.max_absolute);
    case kAccumulatedRelativeError: return value(f.relative);
    case kRelativeEuclideanDistance: return value(std::sqrt(f.yy) <= kEpsilon ? 0 : std::sqrt(f.square / f.yy));
    case kKullbackLeiblerDivergence: {
      Cell cell = value(std::fabs(f.divergence) < kEpsilon ? 0 : f.divergence);
      if (std::isinf(f.divergence))
        cell.reason = fmt::format("Cannot compare by KL Divergence: there is a zero in {}.", golden);
      return cell;
    }
    case kStandardDeviation: {
      auto shown = [](double v) { return std::fabs(v) < kLeastShown ? 0.0 : v; };
      auto text = [](double v) {
        return std::isnan(v) ? std::string("nan") : std::isinf(v) ? (v > 0 ? "inf" : "-inf") : fmt::format("{:.3f}", v);
      };
      return {fmt::format("({};{}),({};{})", text(shown(f.x_sum / n)), text(shown(f.x_deviation)),
                          text(shown(f.y_sum / n)), text(shown(f.y_deviation))),
              {},
              kNaN};
    }
    case kMeanAbsoluteError: return value(f.absolute / n);
    case kRootMeanSquareError: return value(std::sqrt(f.square / n));
    case kMaxRelativeError: return value(f.max_relative);
    case kMeanRelativeError: return value(f.relative / n);
    default: return none("no such measure");
  }
}

Row measure(const Array& x, const Array& y, const std::vector<Measure>& chosen, const std::string& mine,
            const std::string& golden, int threads, int64_t most) {
  Row row;
  std::string refused;
  if (x.count() != y.count())
    refused = fmt::format("The number of elements, {} in {}, is not that of the golden data, {} in {}.", x.count(),
                          mine, y.count(), golden);
  else if (x.count() == 0) refused = fmt::format("There are no elements in {} and {}.", mine, golden);
  for (const Array* array : {&x, &y})
    if (refused.empty() && dump::type_size(array->type) == 0)
      refused = fmt::format("Data of type {} cannot be compared.", array->type);
  if (!refused.empty()) {
    row.cells.assign(chosen.size(), none({}));
    row.reasons.push_back(refused);
    return row;
  }
  const Figures figures = figures_of(x, y, threads, most);
  const bool scalar = std::ranges::all_of(x.dims, [](int64_t d) { return d == 1; });
  for (Measure one : chosen) {
    Cell cell = cell_of(one, figures, scalar, mine, golden);
    if (!cell.reason.empty()) row.reasons.push_back(cell.reason);
    row.cells.push_back(std::move(cell));
  }
  return row;
}

std::vector<Measure> parse_measures(const std::string& text) {
  std::vector<Measure> chosen;
  auto all = [&] {
    for (int m = 0; m < kMeasures; ++m) chosen.push_back(static_cast<Measure>(m));
  };
  if (text == "all" || text.empty()) {
    all();
    return chosen;
  }
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    std::string word = text.substr(begin, end - begin);
    std::erase(word, ' ');
    begin = end + 1;
    if (word.empty()) continue;
    int found = -1;
    for (int m = 0; m < kMeasures; ++m)
      if (word == kNames[m] || word == std::to_string(m)) found = m;
    if (found < 0) {
      std::string names;
      for (int m = 0; m < kMeasures; ++m) names += fmt::format("{}{}={}", m ? ", " : "", m, kNames[m]);
      throw Error(code::kAclInvalidParam, "-alg has \"{}\", want some of {}, or all", word, names);
    }
    if (std::ranges::find(chosen, static_cast<Measure>(found)) == chosen.end())
      chosen.push_back(static_cast<Measure>(found));
  }
  if (chosen.empty()) throw Error(code::kAclInvalidParam, "-alg names no measure");
  return chosen;
}

}  // namespace updraft::compare
