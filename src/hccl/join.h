// How the entry points make communicators: where ranks meet, and what of the environment counts.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "collective/topology/rank_table.h"
#include "hccl/api.h"
#include "hccl/comm_config.h"
#include "hccl/root_info.h"

namespace updraft {

/// Where the ranks of a job meet when no root info is handed round.
struct MeetingPoint {
  std::string key{};     ///< 32 bytes; "": the ranks agree on them
  std::string digest{};  ///< of the rank table, where there is no key
  std::string ip{};      ///< "": rank 0's server, or this host when all ranks are on one server
  uint16_t port = 0;     ///< 0: HCCL_IF_BASE_PORT and rank 0's device
};

/// Where a rank is, as a rank table says; "": it does not.
struct Place {
  std::string server{};     ///< server_id; without one the host decides who shares memory
  std::string super_pod{};  ///< super_pod_id, else HCCL_LOGIC_SUPERPOD_ID
};

/// The device of the thread's context; without one the rank's own, as far as this process sees it.
Device& device_of(const collective::RankEntry& rank);

/// Joins the communicator at the root; returns when all ranks have.
/// `check` is called while one waits; it throws when that has no sense any more.
CommunicatorPointer join(const RootInfo& info, uint32_t rank, uint32_t ranks, Device& device, const CommConfig& config,
                         const Place& place = {}, const std::function<void()>& check = {});

/// Joins the communicator of all these ranks, of which rank 0 opens the root. `origin` names the list in errors.
CommunicatorPointer join_all(const std::vector<collective::RankEntry>& ranks, uint32_t rank, const MeetingPoint& point,
                             const CommConfig& config, const std::string& origin);

/// A communicator of some of `parent`'s ranks, `ranks[me]` being this one; all of them call it with the same `name`.
/// Fails at once when one of them has died.
CommunicatorPointer join_part(collective::Communicator& parent, const std::string& name,
                              const std::vector<uint32_t>& ranks, uint32_t me, const CommConfig& config);

}  // namespace updraft
