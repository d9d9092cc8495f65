#include "collective/algorithm/between.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace updraft::collective {
namespace {

// α, β, γ of TCP between hosts: what chooses an algorithm when HCCL_ALGO does not.
constexpr LinkCost kTcp = {50e-6, 1e-9, 0.2e-9};

bool divided(Kind kind) { return kind == Kind::AllReduce || kind == Kind::Broadcast || kind == Kind::Reduce; }

}  // namespace

Between::Between(std::vector<std::vector<int>> hosts, std::vector<int> pods)
    : hosts_(std::move(hosts)), pods_(std::move(pods)) {
  for (const auto& host : hosts_) sizes_.push_back(static_cast<int>(host.size()));
  ranks_ = std::accumulate(sizes_.begin(), sizes_.end(), 0);
  most_ = *std::ranges::max_element(sizes_);
  alike_ = std::ranges::count(sizes_, most_) == std::ssize(sizes_);
}

Schedule Between::schedule(const Operation& operation, int host, int index) const {
  const uint64_t n = operation.count;
  if (alike_) {  // one piece, whose owners are those of this place
    std::vector<uint64_t> borders = {0, divided(operation.kind) ? block_of(n, most_, index).count : n};
    if (!divided(operation.kind) && pods() > 1 && pods() < hosts())  // only two levels look at all of them
      for (int h = 1; h < hosts(); ++h) borders.push_back(borders.back() + n);
    Schedule all = one(operation, host, borders);
    for (Round& round : all)
      for (auto* list : {&round.sends, &round.receives})
        for (Transfer& t : *list) t.peer = hosts_[static_cast<size_t>(t.peer)][static_cast<size_t>(index)];
    return all;
  }
  Schedule all;
  if (divided(operation.kind)) {
    const Extent whole({0, n});
    const std::vector<Piece> pieces = pieces_of(sizes_, host, index);
    const uint64_t start = whole.at(pieces.front().from);
    for (const Piece& piece : pieces) {
      const uint64_t from = whole.at(piece.from);
      append(all, one(operation, host, {0, whole.at(piece.to) - from}), piece, from - start);
    }
    return all;
  }
  uint64_t at = 0;
  for (const Piece& piece : pieces_of(sizes_, host, index)) {
    std::vector<uint64_t> borders = {0};
    std::map<int, uint64_t> parts;  // of the blocks of a host of so many ranks
    for (const int size : sizes_) {
      const auto [it, fresh] = parts.try_emplace(size);
      if (fresh) {
        std::vector<uint64_t> ends = {0};
        for (int i = 0; i < size; ++i) ends.push_back(ends.back() + n);
        const Extent blocks(std::move(ends));
        it->second = blocks.at(piece.to) - blocks.at(piece.from);
      }
      borders.push_back(borders.back() + it->second);
    }
    append(all, one(operation, host, borders), piece, at);
    at += borders.back();
  }
  return all;
}

void Between::append(Schedule& all, const Schedule& one, const Piece& piece, uint64_t offset) const {
  if (all.size() < one.size()) all.resize(one.size());
  for (size_t k = 0; k < one.size(); ++k) {
    all[k].combine |= one[k].combine;
    const auto add = [&](const std::vector<Transfer>& from, std::vector<Transfer>& to) {
      for (const Transfer& t : from) {
        const auto host = static_cast<size_t>(t.peer);
        to.push_back({hosts_[host][static_cast<size_t>(piece.owners[host])], t.offset + offset, t.count});
      }
    };
    add(one[k].sends, all[k].sends);
    add(one[k].receives, all[k].receives);
  }
}

Between::Levels Between::levels(Kind kind, const Wishes& wishes, double bytes) const {
  const auto chosen = [&](Algorithm wish, int members, double of) {
    return wish != Algorithm::Auto && has_schedule(kind, wish) ? wish : choose(kind, members, of, kTcp);
  };
  if (pods() == 1) return {chosen(wishes.hosts, hosts(), bytes), Algorithm::Auto, false};
  if (pods() == hosts()) return {chosen(wishes.pods, hosts(), bytes), Algorithm::Auto, false};
  const int largest = *std::ranges::max_element(pods_);
  Levels levels = {chosen(wishes.hosts, largest, bytes), chosen(wishes.pods, pods(), bytes / largest), true};
  // AHC spans both, and NB is what it is made of
  if (levels.inside == Algorithm::AHC || levels.between == Algorithm::AHC)
    levels = {Algorithm::NB, Algorithm::NB, true};
  return levels;
}

// One level, or two where there are several super pods, some of them of several hosts.
Schedule Between::one(const Operation& operation, int host, const std::vector<uint64_t>& borders) const {
  const bool whole = divided(operation.kind);
  // All must choose the same: hosts of one size by what the piece has, else by what a rank has at most.
  double bytes = static_cast<double>(whole ? borders.back() : borders[1] * hosts_.size()) * operation.element_bytes;
  if (!alike_) bytes = static_cast<double>(operation.count) * (whole ? 1 : ranks_) * operation.element_bytes / most_;
  const Levels chosen = levels(operation.kind, operation.wishes, bytes);
  if (chosen.two)
    return make_hierarchical_schedule(operation.kind, {chosen.inside, chosen.between}, host, pods_, borders,
                                      operation.root_host);
  if (whole || alike_)
    return make_schedule(operation.kind, chosen.inside, host, hosts(), borders[1], operation.root_host);
  std::vector<int> groups = {hosts()};
  if (chosen.inside == Algorithm::AHC) groups = default_groups(chosen.inside, hosts());
  return make_hierarchical_schedule(operation.kind, {chosen.inside, chosen.inside}, host, groups, borders,
                                    operation.root_host);
}

}  // namespace updraft::collective
