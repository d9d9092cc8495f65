// Recursive halving and doubling: partners at half the distance in each round exchange the half that the other answers
// for. Where p is not a power of two, the first p - 2^k odd ranks give their data to their even neighbours before and
// take the result back afterwards.
#include "collective/algorithm/team.h"

#include <bit>

namespace updraft::collective::halving_doubling {
namespace {

/// The 2^k ranks that take part; with `divided` they share n elements, else each has the n elements of every rank that
/// it stands for.
class Folded final : public Team {
 public:
  Folded(int rank, int ranks, uint64_t n, bool divided)
      : Team(0, power(ranks)), rank_(rank), ranks_(ranks), surplus_(ranks - size), n_(n), divided_(divided) {}
  Folded(const Folded& all, int me) : Folded(all, me, 0) {}

  bool folded() const { return rank_ < 2 * surplus_; }
  bool active() const { return !folded() || rank_ % 2 == 0; }
  int partner() const { return rank_ ^ 1; }
  /// Me among those that take part.
  Folded as_member() const { return Folded(*this, folded() ? rank_ / 2 : rank_ - surplus_); }

  void add(std::vector<Transfer>& list, int member, int first, int last) const override {
    add_transfer(list, start(member), begin(first), begin(last));
  }
  /// Between the two of a fold: all that there is, or all but the odd rank's own block, or only that.
  void add_all(std::vector<Transfer>& list) const { add_transfer(list, partner(), 0, all()); }
  void add_all_but_odd(std::vector<Transfer>& list) const {
    add_transfer(list, partner(), 0, n_ * odd());
    add_transfer(list, partner(), n_ * (odd() + 1), all());
  }
  void add_odd(std::vector<Transfer>& list) const { add_transfer(list, partner(), n_ * odd(), n_ * (odd() + 1)); }

 private:
  Folded(const Folded& all, int me, int)
      : Team(me, all.size),
        rank_(all.rank_),
        ranks_(all.ranks_),
        surplus_(all.surplus_),
        n_(all.n_),
        divided_(all.divided_) {}
  static int power(int ranks) { return static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks))); }
  int start(int member) const { return member < surplus_ ? 2 * member : member + surplus_; }
  uint64_t begin(int b) const { return divided_ ? block_of(n_, size, b).offset : n_ * static_cast<uint64_t>(start(b)); }
  uint64_t all() const { return divided_ ? n_ : n_ * static_cast<uint64_t>(ranks_); }
  uint64_t odd() const { return static_cast<uint64_t>(rank_ | 1); }

  int rank_, ranks_, surplus_;
  uint64_t n_;
  bool divided_;
};

/// The same over a team whose blocks are of any sizes: a member answers for its own and its partner's.
class FoldedTeam final : public Team {
 public:
  explicit FoldedTeam(const Team& all)
      : Team(0, static_cast<int>(std::bit_floor(static_cast<unsigned>(all.size)))), all_(all) {}
  FoldedTeam(const FoldedTeam& folded, int me) : Team(me, folded.size), all_(folded.all_) {}

  int surplus() const { return all_.size - size; }
  bool folded() const { return all_.me < 2 * surplus(); }
  bool active() const { return !folded() || all_.me % 2 == 0; }
  int partner() const { return all_.me ^ 1; }
  FoldedTeam as_member() const { return FoldedTeam(*this, folded() ? all_.me / 2 : all_.me - surplus()); }
  void add(std::vector<Transfer>& list, int member, int first, int last) const override {
    all_.add(list, start(member), start(first), start(last));
  }

 private:
  int start(int member) const { return member < surplus() ? 2 * member : member + surplus(); }
  const Team& all_;
};

template <class F>
Schedule halve(const F& all) {
  if (!all.active()) return Schedule(static_cast<size_t>(ceil_log2(all.size)));
  const F team = all.as_member();
  Schedule schedule;
  for (int distance = team.size / 2; distance > 0; distance /= 2) {
    const int mine = team.me / distance * distance, partner = team.me ^ distance, theirs = mine ^ distance;
    Round& round = schedule.emplace_back();
    round.combine = true;
    team.add(round.sends, partner, theirs, theirs + distance);
    team.add(round.receives, partner, mine, mine + distance);
  }
  return schedule;
}

bool power_of_two(int ranks) { return (ranks & (ranks - 1)) == 0; }

/// One round between the two of each fold, from odd to even or back.
template <class F, class Add>
Schedule between(const F& all, bool to_even, bool combine, Add add) {
  Round round;
  round.combine = combine;
  if (all.folded()) add(all.active() == to_even ? round.receives : round.sends);
  return {std::move(round)};
}

}  // namespace

Schedule all_reduce(int rank, int ranks, uint64_t n) {
  const Folded all(rank, ranks, n, true);
  Schedule core = then(halve(all), mirror(halve(all), false));
  if (power_of_two(ranks)) return core;
  const auto add = [&](std::vector<Transfer>& list) { all.add_all(list); };
  return then(then(between(all, true, true, add), std::move(core)), between(all, false, false, add));
}

Schedule reduce_scatter(const Team& team) {
  const FoldedTeam all(team);
  if (power_of_two(team.size)) return halve(all);
  const int odd = team.me | 1;
  return then(
      then(between(all, true, true, [&](std::vector<Transfer>& list) { team.add(list, all.partner(), 0, team.size); }),
           halve(all)),
      between(all, false, false, [&](std::vector<Transfer>& list) { team.add(list, all.partner(), odd, odd + 1); }));
}

Schedule reduce_scatter(int rank, int ranks, uint64_t n) {
  const Folded all(rank, ranks, n, false);
  if (power_of_two(ranks)) return halve(all);
  return then(then(between(all, true, true, [&](std::vector<Transfer>& list) { all.add_all(list); }), halve(all)),
              between(all, false, false, [&](std::vector<Transfer>& list) { all.add_odd(list); }));
}

Schedule all_gather(int rank, int ranks, uint64_t n) {
  const Folded all(rank, ranks, n, false);
  Schedule core = mirror(halve(all), false);
  if (power_of_two(ranks)) return core;
  return then(then(between(all, true, false, [&](std::vector<Transfer>& list) { all.add_odd(list); }), std::move(core)),
              between(all, false, false, [&](std::vector<Transfer>& list) { all.add_all_but_odd(list); }));
}

}  // namespace updraft::collective::halving_doubling
