// Reductions of strided views over any set of dimensions. Work is cut by shape alone (blocks of outputs, chunks of a
// long reduction combined in order), so results do not depend on the number of threads.
#pragma once
#include <cstdint>

#include "base/parallel.h"
#include "tensor/view.h"

namespace updraft {

enum class ReduceOp : uint8_t { sum, prod, max, min };
/// What is done to each element first. power: |x|^p; exp: exp(x - pivot); skip_nan: 0 for NaN.
enum class ReduceMap : uint8_t { none, nonzero, abs, square, power, exp, skip_nan };

/// Dimensions of `in` that are reduced, as bits.
using DimMask = uint32_t;

/// A block of results in the wide type of the computation (double, int64_t or complex128) before it is stored.
using ReduceFinish = FunctionRef<void(void* wide, int64_t n)>;

struct ReduceSpec {
  ReduceOp op = ReduceOp::sum;
  ReduceMap map = ReduceMap::none;
  Compute compute = Compute::F32;     ///< elements of `in` are converted to this first
  double p = 0;                       ///< for ReduceMap::power
  const TensorView* pivot = nullptr;  ///< for ReduceMap::exp: shaped like out
};

/// out = finish(op over the masked dimensions of map(in)). `out` has in's rank, dimensions of 1 where reduced.
/// An empty reduction gives the identity.
void reduce(const ReduceSpec& spec, const TensorView& in, DimMask mask, const TensorView& out, ReduceFinish finish);
void reduce(const ReduceSpec& spec, const TensorView& in, DimMask mask, const TensorView& out);

/// Mean and sum of squared deviations of each output's elements. finish(mean, m2, n) may change both before they
/// are stored; an absent output is skipped.
void reduce_moments(const TensorView& in, DimMask mask, const TensorView* mean, const TensorView* m2,
                    FunctionRef<void(double* mean, double* m2, int64_t n)> finish);

/// Extreme value and its first index along one dimension; NaN wins. Either output may be null.
void reduce_arg(bool largest, const TensorView& in, int dim, const TensorView* value, const TensorView* index);

}  // namespace updraft
