// The rendezvous of jobs without a rank table (CM_*): every process tells the chief where it is and learns who takes
// part.
#pragma once
#include "collective/topology/rank_table.h"
#include "collective/topology/world.h"

namespace updraft::collective {

/// The process on CM_CHIEF_DEVICE of CM_CHIEF_IP listens on CM_CHIEF_PORT until CM_WORKER_SIZE processes have come, the
/// others ask it. The chief is rank 0; then come the other devices of its server, then those of the other servers by
/// address. The world's key is the chief's choice.
///
/// With a secret the chief and each process prove to each other that they know it, the list of places is signed, and
/// the key follows from the secret. Without one the key goes to whoever comes first: a process must come from the
/// address that it says is its own, and nothing more is known of it. Throws EI0015 with who came when `timeout_s`
/// seconds are over, EI0001 when the variables of the processes contradict each other.
World meet_at_chief(const ChiefSettings& settings, const Launch& launch, double timeout_s);

}  // namespace updraft::collective
