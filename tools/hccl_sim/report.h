// What hccl_sim says: text, JSON, a page with plots.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hccl_sim/step.h"

namespace hccl_sim {

/// One collective of one size by one algorithm.
struct CollectiveRow {
  Operation operation;
  double bytes = 0;
  Prediction prediction;
};

/// The same model on a changed cluster.
struct Variant {
  std::string changes;
  Cluster cluster;
  Step best;
};

struct Report {
  Cluster cluster;
  Model model;    ///< as it was given
  Model buckets;  ///< what is reduced
  std::vector<CollectiveRow> collectives;
  std::vector<Step> steps;
  std::vector<ScalePoint> scaling;  ///< may be empty
  std::vector<Variant> variants;    ///< may be empty
};

/// What to set, in one sentence.
std::string advice(const Report& report, bool chinese = false);
/// HCCL_ALGO's value for an algorithm on this cluster.
std::string hccl_algo(const Cluster& cluster, Algorithm algorithm);
std::string to_text(const Report& report);
nlohmann::json to_json(const Report& report);
/// One file without anything from elsewhere: the charts are inline SVG. In both languages; which is seen first is
/// chosen.
std::string to_html(const Report& report, bool chinese = false);

/// Names as HCCL_ALGO writes them.
const char* word_of(Kind kind);

}  // namespace hccl_sim
