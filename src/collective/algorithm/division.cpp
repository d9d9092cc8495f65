#include "collective/algorithm/division.h"

#include <algorithm>

namespace updraft::collective {

std::vector<Piece> pieces_of(const std::vector<int>& sizes, int group, int index) {
  const auto size = static_cast<uint64_t>(sizes[static_cast<size_t>(group)]), i = static_cast<uint64_t>(index);
  const Fraction from{i, size}, to{i + 1, size};
  std::vector<Fraction> cuts = {from, to};
  std::vector<int> seen;  // most groups are of the same size
  for (const int other : sizes) {
    if (std::ranges::find(seen, other) != seen.end()) continue;
    seen.push_back(other);
    const auto of = static_cast<uint64_t>(other);
    for (uint64_t part = i * of / size; part <= of; ++part) {
      const Fraction cut{part, of};
      if (!(cut < to)) break;
      if (from < cut) cuts.push_back(cut);
    }
  }
  std::ranges::sort(cuts, [](const Fraction& a, const Fraction& b) { return a < b; });
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  std::vector<Piece> pieces;
  for (size_t k = 0; k + 1 < cuts.size(); ++k) {
    Piece piece{cuts[k], cuts[k + 1], {}};
    for (const int other : sizes)
      piece.owners.push_back(static_cast<int>(piece.from.part * static_cast<uint64_t>(other) / piece.from.of));
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

uint64_t Extent::at(const Fraction& x) const {
  const uint64_t parts = borders_.size() - 1, before = x.part * parts / x.of, rest = x.part * parts - before * x.of;
  const uint64_t start = borders_[before];
  if (rest == 0) return start;
  // n * rest / of, of which only the result is sure to fit
  const uint64_t n = borders_[before + 1] - start;
  return start + n / x.of * rest + n % x.of * rest / x.of;
}

}  // namespace updraft::collective
