// Charts as inline SVG.
#include "hccl_sim/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

namespace hccl_sim {
namespace {

using updraft::collective::name_of;

constexpr const char* kColours[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777"};
// Lines of algorithms that take the same time lie on each other: the dashes let all of them be seen.
constexpr const char* kDashes[] = {"none", "9 3", "3 3", "2 6", "12 4 2 4", "6 6", "1 3"};

/// From the values to the height of a chart: from 0 on, or by powers of ten.
class Scale {
 public:
  Scale(double low, double high, bool logarithmic) : logarithmic_(logarithmic && low > 0) {
    if (!(high > 0)) high = 1;
    if (logarithmic_) {
      for (double power = std::pow(10, std::floor(std::log10(low)));; power *= 10) {
        for (const double m : {1.0, 2.0, 5.0}) {
          if (m * power * 2.5 < low) continue;
          ticks_.push_back(m * power);
          if (m * power >= high) return;
        }
      }
    }
    const double rough = high / 6, power = std::pow(10, std::floor(std::log10(rough)));
    double tick = 10 * power;
    for (const double m : {5.0, 2.0, 1.0})
      if (rough <= m * power) tick = m * power;
    for (int i = 0; i <= std::ceil(high / tick - 1e-9); ++i) ticks_.push_back(i * tick);
  }
  const std::vector<double>& ticks() const { return ticks_; }
  /// 0 at the lowest tick, 1 at the highest.
  double operator()(double v) const {
    const auto at = [&](double x) { return logarithmic_ ? std::log10(x) : x; };
    return (at(v) - at(ticks_.front())) / (at(ticks_.back()) - at(ticks_.front()));
  }

 private:
  bool logarithmic_;
  std::vector<double> ticks_;
};

/// A text in both languages, of which the page shows one.
std::string text(double x, double y, const Both& words, const char* anchor, const char* more = "") {
  std::string out;
  for (const auto& [language, said] : {std::pair("en", &words.en), std::pair("zh", &words.zh)})
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" class=\"{}{}\">{}</text>\n", x, y, anchor,
                       language, more, escaped(*said));
  return out;
}

}  // namespace

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') out += "&lt;";
    else if (c == '>') out += "&gt;";
    else if (c == '&') out += "&amp;";
    else if (c == '"') out += "&quot;";
    else out += c;
  }
  return out;
}

std::string chart(const Both& title, const std::vector<ScalePoint>& points,
                  const std::function<double(const Step&)>& value, const char* unit, bool logarithmic) {
  constexpr double width = 860, height = 360, left = 78, right = 120, top = 36, bottom = 48;
  double low = 0, high = 0;
  for (const ScalePoint& p : points) {
    for (const Step& s : p.steps) {
      const double v = value(s);
      if (v > 0 && (low == 0 || v < low)) low = v;
      high = std::max(high, v);
    }
  }
  const Scale scale(low, high, logarithmic);
  const double first = std::log2(points.front().ranks), last = std::log2(points.back().ranks);
  const auto x = [&](int ranks) {
    return left + (width - left - right) * (last > first ? (std::log2(ranks) - first) / (last - first) : 0.5);
  };
  const auto y = [&](double v) { return height - bottom - (height - top - bottom) * scale(v); };

  std::string out =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", width, height, escaped(title.en));
  out += text(left, 20, title, "start", " title");
  for (const double v : scale.ticks())
    out += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" class=\"grid\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g} {6}</text>\n",
        left, width - right, y(v), left - 6, y(v) + 4, v, unit);
  double labelled = 0;  // where the last number ends
  for (const ScalePoint& p : points) {
    const double half = 4.0 * static_cast<double>(std::to_string(p.ranks).size());
    if (x(p.ranks) - half < labelled + 8) continue;
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x(p.ranks),
                       height - bottom + 18, p.ranks);
    labelled = x(p.ranks) + half;
  }
  out += text(left + (width - left - right) / 2, height - 8, {"ranks", "rank 数"}, "middle");
  for (size_t a = 0; a < points.front().steps.size(); ++a) {
    const char* colour = kColours[a % std::size(kColours)];
    const char* name = name_of(points.front().steps[a].algorithm);
    std::string line, dots;
    for (const ScalePoint& p : points) {
      const double v = value(p.steps[a]);
      if (logarithmic && !(v > 0)) continue;  // one rank waits for nobody
      line += fmt::format("{:.1f},{:.1f} ", x(p.ranks), y(v));
      dots += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2.5\" fill=\"{}\"><title>{}, {} ranks: {:.4g} {}{}"
          "</title></circle>\n",
          x(p.ranks), y(v), colour, name, p.ranks, v, unit, p.steps[a].simulated ? "" : " (closed formula)");
    }
    out += fmt::format(
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"{}\"/>\n{}", line,
        colour, kDashes[a % std::size(kDashes)], dots);
    const double row = top + 8 + 20 * static_cast<double>(a);
    out += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
        "stroke-width=\"2\" stroke-dasharray=\"{4}\"/><text x=\"{5:.1f}\" y=\"{6:.1f}\">{7}</text>\n",
        width - right + 10, width - right + 40, row, colour, kDashes[a % std::size(kDashes)], width - right + 46,
        row + 4, name);
  }
  return out + "</svg>\n";
}

