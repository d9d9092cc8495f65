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

double number(const json& object, const std::string& key, double least, const std::string& within = "") {
  const json& value = object.at(key);
  if (!value.is_number() || !(value.get<double>() >= least))
    throw Error(result::kPara, "cluster: {}{} must be a number of at least {}, got {}", within, key, least,
                value.dump());
  return value.get<double>();
}

void read_link(const json& description, Level of, Link& link) {
  const char* level = name_of(of);
  if (!description.contains(level)) return;
  const json& object = description.at(level);
  const std::string within = std::string(level) + ".";
  if (!object.is_object())
    throw Error(result::kPara, "cluster: {} must be an object such as {{\"alpha\": 1e-5}}, got {}", level,
                object.dump());
  constexpr const char* same[][2] = {
      {"alpha", "latency_us"},     {"beta", "bandwidth_GBps"},      {"gamma", "reduce_GBps"},
      {"overhead", "overhead_us"}, {"rendezvous", "rendezvous_us"}, {"cached", "cached_GBps"},
      {"wake", "wake_us"}};
  for (const auto& [one, other] : same)
    if (object.contains(one) && object.contains(other))
      throw Error(result::kPara, "cluster: {} has both {} and {}, which say the same: leave one of them out", level,
                  one, other);
  for (const auto& [key, value] : object.items()) {
    if (key == "alpha") link.cost.alpha = number(object, key, 0, within);
    else if (key == "beta") link.cost.beta = number(object, key, 0, within);
    else if (key == "gamma") link.cost.gamma = number(object, key, 0, within);
    else if (key == "overhead") link.overhead = number(object, key, 0, within);
    else if (key == "rendezvous") link.rendezvous = number(object, key, 0, within);
    else if (key == "rendezvous_us") link.rendezvous = number(object, key, 0, within) * 1e-6;
    else if (key == "latency_us") link.cost.alpha = number(object, key, 0, within) * 1e-6;
    else if (key == "overhead_us") link.overhead = number(object, key, 0, within) * 1e-6;
    else if (key == "bandwidth_GBps") link.cost.beta = 1e-9 / number(object, key, 1e-9, within);
    else if (key == "reduce_GBps") link.cost.gamma = 1e-9 / number(object, key, 1e-9, within);
    else if (key == "dedicated" && value.is_boolean()) link.dedicated = value.get<bool>();
    else if (key == "memory" && value.is_boolean() && of == Level::Intra) link.memory = value.get<bool>();
    else if (of == Level::Intra && key == "wake") link.wake = number(object, key, 0, within);
    else if (of == Level::Intra && key == "wake_us") link.wake = number(object, key, 0, within) * 1e-6;
    else if (of == Level::Intra && key == "cache") link.cache = number(object, key, 0, within);
    else if (of == Level::Intra && key == "cached") link.cached = number(object, key, 0, within);
    else if (of == Level::Intra && key == "cached_GBps") link.cached = 1e-9 / number(object, key, 1e-9, within);
    else
      throw Error(
          result::kPara,
          "cluster: {}.{}: {} is not understood; known are alpha, beta, gamma, overhead, rendezvous (seconds), "
          "latency_us, bandwidth_GBps, reduce_GBps, overhead_us, rendezvous_us, dedicated (true or false) and, of "
          "intra, memory (true or false), wake, wake_us, cache (bytes), cached and cached_GBps",
          level, key, value.dump());
  }
  // an announcement there, and its answer
  const bool told = object.contains("rendezvous") || object.contains("rendezvous_us");
  if (of != Level::Intra && !told && (object.contains("alpha") || object.contains("latency_us")))
    link.rendezvous = 2 * link.cost.alpha;
}

int count(const json& value, const char* what) {
  if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > kMostRanks)
    throw Error(result::kPara, "cluster: {} must be a whole number in [1, {}], got {}", what, kMostRanks, value.dump());
  return value.get<int>();
}

/// A number for each of something, or one for all.
std::vector<int> counts(const json& description, const char* key) {
  const json& value = description.at(key);
  if (!value.is_array()) return {count(value, key)};
  std::vector<int> result;
  for (const json& one : value) result.push_back(count(one, key));
  if (result.empty()) throw Error(result::kPara, "cluster: {} must not be an empty list", key);
  return result;
}

