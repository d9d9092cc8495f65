// Chooses the kernel table of the best instruction set that this CPU runs.
#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/config.h"
#include "base/overflow.h"
#include "kernels/rows/activation.h"
#include "kernels/rows/arithmetic.h"
#include "kernels/rows/functions.h"
#include "kernels/rows/logic.h"
#include "kernels/rows/special.h"
#include "kernels/table.h"

namespace updraft {

// UPDRAFT_LEVELS: X(v2) X(v3) X(v4), those that this build holds (cmake/kernels.cmake), the weakest first.
#define X(level)                 \
  namespace level {              \
  void make_table(KernelTable&); \
  }
UPDRAFT_LEVELS
#undef X

namespace {
// N of x86-64-vN
int cpu_level() {
#if defined(__x86_64__)
  __builtin_cpu_init();
#if defined(__clang__)  // clang 16 knows no levels; no CPU has these features and not the rest of its level
  const bool v3 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
#else
  const bool v3 = __builtin_cpu_supports("x86-64-v3"), v4 = __builtin_cpu_supports("x86-64-v4");
#endif
  return v4 ? 4 : v3 ? 3 : 2;
#else
  return 2;
#endif
}

int allowed_level() {
  const std::string& isa = Config::get().max_isa;
  return isa == "v2" || isa == "reference" ? 2 : isa == "v3" ? 3 : 4;
}

KernelTable table_of_this_cpu() {
  KernelTable t;
  const int most = std::min(cpu_level(), allowed_level());
  void (*make)(KernelTable&) = nullptr;
#define X(level) \
  if (!make || #level[1] - '0' <= most) make = level::make_table;
  UPDRAFT_LEVELS
#undef X
  make(t);
  return t;
}
}  // namespace

const KernelTable& kernels() {
  static const KernelTable plain = table_of_this_cpu();
  if (!saturating()) return plain;
  static const KernelTable saturated = [] {
    KernelTable t = plain;
    for (int c = 0; c < kComputeTypes; ++c) t.store[c][static_cast<int>(DType::Float16)] = t.saturating_store[c];
    return t;
  }();
  return saturated;
}

const EwRow* row_with(BlockFn of_floats) {
  static const auto known = [] {
    std::vector<const EwRow*> all;
    constexpr int kCounts[] = {
#define FAMILY(name) ew::name::kCount,
#include "kernels/rows/families.inc"
#undef FAMILY
    };
    for (int family = 0; family < static_cast<int>(EwFamily::kCount); ++family)
      for (int i = 0; i < kCounts[family]; ++i) {
        const EwRow& row = kernels().rows[family][i];
        if (row.fn[static_cast<int>(Compute::F32)]) all.push_back(&row);
      }
    std::ranges::sort(all, std::less<BlockFn>(), [](const EwRow* r) { return r->fn[static_cast<int>(Compute::F32)]; });
    return all;
  }();
  const auto found = std::ranges::lower_bound(known, of_floats, std::less<BlockFn>(),
                                              [](const EwRow* r) { return r->fn[static_cast<int>(Compute::F32)]; });
  if (found == known.end() || (*found)->fn[static_cast<int>(Compute::F32)] != of_floats) return nullptr;
  return *found;
}

const EwRow& row_of(Ew row) { return kernels().rows[static_cast<int>(row) >> 8][static_cast<int>(row) & 0xff]; }

}  // namespace updraft
