// Chooses the kernel table of the best instruction set that this CPU runs.
#include <atomic>
#include <string>
#include <utility>

#include "base/config.h"
#include "kernels/table.h"

namespace updraft {

#if defined(__x86_64__)
namespace v2 {
void make_table(KernelTable&);
}
namespace v3 {
void make_table(KernelTable&);
}
namespace v4 {
void make_table(KernelTable&);
}
#else
namespace native {
void make_table(KernelTable&);
}
#endif

std::atomic<uint32_t> float_overflow{0};

namespace {
std::atomic<bool> g_saturating{false};

KernelTable& the_table() {
  static KernelTable table = [] {
    KernelTable t;
#if defined(__x86_64__)
    __builtin_cpu_init();
    const std::string& most = Config::get().max_isa;
    int level = __builtin_cpu_supports("x86-64-v4") ? 4 : __builtin_cpu_supports("x86-64-v3") ? 3 : 2;
    if (most == "v3" && level > 3) level = 3;
    if (most == "v2" || most == "reference") level = 2;
    if (level == 4) v4::make_table(t);
    else if (level == 3) v3::make_table(t);
    else v2::make_table(t);
#else
    native::make_table(t);
#endif
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
