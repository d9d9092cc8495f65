// Elementwise rows. A row is one expression in a family's list, rows/FAMILY.inc:
//   EW1 EW2 EW3(name, types, expression)  of one, two or three inputs, yields T
//   EWB1 EWB2(name, types, expression)    yields bool
//   types: F float and double, I int64 (all integers and bool are computed in it), C complex; FH: F, and arrays of
//   halves are computed as m::OfHalf, for which a function may be less exact than for floats
//   x, y, z are the inputs, p[0]..p[3] the scalars, T the compute type; m:: is kernels/simd/math.h
// A source names rows as ew::NAME and includes the headers of their families (rows/FAMILY.h), so a new row is compiled
// again with the sources of its family alone. A new family has a list, a header, a line in families.inc and a file of
// kernels/simd/.
#pragma once
#include <cstdint>

#include "kernels/params.h"

namespace updraft {

/// A row's family and its place in it; the names are constants in namespace ew.
enum class Ew : uint16_t {};

enum class EwFamily : uint8_t {
#define FAMILY(name) name,
#include "kernels/rows/families.inc"
#undef FAMILY
  kCount
};

constexpr Ew row_id(EwFamily family, int index) { return static_cast<Ew>(static_cast<int>(family) << 8 | index); }

inline constexpr int kComputeTypes = 5;

/// One instruction set's form of a row.
struct EwRow {
  const char* name;
  int inputs;
  bool boolean;               ///< yields bool
  BlockFn fn[kComputeTypes];  ///< null: not defined for the type
  /// On arrays of fp16 and of bf16: converted in registers, computed as float and rounded once, as fn[F32] between a
  /// load and a store (rows of types FH: less exactly), or changed as they are stored. Null: not defined.
  BlockFn half[2];
};

/// The row for this machine.
const EwRow& row_of(Ew row);
/// The row whose function for floats this is; null where it is none's.
const EwRow* row_with(BlockFn of_floats);

}  // namespace updraft
