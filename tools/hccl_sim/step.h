// A training step: gradients are reduced while the backward pass goes on, one bucket after the other.
#pragma once
#include <vector>

#include "hccl_sim/model.h"
#include "hccl_sim/operation.h"

namespace hccl_sim {

struct Interval {
  double begin, end;
};
struct Step {
  Algorithm algorithm = Algorithm::Auto;
  double seconds = 0;
  double communication = 0;  ///< all collectives together
  double exposed = 0;        ///< what the computation does not hide
  bool simulated = true;
  std::vector<Interval> buckets;
};
Step simulate_step(const Model& buckets, const Cluster& cluster, Algorithm algorithm);

/// The algorithms that are worth comparing: those of HCCL_ALGO between servers; inside one server there is one way.
std::vector<Algorithm> candidates(const Cluster& cluster);
/// The shortest; ties (to 0.001 %) go to the first.
const Step& best_of(const std::vector<Step>& steps);

struct ScalePoint {
  int servers, ranks;
  std::vector<Step> steps;  ///< of every candidate of the largest cluster
};
/// The same servers, more and more of them (1, 2, 3, 4, 6, 8, 12…), up to `most_ranks` cards; every card does the same
/// work (weak scaling).
std::vector<ScalePoint> scale(const Model& buckets, const Cluster& cluster, int most_ranks);

}  // namespace hccl_sim
