#include "observe/sanitizer/allocations.h"

#include <algorithm>

namespace updraft::sanitizer {
namespace {

const Piece* holding(const std::map<uintptr_t, Piece>& pieces, uintptr_t at) {
  const auto next = pieces.upper_bound(at);
  if (next == pieces.begin()) return nullptr;
  const Piece& piece = std::prev(next)->second;
  return at < piece.bytes.end ? &piece : nullptr;
}

}  // namespace

void Allocations::forget(Range bytes) {
  auto it = dead_.lower_bound(bytes.begin);
  if (it != dead_.begin() && std::prev(it)->second.bytes.end > bytes.begin) --it;
  while (it != dead_.end() && it->first < bytes.end) it = dead_.erase(it);
}

void Allocations::add(Piece piece, bool known) {
  const Range bytes = piece.bytes;
  forget(bytes);
  if (known) unwritten_.remove(bytes.begin, bytes.end);
  else unwritten_.add(bytes.begin, bytes.end);
  live_[bytes.begin] = std::move(piece);
}

std::optional<Piece> Allocations::remove(uintptr_t at, std::shared_ptr<Site> site) {
  const auto found = live_.find(at);
  if (found == live_.end()) return std::nullopt;
  Piece piece = std::move(found->second);
  live_.erase(found);
  unwritten_.remove(piece.bytes.begin, piece.bytes.end);
  blocks_.erase(blocks_.lower_bound(piece.bytes.begin), blocks_.lower_bound(piece.bytes.end));
  piece.live = false;
  piece.freed = std::move(site);
  if (dead_.size() >= kMostDead) dead_.clear();
  dead_[at] = piece;
  return piece;
}

void Allocations::block_taken(uintptr_t at, uint64_t serial, bool captured, std::shared_ptr<Site> site) {
  const Piece* all = holding(live_, at);
  if (!all || all->pool) return;
  if (captured) {
    live_[all->bytes.begin].pool = true;
    blocks_.erase(blocks_.lower_bound(all->bytes.begin), blocks_.lower_bound(all->bytes.end));
    unwritten_.remove(all->bytes.begin, all->bytes.end);
    return;
  }
  auto next = blocks_.upper_bound(at);
  if (next != blocks_.begin()) {  // the block before ends here, as far as we know
    Piece& before = std::prev(next)->second;
    before.bytes.end = std::min(before.bytes.end, at);
  }
  while (next != blocks_.end() && next->first < all->bytes.end && !next->second.live) next = blocks_.erase(next);
  const uintptr_t end = next != blocks_.end() ? std::min(next->first, all->bytes.end) : all->bytes.end;
  unwritten_.add(at, end);
  Piece block{{at, end}, all->client + (at - all->bytes.begin), all->device};
  block.block = true;
  block.born = serial;
  block.made = std::move(site);
  blocks_[at] = std::move(block);
}

void Allocations::block_freed(uintptr_t at, std::shared_ptr<Site> site) {
  const auto found = blocks_.find(at);
  if (found == blocks_.end() || !found->second.live) return;
  found->second.live = false;
  found->second.freed = std::move(site);
}

void Allocations::keep_blocks(const std::set<uintptr_t>& used, uint64_t until) {
  for (auto& [at, block] : blocks_)
    if (block.live && block.born <= until && !used.contains(at)) block.live = false;
}

const Piece* Allocations::allocation_at(uintptr_t at) const {
  const Piece* piece = holding(live_, at);
  return piece ? piece : holding(dead_, at);
}

uintptr_t Allocations::end_for(Range bytes) const {
  const Piece* piece = allocation_at(bytes.begin);
  if (!piece) return 0;
  uintptr_t end = piece->bytes.end;
  while (end < bytes.end && piece->mapped && piece->live) {
    const auto next = live_.find(end);
    if (next == live_.end()) break;
    piece = &next->second;
    end = piece->bytes.end;
  }
  return end;
}

const Piece* Allocations::block_at(uintptr_t at) const { return holding(blocks_, at); }

uintptr_t Allocations::next_block(Range bytes) const {
  const auto next = blocks_.upper_bound(bytes.begin);
  if (next == blocks_.begin() || next == blocks_.end()) return 0;
  if (std::prev(next)->second.bytes.end <= bytes.begin) return 0;
  // Freed blocks may be many, so the search ends where the bytes do.
  for (auto it = next; it != blocks_.end() && it->first < bytes.end; ++it)
    if (it->second.live) return it->first;
  return 0;
}

bool Allocations::none_written(Range bytes) const { return unwritten_.covers(bytes.begin, bytes.end); }

void Allocations::shared(uintptr_t at) {
  if (const Piece* piece = holding(live_, at)) unwritten_.remove(piece->bytes.begin, piece->bytes.end);
}

}  // namespace updraft::sanitizer
