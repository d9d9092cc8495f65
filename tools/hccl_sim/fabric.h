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

/// Where two ranks stand to each other.
enum class Level : uint8_t { Intra, Inter, Super };  ///< in one server, in one super pod, in different super pods
inline constexpr int kLevels = 3;
/// As the descriptions of clusters and the list of messages write it.
constexpr const char* name_of(Level level) {
  constexpr const char* names[] = {"intra", "inter", "super"};
  return names[static_cast<int>(level)];
}

/// One level of the network.
struct Link {
  LinkCost cost;          ///< seconds a message, a byte on the link, a byte combined
  double overhead = 0;    ///< seconds for every further message of a round, on a port that several messages share
  bool dedicated = true;  ///< a link of its own to each peer; else one port for all of them
  double rendezvous = 0;  ///< seconds that a message above 64 KiB takes to be announced and asked for
  // Of intra where ranks are processes of a host:
  bool memory = false;  ///< they are; a byte is one that a rank reads or writes
  double wake = 0;      ///< seconds more for a meeting of ranks that sleep, being more than their cores
  double cache = 0;  ///< bytes that a core keeps at hand: where its ranks move no more, a byte takes `cached` seconds
  double cached = 0;
};
struct Fabric {
  Link intra, inter, super;
  double launch = 0;  ///< seconds of an operation, whatever it does

  const Link& at(Level level) const { return level == Level::Intra ? intra : level == Level::Inter ? inter : super; }
  Link& at(Level level) { return level == Level::Intra ? intra : level == Level::Inter ? inter : super; }
};

/// Members that run one schedule together.
struct Party {
  int size = 1;
  double element_bytes = 1;
  std::function<Schedule(int member)> schedule;
  std::function<Level(int a, int b)> level;
  /// Members that differ by a multiple of this do the same over links of the same levels, each seen from itself: those
  /// below it stand for all. 0: every member is different.
  int period = 0;
};

/// Seconds until the last member is done when all of them begin together. A message begins when both sides have
/// reached its round; on a shared port the messages of a round follow one another in the order of the schedule. Large
/// messages arrive in pieces, which are combined while the next ones arrive wherever the library does so (landing.h).
/// Negative when there is too much to be simulated.
double simulate(const Party& party, const Fabric& fabric);

/// What simulate() does at most: rounds and transfers of all members that stand for others.
inline constexpr size_t kMostWork = size_t{1} << 23;

}  // namespace hccl_sim
