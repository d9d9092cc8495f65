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
  if (cluster.servers() > 1) return {Ring, HalvingDoubling, NHR, NB, AHC, Pipeline};
  return {Mesh};
}

// Blocks that differ by an element make no difference.
const Step& best_of(const std::vector<Step>& steps) {
  const Step* best = &steps.front();
  for (const Step& step : steps)
    if (step.seconds < best->seconds * (1 - 1e-5)) best = &step;
  return *best;
}

std::vector<ScalePoint> scale(const Model& buckets, const Cluster& cluster, int most_ranks) {
  const int cards = cluster.most_cards();
  const int pod = cluster.pods.empty() ? 0 : *std::max_element(cluster.pods.begin(), cluster.pods.end());
  Cluster of = cluster;
  of.places.clear();
  of.pods.clear();
  of.cards.assign(2, cards);
  const std::vector<Algorithm> algorithms = candidates(of);
  // powers of two and the middles between them; from the first super pod on whole ones
  std::vector<int> servers;
  const auto add = [&](int64_t unit, int64_t below) {
    for (int64_t power = 1; power * unit * cards <= most_ranks; power *= 2)
      for (const int64_t count : {power * unit, power * unit / 2 * 3})
        if (count < below && count * cards <= most_ranks && (power > 1 || count == unit))
          servers.push_back(static_cast<int>(count));
  };
  add(1, pod > 0 ? pod : INT64_MAX);
  if (pod > 0) add(pod, INT64_MAX);
  std::sort(servers.begin(), servers.end());

  std::vector<ScalePoint> points;
  for (const int count : servers) {
    of.cards.assign(static_cast<size_t>(count), cards);
    of.pods = pod > 0 ? pods_of(count, pod) : std::vector<int>{};
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
