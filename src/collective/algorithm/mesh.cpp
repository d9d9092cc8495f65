// Mesh: everyone to everyone at once. One round, as many messages as there are peers.
#include "collective/algorithm/team.h"

namespace updraft::collective::mesh {

// Everyone begins with another peer, so that no rank is the first of all.
Schedule reduce_scatter(const Team& team) {
  Round round;
  round.combine = true;
  for (int d = 1; d < team.size; ++d) {
    team.add_around(round.sends, team.me + d, team.me + d, 1);
    team.add_around(round.receives, team.me - d, team.me, 1);
  }
  return {std::move(round)};
}

Schedule scatter(const Team& team, int root) {
  Round round;
  if (team.me != root) {
    team.add(round.receives, root, team.me, team.me + 1);
  } else {
    for (int d = 1; d < team.size; ++d) team.add_around(round.sends, root + d, root + d, 1);
  }
  return {std::move(round)};
}

}  // namespace updraft::collective::mesh
