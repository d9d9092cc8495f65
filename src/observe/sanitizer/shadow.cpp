#include "observe/sanitizer/shadow.h"

#include <algorithm>
#include <set>

namespace updraft::sanitizer {

void Shadow::cut(uintptr_t at) {
  const auto next = cells_.upper_bound(at);
  if (next == cells_.begin()) return;
  const auto cell = std::prev(next);
  if (cell->first == at || cell->second.end <= at) return;
  Cell behind = cell->second;
  cell->second.end = at;
  cells_.emplace_hint(next, at, std::move(behind));
}

Shadow::Cells::const_iterator Shadow::first(Range bytes) const {
  auto it = cells_.upper_bound(bytes.begin);
  if (it != cells_.begin() && std::prev(it)->second.end > bytes.begin) --it;
  return it;
}

void Shadow::read(Cell& cell, const WorkRef& work, Conflict conflict) {
  if (cell.write && !ordered(cell.write->moment, work->moment)) conflict(*cell.write, true);
  const auto same =
      std::ranges::find_if(cell.reads, [&](const WorkRef& r) { return r->moment.slot == work->moment.slot; });
  if (same == cell.reads.end()) cell.reads.push_back(work);
  else if ((*same)->moment.count <= work->moment.count) *same = work;
}

void Shadow::read(Range bytes, const WorkRef& work, Conflict conflict) {
  if (bytes.empty()) return;
  // as mostly: the same bytes as before
  if (const auto same = cells_.find(bytes.begin); same != cells_.end() && same->second.end == bytes.end)
    return read(same->second, work, conflict);
  cut(bytes.begin);
  cut(bytes.end);
  auto it = cells_.lower_bound(bytes.begin);
  for (uintptr_t at = bytes.begin; at < bytes.end;) {
    if (it == cells_.end() || it->first > at) {  // nobody was here
      const uintptr_t end = it == cells_.end() ? bytes.end : std::min(bytes.end, it->first);
      it = cells_.emplace_hint(it, at, Cell{end, nullptr, {}});
    }
    read(it->second, work, conflict);
    at = it->second.end;
    ++it;
  }
}

void Shadow::write(Range bytes, const WorkRef& work, Conflict conflict) {
  if (bytes.empty()) return;
  const auto meet = [&](const Cell& cell) {
    if (cell.write && !ordered(cell.write->moment, work->moment)) conflict(*cell.write, true);
    for (const WorkRef& r : cell.reads)
      if (!ordered(r->moment, work->moment)) conflict(*r, false);
  };
  // as mostly: the same bytes as before
  if (const auto same = cells_.find(bytes.begin); same != cells_.end() && same->second.end == bytes.end) {
    meet(same->second);
    same->second.write = work;
    same->second.reads.clear();
    return;
  }
  cut(bytes.begin);
  cut(bytes.end);
  auto it = cells_.lower_bound(bytes.begin);
  while (it != cells_.end() && it->first < bytes.end) {
    meet(it->second);
    it = cells_.erase(it);
  }
  cells_.emplace_hint(it, bytes.begin, Cell{bytes.end, work, {}});
}

void Shadow::each(Range bytes, FunctionRef<void(const Work&, bool)> f) const {
  std::set<std::pair<const Work*, bool>> told;
  const auto tell = [&](const Work& work, bool wrote) {
    if (told.emplace(&work, wrote).second) f(work, wrote);
  };
  for (auto it = first(bytes); it != cells_.end() && it->first < bytes.end; ++it) {
    if (it->second.write) tell(*it->second.write, true);
    for (const WorkRef& r : it->second.reads) tell(*r, false);
  }
}

void Shadow::forget(Range bytes) {
  if (bytes.empty()) return;
  cut(bytes.begin);
  cut(bytes.end);
  cells_.erase(cells_.lower_bound(bytes.begin), cells_.lower_bound(bytes.end));
}

void Shadow::forget(FunctionRef<bool(const Work&)> over) {
  for (auto it = cells_.begin(); it != cells_.end();) {
    Cell& cell = it->second;
    if (cell.write && over(*cell.write)) cell.write = nullptr;
    std::erase_if(cell.reads, [&](const WorkRef& r) { return over(*r); });
    it = !cell.write && cell.reads.empty() ? cells_.erase(it) : std::next(it);
  }
}

}  // namespace updraft::sanitizer
