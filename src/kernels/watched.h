// Saturation mode, elementwise kernels: floats keep their infinities, but one that arises counts as an overflow.
#pragma once
#include <cstdint>

#include "base/overflow.h"
#include "kernels/table.h"

namespace updraft {

/// So many floats are looked at while they still lie in a cache of the core.
inline constexpr int64_t kWatchedBlock = 4096;

/// Runs `kernel` over arrays of n floats. `watched`: a bit for each output in which an infinity that arises is to be
/// noted. Results are nearly always finite, so what went in is looked at only where one is not: behind the kernel, or
/// before it where the result takes the input's place.
template <class Kernel>
void run_watched(const void* const* from, int inputs, const void* const* to, int outputs, uint32_t watched, int64_t n,
                 Kernel&& kernel) {
  if (!watched) return kernel();
  const auto all_finite = kernels().all_finite_f32;
  const auto finite = [&](const void* x) { return all_finite(static_cast<const float*>(x), n); };
  const auto replaced = [&](const void* x) {
    for (int k = 0; k < outputs; ++k)
      if (to[k] == x) return true;
    return false;
  };
  bool before = true;
  for (int k = 0; k < inputs; ++k)
    if (replaced(from[k])) before = before && finite(from[k]);
  kernel();
  bool after = true;
  for (int k = 0; k < outputs; ++k)
    if (watched >> k & 1) after = after && finite(to[k]);
  if (after || !before) return;
  for (int k = 0; k < inputs; ++k)
    if (!replaced(from[k])) before = before && finite(from[k]);
  if (before) note_overflow();
}

}  // namespace updraft
