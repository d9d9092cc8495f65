// The closed formulas of the α-β-γ model.
#include <algorithm>

#include "collective/algorithm/schedule.h"
#include "collective/algorithm/team.h"
#include "collective/error.h"

namespace updraft::collective {
namespace {

/// What a formula counts: messages one after another, bytes on the busiest link, bytes combined by the busiest rank.
struct Terms {
  double messages = 0, bytes = 0, combined = 0;
};
Terms operator+(const Terms& a, const Terms& b) {
  return {a.messages + b.messages, a.bytes + b.bytes, a.combined + b.combined};
}

int floor_log2(int p) {
  const int up = ceil_log2(p);
  return (int64_t{1} << up) == p ? up : up - 1;
}

/// A reduce-scatter or (nothing combined) an all-gather.
Terms half(Algorithm algorithm, int p, double n, bool combine) {
  const double ranks = p, share = n / ranks, rest = (ranks - 1) * share;
  Terms t;
  switch (algorithm) {
    case Algorithm::Mesh: t = {1, share, rest}; break;
    case Algorithm::Ring: t = {ranks - 1, rest, rest}; break;
    case Algorithm::HalvingDoubling: {
      const int k = floor_log2(p), surplus = p - (1 << k);
      // the first `surplus` members answer for two blocks each, and a round takes as long as its busiest pair
      double blocks = 0;
      for (int j = 0; j < k; ++j) blocks += (1 << j) + std::min(1 << j, surplus);
      t = {double(k), blocks * share, blocks * share};
      // folding: everything to the partner before, its own share back afterwards (or the other way round)
      if (surplus > 0) t = t + (combine ? Terms{2, n + share, n} : Terms{2, n, 0});
      break;
    }
    case Algorithm::AHC: {
      const std::vector<int> groups = default_groups(algorithm, p);
      const double inner = *std::max_element(groups.begin(), groups.end()), outer = double(groups.size());
      t = {ceil_log2(static_cast<int>(inner)) + outer - 1, rest, rest};
      break;
    }
    case Algorithm::Pipeline: {
      const std::vector<int> groups = default_groups(algorithm, p);
      const double rounds = double(groups.size()) - (groups.front() == 1 ? 1 : 0);
      t = {rounds, rounds * share, rest};
      break;
    }
    default: t = {double(ceil_log2(p)), rest, rest};
  }
  if (!combine) t.combined = 0;
  return t;
}

Terms all_reduce(Algorithm algorithm, int p, double n) {
  if (algorithm == Algorithm::HalvingDoubling && p != 1 << floor_log2(p)) {
    const int q = 1 << floor_log2(p);
    return all_reduce(algorithm, q, n) + Terms{2, 2 * n, n};
  }
  if (algorithm == Algorithm::AHC) {
    const std::vector<int> groups = default_groups(algorithm, p);
    const int inner = *std::max_element(groups.begin(), groups.end()), outer = static_cast<int>(groups.size());
    const double small = *std::min_element(groups.begin(), groups.end());
    return half(Algorithm::NB, inner, n, true) + half(Algorithm::NB, outer, n / small, true) +
           half(Algorithm::NB, outer, n / small, false) + half(Algorithm::NB, inner, n, false);
  }
  return half(algorithm, p, n, true) + half(algorithm, p, n, false);
}

Terms scatter(Algorithm algorithm, int p, double n) {
  const double ranks = p;
  switch (algorithm) {
    case Algorithm::Mesh: return {1, n / ranks, 0};
    case Algorithm::Ring: return {ranks - 1, (ranks - 1) * n / ranks, 0};
    default: return {double(ceil_log2(p)), (ranks - 1) * n / ranks, 0};
  }
}

/// A Broadcast, or a Reduce that is one played backwards.
Terms rooted(Algorithm algorithm, int p, double n, bool combine) {
  const double hops = algorithm == Algorithm::Ring ? p - 1 : ceil_log2(p);
  if (algorithm == Algorithm::Ring || algorithm == Algorithm::HalvingDoubling)
    return {hops, hops * n, combine ? hops * n : 0};
  return scatter(algorithm, p, n) + half(algorithm, p, n, combine);
}

Terms terms(Kind kind, Algorithm algorithm, int p, double n) {
  if (kind == Kind::AllToAll && algorithm == Algorithm::Pairwise) return {p - 1.0, (p - 1.0) * n / p, 0};
  if (!has_schedule(kind, algorithm))
    throw Error(result::kPara, "there is no formula for {} by the algorithm {}", name_of(kind), name_of(algorithm));
  switch (kind) {
    case Kind::AllReduce: return all_reduce(algorithm, p, n);
    case Kind::ReduceScatter: return half(algorithm, p, n, true);
    case Kind::AllGather: return half(algorithm, p, n, false);
    case Kind::Scatter: return scatter(algorithm, p, n);
    default: return rooted(algorithm, p, n, kind == Kind::Reduce);
  }
}

}  // namespace

double predict(Kind kind, Algorithm algorithm, int ranks, double bytes, const LinkCost& cost) {
  if (ranks < 1 || ranks > (1 << 30))
    throw Error(result::kPara, "the number of ranks must be in [1, 2^30], got {}", ranks);
  const Terms t = terms(kind, algorithm, ranks, bytes);
  if (ranks == 1 || bytes == 0) return 0;
  return t.messages * cost.alpha + t.bytes * cost.beta + t.combined * cost.gamma;
}

Algorithm choose(Kind kind, int ranks, double bytes, const LinkCost& cost) {
  if (kind == Kind::AllToAll) return Algorithm::Pairwise;
  Algorithm best = Algorithm::Ring;
  double least = predict(kind, best, ranks, bytes, cost);
  for (const Algorithm algorithm : {Algorithm::HalvingDoubling, Algorithm::NHR, Algorithm::NB}) {
    const double time = predict(kind, algorithm, ranks, bytes, cost);
    // equal formulas differ in their last bits
    if (time < least * (1 - 1e-9)) {
      best = algorithm;
      least = time;
    }
  }
  return best;
}

}  // namespace updraft::collective
