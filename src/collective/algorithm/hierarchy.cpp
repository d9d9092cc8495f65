// Two levels of hosts: super pods, which are groups of neighbouring members, with an algorithm inside them and one
// between them. The members of a group share what there is to do between the groups, so that each element crosses that
// level as rarely as can be; groups of different sizes share it in pieces (division.h).
//
//   AllReduce      reduce-scatter inside, all-reduce between, all-gather inside
//   ReduceScatter  inside, then between; AllGather is that backwards
//   Broadcast      scatter in the root's group, broadcast between, all-gather inside
//   Reduce         reduce-scatter inside, reduce between, gather in the root's group
//   Scatter        in the root's group, then between
#include <algorithm>
#include <numeric>
#include <tuple>
#include <utility>

#include "collective/algorithm/division.h"
#include "collective/algorithm/team.h"
#include "collective/error.h"

namespace updraft::collective {
namespace {

bool whole_blocks(Kind kind) { return kind == Kind::ReduceScatter || kind == Kind::AllGather || kind == Kind::Scatter; }

/// A group: a block is a member's share of every extent.
class Inside final : public Team {
 public:
  Inside(int me, int size, int base, const std::vector<Extent>& extents)
      : Team(me, size), base_(base), extents_(extents) {}
  void add(std::vector<Transfer>& list, int member, int first, int last) const override {
    const auto of = static_cast<uint64_t>(size);
    for (const Extent& e : extents_)
      add_transfer(list, base_ + member, e.at({static_cast<uint64_t>(first), of}),
                   e.at({static_cast<uint64_t>(last), of}));
  }

 private:
  int base_;
  const std::vector<Extent>& extents_;
};

/// The owners of a piece, one a group. With `divided` they share the piece of the only extent, else block g is the
/// piece of extent g.
class Across final : public Team {
 public:
  Across(int group, std::vector<int> members, const Piece& piece, const std::vector<Extent>& extents, bool divided)
      : Team(group, static_cast<int>(members.size())), members_(std::move(members)) {
    for (int b = 0; b < size; ++b) {
      const Extent& e = extents[divided ? 0 : static_cast<size_t>(b)];
      const uint64_t from = e.at(piece.from), n = e.at(piece.to) - from;
      const Block block = divided ? block_of(n, size, b) : Block{0, n};
      blocks_.push_back({from + block.offset, block.count});
    }
  }
  void add(std::vector<Transfer>& list, int member, int first, int last) const override {
    for (int b = first; b < last; ++b) {
      const Block& block = blocks_[static_cast<size_t>(b)];
      add_transfer(list, members_[static_cast<size_t>(member)], block.offset, block.offset + block.count);
    }
  }

 private:
  std::vector<int> members_;
  std::vector<Block> blocks_;
};

class Hierarchy {
 public:
  Hierarchy(const LevelAlgorithms& algorithms, int me, const std::vector<int>& groups, std::vector<Extent> extents,
            bool divided)
      : algorithms_(algorithms), groups_(groups), extents_(std::move(extents)), divided_(divided) {
    for (int base = 0; const int size : groups) {
      bases_.push_back(base);
      base += size;
    }
    std::tie(group_, index_) = place_of(me);
  }

  Schedule make(Kind kind, int root) const {
    const auto [root_group, root_index] = place_of(root);
    const auto reduce_scatter = [&] { return inside(&phase::reduce_scatter); };
    const auto scatter = [&](int at) { return [at](Algorithm a, const Team& t) { return phase::scatter(a, t, at); }; };
    switch (kind) {
      case Kind::AllReduce:
        return then(then(reduce_scatter(), between([](Algorithm a, const Team& t) {
                           return then(phase::reduce_scatter(a, t), mirror(phase::reduce_scatter(a, t), false));
                         })),
                    mirror(reduce_scatter(), false));
      case Kind::ReduceScatter: return then(reduce_scatter(), between(&phase::reduce_scatter));
      case Kind::AllGather: return mirror(then(reduce_scatter(), between(&phase::reduce_scatter)), false);
      case Kind::Broadcast:
        return then(then(inside(scatter(root_index), root_group),
                         between([g = root_group](Algorithm a, const Team& t) { return phase::broadcast(a, t, g); })),
                    mirror(reduce_scatter(), false));
      case Kind::Reduce:
        return then(then(reduce_scatter(),
                         between([g = root_group](Algorithm a, const Team& t) { return phase::reduce(a, t, g); })),
                    mirror(inside(scatter(root_index), root_group), false));
      default: return then(inside(scatter(root_index), root_group), between(scatter(root_group)));
    }
  }

