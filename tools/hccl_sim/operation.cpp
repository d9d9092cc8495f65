#include "hccl_sim/operation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>

#include "base/error.h"
#include "collective/error.h"

namespace hccl_sim {
namespace {

using namespace updraft::collective;

/// Parties that run at the same time; a later stage begins when all of them are done.
struct Stage {
  int size = 1;              ///< members of a party
  std::vector<int> parties;  ///< those that have something to do, the one with the most first
  std::function<int(int party, int member)> rank;
  std::function<Schedule(int party, int member, bool round_up)> schedule;
  bool symmetric = false;
  std::function<double()> formula;  ///< for parties that are too large
};

bool grouped(Algorithm a) { return a == Algorithm::AHC || a == Algorithm::Pipeline; }
bool divided(Kind kind) { return kind == Kind::AllReduce || kind == Kind::Broadcast || kind == Kind::Reduce; }

bool symmetric(Kind kind, Algorithm algorithm, int size) {
  const bool alike = kind == Kind::AllReduce || kind == Kind::ReduceScatter || kind == Kind::AllGather;
  return alike && (algorithm != Algorithm::HalvingDoubling || (size & (size - 1)) == 0);
}

uint64_t rounded(uint64_t n, int size, bool up) {
  const auto p = static_cast<uint64_t>(size);
  return up ? (n + p - 1) / p * p : n;
}

enum class Part { All, First, Second };
/// Of an operation made of two phases of equal length: one of them.
Schedule part_of(Schedule schedule, Part part) {
  const auto middle = schedule.begin() + static_cast<ptrdiff_t>(schedule.size() / 2);
  if (part == Part::First) schedule.erase(middle, schedule.end());
  if (part == Part::Second) schedule.erase(schedule.begin(), middle);
  return schedule;
}

class Plan {
 public:
  Plan(const Operation& op, const Cluster& cluster) : op_(op), cluster_(cluster) {
    const int ranks = cluster.ranks(), servers = cluster.servers(), cards = cluster.cards.front();
    for (int s = 0; s < servers; ++s)
      server_.insert(server_.end(), static_cast<size_t>(cluster.cards[static_cast<size_t>(s)]), s);
    if (grouped(op.algorithm)) {
      flat_over_groups(ranks);
    } else if (servers == 1 || !cluster.even() || cards == 1) {
      flat(ranks);
    } else {
      two_levels(servers, cards);
    }
  }

  const std::vector<Stage>& stages() const { return stages_; }
  bool crosses(int a, int b) const { return server_[static_cast<size_t>(a)] != server_[static_cast<size_t>(b)]; }

 private:
  void flat(int ranks) {
    Stage stage = base(op_.kind, op_.algorithm, ranks, op_.elements, cluster_.servers() > 1);
    stage.parties = {0};
    stage.rank = [](int, int member) { return member; };
    stage.schedule = [op = op_, ranks](int, int member, bool up) {
      return make_schedule(op.kind, op.algorithm, member, ranks,
                           divided(op.kind) ? rounded(op.elements, ranks, up) : op.elements);
    };
    stage.symmetric = stage.symmetric && (cluster_.servers() == 1 || cluster_.cards.front() == 1) && cluster_.even();
    stages_.push_back(std::move(stage));
  }

  void flat_over_groups(int ranks) {
    Stage stage = base(op_.kind, op_.algorithm, ranks, op_.elements, cluster_.servers() > 1);
    stage.parties = {0};
    stage.rank = [](int, int member) { return member; };
    // Servers of one card each are grouped as the library groups hosts: a group of one is none.
    const bool single = std::ranges::all_of(cluster_.cards, [](int cards) { return cards == 1; });
    const std::vector<int> groups = single ? default_groups(op_.algorithm, ranks) : cluster_.cards;
    stage.schedule = [op = op_, ranks, groups](int, int member, bool up) {
      return make_grouped_schedule(op.kind, op.algorithm, member, groups,
                                   divided(op.kind) ? rounded(op.elements, ranks, up) : op.elements);
    };
    stage.symmetric = stage.symmetric && std::ranges::count(groups, groups.front()) == std::ssize(groups);
    stages_.push_back(std::move(stage));
  }

