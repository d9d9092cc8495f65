// Mesh: everyone to everyone at once. One round, as many messages as there are peers.
#include "collective/algorithm/team.h"

namespace updraft::collective::mesh {

Schedule reduce_scatter(const Team& team) {
  Round round;
  round.combine = true;
  for (int member = 0; member < team.size; ++member) {
    if (member == team.me) continue;
    team.add(round.sends, member, member, member + 1);
    team.add(round.receives, member, team.me, team.me + 1);
  }
  return {std::move(round)};
}

Schedule scatter(const Team& team, int root) {
  Round round;
  if (team.me != root) {
    team.add(round.receives, root, team.me, team.me + 1);
  } else {
    for (int member = 0; member < team.size; ++member)
      if (member != root) team.add(round.sends, member, member, member + 1);
  }
  return {std::move(round)};
}

}  // namespace updraft::collective::mesh