void read_super_pods(const json& description, Cluster& cluster) {
  constexpr const char* key = "servers_per_super_pod";
  if (!description.contains(key)) return;
  const std::vector<int> sizes = counts(description, key);
  if (!description.at(key).is_array()) {
    cluster.pods = pods_of(cluster.servers(), sizes.front());
    return;
  }
  const int64_t all = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (all != cluster.servers())
    throw Error(result::kPara, "cluster: {} lists {} servers in all, the cluster has {}: make them the same", key, all,
                cluster.servers());
  if (sizes.size() > 1) cluster.pods = sizes;
}

}  // namespace

int Cluster::ranks() const { return std::accumulate(cards.begin(), cards.end(), 0); }
bool Cluster::even() const {
  return std::all_of(cards.begin(), cards.end(), [&](int c) { return c == cards.front(); });
}
double Cluster::turns() const { return cores > 0 ? std::max(1.0, most_cards() / cores) : 1; }
int Cluster::most_cards() const { return *std::max_element(cards.begin(), cards.end()); }

Fabric Cluster::shared() const {
  Fabric result = fabric;
  if (ports > 0 && ports < most_cards())
    for (Link* link : {&result.inter, &result.super}) link->cost.beta *= 1.0 * most_cards() / ports;
  // processes that take turns on the cores
  const double turns = this->turns();
  if (turns > 1) result.intra.cost.alpha += result.intra.wake;
  result.launch *= turns;
  for (Link* link : {&result.intra, &result.inter, &result.super}) {
    for (double* time :
         {&link->cost.alpha, &link->cost.beta, &link->cost.gamma, &link->overhead, &link->rendezvous, &link->cached})
      *time *= turns;
  }
  return result;
}

std::vector<int> Cluster::pod_of_servers() const {
  std::vector<int> result(cards.size());
  auto at = result.begin();
  for (size_t pod = 0; pod < pods.size(); ++pod) {
    std::fill_n(at, pods[pod], static_cast<int>(pod));
    at += pods[pod];
  }
  return result;
}

std::vector<std::vector<int>> Cluster::members() const {
  std::vector<std::vector<int>> ranks(cards.size());
  if (!places.empty()) {
    for (size_t r = 0; r < places.size(); ++r) ranks[static_cast<size_t>(places[r])].push_back(static_cast<int>(r));
    return ranks;
  }
  int rank = 0;
  for (size_t s = 0; s < cards.size(); ++s)
    for (int c = 0; c < cards[s]; ++c) ranks[s].push_back(rank++);
  return ranks;
}

std::vector<int> pods_of(int servers, int pod_size) {
  std::vector<int> pods;
  if (pod_size < servers)
    for (int left = servers; left > 0; left -= pod_size) pods.push_back(std::min(left, pod_size));
  return pods;
}

Fabric example_fabric() {
  Fabric fabric;
  fabric.intra = {{4e-6, 1 / 28e9, 1 / 400e9}, 1e-6, true};
  fabric.inter = {{10e-6, 1 / 25e9, 1 / 400e9}, 2e-6, false, 20e-6};
  fabric.super = fabric.inter;
  return fabric;
}

