#include "hccl_sim/operation.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/error.h"
#include "collective/error.h"
#include "hccl_sim/plan.h"

namespace hccl_sim {

using namespace updraft::collective;

Operation operation_of(Kind kind, Algorithm algorithm, double bytes, int ranks, double element_bytes) {
  if (!(bytes >= 0 && bytes <= 1e15))
    throw updraft::Error(result::kPara, "{}: the data must be 0 to 1e15 bytes, got {}", name_of(kind), bytes);
  const bool divided = kind == Kind::AllReduce || kind == Kind::Broadcast || kind == Kind::Reduce;
  const double blocks = divided ? 1 : ranks;
  return {kind, algorithm, static_cast<uint64_t>(std::ceil(bytes / (blocks * element_bytes))), element_bytes};
}

bool supports(const Operation& op) {
  if (op.algorithm == Algorithm::Auto) return true;
  if (op.kind == Kind::AllToAll) return op.algorithm == Algorithm::Pairwise;
  return has_schedule(op.kind, op.algorithm);
}

Prediction predict_on(const Operation& op, const Cluster& cluster) {
  if (!supports(op))
    throw updraft::Error(result::kPara, "{} has no form of the algorithm {}: {}", name_of(op.kind),
                         name_of(op.algorithm),
                         op.kind == Kind::AllToAll ? "alltoall is pairwise"
                                                   : "broadcast, reduce and scatter take ring, H-D_R, NHR or NB, and "
                                                     "only alltoall is pairwise");
  if (cluster.ranks() == 1) return {};
  const Plan plan(op, cluster);
  const Fabric fabric = cluster.shared();
  Prediction result;
  for (const Stage& stage : plan.stages()) {
    const int party = stage.busiest;
    const std::vector<int>& ranks = stage.ranks[static_cast<size_t>(party)];
    // small parties member by member, blocks as uneven as they are
    const int period = ranks.size() > 64 ? stage.period : 0;
    const Party all = {
        static_cast<int>(ranks.size()), op.element_bytes,
        [&](int member) { return stage.schedule(party, member, period > 0); },
        [&](int a, int b) { return plan.level(ranks[static_cast<size_t>(a)], ranks[static_cast<size_t>(b)]); }, period};
    const double seconds = simulate(all, fabric);
    result.seconds += seconds < 0 ? stage.formula() : seconds;
    result.simulated = result.simulated && seconds >= 0;
  }
  return result;
}

std::vector<SimulatedMessage> messages_on(const Operation& op, const Cluster& cluster) {
  const Plan plan(op, cluster);
  std::vector<SimulatedMessage> messages;
  size_t number = 0;
  for (const Stage& stage : plan.stages()) {
    for (const int party : stage.parties) {
      const std::vector<int>& ranks = stage.ranks[static_cast<size_t>(party)];
      for (size_t member = 0; member < ranks.size(); ++member) {
        const Schedule schedule = stage.schedule(party, static_cast<int>(member), false);
        for (size_t k = 0; k < schedule.size(); ++k) {
          for (const Transfer& t : schedule[k].sends) {
            const int to = ranks[static_cast<size_t>(t.peer)];
            messages.push_back({number, k, ranks[member], to, static_cast<double>(t.count) * op.element_bytes,
                                plan.level(ranks[member], to)});
          }
        }
      }
    }
    ++number;
  }
  std::stable_sort(messages.begin(), messages.end(), [](const SimulatedMessage& a, const SimulatedMessage& b) {
    return std::tie(a.stage, a.round, a.from) < std::tie(b.stage, b.round, b.from);
  });
  return messages;
}

}  // namespace hccl_sim
