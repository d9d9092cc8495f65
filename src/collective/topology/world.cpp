#include "collective/topology/world.h"

#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>

#include "base/log.h"
#include "collective/error.h"
#include "collective/topology/environment.h"

namespace updraft::collective {
namespace {

constexpr uint32_t kMaximum = 1u << 20;
std::atomic<ChiefRendezvous> g_rendezvous{nullptr};

const char* variable(const char* name) {
  const char* text = std::getenv(name);
  return text && *text ? text : nullptr;
}

/// A number in [least, most] of the variable; nothing when it is not set.
std::optional<uint32_t> number(const char* name, uint32_t least, uint32_t most) {
  const char* text = variable(name);
  if (!text) return {};
  uint32_t value = 0;
  const char* end = text + std::strlen(text);
  auto [stop, error] = std::from_chars(text, end, value);
  if (error != std::errc() || stop != end || value < least || value > most)
    throw Error(result::kPara, "EI0001: {}=\"{}\" is not a number from {} to {}; correct the variable", name, text,
                least, most);
  return value;
}

uint32_t rank_of_pod(const RankTable& table, const Launch& launch, const std::string& path) {
  std::vector<uint32_t> found;
  for (const RankEntry& entry : table.ranks)
    if (entry.pod == launch.rank_text) found.push_back(entry.rank);
  if (found.size() > 1 && launch.device)  // a pod with several devices
    std::erase_if(found, [&](uint32_t r) { return table.ranks[r].device != *launch.device; });
  if (found.size() == 1) return found.front();
  if (found.empty())
    throw Error(result::kPara,
                "EI0004: {} has no pod_name \"{}\"{}: in this template RANK_ID is the pod_name; correct RANK_ID or the "
                "table",
                path, launch.rank_text,
                launch.device ? fmt::format(" with device_id {}", *launch.device) : std::string());
  throw Error(result::kPara,
              "EI0004: pod_name \"{}\" in {} has {} devices: set ASCEND_DEVICE_ID to the one that is this process'",
              launch.rank_text, path, found.size());
}

World of_rank_table(const std::string& path) {
  const Launch launch = read_launch();
  RankTable table = read_rank_table(path, Environment::read().connect_timeout);
  const auto size = static_cast<uint32_t>(table.ranks.size());
  const bool pods = table.version.empty();
  World world{0, {}, "RANK_TABLE_FILE=" + path};
  if (pods && !launch.rank_text.empty()) {
    world.rank = rank_of_pod(table, launch, path);
  } else {
    std::optional<uint32_t> rank = launch.rank;
    const char* from = "RANK_ID";
    if (!rank) rank = number(from = "RANK", 0, kMaximum);
    if (!rank)
      throw Error(result::kPara,
                  "EI0001: RANK_TABLE_FILE={} is set and RANK_ID is not: set RANK_ID to the {} of this process", path,
                  pods ? "pod_name" : "rank_id");
    if (*rank >= size)
      throw Error(result::kPara, "EI0004: {}={} is not in {}, which has the ranks 0 to {}; correct {} or the table",
                  from, *rank, path, size - 1, from);
    world.rank = *rank;
  }
  if (launch.size && *launch.size != size)
    throw Error(result::kPara,
                "EI0004: RANK_SIZE={}, but {} has {} devices: every device of the table must be a process of the job; "
                "correct one of them",
                *launch.size, path, size);
  world.ranks = std::move(table.ranks);
  return world;
}

World of_chief(const ChiefSettings& settings) {
  const Launch launch = read_launch();
  if (settings.worker_size <= 1)
    return {0, {{0, settings.worker_ip, "", launch.device.value_or(0), "", "", ""}}, "CM_WORKER_SIZE=1"};
  if (ChiefRendezvous rendezvous = g_rendezvous.load()) return rendezvous(settings, launch);
  throw Error(result::kNotSupport,
              "EI0001: CM_WORKER_SIZE={} needs the rendezvous at CM_CHIEF_IP={}, which this build does not have; use "
              "RANK_TABLE_FILE and RANK_ID",
              settings.worker_size, settings.chief_ip);
}

/// torchrun gives each node a run of ranks. Which nodes the ranks of others are on is not said; their sizes are taken
/// to be ours, which matters to nobody but the limits of products.
World of_torchrun(uint32_t rank) {
  const auto size = number("WORLD_SIZE", 1, kMaximum);
  if (!size)
    throw Error(result::kPara, "EI0001: RANK={} is set and WORLD_SIZE is not; set both, as torchrun does", rank);
  if (rank >= *size)
    throw Error(result::kPara, "EI0001: RANK={} with WORLD_SIZE={}: want a rank from 0 to {}", rank, *size, *size - 1);
  auto local = number("LOCAL_RANK", 0, kMaximum), local_size = number("LOCAL_WORLD_SIZE", 1, kMaximum);
  if (!local_size) {
    if (local && *local != rank)
      throw Error(result::kPara,
                  "EI0001: LOCAL_RANK={} and RANK={} are set and LOCAL_WORLD_SIZE is not: set it to the number of "
                  "processes on this server",
                  *local, rank);
    local = rank;
    local_size = size;
  } else if (!local) {
    throw Error(result::kPara, "EI0001: LOCAL_WORLD_SIZE={} is set and LOCAL_RANK is not; set both", *local_size);
  }
  if (*local >= *local_size || *local > rank || rank - *local + *local_size > *size)
    throw Error(
        result::kPara,
        "EI0001: RANK={}, WORLD_SIZE={}, LOCAL_RANK={}, LOCAL_WORLD_SIZE={} do not fit each other: a server has "
        "the ranks from RANK-LOCAL_RANK on",
        rank, *size, *local, *local_size);
  const uint32_t first = rank - *local, node = number("GROUP_RANK", 0, kMaximum).value_or(first / *local_size);
  World world{rank, {}, "RANK and WORLD_SIZE"};
  for (uint32_t r = 0; r < *size; ++r) {
    const bool here = r >= first && r < first + *local_size;
    uint32_t at = here ? node : r / *local_size;
    if (!here && at == node) at = r < first ? *size : *size + 1;  // nodes of other sizes: never taken for ours
    world.ranks.push_back(
        {r, fmt::format("node {}", at), "", static_cast<int>(here ? r - first : r % *local_size), "", "", ""});
  }
  return world;
}

}  // namespace

World read_world() {
  const auto chief = read_chief_settings();  // refuses a mixture with the variables below
  if (const char* path = variable("RANK_TABLE_FILE")) return of_rank_table(path);
  if (chief) return of_chief(*chief);
  if (auto rank = number("RANK", 0, kMaximum)) return of_torchrun(*rank);
  const Launch launch = read_launch();
  if (launch.size == 1u) return {0, {{0, "node 0", "", launch.device.value_or(0), "", "", ""}}, "RANK_SIZE=1"};
  throw Error(result::kPara,
              "EI0001: {}: set RANK_TABLE_FILE and RANK_ID, or CM_CHIEF_IP, CM_CHIEF_PORT, CM_CHIEF_DEVICE, "
              "CM_WORKER_SIZE and CM_WORKER_IP, or start the job by torchrun",
              launch.size ? fmt::format("RANK_SIZE={} without a rank table", *launch.size)
                          : std::string("nothing says which processes take part in the job"));
}

const World& world() {
  static std::mutex mutex;
  static const World* kept = nullptr;  // for ever: others keep references
  std::lock_guard lock(mutex);
  if (!kept) {
    auto read = std::make_unique<const World>(read_world());
    UPDRAFT_LOG(kInfo, "HCCL", "rank {} of {} on {}, device {} (by {})", read->rank, read->ranks.size(),
                read->ranks[read->rank].server, read->ranks[read->rank].device, read->source);
    kept = read.release();
  }
  return *kept;
}

void set_chief_rendezvous(ChiefRendezvous rendezvous) { g_rendezvous = rendezvous; }

}  // namespace updraft::collective
