// How groups of different sizes share the same data: each cuts it into as many equal parts as it has members. Where any
// of them cuts, a piece ends; so every piece has one owner in each group, and each piece is an operation of its own
// among its owners. Hosts share what their ranks have in this way, and super pods what their hosts have.
#pragma once
#include <cstdint>
#include <vector>

namespace updraft::collective {

/// A point of [0, 1].
struct Fraction {
  uint64_t part, of;
  bool operator==(const Fraction& b) const { return part * b.of == b.part * of; }
  bool operator<(const Fraction& b) const { return part * b.of < b.part * of; }
};

struct Piece {
  Fraction from, to;
  std::vector<int> owners;  ///< by group: which of its members
};
/// The pieces of [0, 1] that member `index` of group `group` owns, ascending.
std::vector<Piece> pieces_of(const std::vector<int>& sizes, int group, int index);

/// A run of elements that is measured by [0, 1]: of the parts between its borders each takes an equal share of it.
class Extent {
 public:
  explicit Extent(std::vector<uint64_t> borders) : borders_(std::move(borders)) {}
  uint64_t at(const Fraction& x) const;
  uint64_t begin() const { return borders_.front(); }
  uint64_t end() const { return borders_.back(); }

 private:
  std::vector<uint64_t> borders_;
};

}  // namespace updraft::collective
