// The page: charts as inline SVG, tables below them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "hccl_sim/report.h"

namespace hccl_sim {
namespace {

using updraft::collective::name_of;

constexpr const char* kColours[] = {"#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777"};
// Lines of algorithms that take the same time lie on each other: the dashes let all of them be seen.
constexpr const char* kDashes[] = {"none", "9 3", "3 3", "2 6", "12 4 2 4", "6 6", "1 3"};

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

std::string chart(const std::string& title, const std::vector<ScalePoint>& points,
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

  std::string out = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n<text x=\"{}\" y=\"20\" class=\"title\">{}</text>\n",
      width, height, escaped(title), left, escaped(title));
  for (const double v : scale.ticks())
    out += fmt::format(
        "<line x1=\"{0:.1f}\" x2=\"{1:.1f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\" class=\"grid\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:g} {6}</text>\n",
        left, width - right, y(v), left - 6, y(v) + 4, v, unit);
  for (const ScalePoint& p : points)
    if ((p.servers & (p.servers - 1)) == 0)
      out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n", x(p.ranks),
                         height - bottom + 18, p.ranks);
  out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">ranks</text>\n",
                     left + (width - left - right) / 2, height - 8);
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

std::string scaling_table(const Report& report) {
  std::string out = "<table><tr><th>servers</th><th>ranks</th>";
  for (const Step& s : report.scaling.front().steps) out += fmt::format("<th>{}</th>", name_of(s.algorithm));
  out += "</tr>\n";
  for (const ScalePoint& p : report.scaling) {
    out += fmt::format("<tr><td>{}</td><td>{}</td>", p.servers, p.ranks);
    const double best = best_of(p.steps).seconds;
    for (const Step& s : p.steps)
      out += fmt::format("<td{}>{:.3f} ms{}</td>", s.seconds <= best * (1 + 1e-9) ? " class=\"best\"" : "",
                         s.seconds * 1e3, s.simulated ? "" : " *");
    out += "</tr>\n";
  }
  return out + "</table>\n<p>Bold: the shortest step. * by the closed formula instead of the simulation.</p>\n";
}

std::string link_row(const char* name, const Link& link) {
  return fmt::format(
      "<tr><td>{}</td><td>{:.3g} µs</td><td>{:.4g} GB/s</td><td>{:.4g} GB/s</td><td>{}</td></tr>\n", name,
      link.cost.alpha * 1e6, 1e-9 / link.cost.beta, 1e-9 / link.cost.gamma,
      link.dedicated ? "to each peer" : fmt::format("shared, {:.3g} µs for each further message", link.overhead * 1e6));
}

}  // namespace

std::string to_html(const Report& report) {
  std::string out =
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>hccl_sim</title>\n<style>\n"
      "body{font:15px/1.45 system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 "
      "1em;color:#222;background:#fff}\n"
      "svg{width:100%;height:auto;margin:1em 0}svg text{font:12px system-ui,sans-serif;fill:#333}\n"
      "svg text.title{font-size:15px;font-weight:600}.grid{stroke:#ddd}\n"
      "table{border-collapse:collapse;margin:1em 0}td,th{padding:2px 10px;text-align:right;border-bottom:1px solid "
      "#ddd}\n"
      ".best{font-weight:700}\n</style></head><body>\n";
  out += fmt::format("<h1>{} on {} ranks</h1>\n<p>{}</p>\n", escaped(report.model.name), report.cluster.ranks(),
                     escaped(advice(report)));
  out += fmt::format(
      "<p>{:.1f} MB of gradients in {} buckets; {:.3f} ms of computation a step. Predicted, not measured: "
      "the links below are what was assumed.</p>\n",
      report.model.bytes() / 1e6, report.buckets.gradients.size(), report.buckets.compute * 1e3);
  out += "<table><tr><th>link</th><th>latency</th><th>bandwidth</th><th>combining</th><th>port</th></tr>\n" +
         link_row("inside a server", report.cluster.fabric.intra) +
         link_row("between servers", report.cluster.fabric.inter) + "</table>\n";
  if (!report.scaling.empty()) {
    const double compute = report.buckets.compute;
    out += chart(
        "Collectives of a step", report.scaling, [](const Step& s) { return s.communication * 1e3; }, "ms", true);
    out += chart(
        "Scaling efficiency: computation / step", report.scaling,
        [=](const Step& s) { return s.seconds > 0 ? 100 * compute / s.seconds : 100; }, "%", false);
    out += chart(
        "Step time", report.scaling, [](const Step& s) { return s.seconds * 1e3; }, "ms", false);
    out += scaling_table(report);
  }
  out += "<h2>Collectives</h2>\n<table><tr><th>collective</th><th>bytes</th><th>algorithm</th><th>time</th></tr>\n";
  for (const CollectiveRow& row : report.collectives)
    out += fmt::format("<tr><td>{}</td><td>{:.0f}</td><td>{}</td><td>{:.4f} ms{}</td></tr>\n",
                       word_of(row.operation.kind), row.bytes, name_of(row.operation.algorithm),
                       row.prediction.seconds * 1e3, row.prediction.simulated ? "" : " *");
  return out + "</table>\n</body></html>\n";
}

}  // namespace hccl_sim
