// Binomial trees: who has data hands half of what it answers for to the member half way. ceil(log2 size) rounds.
#include "collective/algorithm/team.h"

namespace updraft::collective::binomial {
namespace {

// Calls give(round, child) and take(round, parent), with members counted from the root, where this member has to.
template <class Give, class Take>
Schedule walk(const Team& team, int root, Give give, Take take) {
  const int me = team.wrap(team.me - root);
  Schedule schedule;
  for (int k = ceil_log2(team.size) - 1; k >= 0; --k) {
    const int stride = 1 << k;
    Round& round = schedule.emplace_back();
    if (me % (2 * stride) == 0 && me + stride < team.size) give(round, me + stride, stride);
    if (me % (2 * stride) == stride) take(round, me - stride, stride);
  }
  return schedule;
}

}  // namespace

Schedule scatter(const Team& team, int root) {
  const auto blocks = [&](int first, int stride) { return stride < team.size - first ? stride : team.size - first; };
  return walk(
      team, root,
      [&](Round& round, int child, int stride) {
        team.add_around(round.sends, root + child, root + child, blocks(child, stride));
      },
      [&](Round& round, int parent, int stride) {
        team.add_around(round.receives, root + parent, team.me, blocks(parent + stride, stride));
      });
}

Schedule broadcast(const Team& team, int root) {
  return walk(
      team, root, [&](Round& round, int child, int) { team.add(round.sends, team.wrap(root + child), 0, team.size); },
      [&](Round& round, int parent, int) { team.add(round.receives, team.wrap(root + parent), 0, team.size); });
}

}  // namespace updraft::collective::binomial
