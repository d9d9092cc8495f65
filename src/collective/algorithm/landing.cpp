#include "collective/algorithm/landing.h"

#include <algorithm>

namespace updraft::collective {

std::vector<Block> landings_of(const Round& round) {
  if (!round.combine) return {};
  const auto end = [](const Block& b) { return b.offset + b.count; };
  std::vector<Block> sorted;
  for (const Transfer& t : round.receives) sorted.push_back({t.offset, t.count});
  const auto first = [](const Block& a, const Block& b) {
    return a.offset != b.offset ? a.offset < b.offset : a.count < b.count;
  };
  const auto same = [](const Block& a, const Block& b) { return a.offset == b.offset && a.count == b.count; };
  std::ranges::sort(sorted, first);
  sorted.erase(std::unique(sorted.begin(), sorted.end(), same), sorted.end());
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].offset < end(sorted[i - 1])) return {};
  for (const Transfer& s : round.sends) {
    // the first run that ends behind the beginning of what is sent
    const auto at = std::ranges::partition_point(sorted, [&](const Block& b) { return end(b) <= s.offset; });
    if (at != sorted.end() && at->offset < s.offset + s.count) return {};
  }
  std::vector<Block> landings;
  std::vector<bool> seen(sorted.size());
  for (const Transfer& t : round.receives) {
    const auto at = std::ranges::lower_bound(sorted, Block{t.offset, t.count}, first) - sorted.begin();
    if (!seen[static_cast<size_t>(at)]) landings.push_back({t.offset, t.count});
    seen[static_cast<size_t>(at)] = true;
  }
  return landings;
}

}  // namespace updraft::collective
