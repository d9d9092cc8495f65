// The cluster that is simulated.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "hccl_sim/fabric.h"

namespace hccl_sim {

struct Cluster {
  std::vector<int> cards;   ///< of each server; servers of a super pod are neighbours
  std::vector<int> pods;    ///< servers of each super pod; empty: one for all
  std::vector<int> places;  ///< the server of each rank; empty: the servers' ranks follow one another
  int ports = 0;            ///< of a server to the others, shared by its cards; 0: one for each card
  double cores = 0;         ///< of a server, that its ranks share where they are processes; 0: each has its own
  bool rdma = false;        ///< UCX between the servers and not TCP: what the library chooses algorithms by
  Fabric fabric;

  /// The links as a card sees them when all cards of its server use them: a port, and the cores of a host.
  Fabric shared() const;
  int servers() const { return static_cast<int>(cards.size()); }
  int ranks() const;
  int super_pods() const { return pods.empty() ? 1 : static_cast<int>(pods.size()); }
  /// Whether all servers have the same number of cards.
  bool even() const;
  int most_cards() const;
  /// Ranks for each core of the server that has the most; at least 1.
  double turns() const;
  /// The super pod of each server.
  std::vector<int> pod_of_servers() const;
  /// The ranks of each server.
  std::vector<std::vector<int>> members() const;
};

/// Super pods of so many servers each; the last one has what is left. Empty where one is enough.
std::vector<int> pods_of(int servers, int pod_size);

/// The values that a description leaves out: an Ascend 910B server (a 28 GB/s link between every two of its cards) and
/// one 200 Gbit/s port a card.
Fabric example_fabric();

/// {"servers": 4, "cards_per_server": 8, "servers_per_super_pod": 2, "ports_per_server": 8, "cores_per_server": 2,
/// "transport": "tcp", "launch": s, "intra": LINK, "inter": LINK, "super": LINK}; the numbers of cards and of servers
/// in a super pod may be lists. LINK: {"alpha": s, "beta": s/byte, "gamma": s/byte combined, "overhead": s,
/// "rendezvous": s, "dedicated": bool, "memory": bool (intra)}, or with "latency_us", "bandwidth_GBps", "reduce_GBps",
/// "overhead_us" and "rendezvous_us" instead. What is absent is example_fabric's, of "super" that of "inter", and a
/// rendezvous between servers takes two latencies. Throws updraft::Error.
Cluster parse_cluster(const nlohmann::json& description);
/// Servers, cards and super pods from a rank table (HCCL's RANK_TABLE_FILE). Throws updraft::Error.
Cluster read_rank_table_cluster(const std::string& path);

/// A file's JSON; throws updraft::Error.
nlohmann::json read_json(const std::string& path);
nlohmann::json to_json(const Cluster& cluster);
nlohmann::json to_json(const Link& link);

}  // namespace hccl_sim
