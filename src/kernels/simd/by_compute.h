// Calls f.operator()<T>() with the C++ type of a compute type.
#pragma once
#include "tensor/dtype.h"

namespace updraft::UPDRAFT_ISA {

/// Kernels of real numbers: F32 or F64.
template <class F>
void by_real(Compute c, F&& f) {
  if (c == Compute::F32) f.template operator()<float>();
  else f.template operator()<double>();
}

/// Kernels of numbers with an order: F32, F64 or I64.
template <class F>
void by_ordered(Compute c, F&& f) {
  if (c == Compute::I64) f.template operator()<int64_t>();
  else by_real(c, f);
}

/// Kernels of all compute types.
template <class F>
void by_any(Compute c, F&& f) {
  if (c == Compute::C64) f.template operator()<complex64>();
  else if (c == Compute::C128) f.template operator()<complex128>();
  else by_ordered(c, f);
}

}  // namespace updraft::UPDRAFT_ISA
