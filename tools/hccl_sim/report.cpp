#include "hccl_sim/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace hccl_sim {

using nlohmann::json;
using updraft::collective::name_of;

const char* word_of(Kind kind) {
  constexpr const char* words[] = {"allreduce",      "reducescatter", "allgather",  "broadcast",
                                   "reduce",         "scatter",       "alltoall",   "allgatherv",
                                   "reducescatterv", "alltoallv",     "alltoallvc", "barrier"};
  return words[static_cast<int>(kind)];
}

namespace {

std::string cluster_line(const Cluster& cluster) {
  std::string cards = "different numbers of cards";
  if (cluster.even()) cards = fmt::format("{} card{}", cluster.cards.front(), cluster.cards.front() == 1 ? "" : "s");
  std::string line = fmt::format("{} ranks: {} server(s) of {}", cluster.ranks(), cluster.servers(), cards);
  if (cluster.super_pods() > 1) line += fmt::format(" in {} super pods", cluster.super_pods());
  return line;
}

std::string mark(bool simulated) { return simulated ? "" : "*"; }

/// A row for each collective and size, a column for each algorithm.
std::string collectives(const Report& report) {
  std::vector<Algorithm> algorithms;
  for (const CollectiveRow& row : report.collectives)
    if (row.operation.algorithm != Algorithm::Pairwise &&
        std::ranges::find(algorithms, row.operation.algorithm) == algorithms.end())
      algorithms.push_back(row.operation.algorithm);
  std::string out = fmt::format("{:<14} {:>12}", "collective, ms", "bytes");
  for (const Algorithm a : algorithms) out += fmt::format(" {:>10}", name_of(a));
  out += "  take\n";
  for (size_t i = 0; i < report.collectives.size();) {
    const CollectiveRow& first = report.collectives[i];
    out += fmt::format("{:<14} {:>12.0f}", word_of(first.operation.kind), first.bytes);
    const CollectiveRow* best = &first;
    size_t end = i;
    std::map<Algorithm, const CollectiveRow*> by_algorithm;
    for (; end < report.collectives.size(); ++end) {
      const CollectiveRow& row = report.collectives[end];
      if (row.operation.kind != first.operation.kind || row.bytes != first.bytes) break;
      by_algorithm[row.operation.algorithm] = &row;
      if (row.prediction.seconds < best->prediction.seconds * (1 - 1e-5)) best = &row;
    }
    for (const Algorithm a : algorithms) {
      const auto it = by_algorithm.find(a);
      if (it == by_algorithm.end()) out += fmt::format(" {:>10}", "-");
      else
        out += fmt::format(" {:>10}", fmt::format("{:.4f}{}", it->second->prediction.seconds * 1e3,
                                                  mark(it->second->prediction.simulated)));
    }
    const bool only = best->operation.algorithm == Algorithm::Pairwise;
    out += fmt::format(
        "  {}{}\n", name_of(best->operation.algorithm),
        only ? fmt::format(": {:.4f}{}", best->prediction.seconds * 1e3, mark(best->prediction.simulated)) : "");
    i = end;
  }
  return out;
}

}  // namespace

std::string hccl_algo(const Cluster& cluster, Algorithm algorithm) {
  std::string text = fmt::format("level0:NA;level1:{}", name_of(algorithm));
  if (cluster.super_pods() > 1) text += fmt::format(";level2:{}", name_of(algorithm));
  return text;
}

std::string advice(const Report& report, bool chinese) {
  const Step& best = best_of(report.steps);
  const char* name = name_of(best.algorithm);
  const double ms = best.seconds * 1e3;
  if (report.cluster.servers() == 1) {
    if (chinese)
      return fmt::format("每步 {:.3f} ms。（单台服务器：各 rank 直接读写彼此的内存，HCCL_ALGO 不起作用。）", ms);
    return fmt::format("{:.3f} ms a step. (One server: ranks work in each other's memory, HCCL_ALGO has no say.)", ms);
  }
  return fmt::format(fmt::runtime(chinese ? "采用 {}：每步 {:.3f} ms，其中等待集合通信 {:.3f} ms。HCCL_ALGO=\"{}\""
                                          : "Take {}: {:.3f} ms a step, {:.3f} ms of it waiting for collectives. "
                                            "HCCL_ALGO=\"{}\""),
                     name, ms, best.exposed * 1e3, hccl_algo(report.cluster, best.algorithm));
}

std::string to_text(const Report& report) {
  std::string out = cluster_line(report.cluster) + "\n\n" + collectives(report);
  if (report.steps.empty()) return out;
  out += fmt::format("\n{}: {:.1f} MB of gradients in {} buckets, {:.3f} ms of computation\n", report.model.name,
                     report.model.bytes() / 1e6, report.buckets.gradients.size(), report.buckets.compute * 1e3);
  out += fmt::format("{:<9} {:>10} {:>12} {:>12} {:>10}\n", "algorithm", "step ms", "exposed ms", "all coll. ms",
                     "efficiency");
  for (const Step& step : report.steps)
    out += fmt::format("{:<9} {:>10.3f} {:>12.3f} {:>12.3f} {:>9.1f}%{}\n", name_of(step.algorithm), step.seconds * 1e3,
                       step.exposed * 1e3, step.communication * 1e3,
                       step.seconds > 0 ? 100 * report.buckets.compute / step.seconds : 100, mark(step.simulated));
  out += "\n" + advice(report) + "\n";
  if (!report.variants.empty()) {
    const double today = best_of(report.steps).seconds;
    out += fmt::format("\n{:<9} {:>10} {:>12} {:>8}  what if\n", "take", "step ms", "exposed ms", "change");
    for (const Variant& v : report.variants)
      out += fmt::format("{:<9} {:>10.3f} {:>12.3f} {:>+7.1f}%  {}\n", name_of(v.best.algorithm), v.best.seconds * 1e3,
                         v.best.exposed * 1e3, today > 0 ? 100 * (v.best.seconds / today - 1) : 0, v.changes);
  }
  if (!report.scaling.empty()) {
    out += fmt::format("\n{:>8} {:>8}", "servers", "ranks");
    for (const Step& step : report.scaling.front().steps) out += fmt::format(" {:>10}", name_of(step.algorithm));
    out += "  take     (ms a step)\n";
  }
  for (const ScalePoint& point : report.scaling) {
    out += fmt::format("{:>8} {:>8}", point.servers, point.ranks);
    for (const Step& step : point.steps)
      out += fmt::format(" {:>10}", fmt::format("{:.3f}{}", step.seconds * 1e3, mark(step.simulated)));
    out += fmt::format("  {}\n", point.servers > 1 ? name_of(best_of(point.steps).algorithm) : "-");
  }
  if (out.find('*') != std::string::npos) out += "* by the closed formula: too much to be simulated\n";
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
      result["choice"]["HCCL_ALGO"] = hccl_algo(report.cluster, best_of(report.steps).algorithm);
  }
  result["what_if"] = json::array();
  for (const Variant& v : report.variants)
    result["what_if"].push_back({{"changes", v.changes}, {"cluster", to_json(v.cluster)}, {"best", step_of(v.best)}});
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
