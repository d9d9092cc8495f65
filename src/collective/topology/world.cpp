#include "collective/topology/world.h"

#include <memory>
#include <mutex>
#include <optional>

#include "base/log.h"
#include "collective/bootstrap/chief.h"
#include "collective/error.h"
#include "collective/topology/environment.h"
#include "collective/topology/variable.h"

namespace updraft::collective {
namespace {

constexpr uint32_t kMaximum = 1u << 20;

/// A number in [least, most] of the variable; nothing when it is not set.
std::optional<uint32_t> number(const char* name, uint32_t least, uint32_t most) {
  const auto v = variable(name);
  if (!v) return {};
  return static_cast<uint32_t>(v->integer(least, most));
}

World of_rank_table(const Launch& launch) {
  RankTable table = read_rank_table(launch.rank_table, Environment::read().connect_timeout);
  World world{0, {}, "RANK_TABLE_FILE=" + launch.rank_table};
  const auto torch_rank = number("RANK", 0, kMaximum);
  if (launch.rank_text.empty() && torch_rank && !table.ranks.empty()) {  // torch gives HCCL its own rank
    world.rank = number("RANK", 0, static_cast<uint32_t>(table.ranks.size()) - 1).value();
  } else {
    world.rank = own_entry(table, launch).rank;
  }
  world.ranks = std::move(table.ranks);
  world.digest = std::move(table.digest);
  return world;
}

World of_chief(ChiefSettings settings, const Launch& launch) {
  if (settings.worker_size <= 1)
    return {0, {{0, settings.worker_ip, "", launch.device.value_or(0), "", "", ""}}, "CM_WORKER_SIZE=1"};
  const Environment environment = Environment::read();
  settings.secret = environment.secret;
  World world = meet_at_chief(settings, launch, environment.connect_timeout);
  world.ip = settings.chief_ip;  // the chief is rank 0, and its port is free again
  world.port = settings.chief_port;
  return world;
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
  const Launch launch = read_launch();
  if (!launch.rank_table.empty()) return of_rank_table(launch);
  if (chief) return of_chief(*chief, launch);
  if (auto rank = number("RANK", 0, kMaximum)) return of_torchrun(*rank);
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

}  // namespace updraft::collective
