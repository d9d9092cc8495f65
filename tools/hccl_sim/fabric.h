// What a round of messages costs, and the simulation of one schedule round by round.
#pragma once
#include <cstdint>
#include <functional>
#include <vector>

#include "collective/algorithm/schedule.h"

namespace hccl_sim {

using updraft::collective::LinkCost;
using updraft::collective::Round;
using updraft::collective::Schedule;

/// One level of the network: inside a server, or between servers.
struct Link {
  LinkCost cost;          ///< seconds a message, a byte on the link, a byte combined
  double overhead = 0;    ///< seconds for every further message of a round, on a port that several messages share
  bool dedicated = true;  ///< a link of its own to each peer; else one port for all of them
};
struct Fabric {
  Link intra, inter;
};

/// Members that run one schedule together.
struct Party {
  int size = 1;
  double element_bytes = 1;
  std::function<Schedule(int member)> schedule;
  std::function<bool(int a, int b)> crosses;  ///< whether members are in different servers
  /// Every member does what member 0 does, seen from itself: one of them stands for all.
  bool symmetric = false;
};

/// Seconds until the last member is done when all of them begin together. A message begins when both sides have
/// reached its round; on a shared port the messages of a round follow one another in the order of the schedule.
/// Negative when the party is too large to be simulated member by member (not symmetric).
double simulate(const Party& party, const Fabric& fabric);

/// What simulate() does at most member by member: rounds and transfers of all members.
inline constexpr size_t kMostWork = size_t{1} << 22;

}  // namespace hccl_sim
