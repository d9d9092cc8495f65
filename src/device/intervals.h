// A set of byte ranges: neighbours are one, and what is added twice counts once.
#pragma once
#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>

namespace updraft {

class Intervals {
 public:
  /// Bytes in the set.
  size_t total() const { return total_; }

  void add(size_t begin, size_t end) {
    if (begin >= end) return;
    remove(begin, end);
    total_ += end - begin;
    auto next = ranges_.lower_bound(begin);
    if (next != ranges_.end() && next->first == end) {
      end = next->second;
      next = ranges_.erase(next);
    }
    if (next != ranges_.begin() && std::prev(next)->second == begin) {
      std::prev(next)->second = end;
    } else {
      ranges_.emplace_hint(next, begin, end);
    }
  }

  /// True when some byte of [begin, end) is in the set.
  bool meets(size_t begin, size_t end) const {
    const auto next = ranges_.lower_bound(end);
    return begin < end && next != ranges_.begin() && std::prev(next)->second > begin;
  }

  /// True when all bytes of [begin, end) are in the set.
  bool covers(size_t begin, size_t end) const {
    const auto next = ranges_.upper_bound(begin);
    return begin >= end || (next != ranges_.begin() && std::prev(next)->second >= end);
  }

  void remove(size_t begin, size_t end) {
    if (begin >= end) return;
    auto it = ranges_.upper_bound(begin);
    if (it != ranges_.begin() && std::prev(it)->second > begin) --it;
    while (it != ranges_.end() && it->first < end) {
      const auto [first, last] = *it;
      it = ranges_.erase(it);
      total_ -= std::min(last, end) - std::max(first, begin);
      if (first < begin) ranges_.emplace_hint(it, first, begin);
      if (last > end) ranges_.emplace_hint(it, end, last);
    }
  }

 private:
  std::map<size_t, size_t> ranges_;  ///< begin -> end, apart from each other
  size_t total_ = 0;
};

}  // namespace updraft
