#include "hccl/join.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/config.h"
#include "collective/bootstrap/job_key.h"
#include "collective/bootstrap/root.h"
#include "collective/endpoint.h"
#include "collective/topology/environment.h"
#include "device/context.h"
#include "hccl/client_state.h"

namespace updraft {

using namespace collective;

namespace {

Communicator::Clock::time_point deadline() {
  return Communicator::Clock::now() + seconds(Environment::get().connect_timeout);
}

RootInfo root_of(const std::vector<RankEntry>& ranks, const MeetingPoint& point) {
  const RankEntry& first = ranks.front();
  std::set<std::string> servers;
  for (const RankEntry& r : ranks) servers.insert(r.server);
  RootInfo info;
  if (!point.ip.empty()) {
    info.ip = point.ip;
  } else if (servers.size() == 1) {
    info.ip = "127.0.0.1";
  } else if (find_endpoint(first.server, 0)) {
    info.ip = first.server;
  } else {
    throw Error(
        result::kPara,
        "EI0004: server_id {} of rank 0 is not an IP address: with several servers the ranks meet at the address of "
        "rank 0's server",
        first.server);
  }
  info.port = point.port ? point.port : static_cast<uint16_t>(Environment::get().base_port + first.device);
  info.key = point.key;
  info.name = "hccl_world_group";
  return info;
}

}  // namespace

Device& device_of(const RankEntry& rank) {
  if (Context* context = current_context_or_null()) return context->device();
  const auto& visible = Config::get().visible;
  return Device::get(static_cast<int>(std::ranges::find(visible, rank.device) - visible.begin()));
}

CommunicatorPointer join(const RootInfo& info, uint32_t rank, uint32_t ranks, Device& device, const CommConfig& config,
                         const Place& place, const std::function<void()>& check) {
  const Environment& environment = Environment::get();
  CommunicatorOptions options;
  options.name = config.name.empty() ? info.name : config.name;
  options.key = info.key;
  options.server = place.server;
  options.super_pod = place.server.empty() && place.super_pod.empty() ? environment.super_pod : place.super_pod;
  options.algorithms = config.algorithms ? *config.algorithms : environment;
  options.connect_timeout = environment.connect_timeout;
  options.exec_timeout = config.exec_timeout ? *config.exec_timeout : environment.exec_timeout;
  auto member = Member::join(info.ip, info.port, info.key, rank, ranks, deadline(), check);
  auto communicator = Communicator::create(std::move(member), rank, ranks, device, options);
  if (config.deterministic) ClientState::of(*communicator).deterministic = *config.deterministic;
  return communicator;
}

CommunicatorPointer join_all(const std::vector<RankEntry>& ranks, uint32_t rank, const MeetingPoint& point,
                             const CommConfig& config, const std::string& origin) {
  if (rank >= ranks.size())
    throw Error(result::kPara, "EI0004: rank {} is not in {}, which has {} ranks", rank, origin, ranks.size());
  const Environment& environment = Environment::get();
  const RankEntry& entry = ranks[rank];
  RootInfo info = root_of(ranks, point);
  const auto size = static_cast<uint32_t>(ranks.size());
  std::optional<JobKey> agreed;  // rank 0 hands it out until all have joined
  if (info.key.empty()) {
    std::set<std::string> servers;
    for (const RankEntry& r : ranks) servers.insert(r.server);
    agreed.emplace(JobKey::Job{point.digest, servers.size(), rank, size, info.port, origin}, environment, deadline());
    info.key = agreed->bytes();
  }
  std::shared_ptr<Root> root;
  if (rank == 0) {
    RootOptions options;
    options.ip = info.ip;
    options.port = info.port;
    options.key = info.key;
    options.timeout = environment.connect_timeout;
    options.ranks = size;
    options.whitelist = environment.whitelist;
    options.allowed = environment.host_ips;
    root = Root::open(options);
  }
  return join(info, rank, size, device_of(entry), config, {entry.server, entry.super_pod});
}

CommunicatorPointer join_part(Communicator& parent, const std::string& name, const std::vector<uint32_t>& ranks,
                              uint32_t me, const CommConfig& config) {
  const auto size = static_cast<uint32_t>(ranks.size());
  std::string key = fmt::format("{} {}", name, fmt::join(ranks, " "));
  key += fmt::format(" #{}", parent.occurrence(key));
  // A member that has left the parent may have finished the new communicator before us, and ranks may have met just
  // before the root died. Who has not come a moment later never will.
  static constexpr auto kMoment = std::chrono::milliseconds(500);
  const auto check = [&parent, &ranks, since = std::optional<Communicator::Clock::time_point>()]() mutable {
    parent.throw_if_dead(ranks);
    try {
      parent.throw_if_dead(ranks, true);
    } catch (const Error&) {
      const auto now = Communicator::Clock::now();
      if (now - since.value_or(now) > kMoment) throw;
      if (!since) since = now;
    }
  };
  parent.throw_if_dead(ranks);
  RootInfo info;
  if (me == 0) {
    info = RootInfo::open(size);
    parent.member().put(key, info.text());
  } else {
    info = RootInfo::from_text(parent.member().get(key, ranks[0], deadline()));
  }
  return join(info, me, size, parent.device(), config, {parent.options().server, parent.options().super_pod}, check);
}

}  // namespace updraft
