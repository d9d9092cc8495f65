// NHR, nonuniform hierarchical ring: as many rounds and bytes as NB, but a part that has d members to go takes the
// smallest power of two in d first. Half of the data goes to the neighbour, a quarter to the second next…: little
// crosses the upper switches of a tree network. The blocks of a round lie 2 * stride apart, each is a transfer.
#include "collective/algorithm/team.h"

namespace updraft::collective::nhr {

Schedule reduce_scatter(const Team& team) {
  Schedule schedule;
  for (int k = 0; k < ceil_log2(team.size); ++k) {
    const int stride = 1 << k;
    Round& round = schedule.emplace_back();
    round.combine = true;
    for (int64_t d = stride; d < team.size; d += 2 * stride) {
      team.add_around(round.sends, team.me + stride, team.me + static_cast<int>(d), 1);
      team.add_around(round.receives, team.me - stride, team.me - stride + static_cast<int>(d), 1);
    }
  }
  return schedule;
}

// After the round of a stride the first 2 * stride members, counted from the root, have the blocks of those that
// follow them in steps of 2 * stride.
Schedule scatter(const Team& team, int root) {
  const int me = team.wrap(team.me - root);
  Schedule schedule;
  for (int k = 0; k < ceil_log2(team.size); ++k) {
    const int stride = 1 << k;
    Round& round = schedule.emplace_back();
    const auto add = [&](std::vector<Transfer>& list, int peer, int first) {
      for (int64_t d = first; d < team.size; d += 2 * stride)
        team.add_around(list, root + peer, root + static_cast<int>(d), 1);
    };
    if (me < stride && me + stride < team.size) add(round.sends, me + stride, me + stride);
    if (me >= stride && me < 2 * stride) add(round.receives, me - stride, me);
  }
  return schedule;
}

}  // namespace updraft::collective::nhr
