#include "observe/sanitizer/runs.h"

#include <algorithm>
#include <vector>

#include "tensor/extent.h"

namespace updraft::sanitizer {
namespace {

constexpr int64_t kMostRuns = 4 << 20;

/// The view's dimensions without those of one element or stride 0; the innermost ones that are dense as one piece.
struct Pieces {
  int64_t bytes;  ///< of a piece
  int rank = 0;
  int64_t dims[kMaxDims], strides[kMaxDims];  ///< in bytes

  explicit Pieces(const TensorView& view) : bytes(static_cast<int64_t>(size_of(view.dtype))) {
    for (int i = 0; i < view.rank; ++i) {
      if (view.dims[i] == 1 || view.strides[i] == 0) continue;
      dims[rank] = view.dims[i];
      strides[rank++] = view.strides[i] * static_cast<int64_t>(size_of(view.dtype));
    }
    // Dense dimensions, in whatever order they stand.
    for (bool found = true; found;) {
      found = false;
      for (int i = 0; i < rank; ++i) {
        if (strides[i] != bytes) continue;
        bytes *= dims[i];
        std::copy(dims + i + 1, dims + rank, dims + i);
        std::copy(strides + i + 1, strides + rank, strides + i);
        --rank;
        found = true;
        break;
      }
    }
  }
  int64_t count() const {
    int64_t n = 1;
    for (int i = 0; i < rank; ++i) n *= dims[i];
    return n;
  }
};

}  // namespace

Range reach_of(const TensorView& view) {
  if (!view.data || view.empty()) return {};
  const auto extent = extent_of(view);
  if (!extent) return {};
  const auto first = reinterpret_cast<uintptr_t>(view.data);
  return {first + static_cast<uintptr_t>(extent->low), first + static_cast<uintptr_t>(extent->high)};
}

bool for_each_run(const TensorView& view, int64_t most, FunctionRef<bool(Range)> f) {
  if (!view.data || view.empty()) return true;
  const Pieces pieces(view);
  if (pieces.count() > most) return false;
  auto at = reinterpret_cast<uintptr_t>(view.data);
  int64_t index[kMaxDims] = {};
  while (true) {
    if (!f({at, at + static_cast<uintptr_t>(pieces.bytes)})) return false;
    int d = pieces.rank - 1;
    for (; d >= 0; --d) {
      at += static_cast<uintptr_t>(pieces.strides[d]);
      if (++index[d] < pieces.dims[d]) break;
      at -= static_cast<uintptr_t>(pieces.dims[d] * pieces.strides[d]);
      index[d] = 0;
    }
    if (d < 0) return true;
  }
}

bool share_a_byte(const TensorView& a, const TensorView& b) {
  const Range ra = reach_of(a), rb = reach_of(b);
  if (ra.empty() || rb.empty() || !ra.meets(rb)) return false;
  std::vector<Range> runs;
  if (!for_each_run(a, kMostRuns, [&](Range r) {
        if (r.meets(rb)) runs.push_back(r);
        return true;
      }))
    return false;
  std::ranges::sort(runs, {}, &Range::begin);
  bool meets = false;
  for_each_run(b, kMostRuns, [&](Range r) {
    const auto next = std::ranges::lower_bound(runs, r.end, {}, &Range::begin);
    meets = next != runs.begin() && std::prev(next)->end > r.begin;
    return !meets;
  });
  return meets;
}

}  // namespace updraft::sanitizer
