// A collective on a cluster: inside the servers, between them, inside again.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collective/types.h"
#include "hccl_sim/cluster.h"

namespace hccl_sim {

using updraft::collective::Algorithm;
using updraft::collective::Kind;

struct Operation {
  Kind kind = Kind::AllReduce;
  Algorithm algorithm = Algorithm::Ring;  ///< between the servers
  uint64_t elements = 0;                  ///< HCCL's count: of a block where there is one for each rank
  double element_bytes = 4;
  int root = 0;  ///< of Broadcast, Reduce and Scatter
  /// AllGatherV and ReduceScatterV: the block of each rank. AllToAllV: what each rank has for each, in the order of the
  /// senders.
  std::vector<uint64_t> counts{};
};

/// Whole elements for `bytes` of the operation's data (p blocks together for ReduceScatter, AllGather, Scatter).
Operation operation_of(Kind kind, Algorithm algorithm, double bytes, int ranks, double element_bytes);

struct Prediction {
  double seconds = 0;
  bool simulated = true;  ///< else some stage was too large and is the closed formula's
};
/// As the library carries it out. The ranks of a server meet, work in each other's memory and meet again; there is one
/// way to do that, whatever the algorithm. Between servers the neighbours first tell each other what they are about to
/// do, then each card carries its part by the algorithm, within the super pods and between them. Throws updraft::Error
/// for what does not exist (supports()), and for the kinds with blocks of any sizes, which messages_on() knows.
Prediction predict_on(const Operation& operation, const Cluster& cluster);
bool supports(const Operation& operation);

struct SimulatedMessage {
  size_t stage;  ///< inside the servers, between them…
  size_t round;  ///< of the stage
  int from, to;
  double bytes;
  Level level;
};
/// All messages of an operation, as the ranks send them. What the library cannot do by an algorithm it does by the one
/// that costs the least, as Auto does. For small clusters.
std::vector<SimulatedMessage> messages_on(const Operation& operation, const Cluster& cluster);

}  // namespace hccl_sim
