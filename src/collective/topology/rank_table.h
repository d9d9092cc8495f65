// Rank tables (RANK_TABLE_FILE: template 1.0, 1.2 and the old one) and what job launchers set.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/soc.h"

namespace updraft::collective {

struct RankEntry {
  uint32_t rank = 0;
  std::string server;        ///< server_id
  std::string pod;           ///< old template: pod_name; else ""
  int device = 0;            ///< device_id
  std::string device_ip;     ///< "" where there is none
  std::string super_pod;     ///< 1.2: super_pod_id; else ""
  std::string super_device;  ///< 1.2: super_device_id; else ""
};

struct RankTable {
  std::string version;           ///< "1.0", "1.2"; "" for the old template
  std::string status;            ///< "completed" or "initializing" (then nothing else is read)
  std::vector<RankEntry> ranks;  ///< by rank, 0 … n-1
  std::string digest;            ///< of the meaning (not of white space or order): all ranks must have the same
};

/// Throws Error (HCCL_E_PARA) with EI0004, where in the table, what is wanted, what was found, how to fix it. `name` is
/// what the table is called in errors. The old template has no rank_id: the pods' names are the ranks where they are
/// 0 … n-1 with one device each, else ranks follow the order of the file. With UPDRAFT_FIDELITY=card the product's
/// limits hold as well.
RankTable parse_rank_table(const std::string& json, const std::string& name = "rank table");
/// Reads the file, waiting until `timeout_s` while its status is "initializing" (HCCL_E_TIMEOUT then). EI0004 as well
/// when it cannot be read (HCCL_E_OPEN_FILE).
RankTable read_rank_table(const std::string& path, double timeout_s);
/// How many cards of which servers the product can take; throws as parse_rank_table does.
void check_card_limits(const RankTable& table, const SocProfile& product, const std::string& name = "rank table");

/// What a launcher says of this process: RANK_ID (or, old template, the pod_name), RANK_SIZE,
/// ASCEND_DEVICE_ID/DEVICE_ID, RANK_TABLE_FILE.
struct Launch {
  std::optional<uint32_t> rank, size;
  std::string rank_text;  ///< RANK_ID as written; `rank` is unset where it is no number
  std::optional<int> device;
  std::string rank_table;  ///< "" where there is none
};
/// Throws EI0001.
Launch read_launch();
/// This process's entry. Throws EI0001 when RANK_ID is missing or not in the table, EI0004 when RANK_SIZE is not the
/// table's size.
const RankEntry& own_entry(const RankTable& table, const Launch& launch);

/// CM_CHIEF_IP, CM_CHIEF_PORT, CM_CHIEF_DEVICE, CM_WORKER_SIZE, CM_WORKER_IP.
struct ChiefSettings {
  std::string chief_ip;
  uint16_t chief_port = 0;
  int chief_device = 0;
  uint32_t worker_size = 0;
  std::string worker_ip;
  std::string secret{};  ///< Environment::secret; "": the processes of the job share none
};
/// Nothing when no CM_* variable is set. Throws EI0001 when they are incomplete, malformed, or set beside
/// RANK_TABLE_FILE, RANK_ID or RANK_SIZE. The secret is left to the caller.
std::optional<ChiefSettings> read_chief_settings();

}  // namespace updraft::collective
