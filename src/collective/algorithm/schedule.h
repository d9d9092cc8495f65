// Schedules: which rank sends which part of the data to whom, round by round. They are what the library executes
// between hosts and what hccl_sim simulates.
//
// Every rank has a working buffer, counted in elements:
//   AllReduce, Broadcast, Reduce   the n elements of the operation
//   ReduceScatter                  p blocks of n elements, all filled with the rank's input; block r is its result
//   AllGather                      p blocks of n elements, block r filled; all are the result
//   Scatter                        p blocks of n elements, filled at the root; block r is the result
// (AllToAll has no working buffer: pairwise_peers() gives the order of the exchanges.)
#pragma once
#include <cstdint>
#include <vector>

#include "collective/types.h"

namespace updraft::collective {

struct Transfer {
  int peer;         ///< rank
  uint64_t offset;  ///< first element in the working buffer, the same on both sides
  uint64_t count;   ///< elements; transfers of no elements are left out on both sides
};

/// Sends read the working buffer as it was before the round; receives are stored, or combined with what is there
/// (mine op theirs, or theirs op mine: whatever gives the lower rank's part first), after the sends of the round that
/// overlap them have been taken. Where several receives of a combining round overlap, the element is the parts in
/// ascending order of their ranks, the rank's own among them: never in the order of arrival. Receives that are stored
/// do not overlap. Transfers between two ranks have the same order on both sides. A rank goes on to its next round
/// when all of them are done.
struct Round {
  std::vector<Transfer> sends;
  std::vector<Transfer> receives;
  bool combine = false;
};
/// All ranks of an operation have the same number of rounds, and round k of one meets round k of the others; a rank
/// with nothing to do in a round has an empty one. No rounds at all for one rank or n = 0.
using Schedule = std::vector<Round>;

/// What rank `rank` of `ranks` does for an operation of n elements (n as in the table above). `root` matters for
/// Broadcast, Reduce and Scatter only. Any number of ranks from 1 on, any n from 0 on. The work is that of writing the
/// transfers down: O(p) at most for one rank, O(log p) for halving-doubling and NB. AHC and Pipeline, which are about
/// groups, take default_groups(). Throws Error (HCCL_E_PARA) when the algorithm does not exist for the kind.
Schedule make_schedule(Kind kind, Algorithm algorithm, int rank, int ranks, uint64_t n, int root = 0);
bool has_schedule(Kind kind, Algorithm algorithm);

/// AHC and Pipeline (AllReduce, ReduceScatter, AllGather) over groups of neighbouring ranks, such as servers: `groups`
/// has their sizes in the order of the ranks. The groups of Pipeline must be of one size, those of AHC need not.
Schedule make_grouped_schedule(Kind kind, Algorithm algorithm, int rank, const std::vector<int>& groups, uint64_t n);
/// Between the members of a group, and between groups; neither is Auto. AHC counts as NB, of which it is made.
struct LevelAlgorithms {
  Algorithm inside, between;
};
/// Two levels: groups (super pods) of neighbouring members (hosts), of any sizes. `borders` cuts the working buffer:
/// where it is made of blocks, member b's is [borders[b], borders[b + 1]), and they may be of different sizes; for
/// AllReduce, Broadcast and Reduce it is {begin, end}. One group, or groups of one: one level.
Schedule make_hierarchical_schedule(Kind kind, const LevelAlgorithms& algorithms, int member,
                                    const std::vector<int>& groups, const std::vector<uint64_t>& borders, int root = 0);
/// About sqrt(ranks) groups; for Pipeline of one size (a prime number of ranks gives groups of one: a ring).
std::vector<int> default_groups(Algorithm algorithm, int ranks);

/// The pairwise exchanges of an AllToAll: in step k every rank sends to one other and receives from one other, so that
/// no rank is ever the target of several. ranks - 1 steps; a rank's own part is a copy.
struct Exchange {
  int to, from;  ///< ranks
};
std::vector<Exchange> pairwise_peers(int rank, int ranks);

/// Block b of n elements divided among p ranks: the first n % p blocks have one element more.
struct Block {
  uint64_t offset, count;
};
constexpr Block block_of(uint64_t n, int p, int b) {
  const uint64_t each = n / static_cast<uint64_t>(p), more = n % static_cast<uint64_t>(p), i = static_cast<uint64_t>(b);
  return {i * each + (i < more ? i : more), each + (i < more ? 1 : 0)};
}

/// α-β-γ model: seconds a message, seconds a byte on the link, seconds a byte combined.
struct LinkCost {
  double alpha, beta, gamma;
};
/// Seconds that the closed formula predicts for `bytes` (the whole operation's data: n elements for AllReduce,
/// Broadcast, Reduce; p blocks together for the others). The formulas of Mesh and Pipeline suppose that a rank's links
/// to different peers work at the same time. Throws Error (HCCL_E_PARA) for what has no schedule and is not Pairwise
/// AllToAll.
double predict(Kind kind, Algorithm algorithm, int ranks, double bytes, const LinkCost& cost);
/// The algorithm that predicts the least; ties go to the first of the enumeration. Of Ring, HalvingDoubling, NHR and NB
/// (Pairwise for AllToAll): a rank's network port is one, so that Mesh does not keep between servers what its formula
/// promises, and AHC and Pipeline need groups.
Algorithm choose(Kind kind, int ranks, double bytes, const LinkCost& cost);

}  // namespace updraft::collective
