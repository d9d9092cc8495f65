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
  Algorithm algorithm = Algorithm::Ring;  ///< between the servers; inside the only one where there is one
  uint64_t elements = 0;                  ///< as make_schedule counts them: of a block where there are p blocks
  double element_bytes = 4;
};

/// Whole elements for `bytes` of the operation's data (p blocks together for ReduceScatter, AllGather, Scatter).
Operation operation_of(Kind kind, Algorithm algorithm, double bytes, int ranks, double element_bytes);

struct Prediction {
  double seconds = 0;
  bool simulated = true;  ///< else some stage was too large and is the closed formula's
};
/// With one card a server, or one server, it is the algorithm's schedule. Servers of several cards: the stages that
/// HCCL documents (AllReduce: reduce-scatter inside, the algorithm among the cards of the same place, all-gather
/// inside…). AHC and Pipeline are schedules over all cards, with the servers as groups; servers of different sizes run
/// the other algorithms over all cards as well. Throws updraft::Error for what does not exist (supports()).
Prediction predict_on(const Operation& operation, const Cluster& cluster);
bool supports(const Operation& operation, const Cluster& cluster);

struct SimulatedMessage {
  size_t round;
  int from, to;
  double bytes;
  bool crosses;  ///< between servers
};
/// All messages of an operation, as the ranks send them; the root is rank 0. For small clusters.
std::vector<SimulatedMessage> messages_on(const Operation& operation, const Cluster& cluster);

}  // namespace hccl_sim