std::string timeline(const Model& buckets, const Step& step) {
  constexpr double width = 860, left = 110, right = 20, top = 36, lane = 26;
  const double height = top + 2 * lane + 44, end = step.seconds > 0 ? step.seconds : 1;
  const Both title = {
      fmt::format("One step by {}: computation, and the gradients' buckets behind it", name_of(step.algorithm)),
      fmt::format("一个训练步（{}）：计算，以及随后的梯度桶通信", name_of(step.algorithm))};
  const auto x = [&](double seconds) { return left + (width - left - right) * seconds / end; };
  std::string out =
      fmt::format("<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n", width, height, escaped(title.en));
  out += text(left, 20, title, "start", " title");
  out += text(left - 8, top + 17, {"computation", "计算"}, "end");
  out += text(left - 8, top + lane + 17, {"collectives", "集合通信"}, "end");
  const auto bar = [&](double begin, double until, int row, const char* colour, const std::string& what) {
    out += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"><title>{}</title></rect>\n",
        x(begin), top + row * lane + 3, std::max(0.8, x(until) - x(begin)), lane - 6, colour, escaped(what));
  };
  if (buckets.forward > 0)
    bar(0, buckets.forward, 0, "#88aacc", fmt::format("forward: {:.3f} ms", buckets.forward * 1e3));
  bar(buckets.forward, buckets.compute, 0, "#4477aa",
      fmt::format("backward: {:.3f} ms", (buckets.compute - buckets.forward) * 1e3));
  // thousands of gradients are drawn as what they fill
  const size_t most = 400, each = (step.buckets.size() + most - 1) / most;
  for (size_t i = 0; i < step.buckets.size(); i += each) {
    const size_t last = std::min(i + each, step.buckets.size()) - 1;
    double bytes = 0;
    for (size_t k = i; k <= last; ++k) bytes += buckets.gradients[k].bytes;
    bar(step.buckets[i].begin, step.buckets[last].end, 1, i / each % 2 ? "#ee6677" : "#cc4455",
        fmt::format("{} ({:.4g} MB): ready at {:.3f} ms, {:.3f} to {:.3f} ms", buckets.gradients[i].name, bytes / 1e6,
                    buckets.gradients[last].ready * 1e3, step.buckets[i].begin * 1e3, step.buckets[last].end * 1e3));
  }
  const Scale scale(0, end * 1e3, false);
  for (const double v : scale.ticks())
    if (v <= end * 1e3 * 1.0001)
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{:g} ms</text>\n", x(v * 1e-3),
                         top + 2 * lane + 22, v);
  return out + "</svg>\n";
}

}  // namespace hccl_sim
