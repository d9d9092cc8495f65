// The cluster that is simulated.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hccl_sim/fabric.h"

namespace hccl_sim {

struct Cluster {
  std::vector<int> cards;  ///< of each server
  Fabric fabric;

  int servers() const { return static_cast<int>(cards.size()); }
  int ranks() const;
  /// Whether all servers have the same number of cards.
  bool even() const;
};

/// The values that a description leaves out: an Ascend 910B server (a 28 GB/s link between every two of its cards) and
/// one 200 Gbit/s port a card.
Fabric example_fabric();

/// {"servers": 4, "cards_per_server": 8, "intra": LINK, "inter": LINK}; cards_per_server may be a list.
/// LINK: {"alpha": s, "beta": s/byte, "gamma": s/byte combined, "overhead": s, "dedicated": bool}, or with
/// "latency_us", "bandwidth_GBps", "reduce_GBps" and "overhead_us" instead. What is absent is example_fabric's.
/// Throws updraft::Error.
Cluster parse_cluster(const nlohmann::json& description);
/// Servers and cards from a rank table (HCCL's RANK_TABLE_FILE). Throws updraft::Error.
Cluster read_rank_table_cluster(const std::string& path);

/// A file's JSON; throws updraft::Error.
nlohmann::json read_json(const std::string& path);
nlohmann::json to_json(const Cluster& cluster);

}  // namespace hccl_sim
