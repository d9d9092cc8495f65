// Kernels are compiled once for each instruction set (CMakeLists.txt: x86-64-v2, -v3, -v4) into a table; the best
// one that the CPU runs is chosen at load, UPDRAFT_MAX_ISA lowers it. To add a kernel: a line in list.inc (or
// elementwise.inc) and its definition in a file of kernels/simd/, inside `namespace updraft::UPDRAFT_ISA`.
#pragma once
#include <atomic>
#include <cstdint>

#include "kernels/combine.h"
#include "kernels/params.h"
#include "kernels/random.h"
#include "kernels/spatial.h"

namespace updraft {

/// One id for every row of elementwise.inc.
enum class Ew : uint16_t {
#define EW1(name, types, ...) name,
#define EW2(name, types, ...) name,
#define EW3(name, types, ...) name,
#define EWB1(name, types, ...) name,
#define EWB2(name, types, ...) name,
#include "kernels/elementwise.inc"
#undef EW1
#undef EW2
#undef EW3
#undef EWB1
#undef EWB2
  kCount
};

inline constexpr int kComputeTypes = 5;
inline constexpr int kStorageTypes = 34;  ///< indexed by aclDataType's number, up to Complex32

struct KernelTable {
  const char* isa;
  BlockFn elementwise[static_cast<int>(Ew::kCount)][kComputeTypes];  ///< null: not defined for the type
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

/// Inputs that a row of elementwise.inc takes, and whether it yields bool.
struct EwTraits {
  int inputs;
  bool boolean;
  const char* name;
};
const EwTraits& traits(Ew e);

#if defined(UPDRAFT_ISA)
namespace UPDRAFT_ISA {
void fill_elementwise(KernelTable& t);
void fill_casts(KernelTable& t);
#define KERNEL(ret, name, args) ret name args;
#include "kernels/list.inc"
#undef KERNEL
}  // namespace UPDRAFT_ISA
#endif

}  // namespace updraft
