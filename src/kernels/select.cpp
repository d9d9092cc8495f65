// Chooses the kernel table of the best instruction set that this CPU runs.
#include <string>

#include "base/config.h"
#include "base/overflow.h"
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

namespace {
KernelTable table_of_this_cpu() {
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
