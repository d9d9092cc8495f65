#include "hccl_sim/cluster.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <numeric>

#include "base/error.h"
#include "collective/error.h"
#ifdef HCCL_SIM_RANK_TABLES
#include "collective/topology/rank_table.h"
#endif

namespace hccl_sim {
namespace {

using nlohmann::json;
using updraft::Error;
namespace result = updraft::collective::result;

constexpr int kMostRanks = 1 << 20;

double number(const json& object, const char* level, const std::string& key, double least) {
  const json& value = object.at(key);
  if (!value.is_number() || !(value.get<double>() >= least))
    throw Error(result::kPara, "cluster: {}.{} must be a number of at least {}, got {}", level, key, least,
                value.dump());
  return value.get<double>();
}

void read_link(const json& description, const char* level, Link& link) {
  if (!description.contains(level)) return;
  const json& object = description.at(level);
  if (!object.is_object())
    throw Error(result::kPara, "cluster: {} must be an object such as {{\"alpha\": 1e-5}}, got {}", level,
                object.dump());
  for (const auto& [key, value] : object.items()) {
    if (key == "alpha") link.cost.alpha = number(object, level, key, 0);
    else if (key == "beta") link.cost.beta = number(object, level, key, 0);
    else if (key == "gamma") link.cost.gamma = number(object, level, key, 0);
    else if (key == "overhead") link.overhead = number(object, level, key, 0);
    else if (key == "latency_us") link.cost.alpha = number(object, level, key, 0) * 1e-6;
    else if (key == "overhead_us") link.overhead = number(object, level, key, 0) * 1e-6;
    else if (key == "bandwidth_GBps") link.cost.beta = 1e-9 / number(object, level, key, 1e-9);
    else if (key == "reduce_GBps") link.cost.gamma = 1e-9 / number(object, level, key, 1e-9);
    else if (key == "dedicated" && value.is_boolean()) link.dedicated = value.get<bool>();
    else
      throw Error(result::kPara,
                  "cluster: {}.{}: {} is not understood; known are alpha, beta, gamma, overhead (seconds), latency_us, "
                  "bandwidth_GBps, reduce_GBps, overhead_us and dedicated (true or false)",
                  level, key, value.dump());
  }
}

int count(const json& value, const char* what) {
  if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > kMostRanks)
    throw Error(result::kPara, "cluster: {} must be a whole number in [1, {}], got {}", what, kMostRanks, value.dump());
  return value.get<int>();
}

}  // namespace

int Cluster::ranks() const { return std::accumulate(cards.begin(), cards.end(), 0); }
bool Cluster::even() const {
  return std::all_of(cards.begin(), cards.end(), [&](int c) { return c == cards.front(); });
}

Fabric example_fabric() {
  Fabric fabric;
  fabric.intra = {{4e-6, 1 / 28e9, 1 / 400e9}, 1e-6, true};
  fabric.inter = {{10e-6, 1 / 25e9, 1 / 400e9}, 2e-6, false};
  return fabric;
}

Cluster parse_cluster(const json& description) {
  if (!description.is_object()) throw Error(result::kPara, "cluster: the description must be a JSON object");
  for (const auto& [key, value] : description.items())
    if (key != "servers" && key != "cards_per_server" && key != "intra" && key != "inter")
      throw Error(result::kPara, "cluster: \"{}\" is not understood; known are servers, cards_per_server, intra, inter",
                  key);
  Cluster cluster;
  cluster.fabric = example_fabric();
  const json cards = description.value("cards_per_server", json(8));
  if (cards.is_array()) {
    for (const json& c : cards) cluster.cards.push_back(count(c, "cards_per_server"));
    if (cluster.cards.empty()) throw Error(result::kPara, "cluster: cards_per_server must not be an empty list");
    if (description.contains("servers") && count(description.at("servers"), "servers") != cluster.servers())
      throw Error(result::kPara, "cluster: servers is {}, but cards_per_server lists {}",
                  description.at("servers").dump(), cluster.servers());
  } else {
    const int servers = count(description.value("servers", json(1)), "servers");
    cluster.cards.assign(static_cast<size_t>(servers), count(cards, "cards_per_server"));
  }
  const int64_t ranks = std::accumulate(cluster.cards.begin(), cluster.cards.end(), int64_t{0});
  if (ranks > kMostRanks)
    throw Error(result::kPara, "cluster: {} cards are more than can be simulated ({})", ranks, kMostRanks);
  read_link(description, "intra", cluster.fabric.intra);
  read_link(description, "inter", cluster.fabric.inter);
  return cluster;
}

#ifdef HCCL_SIM_RANK_TABLES
Cluster read_rank_table_cluster(const std::string& path) {
  const auto table = updraft::collective::read_rank_table(path, 0);
  Cluster cluster;
  cluster.fabric = example_fabric();
  // Servers in the order in which their ranks come: members of a server must be neighbours.
  std::map<std::string, size_t> known;
  std::string last;
  for (const auto& entry : table.ranks) {
    if (const auto it = known.find(entry.server); it == known.end()) {
      known[entry.server] = cluster.cards.size();
      cluster.cards.push_back(1);
    } else if (entry.server == last) {
      ++cluster.cards[it->second];
    } else {
      throw Error(result::kPara,
                  "rank table {}: the ranks of server {} are not neighbours (rank {} is apart); the simulation wants "
                  "the ranks in the order of the servers",
                  path, entry.server, entry.rank);
    }
    last = entry.server;
  }
  return cluster;
}
#else
Cluster read_rank_table_cluster(const std::string& path) {
  throw Error(result::kNotSupport, "{}: this build of hccl_sim reads no rank tables: describe the cluster by --cluster",
              path);
}
#endif

json read_json(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(result::kOpenFile, "{} cannot be read", path);
  try {
    return json::parse(file);
  } catch (const json::exception& e) { throw Error(result::kPara, "{} is not JSON: {}", path, e.what()); }
}

json to_json(const Cluster& cluster) {
  const auto link = [](const Link& l) {
    return json{{"alpha", l.cost.alpha},
                {"beta", l.cost.beta},
                {"gamma", l.cost.gamma},
                {"overhead", l.overhead},
                {"dedicated", l.dedicated}};
  };
  json result = {{"servers", cluster.servers()},
                 {"ranks", cluster.ranks()},
                 {"intra", link(cluster.fabric.intra)},
                 {"inter", link(cluster.fabric.inter)}};
  if (cluster.even()) result["cards_per_server"] = cluster.cards.front();
  else result["cards_per_server"] = cluster.cards;
  return result;
}

}  // namespace hccl_sim
