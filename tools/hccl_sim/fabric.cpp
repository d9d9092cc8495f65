#include "hccl_sim/fabric.h"

#include <algorithm>
#include <unordered_map>

#include "collective/algorithm/landing.h"
#include "collective/transport/frame.h"

namespace hccl_sim {
namespace {

using updraft::collective::Transfer;

/// All transfers of a round to (or from) one peer.
struct Message {
  int peer;
  double bytes;
};

/// How what is received is combined: when all is there; piece by piece; or piece by piece where each piece comes from
/// everyone who sends.
enum class Combining : uint8_t { Nothing, Whole, Pieces, SharedPieces };
Combining combining_of(const Round& round) {
  if (!round.combine) return Combining::Nothing;
  const size_t landings = updraft::collective::landings_of(round).size();
  if (landings == 0) return Combining::Whole;
  return landings == 1 && round.receives.size() > 1 ? Combining::SharedPieces : Combining::Pieces;
}

/// What a member does, without the places in the buffer: much smaller than its schedule.
class Script {
 public:
  Script(const Schedule& schedule, double element_bytes) {
    for (const Round& round : schedule) {
      add(round.sends, element_bytes);
      add(round.receives, element_bytes);
      combines_.push_back(combining_of(round));
    }
  }
  size_t rounds() const { return combines_.size(); }
  Combining combining(size_t round) const { return round < rounds() ? combines_[round] : Combining::Nothing; }
  struct Messages {
    const Message *first, *last;
    const Message* begin() const { return first; }
    const Message* end() const { return last; }
  };
  Messages sends(size_t round) const { return part(2 * round); }
  Messages receives(size_t round) const { return part(2 * round + 1); }

 private:
  void add(const std::vector<Transfer>& transfers, double element_bytes) {
    const size_t first = messages_.size();
    std::unordered_map<int, size_t> known;  // where there are many
    for (const Transfer& t : transfers) {
      const double bytes = static_cast<double>(t.count) * element_bytes;
      // pieces for one peer may lie between those of others
      size_t at = messages_.size();
      if (at - first < 16) {
        while (at > first && messages_[at - 1].peer != t.peer) --at;
        at = at > first ? at - 1 : messages_.size();
      } else {
        if (known.empty())
          for (size_t i = first; i < messages_.size(); ++i) known[messages_[i].peer] = i;
        at = known.try_emplace(t.peer, at).first->second;
      }
      if (at == messages_.size()) messages_.push_back({t.peer, bytes});
      else messages_[at].bytes += bytes;
    }
    ends_.push_back(messages_.size());
  }
  Messages part(size_t index) const {
    if (index >= ends_.size()) return {nullptr, nullptr};
    return {messages_.data() + (index ? ends_[index - 1] : 0), messages_.data() + ends_[index]};
  }

  std::vector<Message> messages_;
  std::vector<size_t> ends_;
  std::vector<Combining> combines_;
};

/// Seconds before the first byte of a message.
double latency(const Link& link, double bytes) {
  const bool announced = bytes > static_cast<double>(updraft::collective::kEagerBytes);
  return link.cost.alpha + (announced ? link.rendezvous : 0);
}

/// When this side's port has done each message, in seconds since the round's start.
struct Timed {
  int peer;
  double latest;
};
void lay_out(Script::Messages messages, int me, const Party& party, const Fabric& fabric, std::vector<Timed>& out) {
  out.clear();
  double port[kLevels] = {};
  for (const Message& m : messages) {
    const Level level = party.level(me, m.peer);
    const Link& link = fabric.at(level);
    if (link.dedicated) {
      out.push_back({m.peer, latency(link, m.bytes) + m.bytes * link.cost.beta});
    } else {
      double& used = port[static_cast<int>(level)];
      used += m.bytes * link.cost.beta;
      out.push_back({m.peer, latency(link, m.bytes) + used});
      used += link.overhead;
    }
  }
}

/// What a member receives in a round, and combines.
class Combined {
 public:
  Combined(Combining how, int me, const Party& party, const Fabric& fabric)
      : how_(how), me_(me), party_(party), fabric_(fabric) {}
  /// A message that has arrived whole at `arrived`.
  void add(const Message& m, double arrived) {
    if (how_ == Combining::Nothing) return;
    const Link& link = fabric_.at(party_.level(me_, m.peer));
    const double piece = std::min<double>(m.bytes, updraft::collective::kPieceBytes);
    all_ += m.bytes * link.cost.gamma;
    const double last = piece * link.cost.gamma, first = arrived - (m.bytes - piece) * link.cost.beta;
    if (how_ == Combining::Pieces) {
      last_ = arrived >= arrived_ ? last : last_;
      first_ = count_ ? std::min(first_, first) : first;
    } else {
      last_ += last;
      first_ = std::max(first_, first);
    }
    arrived_ = std::max(arrived_, arrived);
    ++count_;
  }
  /// When all is combined.
  double done(double arrived) const {
    if (count_ == 0) return arrived;
    if (how_ == Combining::Whole) return arrived + all_;
    return std::max(arrived, std::max(arrived_ + last_, first_ + all_));
  }

