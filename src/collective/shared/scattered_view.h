// Buffers whose pages lie in several places of a memory file, mapped as one run of addresses.
#pragma once
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "collective/shared/region.h"

namespace updraft::collective {

/// Views of one memory file. They say where pages lie in the file, not at which addresses their owner has them: when
/// the owner maps others there it posts other stretches. So an old view is wrong for nobody, and goes when it is the
/// one that was not used for the longest time.
class ScatteredViews {
 public:
  ScatteredViews() = default;
  ~ScatteredViews();
  ScatteredViews(const ScatteredViews&) = delete;

  /// Where the stretches of the file are one after another. They begin and, but for the ends, join at pages. The view
  /// stays for as long as no more than kMost others are asked for. Throws EI0007.
  char* of(int fd, const Stretch* stretches, size_t count);

  static constexpr size_t kMost = 64;  ///< an operation needs two of each rank at most

 private:
  struct View {
    std::vector<std::pair<uint64_t, uint64_t>> key;
    char* base;  ///< mapped
    size_t bytes;
    char* start;  ///< of the buffer
  };
  std::mutex mutex_;
  std::list<View> views_;  // the latest first
};

}  // namespace updraft::collective
