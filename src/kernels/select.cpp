// Chooses the kernel table of the best instruction set that this CPU runs.
#include <algorithm>
#include <atomic>
#include <string>
#include <utility>

#include "base/config.h"
#include "kernels/table.h"

namespace updraft {

// UPDRAFT_LEVELS: X(v2) X(v3) X(v4), those that this build holds (cmake/kernels.cmake), the weakest first.
#define X(level)                 \
  namespace level {              \
  void make_table(KernelTable&); \
  }
UPDRAFT_LEVELS
#undef X

std::atomic<uint32_t> float_overflow{0};

namespace {
std::atomic<bool> g_saturating{false};

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

KernelTable& the_table() {
  static KernelTable table = [] {
    KernelTable t;
    const int most = std::min(cpu_level(), allowed_level());
    void (*make)(KernelTable&) = nullptr;
#define X(level) \
  if (!make || #level[1] - '0' <= most) make = level::make_table;
    UPDRAFT_LEVELS
#undef X
    make(t);
    return t;
  }();
  return table;
}
}  // namespace

const KernelTable& kernels() {
  static const KernelTable& table = the_table();
  return table;
}

void set_saturation(bool on) {
  if (g_saturating.exchange(on) == on) return;
  // Set once, while a device is being opened: work that runs meanwhile sees one mode or the other.
  KernelTable& table = the_table();
  for (int c = 0; c < kComputeTypes; ++c)
    std::swap(table.store[c][static_cast<int>(DType::Float16)], table.saturating_store[c]);
}
bool saturating() { return g_saturating.load(std::memory_order_relaxed); }

const EwTraits& traits(Ew e) {
  static const EwTraits all[] = {
#define EW1(name, types, ...) {1, false, #name},
#define EW2(name, types, ...) {2, false, #name},
#define EW3(name, types, ...) {3, false, #name},
#define EWB1(name, types, ...) {1, true, #name},
#define EWB2(name, types, ...) {2, true, #name},
#include "kernels/elementwise.inc"
#undef EW1
#undef EW2
#undef EW3
#undef EWB1
#undef EWB2
  };
  return all[static_cast<int>(e)];
}

}  // namespace updraft
