#include "collective/algorithm/between.h"

#include <map>
#include <numeric>

namespace updraft::collective {
namespace {

bool divided(Kind kind) { return kind == Kind::AllReduce || kind == Kind::Broadcast || kind == Kind::Reduce; }

/// The kind whose schedule an operation is made by.
Kind base_of(Kind kind) {
  switch (kind) {
    case Kind::AllGatherV: return Kind::AllGather;
    case Kind::ReduceScatterV: return Kind::ReduceScatter;
    case Kind::Barrier: return Kind::AllReduce;
    default: return kind;
  }
}

}  // namespace

Between::Between(std::vector<std::vector<int>> hosts, std::vector<int> pods, const LinkCost& link)
    : hosts_(std::move(hosts)), pods_(std::move(pods)), link_(link) {
  for (const auto& host : hosts_) sizes_.push_back(static_cast<int>(host.size()));
  ranks_ = std::accumulate(sizes_.begin(), sizes_.end(), 0);
  most_ = *std::ranges::max_element(sizes_);
  alike_ = std::ranges::count(sizes_, most_) == std::ssize(sizes_);
}

Between::Levels Between::levels(Kind kind, const Wishes& wishes, double bytes) const {
  const Kind base = base_of(kind);
  Levels result{Algorithm::Auto, Algorithm::Auto, false, {}};
  const auto chosen = [&](int level, int members, double of) {
    const Algorithm wish = level == 1 ? wishes.hosts : wishes.pods;
    if (wish != Algorithm::Auto && has_schedule(base, wish)) return wish;
    const Algorithm instead = choose(base, members, of, link_);
    if (wish != Algorithm::Auto) result.unheard.push_back({level, wish, instead});
    return instead;
  };
  if (pods() == 1 || pods() == hosts()) {
    result.inside = chosen(pods() == 1 ? 1 : 2, hosts(), bytes);
    return result;
  }
  const int largest = *std::ranges::max_element(pods_);
  result.two = true;
  result.inside = chosen(1, largest, bytes);
  result.between = chosen(2, pods(), bytes / largest);
  // AHC spans both, and NB is what it is made of
  if (result.inside == Algorithm::AHC || result.between == Algorithm::AHC)
    result.inside = result.between = Algorithm::NB;
  return result;
}

// One level, or two where there are several super pods, some of them of several hosts. `borders`: {begin, end} of what
// is divided, else of the block of each host, where one level of hosts that are alike needs the first only.
Schedule Between::one(const Operation& operation, int host, const std::vector<uint64_t>& borders) const {
  const Kind kind = base_of(operation.kind);
  const bool whole = divided(kind), equal = alike_ && operation.counts.empty();
  // All must choose the same: hosts of one size by what the piece has, else by what a rank has at most.
  double bytes = 0;
  if (equal) {
    bytes = static_cast<double>(whole ? borders.back() : borders[1] * hosts_.size()) * operation.element_bytes;
  } else {
    uint64_t elements = whole ? operation.count : operation.count * static_cast<uint64_t>(ranks_);
    for (const uint64_t count : operation.counts) elements += count;
    bytes = static_cast<double>(elements) * operation.element_bytes / most_;
  }
  const Levels chosen = levels(kind, operation.wishes, bytes);
  if (chosen.two)
    return make_hierarchical_schedule(kind, {chosen.inside, chosen.between}, host, pods_, borders, operation.root_host);
  if (whole || equal) return make_schedule(kind, chosen.inside, host, hosts(), borders[1], operation.root_host);
  std::vector<int> groups = {hosts()};
  if (chosen.inside == Algorithm::AHC) groups = default_groups(chosen.inside, hosts());
  return make_hierarchical_schedule(kind, {chosen.inside, chosen.inside}, host, groups, borders, operation.root_host);
}

// --- one rank ---

Carrier::Carrier(const Between& between, int host, int index) : between_(between), host_(host), index_(index) {
  if (!between.alike()) pieces_ = pieces_of(between.sizes_, host, index);
}

Block Carrier::share(uint64_t count) const {
  if (between_.alike()) return block_of(count, between_.most(), index_);
  const Extent whole({0, count});
  const uint64_t from = whole.at(pieces_.front().from);
  return {from, whole.at(pieces_.back().to) - from};
}

// Of the blocks of a host's ranks, one after another.
Block Carrier::part_of(const Between::Operation& operation, int host, size_t piece) const {
  std::vector<uint64_t> borders = {0};
  for (const int rank : between_.hosts_[static_cast<size_t>(host)])
    borders.push_back(borders.back() + block_of_rank(operation, rank));
  if (between_.alike()) {
    const auto block = static_cast<size_t>(index_);
    return {borders[block], borders[block + 1] - borders[block]};
  }
  const Extent blocks(std::move(borders));
  const uint64_t from = blocks.at(pieces_[piece].from);
  return {from, blocks.at(pieces_[piece].to) - from};
}

// The borders of the parts that a piece has of each host's blocks.
std::vector<uint64_t> Carrier::parts_of_hosts(const Between::Operation& operation, size_t piece) const {
  // of blocks of one size the first is enough, unless two levels look at all of them
  const bool equal = operation.counts.empty();
  if (equal && between_.alike() && (between_.pods() == 1 || between_.pods() == between_.hosts()))
    return {0, operation.count};
  std::vector<uint64_t> borders = {0};
  std::map<int, uint64_t> known;  // by the size of the host
  for (int host = 0; host < between_.hosts(); ++host) {
    uint64_t part = 0;
    if (!equal) {
      part = part_of(operation, host, piece).count;
    } else {
      const auto [it, fresh] = known.try_emplace(between_.sizes_[static_cast<size_t>(host)]);
      if (fresh) it->second = part_of(operation, host, piece).count;
      part = it->second;
    }
    borders.push_back(borders.back() + part);
  }
  return borders;
}

Schedule Carrier::schedule(const Between::Operation& operation) const {
  Schedule all;
  if (operation.kind == Kind::Barrier) {
    Between::Operation beat = operation;
    beat.count = 1;
    for (size_t piece = 0; piece < pieces(); ++piece) append(all, between_.one(beat, host_, {0, 1}), piece, piece);
    return all;
  }
  if (divided(operation.kind)) {
    if (between_.alike()) {
      append(all, between_.one(operation, host_, {0, share(operation.count).count}), 0, 0);
      return all;
    }
    const Extent whole({0, operation.count});
    const uint64_t start = share(operation.count).offset;
    for (size_t piece = 0; piece < pieces(); ++piece) {
      const uint64_t from = whole.at(pieces_[piece].from), to = whole.at(pieces_[piece].to);
      append(all, between_.one(operation, host_, {0, to - from}), piece, from - start);
    }
    return all;
  }
  uint64_t at = 0;
  for (size_t piece = 0; piece < pieces(); ++piece) {
    const std::vector<uint64_t> borders = parts_of_hosts(operation, piece);
    append(all, between_.one(operation, host_, borders), piece, at);
    at += borders.back();
  }
  return all;
}

// Members of `one` are hosts: their place is taken by the owners of the piece there.
void Carrier::append(Schedule& all, Schedule one, size_t piece, uint64_t offset) const {
  const auto place = [&](Transfer& t) {
    const auto host = static_cast<size_t>(t.peer);
    const int owner = between_.alike() ? index_ : pieces_[piece].owners[host];
    t.peer = between_.hosts_[host][static_cast<size_t>(owner)];
    t.offset += offset;
  };
  for (Round& round : one) {
    std::ranges::for_each(round.sends, place);
    std::ranges::for_each(round.receives, place);
  }
  if (all.empty()) {
    all = std::move(one);
    return;
  }
  if (all.size() < one.size()) all.resize(one.size());
  for (size_t k = 0; k < one.size(); ++k) {
    all[k].combine |= one[k].combine;
    all[k].sends.insert(all[k].sends.end(), one[k].sends.begin(), one[k].sends.end());
    all[k].receives.insert(all[k].receives.end(), one[k].receives.begin(), one[k].receives.end());
  }
}

}  // namespace updraft::collective
