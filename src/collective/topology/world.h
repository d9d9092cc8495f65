// Who takes part in the job and which of them this process is, however the job was started.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "collective/topology/rank_table.h"

namespace updraft::collective {

struct World {
  uint32_t rank;                 ///< this process
  std::vector<RankEntry> ranks;  ///< by rank
  std::string source;            ///< what said so, for logs and errors: "RANK_TABLE_FILE=…", "RANK and WORLD_SIZE"
  /// What the ranks need to meet: 32 bytes that only they know, or the rank table's digest, from which they agree on
  /// such (bootstrap/job_key.h; both "" : nothing says so), and where rank 0 listens (the address "" : as its server
  /// says; the port 0: HCCL_IF_BASE_PORT and its device).
  std::string key{};
  std::string digest{};
  std::string ip{};
  uint16_t port = 0;
};

/// From the environment as it is now; the first that is set counts: RANK_TABLE_FILE with RANK_ID (or the RANK of
/// torchrun), CM_* by the rendezvous at the chief, RANK and WORLD_SIZE as torchrun sets them, RANK_SIZE=1 alone.
/// Throws Error with EI0001 or EI0004.
World read_world();

/// The same, read when it is first asked for and kept: a process stays in its job. A failure is not kept.
const World& world();

}  // namespace updraft::collective
