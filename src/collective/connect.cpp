// How a communicator comes about: the ranks tell each other where they are, those of a host share memory.
#include <sched.h>
#include <unistd.h>

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "base/config.h"
#include "base/json_text.h"
#include "base/log.h"
#include "base/sha256.h"
#include "base/signals_blocked.h"
#include "collective/communicator.h"
#include "collective/error.h"
#include "collective/network.h"
#include "collective/topology/card_limits.h"
#include "collective/topology/host.h"

namespace updraft::collective {
namespace {

/// Brings hosts of one super pod together, pods in the order of their first host; gives the number of hosts of each.
std::vector<int> sort_by_pods(std::vector<std::vector<uint32_t>>& hosts, const std::vector<std::string>& pods) {
  std::vector<std::string> order;
  for (const std::string& pod : pods)
    if (std::ranges::find(order, pod) == order.end()) order.push_back(pod);
  std::vector<std::vector<uint32_t>> sorted;
  std::vector<int> sizes;
  for (const std::string& pod : order) {
    for (size_t h = 0; h < hosts.size(); ++h)
      if (pods[h] == pod) sorted.push_back(std::move(hosts[h]));
    sizes.push_back(static_cast<int>(std::ranges::count(pods, pod)));
  }
  hosts = std::move(sorted);
  return sizes;
}

}  // namespace

std::shared_ptr<Communicator> Communicator::create(std::shared_ptr<Member> member, uint32_t rank, uint32_t ranks,
                                                   Device& device, const CommunicatorOptions& options) {
  std::shared_ptr<Communicator> communicator(new Communicator(std::move(member), rank, ranks, device, options));
  try {
    communicator->connect();
  } catch (const Error& e) {
    communicator->member_->report(e);  // the others need not wait for this rank
    throw;
  }
  return communicator;
}

void Communicator::connect() {
  using nlohmann::json;
  const auto deadline = Clock::now() + seconds(options_.connect_timeout);
  const std::string host = host_identity();
  const std::string algorithms = options_.algorithms.between_servers();
  cpu_set_t allowed;
  std::vector<int> cpus;  // that this rank may run on
  CPU_ZERO(&allowed);
  sched_getaffinity(0, sizeof allowed, &allowed);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  const std::string mine = json_text(json{{"version", 4},
                                          {"host", host},
                                          {"server", options_.server},
                                          {"super_pod", options_.super_pod},
                                          {"device", device_.index()},
                                          {"algorithms", algorithms},
                                          {"pid", getpid()},
                                          {"cpus", cpus},
                                          {"memory", device_.memory().file_bytes()}});
  std::optional<std::pair<uint32_t, std::string>> other_algorithms;
  std::vector<std::vector<uint32_t>> hosts;
  std::vector<ServerShare> servers;
  std::vector<std::string> pods;  // of each host
  std::vector<std::string> identities;
  std::map<std::string, std::string> machine_of_server;
  const std::vector<std::string> all = member_->exchange(mine, deadline);
  std::vector<uint32_t> neighbours;
  std::set<int> together;  // CPUs of the ranks of this host: launchers may give each its own
  int me = 0;
  for (uint32_t r = 0; r < ranks_; ++r) {
    json info = try_json(all[r]);
    if (!info.is_object() || info.value("version", 0) != 4)
      throw Error(result::kPara, "EI0015: rank {} runs another version of Updraft: use the same on all hosts", r);
    if (const std::string theirs = info.value("algorithms", ""); theirs != algorithms) other_algorithms = {r, theirs};
    const std::string server = info.value("server", ""), machine = info.value("host", "");
    if (!server.empty() && machine_of_server.emplace(server, machine).first->second != machine)
      throw Error(
          result::kPara,
          "EI0004: ranks of server_id {} of the rank table run on different machines (or containers): rank {} is not "
          "where the first of them is",
          server, r);
    const std::string identity = server + "|" + machine;
    auto at = static_cast<size_t>(std::ranges::find(identities, identity) - identities.begin());
    if (at == identities.size()) {
      identities.push_back(identity);
      hosts.emplace_back();
      servers.push_back({r, {}});
      pods.push_back(info.value("super_pod", ""));
    } else if (const std::string pod = info.value("super_pod", ""); pod != pods[at]) {
      throw Error(result::kPara,
                  "EI0001: ranks {} and {} are on one server, and in the super pods \"{}\" and \"{}\": set the same "
                  "HCCL_LOGIC_SUPERPOD_ID for all ranks of a server",
                  hosts[at].front(), r, pods[at], pod);
    }
    hosts[at].push_back(r);
    servers[at].devices.push_back(info.value("device", 0));
    if (identity == options_.server + "|" + host) {
      if (r == rank_) me = static_cast<int>(neighbours.size());
      neighbours.push_back(r);
      for (const int cpu : info.value("cpus", std::vector<int>())) together.insert(cpu);
    }
  }
  if (Config::get().card_fidelity) check_servers(options_.name, servers, soc());
  // Ranks with different schedules would wait for each other's messages in vain.
  if (hosts.size() > 1 && other_algorithms)
    throw Error(result::kPara,
                "EI0005: the algorithms between servers differ: rank {} has \"{}\", rank {} has \"{}\": set the same "
                "HCCL_ALGO (or config.hcclAlgo) for all ranks",
                rank_, algorithms, other_algorithms->first, other_algorithms->second);
  local_index_.assign(ranks_, -1);
  for (size_t i = 0; i < neighbours.size(); ++i) local_index_[neighbours[i]] = static_cast<int>(i);
  group_ = std::make_unique<LocalGroup>(device_, neighbours, me);
  const auto cores = static_cast<int>(together.empty() ? std::thread::hardware_concurrency() : together.size());
  cores_for_ranks_ = group_->size() <= cores;
  cores_for_threads_ = group_->size() * Config::get().threads <= cores;
  size_t super_pods = 1;
  if (hosts.size() > 1) {
    const std::vector<int> sizes = sort_by_pods(hosts, pods);
    super_pods = sizes.size();
    network_ = std::make_unique<Network>(*this, hosts, sizes);
  }
  if (network_ && super_pods == 1 && options_.algorithms.chosen(2))
    UPDRAFT_LOG(
        kWarning, "HCCL",
        "communicator {}: HCCL_ALGO's level2 has no effect, as all ranks are in one super pod (super_pod_list of "
        "a rank table 1.2, or HCCL_LOGIC_SUPERPOD_ID, make several); level1 is the level between servers",
        options_.name);

  // The socket's name must be this communicator's and this host's, and nobody else's to guess.
  const std::string seed = options_.key + host + options_.server;
  const Digest digest = sha256(seed.data(), seed.size());
  std::string name = "updraft-hccl-";
  for (size_t i = 0; i < 16; ++i) name += fmt::format("{:02x}", digest[i]);
  group_->open_hub(name);
  const std::vector<std::string> addresses = member_->exchange(network_ ? network_->address() : "", deadline);
  try {
    group_->connect(name, options_.key, deadline, [this] { member_->check(); });
  } catch (const Error& e) {
    // Somebody of this host may have died; the root says who, mostly a little later than its socket ends.
    for (int waited = 0; waited < 500; ++waited) {
      member_->check();
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    throw Error(e.code(), "{} (the ranks of this host: {})", e.text(), fmt::join(neighbours, ", "));
  }
  if (network_) network_->connect(addresses);
  member_->exchange("", deadline);

  std::weak_ptr<Communicator> weak = weak_from_this();
  Member::Events events;
  events.gone = [weak](uint32_t rank, bool left) {
    if (auto self = weak.lock()) self->lose(rank, left);
  };
  events.fault = [weak](uint32_t rank, const Error& fault) {
    if (auto self = weak.lock()) self->fail(Error(fault.code(), "{} (reported by rank {})", fault.text(), rank), false);
  };
  events.root_lost = [weak](const std::string&) {
    auto self = weak.lock();
    if (!self) return;
    {
      std::lock_guard lock(self->mutex_);
      self->root_lost_ = true;
    }
    const int root = self->local_index_[0];  // the root lives in rank 0's process
    self->lose(0, root >= 0 && self->group_->region().left(root).load(std::memory_order_acquire));
  };
  {
    const SignalsBlocked blocked;
    thread_ = std::thread([this] { loop(); });
  }
  member_->watch(std::move(events));
  group_->watch([weak](int index) {
    if (auto self = weak.lock())
      self->lose(self->group_->rank(index), self->group_->region().left(index).load(std::memory_order_acquire));
  });
  UPDRAFT_LOG(kInfo, "HCCL",
              "communicator {}: rank {} of {} on device {}, {} ranks share this host, {} hosts, {} "
              "super pods",
              options_.name, rank_, ranks_, device_.index(), neighbours.size(), hosts.size(), super_pods);
}

}  // namespace updraft::collective
