#include "graph/planner/arena.h"

#include <algorithm>
#include <iterator>

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

size_t ArenaPlan::allocate(size_t bytes) {
  bytes = std::max(kAlign, (bytes + kAlign - 1) / kAlign * kAlign);
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

}  // namespace updraft::graph
