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
  if (op.kind > Kind::AllToAll) return false;
  if (op.algorithm == Algorithm::Auto) return true;
  if (op.kind == Kind::AllToAll) return op.algorithm == Algorithm::Pairwise;
  return has_schedule(op.kind, op.algorithm);
}

namespace {

/// All rounds as one.
Schedule at_once(const Schedule& schedule) {
  Round all;
  for (const Round& round : schedule) {
    all.sends.insert(all.sends.end(), round.sends.begin(), round.sends.end());
    all.receives.insert(all.receives.end(), round.receives.begin(), round.receives.end());
  }
  return {std::move(all)};
}

/// The links as stages see them: what a server's ranks do in its memory begins with no message, and where the memory is
/// a host's, each byte is read and written.
Fabric within_stages(Fabric fabric) {
  fabric.intra.cost.alpha = fabric.intra.overhead = fabric.intra.rendezvous = 0;
  if (fabric.intra.memory) {
    fabric.intra.cost.beta *= 2;
    fabric.intra.dedicated = false;
  }
  return fabric;
}

}  // namespace

Prediction predict_on(const Operation& op, const Cluster& cluster) {
  if (op.kind > Kind::AllToAll)
    throw updraft::Error(result::kPara, "{} is not predicted: --messages lists what it sends", name_of(op.kind));
  if (!supports(op))
    throw updraft::Error(result::kPara, "{} has no form of the algorithm {}: {}", name_of(op.kind),
                         name_of(op.algorithm),
                         op.kind == Kind::AllToAll ? "alltoall is pairwise"
                                                   : "broadcast, reduce and scatter take ring, H-D_R, NHR or NB, and "
                                                     "only alltoall is pairwise");
  if (cluster.ranks() == 1) return {};
  const Plan plan(op, cluster);
  const Fabric fabric = cluster.shared(), within = within_stages(fabric);
  const LinkCost& memory = fabric.intra.cost;
  Prediction result;
  result.seconds = fabric.launch + plan.meetings() * meeting(fabric.intra, cluster.most_cards());
  // neighbouring servers compare what they are about to do
  if (cluster.servers() > 1) result.seconds += fabric.at(plan.slowest()).cost.alpha;
  if (fabric.intra.memory) {
    const bool at_hand = plan.work().moved * cluster.turns() <= fabric.intra.cache;
    result.seconds += plan.work().moved * (at_hand ? fabric.intra.cached : memory.beta);
    result.seconds += plan.work().combined * memory.gamma;
  }
  for (const Stage& stage : plan.stages()) {
    if (stage.local && fabric.intra.memory) continue;
    const int party = stage.busiest;
    const std::vector<int>& ranks = stage.ranks[static_cast<size_t>(party)];
    // small parties member by member, blocks as uneven as they are
    const int period = ranks.size() > 64 ? stage.period : 0;
    const Party all = {
        static_cast<int>(ranks.size()), op.element_bytes,
        [&](int member) {
          Schedule schedule = stage.schedule(party, member, period > 0);
          return stage.at_once ? at_once(schedule) : schedule;
        },
        [&](int a, int b) { return plan.level(ranks[static_cast<size_t>(a)], ranks[static_cast<size_t>(b)]); }, period};
    const double seconds = simulate(all, within);
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
