#include "device/chain/flat_chain.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/parallel.h"

namespace updraft {
namespace {
constexpr int64_t kPiece = 8 * 1024;  // elements: five arrays of them fit the second cache
}

size_t FlatChain::root(size_t group) {
  while (parents_[group] != group) group = parents_[group] = parents_[parents_[group]];
  return group;
}

namespace {
size_t bytes_of(size_t bytes) { return bytes; }
template <class Place>
size_t bytes_of(const Place& place) {
  return place.bytes;
}
/// True where one of the arrays has a byte of this one.
template <class Arrays>
bool overlaps(const Arrays& arrays, const FlatArray& array) {
  const auto at = arrays.lower_bound(array.data);
  if (at != arrays.end() && at->first < array.data + array.bytes) return true;
  return at != arrays.begin() && std::prev(at)->first + bytes_of(std::prev(at)->second) > array.data;
}
}  // namespace

// Several works may read the same array as a whole. Arrays that overlap otherwise are rare, and not worth keeping.
bool FlatChain::add_whole(const FlatArray& array, std::vector<const char*>& added) {
  if (const auto known = wholes_.find(array.data); known != wholes_.end()) return known->second == array.bytes;
  if (overlaps(places_, array) || overlaps(wholes_, array)) return false;
  wholes_.emplace(array.data, array.bytes);
  added.push_back(array.data);
  return true;
}

bool FlatChain::find(const FlatArray& array, int64_t elements, Places::iterator& at, bool& known) {
  if (overlaps(wholes_, array)) return false;
  at = places_.lower_bound(array.data);
  known = at != places_.end() && at->first == array.data;
  if (known) return at->second.bytes == array.bytes && groups_[root(at->second.group)].elements == elements;
  return !overlaps(places_, array);
}

void FlatChain::join(size_t one, size_t other) {
  one = root(one), other = root(other);
  if (one == other) return;
  Group &to = groups_[std::min(one, other)], &from = groups_[std::max(one, other)];
  std::vector<Row> merged(to.rows.size() + from.rows.size());
  std::merge(to.rows.begin(), to.rows.end(), from.rows.begin(), from.rows.end(), merged.begin(),
             [](const Row& a, const Row& b) { return a.work != b.work ? a.work < b.work : a.row < b.row; });
  to.rows = std::move(merged);
  from.rows.clear();
  parents_[std::max(one, other)] = std::min(one, other);
}

bool FlatChain::add(const FlatWork& work) {
  FlatArray arrays[FlatWork::kMostArrays];
  // What the work itself brings is looked at among itself, too.
  std::vector<const char*> added, added_wholes;
  std::vector<std::pair<size_t, size_t>> shared;  // groups of which rows have an array in common
  const size_t rows = work.rows(), first_group = groups_.size();
  const auto number = static_cast<uint32_t>(works_.size());
  int64_t elements = 0;
  bool fits = true;
  for (size_t row = 0; row < rows && fits; ++row) {
    const int64_t n = work.elements(row);
    const int count = work.arrays(row, arrays);
    elements += n;
    // A group of its own at first, so that a refusal undoes nothing but what is new.
    const size_t group = groups_.size();
    groups_.push_back({n, {{number, static_cast<uint32_t>(row)}}});
    parents_.push_back(group);
    for (int k = 0; k < count && fits; ++k) {
      if (arrays[k].whole) {
        fits = add_whole(arrays[k], added_wholes);
        continue;
      }
      Places::iterator at;
      bool known;
      fits = find(arrays[k], n, at, known);
      if (!fits) break;
      if (known) {
        if (at->second.group != group) shared.emplace_back(group, at->second.group);
        continue;
      }
      places_.emplace_hint(at, arrays[k].data, Place{arrays[k].bytes, group});
      added.push_back(arrays[k].data);
    }
  }
  if (!fits) {
    for (const char* data : added) places_.erase(data);
    for (const char* data : added_wholes) wholes_.erase(data);
    groups_.resize(first_group);
    parents_.resize(first_group);
    return false;
  }
  works_.push_back(&work);
  elements_ += elements;
  for (const auto& [one, other] : shared) join(one, other);
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