 private:
  std::pair<int, int> place_of(int member) const {
    int group = 0;
    while (member >= groups_[static_cast<size_t>(group)]) member -= groups_[static_cast<size_t>(group++)];
    return {group, member};
  }

  /// A phase inside every group, or `only` one. All have as many rounds as the one that needs the most.
  template <class Phase>
  Schedule inside(Phase phase, int only = -1) const {
    size_t rounds = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      if (groups_[g] == 1 || (only >= 0 && static_cast<int>(g) != only)) continue;
      if (g > 0 && groups_[g] == groups_[g - 1] && only < 0) continue;
      rounds = std::max(rounds, phase(algorithms_.inside, Everybody(0, groups_[g], 0, Everybody::Divided)).size());
    }
    Schedule schedule;
    const int size = groups_[static_cast<size_t>(group_)];
    if (size > 1 && (only < 0 || only == group_))
      schedule = phase(algorithms_.inside, Inside(index_, size, bases_[static_cast<size_t>(group_)], extents_));
    schedule.resize(rounds);
    return schedule;
  }

  /// A phase among the groups, for each of this member's pieces.
  template <class Phase>
  Schedule between(Phase phase) const {
    Schedule all;
    if (groups_.size() == 1) return all;
    for (const Piece& piece : pieces_of(groups_, group_, index_)) {
      std::vector<int> members;
      for (size_t g = 0; g < groups_.size(); ++g) members.push_back(bases_[g] + piece.owners[g]);
      Schedule one = phase(algorithms_.between, Across(group_, std::move(members), piece, extents_, divided_));
      if (all.empty()) all.resize(one.size());
      for (size_t k = 0; k < one.size(); ++k) {
        all[k].combine = one[k].combine;
        all[k].sends.insert(all[k].sends.end(), one[k].sends.begin(), one[k].sends.end());
        all[k].receives.insert(all[k].receives.end(), one[k].receives.begin(), one[k].receives.end());
      }
    }
    return all;
  }

  const LevelAlgorithms algorithms_;
  const std::vector<int>& groups_;
  std::vector<int> bases_;  ///< of each group the first member
  std::vector<Extent> extents_;
  bool divided_;
  int group_ = 0, index_ = 0;
};

}  // namespace

Schedule make_hierarchical_schedule(Kind kind, const LevelAlgorithms& algorithms, int me,
                                    const std::vector<int>& groups, const std::vector<uint64_t>& borders, int root) {
  if (!has_schedule(kind, algorithms.inside) || !has_schedule(kind, algorithms.between))
    throw Error(result::kPara, "{} has no schedule for the algorithms {} and {}: choose others in HCCL_ALGO",
                name_of(kind), name_of(algorithms.inside), name_of(algorithms.between));
  const int members = std::accumulate(groups.begin(), groups.end(), 0);
  const bool divided = !whole_blocks(kind);
  const size_t want = divided ? 2 : static_cast<size_t>(members) + 1;
  if (me < 0 || me >= members || root < 0 || root >= members || borders.size() != want ||
      std::ranges::any_of(groups, [](int size) { return size < 1; }))
    throw Error(result::kPara, "{} over groups: member {} and root {} of {}, {} borders (want {})", name_of(kind), me,
                root, members, borders.size(), want);
  if (members == 1 || borders.front() == borders.back()) return {};
  std::vector<Extent> extents;
  if (divided) {
    extents.emplace_back(borders);
  } else {
    auto first = borders.begin();
    for (const int size : groups) {
      extents.emplace_back(std::vector<uint64_t>(first, first + size + 1));
      first += size;
    }
  }
  return Hierarchy(algorithms, me, groups, std::move(extents), divided).make(kind, root);
}

}  // namespace updraft::collective
