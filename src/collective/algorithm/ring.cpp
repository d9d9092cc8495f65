// Ring: everyone sends to the next one only. size - 1 rounds.
#include "collective/algorithm/team.h"

namespace updraft::collective::ring {

// Block b sets out at member b + 1 and comes home around the whole ring, taking up everyone's part on the way.
Schedule reduce_scatter(const Team& team) {
  Schedule schedule(static_cast<size_t>(team.size - 1));
  for (int k = 0; k < team.size - 1; ++k) {
    Round& round = schedule[static_cast<size_t>(k)];
    round.combine = true;
    team.add_around(round.sends, team.me + 1, team.me - 1 - k, 1);
    team.add_around(round.receives, team.me - 1, team.me - 2 - k, 1);
  }
  return schedule;
}

// The root sends the farthest member's block first; everyone passes on what came in the round before. Every block
// arrives in the last round.
Schedule scatter(const Team& team, int root) {
  const int distance = team.wrap(team.me - root);
  Schedule schedule(static_cast<size_t>(team.size - 1));
  for (int k = 0; k < team.size - 1; ++k) {
    Round& round = schedule[static_cast<size_t>(k)];
    // what member d receives in round k belongs to the member at distance size - 2 - k + d
    const auto owner = [&](int d) { return root + team.size - 2 - k + d; };
    if (distance > 0 && k >= distance - 1) team.add_around(round.receives, team.me - 1, owner(distance), 1);
    if (distance < team.size - 1 && k >= distance) team.add_around(round.sends, team.me + 1, owner(distance + 1), 1);
  }
  return schedule;
}

Schedule broadcast(const Team& team, int root) {
  const int distance = team.wrap(team.me - root);
  Schedule schedule(static_cast<size_t>(team.size - 1));
  if (distance < team.size - 1)
    team.add(schedule[static_cast<size_t>(distance)].sends, team.wrap(team.me + 1), 0, team.size);
  if (distance > 0)
    team.add(schedule[static_cast<size_t>(distance - 1)].receives, team.wrap(team.me - 1), 0, team.size);
  return schedule;
}

}  // namespace updraft::collective::ring
