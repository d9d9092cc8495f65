// NB, nonuniform Bruck: ceil(log2 p) rounds and (p - 1) / p of the data for any number of ranks. A part that has d
// members to go takes the greatest power of two in d first: the blocks of a round lie side by side (two transfers at
// most), the greatest part of the data travels the farthest.
#include <algorithm>

#include "collective/algorithm/team.h"

namespace updraft::collective::nb {

Schedule reduce_scatter(const Team& team) {
  Schedule schedule;
  for (int k = ceil_log2(team.size) - 1; k >= 0; --k) {
    const int stride = 1 << k, blocks = std::min(stride, team.size - stride);
    Round& round = schedule.emplace_back();
    round.combine = true;
    team.add_around(round.sends, team.me + stride, team.me + stride, blocks);
    team.add_around(round.receives, team.me - stride, team.me, blocks);
  }
  return schedule;
}

}  // namespace updraft::collective::nb