 private:
  const Combining how_;
  const int me_;
  const Party& party_;
  const Fabric& fabric_;
  double all_ = 0;                 ///< seconds of combining
  double arrived_ = 0, last_ = 0;  ///< when the last piece is there, and the seconds of combining it
  double first_ = 0;               ///< when the first piece is there
  int count_ = 0;
};

/// The scripts of the members that stand for others; none when that is too much.
std::vector<Script> scripts_of(const Party& party, size_t members) {
  std::vector<Script> scripts;
  size_t work = 0;
  for (size_t member = 0; member < members; ++member) {
    const Schedule schedule = party.schedule(static_cast<int>(member));
    size_t own = schedule.size();
    for (const Round& round : schedule) own += round.sends.size() + round.receives.size();
    work += own;
    // a first member has about as much as any
    if (work > kMostWork || (member == 0 && own > kMostWork / members)) return {};
    scripts.emplace_back(schedule, party.element_bytes);
  }
  return scripts;
}

}  // namespace

double simulate(const Party& party, const Fabric& fabric) {
  if (party.size == 1) return 0;
  const bool alike = party.period > 0;
  const auto members = static_cast<size_t>(alike ? party.period : party.size);
  const std::vector<Script> scripts = scripts_of(party, members);
  if (scripts.empty()) return -1;
  size_t rounds = 0;
  for (const Script& script : scripts) rounds = std::max(rounds, script.rounds());

  std::vector<double> now(members), next(members);
  std::vector<Combined> combined;
  std::vector<std::vector<Timed>> out(members);
  std::vector<Timed> in;
  const auto by_peer = [](const Timed& a, const Timed& b) { return a.peer < b.peer; };
  for (size_t k = 0; k < rounds; ++k) {
    next = now;
    combined.clear();
    for (size_t r = 0; r < members; ++r) {
      combined.emplace_back(scripts[r].combining(k), static_cast<int>(r), party, fabric);
      lay_out(scripts[r].sends(k), static_cast<int>(r), party, fabric, out[r]);
      if (!alike) std::sort(out[r].begin(), out[r].end(), by_peer);
    }
    for (size_t r = 0; r < members; ++r) {
      const int me = static_cast<int>(r);
      const Script::Messages received = scripts[r].receives(k);
      lay_out(received, me, party, fabric, in);
      for (size_t i = 0; i < in.size(); ++i) {
        const auto from = static_cast<size_t>(in[i].peer) % members;
        // Among members that are alike my i-th receive is the i-th send of whoever sends it.
        const double sent = alike ? (i < out[from].size() ? out[from][i].latest : 0)
                                  : std::lower_bound(out[from].begin(), out[from].end(), Timed{me, 0}, by_peer)->latest;
        const double done = std::max(now[r], now[from]) + std::max(in[i].latest, sent);
        combined[r].add(received.begin()[i], done);
        next[r] = std::max(next[r], done);
        next[from] = std::max(next[from], done);
      }
    }
    for (size_t r = 0; r < members; ++r) now[r] = combined[r].done(next[r]);
  }
  return *std::max_element(now.begin(), now.end());
}

}  // namespace hccl_sim
