// What reduction operators share: their dimensions and the shape of their output.
#pragma once
#include "kernels/reduce.h"
#include "ops/op.h"

namespace updraft {

/// Dimensions as bits; none given means all.
DimMask reduction_mask(const Op& op, const TensorView& self, const std::vector<int64_t>& dims);
DimMask reduction_mask(const TensorView& self, int64_t dim);
DimMask all_dims(const TensorView& self);
/// Elements behind one result.
int64_t reduced_count(const TensorView& self, DimMask mask);
/// `out` with self's rank and 1 where reduced; refuses other shapes.
TensorView reduction_output(const Op& op, const char* name, const TensorView& self, DimMask mask, bool keepdim,
                            const TensorView& out);

}  // namespace updraft
