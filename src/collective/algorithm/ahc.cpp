// AHC, asymmetric hierarchical concatenation: groups of different sizes (super pods of 64 and 128 cards) share the work
// so that each element crosses the slow level between groups as rarely as with groups of one size. NB inside the
// groups.
#include <algorithm>
#include <utility>

#include "collective/algorithm/team.h"

namespace updraft::collective::ahc {
namespace {

struct Place {
  int group = 0, member = 0;  ///< of a rank
  int base = 0;               ///< the group's first rank
};
Place place_of(int rank, const std::vector<int>& groups) {
  Place place;
  while (rank - place.base >= groups[static_cast<size_t>(place.group)])
    place.base += groups[static_cast<size_t>(place.group++)];
  place.member = rank - place.base;
  return place;
}

/// The groups do their inner phase in the same number of rounds: the smaller ones wait.
Schedule pad(Schedule schedule, const std::vector<int>& groups) {
  schedule.resize(static_cast<size_t>(ceil_log2(*std::max_element(groups.begin(), groups.end()))));
  return schedule;
}

/// A group that divides n elements.
class Inside final : public Team {
 public:
  Inside(const Place& place, int size, uint64_t n) : Team(place.member, size), base_(place.base), n_(n) {}
  void add(std::vector<Transfer>& list, int member, int first, int last) const override {
    add_transfer(list, base_ + member, block_of(n_, size, first).offset, block_of(n_, size, last).offset);
  }

 private:
  int base_;
  uint64_t n_;
};

/// The ranks, one a group, that answer for the same elements after the inner phase.
class Across final : public Team {
 public:
  Across(int group, std::vector<int> ranks, uint64_t begin, uint64_t n)
      : Team(group, static_cast<int>(ranks.size())), ranks_(std::move(ranks)), begin_(begin), n_(n) {}
  void add(std::vector<Transfer>& list, int member, int first, int last) const override {
    add_transfer(list, ranks_[static_cast<size_t>(member)], begin_ + block_of(n_, size, first).offset,
                 begin_ + block_of(n_, size, last).offset);
  }

 private:
  std::vector<int> ranks_;
  uint64_t begin_, n_;
};

/// The block that holds an element, of p blocks of n elements.
int owner_of(uint64_t element, uint64_t n, int p) {
  const uint64_t each = n / static_cast<uint64_t>(p), more = n % static_cast<uint64_t>(p);
  if (element < more * (each + 1)) return static_cast<int>(element / (each + 1));
  return static_cast<int>(more + (element - more * (each + 1)) / each);
}

/// A group in which a member answers for the members of each other group that stand at its place, in proportion.
class Proportional final : public Team {
 public:
  Proportional(const Place& place, const std::vector<int>& groups, uint64_t n)
      : Team(place.member, groups[static_cast<size_t>(place.group)]), base_(place.base), groups_(groups), n_(n) {}
  void add(std::vector<Transfer>& list, int member, int first, int last) const override {
    uint64_t base = 0;
    for (const int group : groups_) {
      add_transfer(list, base_ + member, n_ * (base + bound(first, group)), n_ * (base + bound(last, group)));
      base += static_cast<uint64_t>(group);
    }
  }
  /// Member `first` answers for those from here on, of a group of that size.
  uint64_t bound(int first, int group) const {
    const auto m = static_cast<uint64_t>(size);
    return (static_cast<uint64_t>(first) * static_cast<uint64_t>(group) + m - 1) / m;
  }

 private:
  int base_;
  const std::vector<int>& groups_;
  uint64_t n_;
};

}  // namespace

Schedule all_reduce(int rank, const std::vector<int>& groups, uint64_t n) {
  const Place me = place_of(rank, groups);
  const int size = groups[static_cast<size_t>(me.group)];
  const auto inner = [&] { return pad(nb::reduce_scatter(Inside(me, size, n)), groups); };

  // Between the groups: my block, cut where a block of any group ends, so that every piece has one owner in each group.
  Schedule outer(2 * static_cast<size_t>(ceil_log2(static_cast<int>(groups.size()))));
  for (size_t k = 0; k < outer.size() / 2; ++k) outer[k].combine = true;
  const Block mine = block_of(n, size, me.member);
  for (uint64_t at = mine.offset, end; at < mine.offset + mine.count; at = end) {
    end = mine.offset + mine.count;
    std::vector<int> owners;
    int base = 0;
    for (const int group : groups) {
      const int owner = owner_of(at, n, group);
      const Block block = block_of(n, group, owner);
      end = std::min(end, block.offset + block.count);
      owners.push_back(base + owner);
      base += group;
    }
    const Across team(me.group, std::move(owners), at, end - at);
    Schedule piece = then(nb::reduce_scatter(team), mirror(nb::reduce_scatter(team), false));
    for (size_t k = 0; k < piece.size(); ++k) {
      outer[k].sends.insert(outer[k].sends.end(), piece[k].sends.begin(), piece[k].sends.end());
      outer[k].receives.insert(outer[k].receives.end(), piece[k].receives.begin(), piece[k].receives.end());
    }
  }
  return then(then(inner(), std::move(outer)), mirror(inner(), false));
}

Schedule reduce_scatter(int rank, const std::vector<int>& groups, uint64_t n) {
  const Place me = place_of(rank, groups);
  const Proportional team(me, groups, n);
  Schedule schedule = pad(nb::reduce_scatter(team), groups);
  std::vector<int> bases;
  int base = 0;
  for (const int group : groups) {
    bases.push_back(base);
    base += group;
  }

  // Each round brings what one other group has for me.
  const int count = static_cast<int>(groups.size());
  for (int step = 1; step < count; ++step) {
    Round& round = schedule.emplace_back();
    round.combine = true;
    const auto to = static_cast<size_t>((me.group + step) % count);
    const auto from = static_cast<size_t>((me.group - step + count) % count);
    for (uint64_t i = team.bound(me.member, groups[to]); i < team.bound(me.member + 1, groups[to]); ++i) {
      const uint64_t target = static_cast<uint64_t>(bases[to]) + i;
      add_transfer(round.sends, static_cast<int>(target), n * target, n * (target + 1));
    }
    const auto place = static_cast<uint64_t>(me.member) * static_cast<uint64_t>(groups[from]);
    const int source = bases[from] + static_cast<int>(place / static_cast<uint64_t>(team.size));
    add_transfer(round.receives, source, n * static_cast<uint64_t>(rank), n * static_cast<uint64_t>(rank + 1));
  }
  return schedule;
}

}  // namespace updraft::collective::ahc
