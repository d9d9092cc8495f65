// Where a resized row of values finds what it lies between, with the centres of the pixels at halves.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

namespace updraft {

/// Between which two a result lies, and the weight of the second.
struct Between {
  int64_t first, second;
  float weight;
};

/// For `to` results out of `from` values; `scale`: values to a result.
inline std::vector<Between> between_centres(int64_t from, int64_t to, double scale) {
  std::vector<Between> all(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    const double at = std::max((static_cast<double>(i) + 0.5) * scale - 0.5, 0.0);
    Between& b = all[static_cast<size_t>(i)];
    b.first = std::min(static_cast<int64_t>(at), from - 1);
    b.second = std::min(b.first + 1, from - 1);
    b.weight = static_cast<float>(at - static_cast<double>(b.first));
  }
  return all;
}

}  // namespace updraft
