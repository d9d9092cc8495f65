// Rank tables (RANK_TABLE_FILE: template 1.0, 1.2 and the old one) and the CM_* variables.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace updraft::collective {

struct RankEntry {
  uint32_t rank;
  std::string server;     ///< server_id
  std::string pod;        ///< old template: pod_name; else ""
  int device;             ///< device_id
  std::string device_ip;  ///< "" where there is none
  std::string super_pod;  ///< 1.2: super_pod_id; else ""
  std::string super_device;
};

struct RankTable {
  std::string version;           ///< "1.0", "1.2"; "" for the old template
  std::string status;            ///< "completed" or "initializing"
  std::vector<RankEntry> ranks;  ///< by rank, 0 … n-1
  std::string digest;            ///< of the meaning (not of white space): all ranks must have the same
};

/// Throws Error (HCCL_E_PARA) with EI0004, where in the table, what is wanted, what was found, how to fix it.
RankTable parse_rank_table(const std::string& json);
/// Reads the file, waiting until `timeout_s` while its status is "initializing". EI0004 as well when it cannot be read.
RankTable read_rank_table(const std::string& path, int64_t timeout_s);

/// What a launcher says of this process: RANK_ID (or, old template, the pod_name), RANK_SIZE,
/// ASCEND_DEVICE_ID/DEVICE_ID.
struct Launch {
  std::optional<uint32_t> rank, size;
  std::string rank_text;  ///< RANK_ID as written
  std::optional<int> device;
};
Launch read_launch();

/// CM_CHIEF_IP, CM_CHIEF_PORT, CM_CHIEF_DEVICE, CM_WORKER_SIZE, CM_WORKER_IP.
struct ChiefSettings {
  std::string chief_ip;
  uint16_t chief_port;
  int chief_device;
  uint32_t worker_size;
  std::string worker_ip;
};
/// Nothing when no CM_* variable is set. Throws EI0001 when they are incomplete, malformed, or set beside
/// RANK_TABLE_FILE, RANK_ID or RANK_SIZE.
std::optional<ChiefSettings> read_chief_settings();

}  // namespace updraft::collective
