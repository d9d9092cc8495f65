// Which phases make up an operation.
#include "collective/algorithm/schedule.h"

#include <numeric>

#include "collective/algorithm/team.h"
#include "collective/error.h"

namespace updraft::collective {
namespace {

bool grouped(Algorithm algorithm) { return algorithm == Algorithm::AHC || algorithm == Algorithm::Pipeline; }

void check(Kind kind, Algorithm algorithm, int rank, int64_t ranks, uint64_t n, int root) {
  if (!has_schedule(kind, algorithm))
    throw Error(result::kPara,
                "{} has no schedule for the algorithm {}: choose another in HCCL_ALGO, or leave it unset so that the "
                "cost model chooses",
                name_of(kind), name_of(algorithm));
  if (ranks < 1 || ranks > (1 << 30))
    throw Error(result::kPara, "{}: the number of ranks must be in [1, 2^30], got {}", name_of(kind), ranks);
  if (rank < 0 || rank >= ranks)
    throw Error(result::kPara, "{}: the rank must be in [0, {}), got {}", name_of(kind), ranks, rank);
  if (root < 0 || root >= ranks)
    throw Error(result::kPara, "{}: the root must be in [0, {}), got {}", name_of(kind), ranks, root);
  if (n > UINT64_MAX / static_cast<uint64_t>(ranks))
    throw Error(result::kPara, "{}: {} elements for each of {} ranks are more than 64 bits count: pass a smaller count",
                name_of(kind), n, ranks);
}

}  // namespace

namespace phase {
namespace {

/// Whether the whole data goes from rank to rank in a Broadcast, instead of being scattered and gathered.
bool whole(Algorithm algorithm) { return algorithm == Algorithm::Ring || algorithm == Algorithm::HalvingDoubling; }

Schedule broadcast_whole(Algorithm algorithm, const Team& team, int root) {
  return algorithm == Algorithm::Ring ? ring::broadcast(team, root) : binomial::broadcast(team, root);
}

}  // namespace

Schedule reduce_scatter(Algorithm algorithm, const Team& team) {
  switch (algorithm) {
    case Algorithm::Mesh: return mesh::reduce_scatter(team);
    case Algorithm::Ring: return ring::reduce_scatter(team);
    case Algorithm::HalvingDoubling: return halving_doubling::reduce_scatter(team);
    case Algorithm::NHR: return nhr::reduce_scatter(team);
    case Algorithm::Pipeline: return pipeline::reduce_scatter(team, default_groups(algorithm, team.size).front());
    default: return nb::reduce_scatter(team);
  }
}

Schedule scatter(Algorithm algorithm, const Team& team, int root) {
  switch (algorithm) {
    case Algorithm::Mesh: return mesh::scatter(team, root);
    case Algorithm::Ring: return ring::scatter(team, root);
    case Algorithm::NHR: return nhr::scatter(team, root);
    default: return binomial::scatter(team, root);
  }
}

Schedule broadcast(Algorithm algorithm, const Team& team, int root) {
  if (whole(algorithm)) return broadcast_whole(algorithm, team, root);
  return then(scatter(algorithm, team, root), mirror(reduce_scatter(algorithm, team), false));
}

Schedule reduce(Algorithm algorithm, const Team& team, int root) {
  if (whole(algorithm)) return mirror(broadcast_whole(algorithm, team, root), true);
  return then(reduce_scatter(algorithm, team), mirror(scatter(algorithm, team, root), false));
}

}  // namespace phase

bool has_schedule(Kind kind, Algorithm algorithm) {
  if (algorithm == Algorithm::Auto || algorithm == Algorithm::Pairwise || algorithm > Algorithm::Pairwise) return false;
  switch (kind) {
    case Kind::AllReduce:
    case Kind::ReduceScatter:
    case Kind::AllGather: return true;
    case Kind::Broadcast:
    case Kind::Reduce:
    case Kind::Scatter: return !grouped(algorithm);
    default: return false;
  }
}

std::vector<int> default_groups(Algorithm algorithm, int ranks) {
  int root = 1;
  while (static_cast<int64_t>(root + 1) * (root + 1) <= ranks) ++root;
  if (algorithm == Algorithm::Pipeline) {
    while (ranks % root != 0) --root;
    return std::vector<int>(static_cast<size_t>(ranks / root), root);
  }
  std::vector<int> groups;
  for (int g = 0; g < root; ++g)
    groups.push_back(static_cast<int>(block_of(static_cast<uint64_t>(ranks), root, g).count));
  return groups;
}

Schedule make_grouped_schedule(Kind kind, Algorithm algorithm, int rank, const std::vector<int>& groups, uint64_t n) {
  for (const int group : groups) {
    if (group < 1)
      throw Error(result::kPara, "{} over groups: every group must have a rank or more, got a group of {}",
                  name_of(kind), group);
    if (algorithm == Algorithm::Pipeline && group != groups.front())
      throw Error(result::kPara,
                  "{}: the pipeline algorithm wants groups of one size, got groups of {} and {} ranks: set HCCL_ALGO "
                  "to level0:NA;level1:AHC, which takes any sizes",
                  name_of(kind), groups.front(), group);
  }
  const int64_t ranks = std::accumulate(groups.begin(), groups.end(), int64_t{0});
  check(kind, algorithm, rank, ranks, n, 0);
  if (!grouped(algorithm))
    throw Error(result::kPara, "{}: the algorithm {} knows no groups: AHC and pipeline do", name_of(kind),
                name_of(algorithm));
  if (ranks == 1 || n == 0) return {};

  const auto phase = [&] {
    if (algorithm == Algorithm::AHC) return ahc::reduce_scatter(rank, groups, n);
    return pipeline::reduce_scatter(
        Everybody(rank, static_cast<int>(ranks), n, kind == Kind::AllReduce ? Everybody::Divided : Everybody::Repeated),
        groups.front());
  };
  if (kind == Kind::AllGather) return mirror(phase(), false);
  if (kind == Kind::ReduceScatter) return phase();
  if (algorithm == Algorithm::AHC) return ahc::all_reduce(rank, groups, n);
  return then(phase(), mirror(phase(), false));
}

Schedule make_schedule(Kind kind, Algorithm algorithm, int rank, int ranks, uint64_t n, int root) {
  check(kind, algorithm, rank, ranks, n, root);
  if (ranks == 1 || n == 0) return {};
  if (grouped(algorithm)) return make_grouped_schedule(kind, algorithm, rank, default_groups(algorithm, ranks), n);

  const bool folds = algorithm == Algorithm::HalvingDoubling;
  const Everybody divided(rank, ranks, n, Everybody::Divided), repeated(rank, ranks, n, Everybody::Repeated);
  switch (kind) {
    case Kind::AllReduce:
      if (folds) return halving_doubling::all_reduce(rank, ranks, n);
      return then(phase::reduce_scatter(algorithm, divided), mirror(phase::reduce_scatter(algorithm, divided), false));
    case Kind::ReduceScatter:
      return folds ? halving_doubling::reduce_scatter(rank, ranks, n) : phase::reduce_scatter(algorithm, repeated);
    case Kind::AllGather:
      return folds ? halving_doubling::all_gather(rank, ranks, n)
                   : mirror(phase::reduce_scatter(algorithm, repeated), false);
    case Kind::Broadcast: return phase::broadcast(algorithm, divided, root);
    case Kind::Reduce: return phase::reduce(algorithm, divided, root);
    default: return phase::scatter(algorithm, repeated, root);  // Scatter: check() lets nothing else pass
  }
}

}  // namespace updraft::collective
