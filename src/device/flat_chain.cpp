#include "device/flat_chain.h"

#include <algorithm>
#include <iterator>

#include "base/parallel.h"

namespace updraft {
namespace {
constexpr int64_t kPiece = 8 * 1024;  // elements: five arrays of them fit the second cache
}

size_t FlatChain::root(size_t group) {
  while (parents_[group] != group) group = parents_[group] = parents_[parents_[group]];
  return group;
}

bool FlatChain::find(const FlatArray& array, int64_t elements, std::map<const char*, Place>::iterator& at) {
  at = places_.lower_bound(array.data);
  if (at != places_.end() && at->first == array.data) {
    if (at->second.bytes != array.bytes) return false;
    return groups_[root(at->second.group)].elements == elements;
  }
  if (at != places_.end() && at->first < array.data + array.bytes) return false;
  if (at != places_.begin()) {
    const auto before = std::prev(at);
    if (before->first + before->second.bytes > array.data) return false;
  }
  at = places_.end();
  return true;
}

bool FlatChain::add(const FlatWork& work) {
  FlatArray arrays[FlatWork::kMostArrays];
  std::map<const char*, Place>::iterator at;
  // What the work itself brings is looked at among itself, too.
  std::vector<const char*> added;
  const size_t rows = work.rows(), first_group = groups_.size();
  bool fits = true;
  std::vector<size_t> of_row(rows);
  for (size_t row = 0; row < rows && fits; ++row) {
    const int64_t n = work.elements(row);
    const int count = work.arrays(row, arrays);
    // A group of its own at first, so that a refusal undoes nothing but what is new.
    const size_t group = groups_.size();
    groups_.push_back({n, {}});
    parents_.push_back(group);
    of_row[row] = group;
    for (int k = 0; k < count && fits; ++k) {
      fits = find(arrays[k], n, at);
      if (!fits || at != places_.end()) continue;
      places_.emplace(arrays[k].data, Place{arrays[k].bytes, group});
      added.push_back(arrays[k].data);
    }
  }
  if (!fits) {
    for (const char* data : added) places_.erase(data);
    groups_.resize(first_group);
    parents_.resize(first_group);
    return false;
  }
  const auto number = static_cast<uint32_t>(works_.size());
  works_.push_back(&work);
  for (size_t row = 0; row < rows; ++row) {
    size_t group = of_row[row];
    groups_[group].rows.push_back({number, static_cast<uint32_t>(row)});
    const int count = work.arrays(row, arrays);
    for (int k = 0; k < count; ++k) {
      const size_t other = root(places_.find(arrays[k].data)->second.group);
      group = root(group);
      if (other == group) continue;
      Group &to = groups_[std::min(group, other)], &from = groups_[std::max(group, other)];
      std::vector<Row> merged(to.rows.size() + from.rows.size());
      std::merge(to.rows.begin(), to.rows.end(), from.rows.begin(), from.rows.end(), merged.begin(),
                 [](const Row& a, const Row& b) { return a.work != b.work ? a.work < b.work : a.row < b.row; });
      to.rows = std::move(merged);
      from.rows.clear();
      parents_[std::max(group, other)] = std::min(group, other);
    }
    elements_ += work.elements(row);
  }
  return true;
}

void FlatChain::run() const {
  std::vector<const Group*> groups;
  std::vector<int64_t> first;  // piece of each group
  int64_t pieces = 0;
  for (const Group& group : groups_) {
    if (group.rows.empty() || group.elements == 0) continue;
    groups.push_back(&group);
    first.push_back(pieces);
    pieces += (group.elements + kPiece - 1) / kPiece;
  }
  if (pieces == 0) return;
  // Small arrays make small pieces: a thread gets enough of them to be worth waking.
  const int64_t average = std::max<int64_t>(1, elements_ / pieces);
  parallel_for(pieces, std::max<int64_t>(1, 2 * kPiece / average), [&](int64_t begin, int64_t end) {
    for (int64_t piece = begin; piece < end; ++piece) {
      const auto i = static_cast<size_t>(std::ranges::upper_bound(first, piece) - first.begin()) - 1;
      const int64_t at = (piece - first[i]) * kPiece, n = std::min(kPiece, groups[i]->elements - at);
      for (const Row& row : groups[i]->rows) works_[row.work]->run_piece(row.row, at, n);
    }
  });
}

}  // namespace updraft
