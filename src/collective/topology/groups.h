// Groups of ranks by name, as hccl.manage.api and graph operators know them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace updraft::collective {

inline constexpr const char* kWorldGroup = "hccl_world_group";

struct Group {
  std::vector<uint32_t> ranks;  ///< world rank by group rank, in the order of create_group
  std::vector<uint32_t> local;  ///< group ranks on this process' server, ascending
  uint32_t rank;                ///< this process' group rank
};

/// Throws Error (HCCL_E_PARA, EI0003) unless it can be the name of a group: 1 to 127 bytes, no NUL.
void check_group_name(const std::string& name);

/// A new group of `count` ranks with this process among them. Throws Error with EI0003 when the name is taken or the
/// world's, when `count` is not the number of `world_ranks` or above 4096, for a rank that is not in the world or that
/// is there twice; with UPDRAFT_FIDELITY=card also for what the product does not take.
void create_group(const std::string& name, int64_t count, const std::vector<int64_t>& world_ranks);
/// Throws when there is no such group, or it is the world's.
void destroy_group(const std::string& name);
/// The group; for hccl_world_group all ranks. Throws when there is none.
Group find_group(const std::string& name);

}  // namespace updraft::collective
