#include "graph/planner/arena.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <utility>

namespace updraft::graph {

void ArenaPlan::take_gap(std::map<size_t, size_t>::iterator gap) {
  by_size_.erase({gap->second, gap->first});
  gaps_.erase(gap);
}

void ArenaPlan::add_gap(size_t offset, size_t bytes) {
  if (bytes == 0) return;
  gaps_.emplace(offset, bytes);
  by_size_.emplace(bytes, offset);
}

size_t arena_bytes(size_t bytes) {
  constexpr size_t kAlign = ArenaPlan::kAlign;
  return std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
}

size_t ArenaPlan::allocate(size_t bytes) {
  bytes = arena_bytes(bytes);
  size_t offset;
  if (const auto best = by_size_.lower_bound({bytes, 0}); best != by_size_.end()) {
    offset = best->second;
    const size_t size = best->first;
    take_gap(gaps_.find(offset));
    add_gap(offset + bytes, size - bytes);
  } else if (!gaps_.empty() && std::prev(gaps_.end())->first + std::prev(gaps_.end())->second == end_) {
    // the block grows by what its last gap lacks
    const auto last = std::prev(gaps_.end());
    offset = last->first;
    take_gap(last);
    end_ = offset + bytes;
  } else {
    offset = end_;
    end_ += bytes;
  }
  used_.emplace(offset, bytes);
  return offset;
}

void ArenaPlan::release(size_t offset) {
  const auto used = used_.find(offset);
  size_t begin = offset, bytes = used->second;
  used_.erase(used);
  if (const auto next = gaps_.find(begin + bytes); next != gaps_.end()) {
    bytes += next->second;
    take_gap(next);
  }
  if (auto before = gaps_.lower_bound(begin); before != gaps_.begin()) {
    --before;
    if (before->first + before->second == begin) {
      begin = before->first;
      bytes += before->second;
      take_gap(before);
    }
  }
  add_gap(begin, bytes);
}

namespace {

using Numbers = std::vector<std::vector<size_t>>;  // by step

Numbers by_step(std::span<const Lifetime> tensors, size_t Lifetime::*step) {
  Numbers numbers;
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (numbers.size() <= tensors[i].*step) numbers.resize(tensors[i].*step + 1);
    numbers[tensors[i].*step].push_back(i);
  }
  return numbers;
}

SharedBlock in_order(std::span<const Lifetime> tensors) {
  ArenaPlan plan;
  SharedBlock block{.offsets = std::vector<size_t>(tensors.size())};
  const Numbers begin = by_step(tensors, &Lifetime::first), end = by_step(tensors, &Lifetime::last);
  for (size_t s = 0; s < end.size(); ++s) {
    if (s < begin.size())
      for (const size_t i : begin[s]) block.offsets[i] = plan.allocate(tensors[i].bytes);
    for (const size_t i : end[s]) plan.release(block.offsets[i]);
  }
  block.bytes = plan.bytes();
  return block;
}

/// The offset of the smallest gap between `taken` (offsets and their ends) that has so many bytes, or behind all.
size_t best_gap(std::vector<std::pair<size_t, size_t>>& taken, size_t bytes) {
  std::ranges::sort(taken);
  size_t best = SIZE_MAX, offset = 0, end = 0;
  for (const auto& [from, to] : taken) {
    if (from >= end + bytes && from - end < best) best = from - end, offset = end;
    end = std::max(end, to);
  }
  return best == SIZE_MAX ? end : offset;
}

/// Nothing where that would look at too many tensors: the time is to be linear in the steps.
std::optional<SharedBlock> largest_first(std::span<const Lifetime> tensors) {
  size_t left = 256 * tensors.size() + (1 << 16), steps = 0;
  for (const Lifetime& t : tensors) steps = std::max(steps, t.last + 1);
  std::vector<size_t> order(tensors.size()), seen(tensors.size(), SIZE_MAX);
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return tensors[i].bytes; });
  Numbers living(steps);
  SharedBlock block{.offsets = std::vector<size_t>(tensors.size())};
  std::vector<std::pair<size_t, size_t>> taken;
  for (const size_t i : order) {
    const Lifetime& t = tensors[i];
    taken.clear();
    for (size_t s = t.first; s <= t.last; ++s) {
      if (left <= living[s].size()) return {};
      left -= living[s].size() + 1;
      for (const size_t other : living[s])
        if (std::exchange(seen[other], i) != i)
          taken.emplace_back(block.offsets[other], block.offsets[other] + arena_bytes(tensors[other].bytes));
      living[s].push_back(i);
    }
    block.offsets[i] = best_gap(taken, arena_bytes(t.bytes));
    block.bytes = std::max(block.bytes, block.offsets[i] + arena_bytes(t.bytes));
  }
  return block;
}

}  // namespace

SharedBlock share_block(std::span<const Lifetime> tensors) {
  SharedBlock block = in_order(tensors);
  if (std::optional<SharedBlock> other = largest_first(tensors); other && other->bytes < block.bytes)
    return std::move(*other);
  return block;
}

}  // namespace updraft::graph