Cluster parse_cluster(const json& description) {
  if (!description.is_object())
    throw Error(result::kPara, "cluster: the description must be a JSON object such as {{\"servers\": 4}}, got {}",
                description.type_name());
  constexpr const char* known[] = {"servers",
                                   "cards_per_server",
                                   "servers_per_super_pod",
                                   "ports_per_server",
                                   "cores_per_server",
                                   "transport",
                                   "launch",
                                   "launch_us",
                                   "intra",
                                   "inter",
                                   "super",
                                   "ranks",
                                   "note"};
  for (const auto& [key, value] : description.items())
    if (std::find(std::begin(known), std::end(known), key) == std::end(known))
      throw Error(result::kPara,
                  "cluster: \"{}\" is not understood; known are servers, cards_per_server, servers_per_super_pod, "
                  "ports_per_server, cores_per_server, transport, launch, launch_us, intra, inter, super, ranks (only "
                  "checked) and note (free)",
                  key);
  Cluster cluster;
  cluster.fabric = example_fabric();
  const bool told = description.contains("cards_per_server");
  cluster.cards = told ? counts(description, "cards_per_server") : std::vector{8};
  if (told && description.at("cards_per_server").is_array()) {
    if (description.contains("servers") && count(description.at("servers"), "servers") != cluster.servers())
      throw Error(result::kPara, "cluster: servers is {}, but cards_per_server lists {}: leave one of them out",
                  description.at("servers").dump(), cluster.servers());
  } else {
    const int servers = description.contains("servers") ? count(description.at("servers"), "servers") : 1;
    cluster.cards.assign(static_cast<size_t>(servers), cluster.cards.front());
  }
  const int64_t ranks = std::accumulate(cluster.cards.begin(), cluster.cards.end(), int64_t{0});
  if (ranks > kMostRanks)
    throw Error(result::kPara, "cluster: {} cards are more than can be simulated ({})", ranks, kMostRanks);
  if (description.contains("ranks") && count(description.at("ranks"), "ranks") != ranks)
    throw Error(result::kPara, "cluster: ranks is {}, but the servers have {} cards: correct it or leave it out",
                description.at("ranks").dump(), ranks);
  read_super_pods(description, cluster);
  if (description.contains("ports_per_server"))
    cluster.ports = count(description.at("ports_per_server"), "ports_per_server");
  if (description.contains("cores_per_server")) cluster.cores = number(description, "cores_per_server", 0);
  if (description.contains("transport")) {
    const json& transport = description.at("transport");
    if (transport != "tcp" && transport != "ucx")
      throw Error(result::kPara, "cluster: transport must be \"tcp\" or \"ucx\", got {}", transport.dump());
    cluster.rdma = transport == "ucx";
  }
  if (description.contains("launch") && description.contains("launch_us"))
    throw Error(result::kPara, "cluster: launch and launch_us say the same: leave one of them out");
  if (description.contains("launch")) cluster.fabric.launch = number(description, "launch", 0);
  if (description.contains("launch_us")) cluster.fabric.launch = number(description, "launch_us", 0) * 1e-6;
  read_link(description, Level::Intra, cluster.fabric.intra);
  read_link(description, Level::Inter, cluster.fabric.inter);
  cluster.fabric.super = cluster.fabric.inter;
  read_link(description, Level::Super, cluster.fabric.super);
  return cluster;
}

#ifdef HCCL_SIM_RANK_TABLES
Cluster read_rank_table_cluster(const std::string& path) {
  const auto table = updraft::collective::read_rank_table(path, 0);
  Cluster cluster;
  cluster.fabric = example_fabric();
  if (table.ranks.empty())
    throw Error(result::kPara, "rank table {}: its status is initializing: wait until it is completed", path);
  // Servers in the order of their first ranks, those of a super pod together.
  std::vector<std::string> pods;
  for (const auto& entry : table.ranks)
    if (std::ranges::find(pods, entry.super_pod) == pods.end()) pods.push_back(entry.super_pod);
  std::map<std::string, int> servers;
  for (const std::string& pod : pods) {
    const int before = cluster.servers();
    for (const auto& entry : table.ranks) {
      if (entry.super_pod != pod) continue;
      const auto [it, fresh] = servers.try_emplace(entry.server, cluster.servers());
      if (fresh) cluster.cards.push_back(0);
      ++cluster.cards[static_cast<size_t>(it->second)];
    }
    cluster.pods.push_back(cluster.servers() - before);
  }
  if (pods.size() == 1) cluster.pods.clear();
  for (const auto& entry : table.ranks) cluster.places.push_back(servers.at(entry.server));
  if (std::ranges::is_sorted(cluster.places)) cluster.places.clear();
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

json to_json(const Link& link) {
  json result = {{"alpha", link.cost.alpha},  {"beta", link.cost.beta},        {"gamma", link.cost.gamma},
                 {"overhead", link.overhead}, {"rendezvous", link.rendezvous}, {"dedicated", link.dedicated}};
  if (link.memory) result["memory"] = true;
  if (link.wake > 0) result["wake"] = link.wake;
  if (link.cache > 0) {
    result["cache"] = link.cache;
    result["cached"] = link.cached;
  }
  return result;
}

json to_json(const Cluster& cluster) {
  json result = {{"servers", cluster.servers()},
                 {"ranks", cluster.ranks()},
                 {"intra", to_json(cluster.fabric.intra)},
                 {"inter", to_json(cluster.fabric.inter)}};
  if (cluster.super_pods() > 1) {
    result["super"] = to_json(cluster.fabric.super);
    result["servers_per_super_pod"] = cluster.pods;
  }
  if (cluster.ports > 0) result["ports_per_server"] = cluster.ports;
  if (cluster.cores > 0) result["cores_per_server"] = cluster.cores;
  if (cluster.rdma) result["transport"] = "ucx";
  if (cluster.fabric.launch > 0) result["launch"] = cluster.fabric.launch;
  if (cluster.even()) result["cards_per_server"] = cluster.cards.front();
  else result["cards_per_server"] = cluster.cards;
  return result;
}

}  // namespace hccl_sim
