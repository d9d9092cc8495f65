#include "hccl_sim/plan.h"

#include <algorithm>
#include <memory>
#include <numeric>

namespace hccl_sim {
namespace {

using namespace updraft::collective;

bool divided(Kind kind) { return kind == Kind::AllReduce || kind == Kind::Broadcast || kind == Kind::Reduce; }

uint64_t rounded(uint64_t n, uint64_t size, bool up) { return up ? (n + size - 1) / size * size : n; }

/// Of an operation made of two phases of equal length: one of them, 0 or 1; else (-1) the whole.
Schedule half_of(Schedule schedule, int half) {
  const auto middle = schedule.begin() + static_cast<ptrdiff_t>(schedule.size() / 2);
  if (half == 0) schedule.erase(middle, schedule.end());
  if (half == 1) schedule.erase(schedule.begin(), middle);
  return schedule;
}

std::vector<int> first_numbers(size_t count) {
  std::vector<int> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// An AllToAll as rounds. Where ranks have different amounts for each other, nothing is sent as well.
Schedule exchanges(int member, int size, const Operation& op) {
  Schedule rounds;
  for (const Exchange& step : pairwise_peers(member, size)) {
    Round& round = rounds.emplace_back();
    const auto amount = [&](int from, int to) {
      return op.counts.empty()
                 ? op.elements
                 : op.counts[static_cast<size_t>(from) * static_cast<size_t>(size) + static_cast<size_t>(to)];
    };
    round.sends.push_back({step.to, 0, amount(member, step.to)});
    round.receives.push_back({step.from, 0, amount(step.from, member)});
  }
  return rounds;
}

bool of_any_blocks(Kind kind) {
  return kind == Kind::AllGatherV || kind == Kind::ReduceScatterV || kind == Kind::Barrier;
}

/// Whether every member does what the others do, seen from itself.
bool alike(Kind kind, Algorithm algorithm, int size) {
  if (kind != Kind::AllReduce && kind != Kind::ReduceScatter && kind != Kind::AllGather) return false;
  if (algorithm == Algorithm::HalvingDoubling) return (size & (size - 1)) == 0;
  if (algorithm != Algorithm::AHC && algorithm != Algorithm::Pipeline) return true;
  const std::vector<int> groups = default_groups(algorithm, size);
  return groups.front() == groups.back();
}

}  // namespace

Plan::Plan(const Operation& op, const Cluster& cluster)
    : op_(op),
      cluster_(cluster),
      servers_(cluster.servers()),
      ranks_(cluster.ranks()),
      members_(cluster.members()),
      place_(static_cast<size_t>(ranks_)),
      pod_(cluster.pod_of_servers()) {
  for (int s = 0; s < servers_; ++s) {
    const std::vector<int>& ranks = members_[static_cast<size_t>(s)];
    for (size_t i = 0; i < ranks.size(); ++i) {
      place_[static_cast<size_t>(ranks[i])] = s;
      if (ranks[i] != op.root) continue;
      root_server_ = s;
      root_card_ = static_cast<int>(i);
    }
  }
  if (op.kind == Kind::AllToAll || op.kind == Kind::AllToAllV) exchange();
  else if (of_any_blocks(op.kind)) any_blocks();
  else if (servers_ == 1) one_server();
  else several_servers();
  sum_up_work();
}

Level Plan::level(int a, int b) const {
  const auto from = static_cast<size_t>(place_[static_cast<size_t>(a)]);
  const auto to = static_cast<size_t>(place_[static_cast<size_t>(b)]);
  if (from == to) return Level::Intra;
  return pod_[from] == pod_[to] ? Level::Inter : Level::Super;
}

Level Plan::slowest() const {
  if (servers_ == 1) return Level::Intra;
  return cluster_.super_pods() > 1 ? Level::Super : Level::Inter;
}

/// Of a server's memory, where no message begins.
LinkCost Plan::memory_cost() const {
  LinkCost cost = cluster_.shared().intra.cost;
  cost.alpha = 0;
  return cost;
}

/// Everyone with everyone: the library knows no other way here.
void Plan::one_server() {
  Stage stage;
  stage.local = true;
  stage.ranks = members_;
  stage.parties = {0};
  stage.schedule = [this](int, int member, bool up) {
    const uint64_t n = divided(op_.kind) ? rounded(op_.elements, static_cast<uint64_t>(ranks_), up) : op_.elements;
    return make_schedule(op_.kind, Algorithm::Mesh, member, ranks_, n, op_.root);
  };
  stage.period = alike(op_.kind, Algorithm::Mesh, ranks_) ? 1 : 0;
  const double bytes = static_cast<double>(op_.elements) * op_.element_bytes * (divided(op_.kind) ? 1 : ranks_);
  stage.formula = [=, this] { return predict(op_.kind, Algorithm::Mesh, ranks_, bytes, memory_cost()); };
  stages_.push_back(std::move(stage));
}

/// AllToAll: every card with every other.
void Plan::exchange() {
  Stage stage;
  stage.ranks = {first_numbers(static_cast<size_t>(ranks_))};
  stage.parties = {0};
  stage.local = servers_ == 1;
  stage.at_once = true;
  stage.schedule = [this](int, int member, bool) { return exchanges(member, ranks_, op_); };
  // The levels are the same again a server, or a super pod, further on.
  const std::vector<int>& pods = cluster_.pods;
  const bool regular = cluster_.even() && cluster_.places.empty() &&
                       (pods.empty() || std::ranges::count(pods, pods.front()) == std::ssize(pods));
  const int unit = cluster_.cards.front() * (pods.empty() ? 1 : pods.front());
  stage.period = servers_ == 1 ? 1 : regular ? unit : 0;
  const double bytes = static_cast<double>(op_.elements) * op_.element_bytes * ranks_;
  stage.formula = [=, this] {
    return predict(op_.kind, Algorithm::Pairwise, ranks_, bytes, cluster_.shared().at(slowest()).cost);
  };
  stages_.push_back(std::move(stage));
}

/// Everyone with everyone of the same server. `elements` are those of the kind's own count, or of one of the `half`s of
/// an AllReduce, Broadcast or Reduce.
void Plan::inside(Kind kind, uint64_t elements, int half, bool root_server_only) {
  if (cluster_.most_cards() == 1) return;
  Stage stage;
  stage.local = true;
  stage.ranks = members_;
  if (root_server_only) stage.parties = {root_server_};
  else
    for (int s = 0; s < servers_; ++s)
      if (members_[static_cast<size_t>(s)].size() > 1) stage.parties.push_back(s);
  const auto cards = [this](int server) { return static_cast<int>(members_[static_cast<size_t>(server)].size()); };
  // The larger a server the busier; the root's has a card less to bring something to.
  stage.busiest = stage.parties.front();
  for (const int s : stage.parties)
    if (cards(s) > cards(stage.busiest) || (cards(s) == cards(stage.busiest) && stage.busiest == root_server_))
      stage.busiest = s;
  stage.schedule = [=, this](int party, int member, bool up) {
    const int size = cards(party);
    const uint64_t n = divided(kind) ? rounded(elements, static_cast<uint64_t>(size), up) : elements;
    Schedule schedule = half_of(make_schedule(kind, Algorithm::Mesh, member, size, n, root_card_ % size), half);
    if (kind != Kind::Broadcast || half != 1 || party != root_server_) return schedule;
    for (Round& round : schedule) {  // the root has everything
      std::erase_if(round.sends, [&](const Transfer& t) { return t.peer == root_card_; });
      if (member == root_card_) round.receives.clear();
    }
    return schedule;
  };
  const bool rooted = kind == Kind::Scatter || (kind == Kind::Broadcast && (half == 0 || servers_ == 1)) ||
                      (kind == Kind::Reduce && half == 1);
  stage.period = rooted || (kind == Kind::Broadcast && stage.busiest == root_server_) ? 0 : 1;
  const int size = cards(stage.busiest);
  const double bytes = static_cast<double>(elements) * op_.element_bytes * (divided(kind) ? 1 : size);
  stage.formula = [=, this] { return predict(kind, Algorithm::Mesh, size, bytes, memory_cost()) / (half < 0 ? 1 : 2); };
  stages_.push_back(std::move(stage));
}

/// The cards of all servers carry their parts. Where the servers have as many, the l-th cards are a party of their own.
void Plan::between() {
  const auto plan = std::make_shared<Between>(
      members_, cluster_.pods.empty() ? std::vector<int>{servers_} : cluster_.pods, cluster_.rdma ? kRdma : kTcp);
  const Between::Operation call = {
      op_.kind, op_.elements, op_.element_bytes, root_server_, {op_.algorithm, op_.algorithm}, op_.counts};
  Stage stage;
  if (plan->alike()) {
    for (size_t c = 0; c < members_.front().size(); ++c) {
      std::vector<int>& ranks = stage.ranks.emplace_back();
      for (const std::vector<int>& server : members_) ranks.push_back(server[c]);
    }
  } else {
    stage.ranks = {first_numbers(static_cast<size_t>(ranks_))};
  }
  stage.parties = first_numbers(stage.ranks.size());
  // where a rank stands in its server
  std::vector<int> index(static_cast<size_t>(ranks_));
  for (const auto& server : members_)
    for (size_t i = 0; i < server.size(); ++i) index[static_cast<size_t>(server[i])] = static_cast<int>(i);
  const uint64_t shares = static_cast<uint64_t>(servers_) * members_.front().size();
  stage.schedule = [=, this, ranks = stage.ranks, index = std::move(index)](int party, int member, bool up) {
    const int rank = ranks[static_cast<size_t>(party)][static_cast<size_t>(member)];
    Between::Operation mine = call;
    if (divided(op_.kind)) mine.count = rounded(mine.count, shares, up);
    const Carrier carrier(*plan, place_[static_cast<size_t>(rank)], index[static_cast<size_t>(rank)]);
    Schedule schedule = carrier.schedule(mine);
    if (plan->alike()) {  // the party has one card of each server
      for (Round& round : schedule) {
        for (Transfer& t : round.sends) t.peer = place_[static_cast<size_t>(t.peer)];
        for (Transfer& t : round.receives) t.peer = place_[static_cast<size_t>(t.peer)];
      }
    }
    return schedule;
  };
  const int most = cluster_.most_cards();
  const double all = static_cast<double>(op_.elements) * op_.element_bytes * (divided(op_.kind) ? 1 : ranks_);
  const double bytes = all / most;  // of a card
  const Between::Levels levels = plan->levels(op_.kind, call.wishes, bytes);
  if (plan->alike()) {
    const std::vector<int>& pods = cluster_.pods;
    const bool equal = pods.empty() || std::ranges::count(pods, pods.front()) == std::ssize(pods);
    const bool same = levels.two ? equal && alike(op_.kind, levels.inside, pods.front()) &&
                                       alike(op_.kind, levels.between, static_cast<int>(pods.size()))
                                 : alike(op_.kind, levels.inside, servers_);
    stage.period = same ? 1 : 0;
  }
  stage.formula = [=, this] {
    const Fabric links = cluster_.shared();
    if (!levels.two) return predict(op_.kind, levels.inside, servers_, bytes, links.at(slowest()).cost);
    const int largest = *std::ranges::max_element(cluster_.pods), pods = cluster_.super_pods();
    return predict(op_.kind, levels.inside, largest, bytes, links.inter.cost) +
           predict(op_.kind, levels.between, pods, bytes / largest, links.super.cost);
  };
  stages_.push_back(std::move(stage));
}

void Plan::several_servers() {
  const uint64_t n = op_.elements;
  // of the blocks that a server has for one of its cards, the most
  const auto blocks = static_cast<uint64_t>(ranks_) * n;
  const auto most = static_cast<uint64_t>(cluster_.most_cards());
  const uint64_t of_card = (blocks + most - 1) / most;
  switch (op_.kind) {
    case Kind::ReduceScatter:
      inside(op_.kind, of_card, -1, false);
      between();
      break;
    case Kind::AllGather:
      between();
      inside(op_.kind, of_card, -1, false);
      break;
    case Kind::Scatter:
      if (members_[static_cast<size_t>(root_server_)].size() > 1) inside(op_.kind, of_card, -1, true);
      between();
      break;
    default: {
      const bool alone = members_[static_cast<size_t>(root_server_)].size() == 1;
      if (op_.kind != Kind::Broadcast || !alone) inside(op_.kind, n, 0, op_.kind == Kind::Broadcast);
      between();
      if (op_.kind != Kind::Reduce || !alone) inside(op_.kind, n, 1, op_.kind == Kind::Reduce);
    }
  }
}

/// A round among the cards of each server: `elements(rank, other)` are what goes from `rank` to `other`, by the one or
/// the other's doing.
void Plan::among_cards(const std::function<uint64_t(int rank, int other)>& elements) {
  Stage stage;
  stage.local = true;
  stage.ranks = members_;
  stage.parties = first_numbers(members_.size());
  stage.schedule = [this, elements](int party, int member, bool) {
    const std::vector<int>& ranks = members_[static_cast<size_t>(party)];
    const int me = ranks[static_cast<size_t>(member)];
    Round round;
    for (int other = 0; other < static_cast<int>(ranks.size()); ++other) {
      if (other == member) continue;
      const int peer = ranks[static_cast<size_t>(other)];
      if (const uint64_t n = elements(me, peer)) round.sends.push_back({other, 0, n});
      if (const uint64_t n = elements(peer, me)) round.receives.push_back({other, 0, n});
    }
    return Schedule{std::move(round)};
  };
  stages_.push_back(std::move(stage));
}

/// AllGatherV, ReduceScatterV and Barrier.
void Plan::any_blocks() {
  const auto block = [this](int rank) { return op_.counts[static_cast<size_t>(rank)]; };
  if (servers_ == 1) {
    if (op_.kind == Kind::AllGatherV) among_cards([=](int rank, int) { return block(rank); });
    if (op_.kind == Kind::ReduceScatterV) among_cards([=](int, int other) { return block(other); });
    return;
  }
  // what each rank carries between the servers, it takes from those of its own, or brings to them
  const Between plan(members_, cluster_.pods.empty() ? std::vector<int>{servers_} : cluster_.pods);
  std::vector<uint64_t> carried(static_cast<size_t>(ranks_));
  for (int s = 0; s < servers_ && op_.kind != Kind::Barrier; ++s) {
    const std::vector<int>& ranks = members_[static_cast<size_t>(s)];
    for (int i = 0; i < static_cast<int>(ranks.size()); ++i)
      carried[static_cast<size_t>(ranks[static_cast<size_t>(i)])] =
          Carrier(plan, s, i)
              .visit({op_.kind, op_.elements, op_.element_bytes, 0, {}, op_.counts},
                     [](int, uint64_t, int, uint64_t, uint64_t) {});
  }
  if (op_.kind == Kind::ReduceScatterV)
    among_cards([carried](int, int other) { return carried[static_cast<size_t>(other)]; });
  between();
  if (op_.kind == Kind::AllGatherV)
    among_cards([carried](int rank, int) { return carried[static_cast<size_t>(rank)]; });
}

void Plan::sum_up_work() {
  if (servers_ == 1) {
    work_ = work_of_one_server(op_, ranks_);
    return;
  }
  LocalWork before, after;
  const auto more = [](LocalWork& most, const LocalWork& work) {
    if (work.moved + work.combined > most.moved + most.combined) most = work;
  };
  const bool one_card_each = cluster_.most_cards() == 1;
  for (int s = 0; s < servers_; ++s) {
    const int cards = cluster_.cards[static_cast<size_t>(s)];
    more(before, work_before(op_, ranks_, cards, s == root_server_));
    more(after, work_after(op_, ranks_, cards, s == root_server_, one_card_each));
  }
  work_ = {before.moved + after.moved, before.combined + after.combined};
}

}  // namespace hccl_sim
