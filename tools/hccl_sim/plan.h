// The stages of a collective on a cluster, as the library carries them out: within one server in its memory
// (collective/local_work.cpp), else there and by messages to the others (collective/network_operations.cpp).
#pragma once
#include <functional>
#include <vector>

#include "collective/algorithm/between.h"
#include "hccl_sim/local.h"

namespace hccl_sim {

/// Parties that run at the same time; a later stage begins when all of them are done.
struct Stage {
  std::vector<int> parties;             ///< those that have something to do
  int busiest = 0;                      ///< a party that takes as long as any
  std::vector<std::vector<int>> ranks;  ///< of every party
  /// Peers are members of the party. `alike`: blocks are rounded up to equal sizes.
  std::function<Schedule(int party, int member, bool alike)> schedule;
  int period = 0;                   ///< of the busiest party (Party::period)
  std::function<double()> formula;  ///< for a party that is too large
  bool local = false;    ///< within the servers: no messages, but what ranks read from and write to each other's memory
  bool at_once = false;  ///< nobody waits between the rounds
};

class Plan {
 public:
  /// Both outlive the plan.
  Plan(const Operation& operation, const Cluster& cluster);

  const std::vector<Stage>& stages() const { return stages_; }
  Level level(int a, int b) const;
  /// The slowest link that is in use.
  Level slowest() const;
  /// What the rank that has the most to do does in its server's memory.
  const LocalWork& work() const { return work_; }
  /// How often the ranks of a server wait for each other.
  int meetings() const { return servers_ == 1 && is_inline(op_, ranks_) ? 1 : 2; }

 private:
  void one_server();
  void exchange();
  void several_servers();
  void any_blocks();
  void inside(Kind kind, uint64_t elements, int half, bool root_server_only);
  void among_cards(const std::function<uint64_t(int rank, int other)>& elements);
  void between();
  void sum_up_work();
  LinkCost memory_cost() const;

  const Operation& op_;
  const Cluster& cluster_;
  const int servers_, ranks_;
  std::vector<std::vector<int>> members_;  ///< ranks of each server
  std::vector<int> place_, pod_;           ///< server of each rank, super pod of each server
  int root_server_ = 0, root_card_ = 0;
  std::vector<Stage> stages_;
  LocalWork work_;
};

}  // namespace hccl_sim
