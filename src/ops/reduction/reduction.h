// What reduction operators share: their dimensions and the shape of their output.
#pragma once
#include "kernels/reduce.h"
#include "ops/op.h"

namespace updraft {

/// Dimensions as bits; none given means all.
DimMask reduction_mask(const Op& op, const TensorView& self, const std::vector<int64_t>& dims);
DimMask reduction_mask(const TensorView& self, int64_t dim);
DimMask all_dims(const TensorView& self);
/// The type of sums and products of that type: INT64 for integers and bools.
DType sum_type(DType self);
/// Elements behind one result.
int64_t reduced_count(const TensorView& self, DimMask mask);
/// Refuses what has no largest element: complex numbers, and UINT64, which is computed as INT64.
void require_order(const Op& op, const TensorView& self);
/// What inference gives the output of a reduction; reduction_output() checks that of a call.
void suggest_reduction(const Op& op, const TensorView& self, DimMask mask, bool keepdim, const TensorView& out,
                       DType type);
/// `out` with self's rank and 1 where reduced; refuses other shapes.
TensorView reduction_output(const Op& op, const char* name, const TensorView& self, DimMask mask, bool keepdim,
                            const TensorView& out);

}  // namespace updraft
