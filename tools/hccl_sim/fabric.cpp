#include "hccl_sim/fabric.h"

#include <algorithm>
#include <unordered_map>

namespace hccl_sim {
namespace {

/// One message of a round: all transfers to (or from) one peer.
struct Message {
  int peer;
  double bytes;
  double latest;  ///< seconds since its start when this side's port has done it
};

/// Groups the transfers by peer and lays them out on the ports of the member.
std::vector<Message> messages_of(const std::vector<updraft::collective::Transfer>& transfers, int me,
                                 const Party& party, const Fabric& fabric) {
  std::vector<Message> messages;
  std::unordered_map<int, size_t> known;
  for (const auto& t : transfers) {
    const double bytes = static_cast<double>(t.count) * party.element_bytes;
    // pieces for one peer may lie between those of others
    if (messages.empty() || messages.back().peer != t.peer) {
      const auto [it, fresh] = known.try_emplace(t.peer, messages.size());
      if (fresh) messages.push_back({t.peer, 0, 0});
      messages[it->second].bytes += bytes;
    } else {
      messages.back().bytes += bytes;
    }
  }
  double port[2] = {0, 0};
  for (Message& m : messages) {
    const bool crosses = party.crosses(me, m.peer);
    const Link& link = crosses ? fabric.inter : fabric.intra;
    if (link.dedicated) {
      m.latest = link.cost.alpha + m.bytes * link.cost.beta;
    } else {
      double& used = port[crosses];
      used += m.bytes * link.cost.beta;
      m.latest = link.cost.alpha + used;
      used += link.overhead;
    }
  }
  return messages;
}

double combining(const std::vector<Message>& received, int me, const Party& party, const Fabric& fabric) {
  double seconds = 0;
  for (const Message& m : received)
    seconds += m.bytes * (party.crosses(me, m.peer) ? fabric.inter : fabric.intra).cost.gamma;
  return seconds;
}

double simulate_one(const Party& party, const Fabric& fabric) {
  double now = 0;
  for (const Round& round : party.schedule(0)) {
    const std::vector<Message> out = messages_of(round.sends, 0, party, fabric);
    const std::vector<Message> in = messages_of(round.receives, 0, party, fabric);
    // my i-th receive is my i-th send, as the one sees it who sends to me
    double last = 0;
    for (size_t i = 0; i < in.size(); ++i) last = std::max({last, in[i].latest, i < out.size() ? out[i].latest : 0});
    now += last + (round.combine ? combining(in, 0, party, fabric) : 0);
  }
  return now;
}

}  // namespace

double simulate(const Party& party, const Fabric& fabric) {
  if (party.size == 1) return 0;
  if (party.symmetric) return simulate_one(party, fabric);

  const auto size = static_cast<size_t>(party.size);
  std::vector<Schedule> schedules;
  schedules.push_back(party.schedule(0));
  const size_t rounds = schedules[0].size();
  size_t work = rounds;  // member 0, a root, has as much as any
  for (const Round& round : schedules[0]) work += round.sends.size() + round.receives.size();
  if (work > kMostWork / size) return -1;
  for (int member = 1; member < party.size; ++member) schedules.push_back(party.schedule(member));

  std::vector<double> now(size), next(size), combine(size);
  struct Sent {
    int from;
    double latest;
  };
  std::vector<std::vector<Sent>> inbox(size);
  for (size_t k = 0; k < rounds; ++k) {
    next = now;
    for (auto& box : inbox) box.clear();
    for (int r = 0; r < party.size; ++r)
      for (const Message& m : messages_of(schedules[static_cast<size_t>(r)][k].sends, r, party, fabric))
        inbox[static_cast<size_t>(m.peer)].push_back({r, m.latest});
    for (int r = 0; r < party.size; ++r) {
      const auto me = static_cast<size_t>(r);
      const Round& round = schedules[me][k];
      std::vector<Message> in = messages_of(round.receives, r, party, fabric);
      combine[me] = round.combine ? combining(in, r, party, fabric) : 0;
      // the inbox is in the order of the ranks
      std::sort(in.begin(), in.end(), [](const Message& a, const Message& b) { return a.peer < b.peer; });
      for (size_t i = 0; i < in.size(); ++i) {
        const auto from = static_cast<size_t>(in[i].peer);
        const double done = std::max(now[me], now[from]) + std::max(in[i].latest, inbox[me].at(i).latest);
        next[me] = std::max(next[me], done);
        next[from] = std::max(next[from], done);
      }
    }
    // combining begins when everything is there
    for (size_t r = 0; r < size; ++r) now[r] = next[r] + combine[r];
  }
  return *std::max_element(now.begin(), now.end());
}

}  // namespace hccl_sim
