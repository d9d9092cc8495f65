// Kernels are compiled once for each instruction set (CMakeLists.txt: x86-64-v2, -v3, -v4) into a table; the best
// one that the CPU runs is chosen at load, UPDRAFT_MAX_ISA lowers it. To add a kernel: a line in list.inc and
// its definition in a file of kernels/simd/, in `namespace updraft::UPDRAFT_ISA`; an elementwise one: rows/row.h.
#pragma once
#include <atomic>
#include <cstdint>

#include "kernels/combine.h"
#include "kernels/params.h"
#include "kernels/random.h"
#include "kernels/rows/row.h"
#include "kernels/sampling.h"
#include "kernels/spatial.h"

namespace updraft {

inline constexpr int kStorageTypes = 34;  ///< indexed by aclDataType's number, up to Complex32

struct KernelTable {
  const char* isa;
  const EwRow* rows[static_cast<int>(EwFamily::kCount)];  ///< elementwise, in the order of each family's list
  LoadFn load[kStorageTypes][kComputeTypes];
  StoreFn store[kComputeTypes][kStorageTypes];
  LoadFn move_in[4];  ///< elements of 1, 2, 4, 8 bytes as they are
  StoreFn move_out[4];
  StoreFn saturating_store[kComputeTypes];  ///< to fp16 in saturation mode
#define KERNEL(ret, name, args) ret(*name) args;
#include "kernels/list.inc"
#undef KERNEL
};

/// The table for this machine. In saturation mode (base/overflow.h) every store to fp16 keeps to ±65504 (NaN becomes
/// 0) and notes an overflow: the table is to be asked for in the work, not when it is planned.
const KernelTable& kernels();

#if defined(UPDRAFT_ISA)
namespace UPDRAFT_ISA {
#define FAMILY(name) extern const EwRow name##_rows[];
#include "kernels/rows/families.inc"
#undef FAMILY
void fill_casts(KernelTable& t);
#define KERNEL(ret, name, args) ret name args;
#include "kernels/list.inc"
#undef KERNEL
}  // namespace UPDRAFT_ISA
#endif

}  // namespace updraft
