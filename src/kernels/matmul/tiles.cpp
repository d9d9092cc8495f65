#include "kernels/matmul/tiles.h"

#if defined(__linux__) && defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "kernels/matmul/packed.h"
#include "kernels/onednn.h"
#include "kernels/table.h"

namespace updraft::tiles {

static_assert(kSumLine == packed::kSumLine);

bool available() {
  static const bool yes = [] {
    const auto isa = static_cast<int>(dnnl::get_effective_cpu_isa()),
               amx = static_cast<int>(dnnl::cpu_isa::avx512_core_amx);
    if ((isa & amx) != amx) return false;
#if defined(__linux__) && defined(__x86_64__)
    // The kernel gives a process the tiles' state when it is asked for; no harm if oneDNN has asked before.
    constexpr long kRequestPermission = 0x1023, kTileData = 18;
    return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
    return false;
#endif
  }();
  return yes && kernels().has_tiles();
}

}  // namespace updraft::tiles
