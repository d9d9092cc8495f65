// What the ranks of several hosts send each other in an operation, whatever their hosts' sizes and super pods. The
// ranks of a host share what is to be carried: where every host has as many, the l-th rank of each carries the l-th
// part to the l-th ranks of the others, else each carries the pieces of division.h to their owners there.
//
// hccl_sim plans by it. Network (network_operations.cpp) does the same for its own rank, with working buffers around
// it; tests/distributed/test_simulated_messages.py compares the two message by message.
#pragma once
#include <cstdint>
#include <vector>

#include "collective/algorithm/division.h"
#include "collective/algorithm/schedule.h"

namespace updraft::collective {

/// Between hosts of a super pod, and between super pods: what HCCL_ALGO wishes for levels 1 and 2. Auto: no wish.
struct Wishes {
  Algorithm hosts = Algorithm::Auto, pods = Algorithm::Auto;
};

class Between {
 public:
  /// The ranks of each host; hosts of a super pod are neighbours. `pods`: hosts of each super pod.
  Between(std::vector<std::vector<int>> hosts, std::vector<int> pods);

  struct Operation {
    Kind kind;
    uint64_t count;  ///< HCCL's: of a block where the kind has one for each rank
    double element_bytes;
    int root_host = 0;
    Wishes wishes;
  };
  /// What rank `index` of host `host` does; peers are ranks. Offsets are those of a buffer that has this rank's pieces
  /// one after another, and of each piece its part of the blocks of each host.
  Schedule schedule(const Operation& operation, int host, int index) const;

  struct Levels {
    Algorithm inside, between;
    bool two;  ///< else `inside` is all there is
  };
  /// What is carried out for a part of `bytes`: what is wished for or, where that has no form of the operation, what
  /// costs the least over TCP.
  Levels levels(Kind kind, const Wishes& wishes, double bytes) const;

  bool alike() const { return alike_; }
  int hosts() const { return static_cast<int>(hosts_.size()); }
  int pods() const { return static_cast<int>(pods_.size()); }

 private:
  Schedule one(const Operation& operation, int host, const std::vector<uint64_t>& borders) const;
  void append(Schedule& all, const Schedule& one, const Piece& piece, uint64_t offset) const;

  std::vector<std::vector<int>> hosts_;
  std::vector<int> pods_, sizes_;
  int ranks_ = 0, most_ = 0;
  bool alike_ = true;
};

}  // namespace updraft::collective
