// What the ranks of several hosts send each other in an operation, whatever their hosts' sizes and super pods. The
// ranks of a host share what is to be carried: where every host has as many, the l-th rank of each carries the l-th
// part to the l-th ranks of the others, else each carries the pieces of division.h to their owners there.
//
// Network executes it for its own rank, hccl_sim plans by it for all of them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "collective/algorithm/division.h"
#include "collective/algorithm/schedule.h"

namespace updraft::collective {

/// Between hosts of a super pod, and between super pods: what HCCL_ALGO wishes for levels 1 and 2. Auto: no wish.
struct Wishes {
  Algorithm hosts = Algorithm::Auto, pods = Algorithm::Auto;
};

/// What an algorithm's cost is reckoned with where HCCL_ALGO names none: TCP, and UCX over RDMA of 100 Gbit/s. They are
/// fixed and not measured, since all ranks must come to the same choice.
constexpr LinkCost kTcp = {50e-6, 1e-9, 0.2e-9};
constexpr LinkCost kRdma = {5e-6, 0.08e-9, 0.2e-9};

class Between {
 public:
  /// The ranks of each host; hosts of a super pod are neighbours. `pods`: hosts of each super pod.
  Between(std::vector<std::vector<int>> hosts, std::vector<int> pods, const LinkCost& link = kTcp);

  struct Operation {
    Kind kind;           ///< AllReduce to Scatter, AllGatherV, ReduceScatterV or Barrier
    uint64_t count = 0;  ///< HCCL's: of a block where the kind has one for each rank
    double element_bytes = 1;
    int root_host = 0;
    Wishes wishes{};
    std::vector<uint64_t> counts{};  ///< AllGatherV and ReduceScatterV: the block of each rank
  };

  struct Levels {
    Algorithm inside, between;
    bool two;  ///< else `inside` is all there is
    /// A wish that has no form of the operation, and what is done instead.
    struct Unheard {
      int level;  ///< of HCCL_ALGO
      Algorithm wish, instead;
    };
    std::vector<Unheard> unheard;
  };
  /// What is carried out for a part of `bytes`: what is wished for or, where that has no form of the operation, what
  /// costs the least.
  Levels levels(Kind kind, const Wishes& wishes, double bytes) const;

  const std::vector<std::vector<int>>& ranks() const { return hosts_; }
  /// Whether all hosts have as many ranks.
  bool alike() const { return alike_; }
  /// Ranks of the host that has the most.
  int most() const { return most_; }
  int hosts() const { return static_cast<int>(hosts_.size()); }
  int pods() const { return static_cast<int>(pods_.size()); }

 private:
  friend class Carrier;
  Schedule one(const Operation& operation, int host, const std::vector<uint64_t>& borders) const;

  std::vector<std::vector<int>> hosts_;
  std::vector<int> pods_, sizes_;
  LinkCost link_;
  int ranks_ = 0, most_ = 0;
  bool alike_ = true;
};

/// One of the ranks. Its working buffer has its pieces one after another: of AllReduce, Broadcast and Reduce share(),
/// of Barrier an element for each piece, else of each piece its part of the blocks of each host (visit()).
class Carrier {
 public:
  /// Rank `index` of host `host`; `between` outlives it.
  Carrier(const Between& between, int host, int index);

  /// Peers are ranks, offsets those of the working buffer.
  Schedule schedule(const Between::Operation& operation) const;
  /// The elements of AllReduce, Broadcast and Reduce that this rank carries.
  Block share(uint64_t count) const;
  /// Pieces that the rank carries: the elements of a Barrier.
  size_t pieces() const { return between_.alike() ? 1 : pieces_.size(); }
  /// `visit(host, at, rank, offset, count)`: `count` elements at `at` of the working buffer are those from `offset` on
  /// of the block of `rank`, which is on `host`. Gives the elements of the buffer.
  template <class Visit>
  uint64_t visit(const Between::Operation& operation, Visit visit) const;

 private:
  static uint64_t block_of_rank(const Between::Operation& operation, int rank) {
    return operation.counts.empty() ? operation.count : operation.counts[static_cast<size_t>(rank)];
  }
  Block part_of(const Between::Operation& operation, int host, size_t piece) const;
  std::vector<uint64_t> parts_of_hosts(const Between::Operation& operation, size_t piece) const;
  void append(Schedule& all, Schedule one, size_t piece, uint64_t offset) const;

  const Between& between_;
  const int host_, index_;
  std::vector<Piece> pieces_;  ///< none where the hosts are alike: there it is the index-th part of each
};

template <class Visit>
uint64_t Carrier::visit(const Between::Operation& operation, Visit visit) const {
  uint64_t at = 0;
  for (size_t piece = 0; piece < pieces(); ++piece)
    for (int host = 0; host < between_.hosts(); ++host) {
      const Block part = part_of(operation, host, piece);
      uint64_t start = 0;  // of the rank's block
      for (const int rank : between_.ranks()[static_cast<size_t>(host)]) {
        const uint64_t end = start + block_of_rank(operation, rank);
        const uint64_t from = std::max(start, part.offset), to = std::min(end, part.offset + part.count);
        if (from < to) {
          visit(host, at, rank, from - start, to - from);
          at += to - from;
        }
        start = end;
      }
    }
  return at;
}

}  // namespace updraft::collective