  void two_levels(int servers, int cards) {
    const uint64_t n = op_.elements, server_block = n * static_cast<uint64_t>(cards);
    const auto inside = [&](Part part, uint64_t elements, bool root_only = false) {
      const Algorithm inner = cluster_.fabric.intra.dedicated ? Algorithm::Mesh : Algorithm::NB;
      Stage stage = base(op_.kind, inner, cards, elements, false);
      // of a Broadcast, its first part is the scatter
      if (op_.kind == Kind::Broadcast) stage.symmetric = part == Part::Second;
      if (op_.kind == Kind::Reduce) stage.symmetric = part == Part::First;
      for (int s = 0; s < (root_only ? 1 : servers); ++s) stage.parties.push_back(s);
      stage.rank = [cards](int party, int member) { return party * cards + member; };
      stage.schedule = [kind = op_.kind, inner, cards, elements, part](int, int member, bool up) {
        return part_of(
            make_schedule(kind, inner, member, cards, divided(kind) ? rounded(elements, cards, up) : elements), part);
      };
      if (part != Part::All) stage.formula = [whole = stage.formula] { return whole() / 2; };
      stages_.push_back(std::move(stage));
    };
    const auto between = [&](bool root_only = false) {
      const bool divide = divided(op_.kind);
      Stage stage = base(op_.kind, op_.algorithm, servers, divide ? block_of(n, cards, 0).count : server_block, true);
      for (int c = 0; c < (root_only ? 1 : cards); ++c) stage.parties.push_back(c);
      stage.rank = [cards](int party, int member) { return member * cards + party; };
      stage.schedule = [op = op_, cards, servers, divide, server_block](int party, int member, bool up) {
        const uint64_t mine = divide ? rounded(block_of(op.elements, cards, party).count, servers, up) : server_block;
        return make_schedule(op.kind, op.algorithm, member, servers, mine);
      };
      stages_.push_back(std::move(stage));
    };
    switch (op_.kind) {
      case Kind::ReduceScatter:
        between();
        inside(Part::All, n);
        break;
      case Kind::AllGather:
        inside(Part::All, n);
        between();
        break;
      case Kind::Scatter:
        between(true);
        inside(Part::All, n);
        break;
      default:  // AllReduce; the root's server alone begins a Broadcast and ends a Reduce
        inside(Part::First, n, op_.kind == Kind::Broadcast);
        between();
        inside(Part::Second, n, op_.kind == Kind::Reduce);
    }
  }

  Stage base(Kind kind, Algorithm algorithm, int size, uint64_t elements, bool crosses) const {
    Stage stage;
    stage.size = size;
    stage.symmetric = symmetric(kind, algorithm, size);
    const double bytes =
        static_cast<double>(elements) * op_.element_bytes * (divided(kind) ? 1.0 : static_cast<double>(size));
    const Link& link = crosses ? cluster_.fabric.inter : cluster_.fabric.intra;
    stage.formula = [=, cost = link.cost] { return predict(kind, algorithm, size, bytes, cost); };
    return stage;
  }

