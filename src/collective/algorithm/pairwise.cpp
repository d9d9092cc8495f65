// Pairwise exchange, for AllToAll.
#include "collective/algorithm/schedule.h"

namespace updraft::collective {

std::vector<Exchange> pairwise_peers(int rank, int ranks) {
  std::vector<Exchange> steps;
  for (int k = 1; k < ranks; ++k)
    steps.push_back({rank < ranks - k ? rank + k : rank - (ranks - k), rank < k ? rank + (ranks - k) : rank - k});
  return steps;
}

}  // namespace updraft::collective
