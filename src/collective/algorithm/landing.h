// How the data of a round arrives: messages travel in pieces, so that what has come is combined while more is on its
// way.
#pragma once
#include <cstdint>
#include <vector>

#include "collective/algorithm/schedule.h"

namespace updraft::collective {

/// The longest piece that a message of a round is sent in.
constexpr uint64_t kPieceBytes = 1 << 20;

/// The runs of elements of a round that are combined piece by piece, each piece as soon as it has come from everyone
/// who sends it; in the order in which they are received. None where everything has to be there first: nothing is
/// combined, receives overlap in part, or elements are received that are still being sent.
std::vector<Block> landings_of(const Round& round);

}  // namespace updraft::collective
