// What the ranks of a server do in its memory: src/collective/local_work.cpp within one server, what
// network_operations.cpp does before and after the messages to other servers.
#pragma once
#include "hccl_sim/operation.h"

namespace hccl_sim {

/// Bytes of the rank that has the most to do: read or written, and combined.
struct LocalWork {
  double moved = 0, combined = 0;
};
/// On the only server, whose ranks are `ranks`.
LocalWork work_of_one_server(const Operation& operation, int ranks);
/// On one of several servers: what comes before the messages to the others, and after them. `ranks` are those of all
/// servers, `cards` of them on this one, which has the root or not.
LocalWork work_before(const Operation& operation, int ranks, int cards, bool has_root);
LocalWork work_after(const Operation& operation, int ranks, int cards, bool has_root, bool one_card_each);

/// Whether all that the ranks of the only server have for each other lies in the region through which they meet.
bool is_inline(const Operation& operation, int ranks);
/// Until all ranks of a server know that all have come: one rings, the others wake.
double meeting(const Link& intra, int ranks);

}  // namespace hccl_sim
