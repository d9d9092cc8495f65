#include "collective/topology/groups.h"

#include <algorithm>
#include <map>
#include <mutex>

#include "base/config.h"
#include "base/log.h"
#include "collective/error.h"
#include "collective/topology/product.h"
#include "collective/topology/world.h"
#include "device/soc.h"

namespace updraft::collective {
namespace {

constexpr int64_t kMostRanks = 4096;
constexpr size_t kNameBytes = 128;  // with the end of the string

std::mutex g_mutex;
std::map<std::string, Group>& groups() {
  static auto* all = new std::map<std::string, Group>;
  return *all;
}

/// The devices of the group by server.
std::map<std::string, std::vector<int>> devices_by_server(const World& world, const std::vector<uint32_t>& ranks) {
  std::map<std::string, std::vector<int>> servers;
  for (uint32_t r : ranks) servers[world.ranks[r].server].push_back(world.ranks[r].device);
  for (auto& [server, devices] : servers) std::sort(devices.begin(), devices.end());
  return servers;
}

/// What a card's network allows. 910: 1, 2, 4 or 8 a server, 2 and 4 within the cards 0-3 or 4-7; 910B: the same cards
/// of every server, any number.
void check_card_limits(const std::string& name, const World& world, const std::vector<uint32_t>& ranks) {
  const auto servers = devices_by_server(world, ranks);
  const bool older = limits_of(soc()).two_nets;
  const std::vector<int>& first = servers.begin()->second;
  for (const auto& [server, devices] : servers) {
    const size_t n = devices.size();
    if (n != first.size())
      throw Error(result::kPara,
                  "EI0003: group {} has {} ranks on server {} and {} on server {}: {} takes the same number of every "
                  "server",
                  name, first.size(), servers.begin()->first, n, server, soc().name);
    if (older && n != 1 && n != 2 && n != 4 && n != 8)
      throw Error(result::kPara, "EI0003: group {} has {} ranks on server {}: {} takes 1, 2, 4 or 8", name, n, server,
                  soc().name);
    if (older && (n == 2 || n == 4) && (devices.front() % 8 < 4) != (devices.back() % 8 < 4))
      throw Error(
          result::kPara,
          "EI0003: group {} has the devices {} of server {}: {} takes 2 or 4 devices of one network, 0-3 or 4-7", name,
          fmt::join(devices, ","), server, soc().name);
    if (!older && devices != first)
      throw Error(result::kPara,
                  "EI0003: group {} has the devices {} of server {} and {} of server {}: {} takes the same of every "
                  "server",
                  name, fmt::join(first, ","), servers.begin()->first, fmt::join(devices, ","), server, soc().name);
  }
}

/// The group of these world ranks; this process is among them.
Group make_group(const World& world, std::vector<uint32_t> ranks) {
  Group group{std::move(ranks), {}, 0};
  for (uint32_t i = 0; i < group.ranks.size(); ++i) {
    if (group.ranks[i] == world.rank) group.rank = i;
    if (world.ranks[group.ranks[i]].server == world.ranks[world.rank].server) group.local.push_back(i);
  }
  return group;
}

}  // namespace

void check_group_name(const std::string& name) {
  if (name.empty() || name.size() >= kNameBytes || name.find('\0') != std::string::npos)
    throw Error(result::kPara, "EI0003: a group's name has 1 to {} bytes and no NUL, this one has {} bytes",
                kNameBytes - 1, name.size());
}

void create_group(const std::string& name, int64_t count, const std::vector<int64_t>& world_ranks) {
  check_group_name(name);
  if (name == kWorldGroup)
    throw Error(result::kPara, "EI0003: {} is the group of all ranks, it cannot be created; use another name", name);
  if (count < 1 || count > kMostRanks || static_cast<size_t>(count) != world_ranks.size())
    throw Error(result::kPara, "EI0003: rank_num is {} and rank_ids has {} ranks: want the same number, 1 to {}", count,
                world_ranks.size(), kMostRanks);
  const World& world = collective::world();
  std::vector<uint32_t> ranks;
  for (int64_t r : world_ranks) {
    if (r < 0 || r >= static_cast<int64_t>(world.ranks.size()))
      throw Error(result::kPara, "EI0003: rank {} of group {} is not in the job, which has the ranks 0 to {}", r, name,
                  world.ranks.size() - 1);
    ranks.push_back(static_cast<uint32_t>(r));
  }
  std::vector<uint32_t> sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  if (auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end())
    throw Error(result::kPara, "EI0003: rank {} is in group {} more than once", *twice, name);
  if (!std::binary_search(sorted.begin(), sorted.end(), world.rank))
    throw Error(result::kPara, "EI0003: this process is rank {} and not in group {} ({}): only its ranks may create it",
                world.rank, name, fmt::join(world_ranks, ","));
  if (Config::get().card_fidelity) check_card_limits(name, world, ranks);
  std::lock_guard lock(g_mutex);
  if (!groups().emplace(name, make_group(world, std::move(ranks))).second)
    throw Error(result::kPara, "EI0003: group {} is there already: destroy_group() it first or use another name", name);
  UPDRAFT_LOG(kInfo, "HCCL", "group {}: ranks {}", name, fmt::join(world_ranks, ","));
}

void destroy_group(const std::string& name) {
  check_group_name(name);
  if (name == kWorldGroup)
    throw Error(result::kPara, "EI0003: {} is the group of all ranks, it cannot be destroyed", name);
  std::lock_guard lock(g_mutex);
  if (groups().erase(name) == 0)
    throw Error(result::kNotFound, "EI0003: there is no group {} in this process; create_group() comes first", name);
}

Group find_group(const std::string& name) {
  check_group_name(name);
  if (name == kWorldGroup) {
    std::vector<uint32_t> all(world().ranks.size());
    for (uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    return make_group(world(), std::move(all));
  }
  std::lock_guard lock(g_mutex);
  auto found = groups().find(name);
  if (found == groups().end())
    throw Error(result::kNotFound, "EI0003: there is no group {} in this process; create_group() comes first", name);
  return found->second;
}

}  // namespace updraft::collective
