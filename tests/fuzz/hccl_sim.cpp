// What hccl_sim reads: descriptions of clusters with what-ifs, models as JSON and CSV, measurements. The first byte
// chooses. What is refused is refused by an Error; what is taken gives finite times and a page.
#include <cmath>
#include <string>

#include "base/error.h"
#include "hccl_sim/calibrate.h"
#include "hccl_sim/presets.h"
#include "hccl_sim/report.h"
#include "input.h"

using namespace hccl_sim;
using nlohmann::json;
using updraft::collective::Algorithm;
using updraft::collective::Kind;

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  fuzz::environment();
  return 0;
}

namespace {

void require_finite(double seconds) {
  if (!std::isfinite(seconds) || seconds < 0) fuzz::wrong("seconds", 0);
}

void simulate_on(const Cluster& cluster, const Model& model) {
  if (cluster.ranks() > 40 || model.gradients.size() > 50) return;
  Report report;
  report.cluster = cluster;
  report.model = model;
  report.buckets = bucketised(timed(model, -1, 1e-3), 1 << 20, 1 << 10);
  for (const Algorithm a : candidates(cluster)) {
    for (const Gradient& bucket : report.buckets.gradients)
      if (bucket.bytes > 1e15) return;
    report.steps.push_back(simulate_step(report.buckets, cluster, a));
    require_finite(report.steps.back().seconds);
  }
  for (const Kind kind : {Kind::ReduceScatter, Kind::Broadcast, Kind::Scatter, Kind::AllToAll}) {
    const Operation op = operation_of(kind, Algorithm::Auto, 1e4, cluster.ranks(), 4);
    require_finite(predict_on(op, cluster).seconds);
    if (cluster.ranks() <= 8) messages_on(op, cluster);
  }
  const auto ranks = static_cast<size_t>(cluster.ranks());
  for (const Kind kind : {Kind::AllGatherV, Kind::ReduceScatterV, Kind::AllToAllV, Kind::Barrier}) {
    if (ranks > 8) break;
    Operation op{kind, Algorithm::Auto, 0, 8};
    for (size_t i = 0; i < (kind == Kind::AllToAllV ? ranks * ranks : kind == Kind::Barrier ? 0 : ranks); ++i)
      op.counts.push_back(i * 7 % 5);
    messages_on(op, cluster);
  }
  if (to_html(report).find("<script") != std::string::npos) fuzz::wrong("page", 0);
  to_json(report).dump(-1, ' ', false, json::error_handler_t::replace);
  to_text(report);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const int what = input.below(4);
  const std::string text = input.text(size);
  try {
    const Model small{"m", 1e-3, {{"a", 1e5, 1e-3}}};
    switch (what) {
      case 0: {
        // a description, and behind a zero what is changed of it
        const size_t end = text.find('\0');
        json description = json::parse(text.substr(0, end));
        if (end != std::string::npos) change(description, text.substr(end + 1));
        const Cluster cluster = parse_cluster(description);
        const Cluster again = parse_cluster(to_json(cluster));
        if (again.cards != cluster.cards || again.pods != cluster.pods) fuzz::wrong("cluster", cluster.ranks());
        simulate_on(cluster, small);
        break;
      }
      case 1:
        simulate_on(parse_cluster({{"servers", 2}, {"cards_per_server", 2}}), parse_model(json::parse(text)));
        break;
      case 2: simulate_on(parse_cluster({{"servers", 3}, {"cards_per_server", 1}}), parse_model_csv(text, "x")); break;
      default: {
        const auto measurements = parse_measurements(text, "x");
        for (const Measurement& m : measurements)
          if (m.ranks > 16) return 0;
        if (measurements.size() > 12) return 0;
        const Calibration found = calibrate(measurements);
        for (const double seconds : found.predicted) require_finite(seconds);
        residuals(measurements, found.predicted);
      }
    }
  } catch (const json::exception&) {
  } catch (const updraft::Error& e) {
    if (e.text().empty()) fuzz::wrong(e.what(), e.code());
  }
  return 0;
}
