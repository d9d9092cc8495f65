// In what operators on real numbers compute and keep intermediate results: double where elements are double, else
// float.
#pragma once
#include "tensor/dtype.h"

namespace updraft {

constexpr Compute real_compute(DType t) { return t == DType::Double ? Compute::F64 : Compute::F32; }
/// Double where one of both is.
constexpr Compute real_compute(DType a, DType b) { return a == DType::Double ? Compute::F64 : real_compute(b); }
/// As a type of elements.
constexpr DType wide_type(DType t) { return storage_of(real_compute(t)); }

}  // namespace updraft
