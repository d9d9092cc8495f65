// What needs no arithmetic on halves: a change of their sign.
#pragma once
#include "kernels/simd/math.h"

namespace updraft::UPDRAFT_ISA::m {

/// An fp16 or a bf16 as it is stored; the sign is the highest bit of both.
struct HalfBits {
  uint16_t bits;
};
inline HalfBits operator-(HalfBits x) { return {static_cast<uint16_t>(x.bits ^ 0x8000)}; }
inline HalfBits abs(HalfBits x) { return {static_cast<uint16_t>(x.bits & 0x7fff)}; }

}  // namespace updraft::UPDRAFT_ISA::m
