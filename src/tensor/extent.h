// How far a view reaches from its first element.
#pragma once
#include <cstdint>
#include <optional>

#include "tensor/view.h"

namespace updraft {

/// No address of a view lies farther from its base than this (bytes); sums of a few such distances do not overflow.
inline constexpr int64_t kFarthest = int64_t{1} << 56;

/// Bytes from the first element: [low, high).
struct Extent {
  int64_t low = 0, high = 0;
};
/// The extent of a view, empty for one without elements; nothing when its numbers are beyond kFarthest.
std::optional<Extent> extent_of(const TensorView& v);

}  // namespace updraft
