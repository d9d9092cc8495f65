// Division of integers by that of doubles, which CPUs do as vectors.
#pragma once
#include "kernels/simd/math.h"

namespace updraft::UPDRAFT_ISA::m {

/// An integer of 31 bits as a double: its quotients, rounded, are never at or beyond an integer that the exact ones are
/// short of. A divisor of 0 gives 0, as with integers.
struct Small {
  double v;
};
inline Small floor_div(Small x, Small y) { return {y.v == 0 ? 0.0 : m::floor(x.v / y.v)}; }
inline Small trunc_div(Small x, Small y) { return {y.v == 0 ? 0.0 : m::trunc(x.v / y.v)}; }
inline Small remainder(Small x, Small y) { return {y.v == 0 ? 0.0 : x.v - m::floor(x.v / y.v) * y.v}; }
inline Small fmod_any(Small x, Small y) { return {y.v == 0 ? 0.0 : x.v - m::trunc(x.v / y.v) * y.v}; }

}  // namespace updraft::UPDRAFT_ISA::m
