// Pipeline: a ring between the groups, among the members of the same place, and a mesh inside each group, at the same
// time. Told as the all-gather, which is played backwards: what the ring brought in the last round goes to the others
// of the group while the ring brings the next. One round for each group.
#include "collective/algorithm/team.h"

namespace updraft::collective::pipeline {

Schedule reduce_scatter(const Team& team, int group) {
  const int groups = team.size / group, base = team.me / group * group;
  const int rounds = group > 1 ? groups : groups - 1;
  Schedule all_gather(static_cast<size_t>(rounds));
  for (int k = 0; k < rounds; ++k) {
    Round& round = all_gather[static_cast<size_t>(k)];
    const int block = team.wrap(team.me - k * group);
    if (k < groups - 1) {
      team.add_around(round.sends, team.me + group, block, 1);
      team.add_around(round.receives, team.me - group, block - group, 1);
    }
    for (int d = 1; d < group; ++d) {
      const int to = base + (team.me - base + d) % group, from = base + (team.me - base - d + group) % group;
      const int theirs = team.wrap(from - k * group);
      team.add(round.sends, to, block, block + 1);
      team.add(round.receives, from, theirs, theirs + 1);
    }
  }
  return mirror(std::move(all_gather), true);
}

}  // namespace updraft::collective::pipeline
