#include "hccl_sim/step.h"

#include <algorithm>
#include <map>

namespace hccl_sim {

Step simulate_step(const Model& buckets, const Cluster& cluster, Algorithm algorithm) {
  Step step;
  step.algorithm = algorithm;
  std::map<double, Prediction> known;
  double free = 0;
  for (const Gradient& bucket : buckets.gradients) {
    const auto [it, fresh] = known.try_emplace(bucket.bytes);
    if (fresh)
      it->second = predict_on(operation_of(Kind::AllReduce, algorithm, bucket.bytes, cluster.ranks(), 4), cluster);
    const double begin = std::max(free, bucket.ready);
    free = begin + it->second.seconds;
    step.buckets.push_back({begin, free});
    step.communication += it->second.seconds;
    step.simulated = step.simulated && it->second.simulated;
  }
  step.seconds = std::max(free, buckets.compute);
  step.exposed = step.seconds - buckets.compute;
  return step;
}

std::vector<Algorithm> candidates(const Cluster& cluster) {
  using enum Algorithm;
  if (cluster.servers() == 1) {
    if (cluster.fabric.intra.dedicated) return {Mesh, Ring, HalvingDoubling, NHR, NB};
    return {Ring, HalvingDoubling, NHR, NB};
  }
  std::vector<Algorithm> result = {Ring, HalvingDoubling, NHR, NB};
  // with one card a server, AHC is NB and pipeline is the ring
  if (*std::max_element(cluster.cards.begin(), cluster.cards.end()) > 1) {
    result.push_back(AHC);
    if (cluster.even()) result.push_back(Pipeline);
  }
  return result;
}

// Blocks that differ by an element make no difference.
const Step& best_of(const std::vector<Step>& steps) {
  const Step* best = &steps.front();
  for (const Step& step : steps)
    if (step.seconds < best->seconds * (1 - 1e-5)) best = &step;
  return *best;
}

std::vector<ScalePoint> scale(const Model& buckets, const Cluster& cluster, int most_ranks) {
  const int cards = *std::max_element(cluster.cards.begin(), cluster.cards.end());
  Cluster of = cluster;
  of.cards.assign(2, cards);
  const std::vector<Algorithm> algorithms = candidates(of);
  std::vector<int> servers;
  for (int64_t power = 1; power * cards <= most_ranks; power *= 2) {
    servers.push_back(static_cast<int>(power));
    if (power > 1 && power / 2 * 3 * cards <= most_ranks) servers.push_back(static_cast<int>(power / 2 * 3));
  }
  std::sort(servers.begin(), servers.end());

  std::vector<ScalePoint> points;
  for (const int count : servers) {
    of.cards.assign(static_cast<size_t>(count), cards);
    ScalePoint point{count, count * cards, {}};
    for (const Algorithm algorithm : algorithms) {
      // inside one server the algorithm between servers has no say
      const Algorithm used = count > 1 ? algorithm : candidates(of).front();
      point.steps.push_back(simulate_step(buckets, of, used));
      point.steps.back().algorithm = algorithm;
    }
    points.push_back(std::move(point));
  }
  return points;
}

}  // namespace hccl_sim