  const Operation& op_;
  const Cluster& cluster_;
  std::vector<int> server_;  ///< of each rank
  std::vector<Stage> stages_;
};

void require(const Operation& op, const Cluster& cluster) {
  if (!supports(op, cluster))
    throw updraft::Error(result::kPara, "{} by the algorithm {} does not exist on {} server(s) of {} cards",
                         name_of(op.kind), name_of(op.algorithm), cluster.servers(),
                         cluster.even() ? std::to_string(cluster.cards.front()) : "different numbers of");
}

}  // namespace

Operation operation_of(Kind kind, Algorithm algorithm, double bytes, int ranks, double element_bytes) {
  if (!(bytes >= 0 && bytes <= 1e15))
    throw updraft::Error(result::kPara, "{}: the data must be 0 to 1e15 bytes, got {}", name_of(kind), bytes);
  const double blocks = divided(kind) ? 1 : ranks;
  return {kind, algorithm, static_cast<uint64_t>(std::ceil(bytes / (blocks * element_bytes))), element_bytes};
}

bool supports(const Operation& op, const Cluster& cluster) {
  if (op.kind == Kind::AllToAll) return op.algorithm == Algorithm::Pairwise;
  return has_schedule(op.kind, op.algorithm) && (op.algorithm != Algorithm::Pipeline || cluster.even());
}

Prediction predict_on(const Operation& op, const Cluster& cluster) {
  require(op, cluster);
  const int ranks = cluster.ranks();
  if (ranks == 1) return {};
  if (op.kind == Kind::AllToAll) {
    // every step of the exchange has a pair that crosses, and waits for it
    const LinkCost& cost = (cluster.servers() > 1 ? cluster.fabric.inter : cluster.fabric.intra).cost;
    const double bytes = static_cast<double>(op.elements) * op.element_bytes * ranks;
    return {predict(op.kind, op.algorithm, ranks, bytes, cost), false};
  }
  const Plan plan(op, cluster);
  Prediction result;
  for (const Stage& stage : plan.stages()) {
    const int party = stage.parties.front();
    // small parties member by member, blocks as uneven as they are
    const bool one_for_all = stage.symmetric && stage.size > 64;
    const double seconds =
        simulate({stage.size, op.element_bytes, [&](int member) { return stage.schedule(party, member, one_for_all); },
                  [&](int a, int b) { return plan.crosses(stage.rank(party, a), stage.rank(party, b)); }, one_for_all},
                 cluster.fabric);
    result.seconds += seconds < 0 ? stage.formula() : seconds;
    result.simulated = result.simulated && seconds >= 0;
  }
  return result;
}

std::vector<SimulatedMessage> messages_on(const Operation& op, const Cluster& cluster) {
  require(op, cluster);
  if (op.kind == Kind::AllToAll) {
    std::vector<SimulatedMessage> messages;
    std::vector<int> server;
    for (int s = 0; s < cluster.servers(); ++s)
      server.insert(server.end(), static_cast<size_t>(cluster.cards[static_cast<size_t>(s)]), s);
    for (int k = 0; k < cluster.ranks() - 1 && op.elements > 0; ++k) {
      for (int r = 0; r < cluster.ranks(); ++r) {
        const int to = pairwise_peers(r, cluster.ranks())[static_cast<size_t>(k)].to;
        messages.push_back({static_cast<size_t>(k), r, to, static_cast<double>(op.elements) * op.element_bytes,
                            server[static_cast<size_t>(r)] != server[static_cast<size_t>(to)]});
      }
    }
    return messages;
  }
  const Plan plan(op, cluster);
  std::vector<SimulatedMessage> messages;
  size_t first = 0;
  for (const Stage& stage : plan.stages()) {
    size_t rounds = 0;
    for (const int party : stage.parties) {
      for (int member = 0; member < stage.size; ++member) {
        const Schedule schedule = stage.schedule(party, member, false);
        rounds = std::max(rounds, schedule.size());
        const int from = stage.rank(party, member);
        for (size_t k = 0; k < schedule.size(); ++k) {
          for (const Transfer& t : schedule[k].sends) {
            const int to = stage.rank(party, t.peer);
            messages.push_back(
                {first + k, from, to, static_cast<double>(t.count) * op.element_bytes, plan.crosses(from, to)});
          }
        }
      }
    }
    first += rounds;
  }
  std::stable_sort(messages.begin(), messages.end(), [](const SimulatedMessage& a, const SimulatedMessage& b) {
    return a.round != b.round ? a.round < b.round : a.from < b.from;
  });
  return messages;
}

}  // namespace hccl_sim
