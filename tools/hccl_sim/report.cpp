#include "hccl_sim/report.h"

#include <fmt/format.h>

namespace hccl_sim {

using nlohmann::json;
using updraft::collective::name_of;

const char* word_of(Kind kind) {
  constexpr const char* words[] = {"allreduce", "reducescatter", "allgather", "broadcast",
                                   "reduce",    "scatter",       "alltoall"};
  return words[static_cast<int>(kind)];
}

namespace {

std::string cluster_line(const Cluster& cluster) {
  const std::string cards =
      cluster.even() ? fmt::format("{} cards", cluster.cards.front()) : "different numbers of cards";
  return fmt::format("{} ranks: {} server(s) of {}", cluster.ranks(), cluster.servers(), cards);
}

std::string mark(bool simulated) { return simulated ? "" : "  (closed formula)"; }

}  // namespace

std::string advice(const Report& report) {
  const Step& best = best_of(report.steps);
  if (report.cluster.servers() == 1)
    return fmt::format("Take {}: {:.3f} ms a step. (One server: HCCL chooses by itself, HCCL_ALGO has no say.)",
                       name_of(best.algorithm), best.seconds * 1e3);
  return fmt::format(
      "Take {}: {:.3f} ms a step, {:.3f} ms of it waiting for collectives. "
      "HCCL_ALGO=\"level0:NA;level1:{}\"",
      name_of(best.algorithm), best.seconds * 1e3, best.exposed * 1e3, name_of(best.algorithm));
}

std::string to_text(const Report& report) {
  std::string out = cluster_line(report.cluster) + "\n\n";
  out += fmt::format("{:<14} {:>12} {:<9} {:>12}\n", "collective", "bytes", "algorithm", "ms");
  for (const CollectiveRow& row : report.collectives)
    out += fmt::format("{:<14} {:>12.0f} {:<9} {:>12.4f}{}\n", word_of(row.operation.kind), row.bytes,
                       name_of(row.operation.algorithm), row.prediction.seconds * 1e3, mark(row.prediction.simulated));
  if (report.steps.empty()) return out;
  out += fmt::format("\n{}: {:.1f} MB of gradients in {} buckets, {:.3f} ms of computation\n", report.model.name,
                     report.model.bytes() / 1e6, report.buckets.gradients.size(), report.buckets.compute * 1e3);
  out += fmt::format("{:<9} {:>10} {:>12} {:>12} {:>10}\n", "algorithm", "step ms", "exposed ms", "all coll. ms",
                     "efficiency");
  for (const Step& step : report.steps)
    out += fmt::format("{:<9} {:>10.3f} {:>12.3f} {:>12.3f} {:>9.1f}%{}\n", name_of(step.algorithm), step.seconds * 1e3,
                       step.exposed * 1e3, step.communication * 1e3, 100 * report.buckets.compute / step.seconds,
                       mark(step.simulated));
  out += "\n" + advice(report) + "\n";
  if (report.scaling.empty()) return out;
  out += fmt::format("\nstep ms\n{:>8} {:>8}", "servers", "ranks");
  for (const Step& step : report.scaling.front().steps) out += fmt::format(" {:>10}", name_of(step.algorithm));
  out += "  take\n";
  for (const ScalePoint& point : report.scaling) {
    out += fmt::format("{:>8} {:>8}", point.servers, point.ranks);
    for (const Step& step : point.steps)
      out += fmt::format(" {:>9.3f}{}", step.seconds * 1e3, step.simulated ? " " : "*");
    out += fmt::format("  {}\n", point.servers > 1 ? name_of(best_of(point.steps).algorithm) : "-");
  }
  out += "* closed formula\n";
  return out;
}

json to_json(const Report& report) {
  json result;
  result["cluster"] = to_json(report.cluster);
  result["model"] = {{"name", report.model.name},
                     {"bytes", report.model.bytes()},
                     {"compute_s", report.model.compute},
                     {"gradients", report.model.gradients.size()}};
  result["buckets"] = json::array();
  for (const Gradient& b : report.buckets.gradients)
    result["buckets"].push_back({{"bytes", b.bytes}, {"ready_s", b.ready}});
  result["collectives"] = json::array();
  for (const CollectiveRow& row : report.collectives)
    result["collectives"].push_back({{"kind", word_of(row.operation.kind)},
                                     {"bytes", row.bytes},
                                     {"algorithm", name_of(row.operation.algorithm)},
                                     {"seconds", row.prediction.seconds},
                                     {"simulated", row.prediction.simulated}});
  const auto step_of = [&](const Step& step) {
    return json{{"algorithm", name_of(step.algorithm)},
                {"step_s", step.seconds},
                {"exposed_s", step.exposed},
                {"collectives_s", step.communication},
                {"efficiency", step.seconds > 0 ? report.buckets.compute / step.seconds : 1},
                {"simulated", step.simulated}};
  };
  result["steps"] = json::array();
  for (const Step& step : report.steps) {
    json one = step_of(step);
    one["buckets"] = json::array();
    for (const Interval& b : step.buckets) one["buckets"].push_back({{"begin_s", b.begin}, {"end_s", b.end}});
    result["steps"].push_back(std::move(one));
  }
  if (!report.steps.empty()) {
    result["choice"] = {{"algorithm", name_of(best_of(report.steps).algorithm)}, {"text", advice(report)}};
    if (report.cluster.servers() > 1)
      result["choice"]["HCCL_ALGO"] = fmt::format("level0:NA;level1:{}", name_of(best_of(report.steps).algorithm));
  }
  result["scaling"] = json::array();
  for (const ScalePoint& point : report.scaling) {
    json one = {{"servers", point.servers}, {"ranks", point.ranks}, {"steps", json::array()}};
    for (const Step& step : point.steps) one["steps"].push_back(step_of(step));
    if (point.servers > 1) one["choice"] = name_of(best_of(point.steps).algorithm);
    result["scaling"].push_back(std::move(one));
  }
  return result;
}

}  // namespace hccl_sim
