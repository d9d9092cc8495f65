// Inside of the algorithms: who takes part in a phase, and the phases that operations are made of.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "collective/algorithm/schedule.h"

namespace updraft::collective {

/// The members of a phase, as one of them sees it, and one block of data for each. A phase counts members and blocks;
/// the team knows which ranks and which elements they are.
class Team {
 public:
  Team(int me, int size) : me(me), size(size) {}
  virtual ~Team() = default;

  /// Appends what goes between me and `member` when blocks [first, last) do.
  virtual void add(std::vector<Transfer>& list, int member, int first, int last) const = 0;
  /// The same for `count` blocks from `first` on, where block 0 follows the last. Both may be beyond the size.
  void add_around(std::vector<Transfer>& list, int member, int first, int count) const {
    first = wrap(first);
    const int end = first + count;
    add(list, wrap(member), first, end < size ? end : size);
    if (end > size) add(list, wrap(member), 0, end - size);
  }
  int wrap(int index) const {
    index %= size;
    return index < 0 ? index + size : index;
  }

  const int me, size;

 protected:
  Team(const Team&) = default;
};

/// Appends a transfer unless it is empty, and joins it to the one before where it goes on from there.
inline void add_transfer(std::vector<Transfer>& list, int peer, uint64_t begin, uint64_t end) {
  if (begin == end) return;
  if (!list.empty() && list.back().peer == peer && list.back().offset + list.back().count == begin)
    list.back().count += end - begin;
  else list.push_back({peer, begin, end - begin});
}

/// All ranks; block b is the b-th part of n elements, or n elements from b * n on.
class Everybody final : public Team {
 public:
  enum Layout { Divided, Repeated };
  Everybody(int rank, int ranks, uint64_t n, Layout layout) : Team(rank, ranks), n_(n), layout_(layout) {}
  void add(std::vector<Transfer>& list, int member, int first, int last) const override {
    add_transfer(list, member, begin(first), begin(last));
  }

 private:
  uint64_t begin(int b) const {
    return layout_ == Divided ? block_of(n_, size, b).offset : n_ * static_cast<uint64_t>(b);
  }
  uint64_t n_;
  Layout layout_;
};

/// The phase played backwards: what was sent is received. It makes an all-gather of a reduce-scatter, a gather of a
/// scatter, a reduction of a broadcast.
inline Schedule mirror(Schedule phase, bool combine) {
  Schedule result(phase.size());
  for (size_t k = 0; k < phase.size(); ++k) {
    Round& from = phase[phase.size() - 1 - k];
    result[k] = {std::move(from.receives), std::move(from.sends), combine};
  }
  return result;
}

inline Schedule then(Schedule first, Schedule second) {
  first.reserve(first.size() + second.size());
  for (Round& round : second) first.push_back(std::move(round));
  return first;
}

/// The smallest power of two that is at least p, and its logarithm: the rounds of a tree.
constexpr int ceil_log2(int p) {
  int k = 0;
  while ((int64_t{1} << k) < p) ++k;
  return k;
}

// Phases. reduce_scatter leaves block b complete at member b, scatter moves block b from the root to member b,
// broadcast moves all blocks from the root to every member.
namespace mesh {
Schedule reduce_scatter(const Team& team);
Schedule scatter(const Team& team, int root);
}  // namespace mesh
namespace ring {
Schedule reduce_scatter(const Team& team);
Schedule scatter(const Team& team, int root);
Schedule broadcast(const Team& team, int root);
}  // namespace ring
namespace binomial {
Schedule scatter(const Team& team, int root);
Schedule broadcast(const Team& team, int root);
}  // namespace binomial
namespace nhr {
Schedule reduce_scatter(const Team& team);
Schedule scatter(const Team& team, int root);
}  // namespace nhr
namespace nb {
Schedule reduce_scatter(const Team& team);
}  // namespace nb

// Halving-doubling is made for powers of two and folds the surplus: where the members have blocks of one size its
// operations are not made of phases.
namespace halving_doubling {
Schedule reduce_scatter(const Team& team);
Schedule all_reduce(int rank, int ranks, uint64_t n);
Schedule reduce_scatter(int rank, int ranks, uint64_t n);
Schedule all_gather(int rank, int ranks, uint64_t n);
}  // namespace halving_doubling

// Over groups of neighbouring ranks.
namespace ahc {
Schedule all_reduce(int rank, const std::vector<int>& groups, uint64_t n);
Schedule reduce_scatter(int rank, const std::vector<int>& groups, uint64_t n);
}  // namespace ahc
namespace pipeline {
/// `group` ranks a group; the team's size is a multiple of it.
Schedule reduce_scatter(const Team& team, int group);
}  // namespace pipeline

// By name.
namespace phase {
Schedule reduce_scatter(Algorithm algorithm, const Team& team);
Schedule scatter(Algorithm algorithm, const Team& team, int root);
Schedule broadcast(Algorithm algorithm, const Team& team, int root);
Schedule reduce(Algorithm algorithm, const Team& team, int root);
}  // namespace phase

}  // namespace updraft::collective
