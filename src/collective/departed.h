// The ranks that have gone, in the order in which one heard of it: the first is to blame when others follow it.
#pragma once
#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace updraft::collective {

class Departed {
 public:
  using Entry = std::pair<uint32_t, bool>;  ///< rank, whether it left by itself

  /// False when it is known already.
  bool add(uint32_t rank, bool left) {
    if (find(rank)) return false;
    entries_.emplace_back(rank, left);
    return true;
  }
  const Entry* find(uint32_t rank) const {
    const auto it = std::ranges::find(entries_, rank, &Entry::first);
    return it == entries_.end() ? nullptr : &*it;
  }
  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }

 private:
  std::vector<Entry> entries_;
};

}  // namespace updraft::collective
