// Runs elementwise kernels over strided, broadcast, differently typed operands: blocks of each operand are
// converted to the compute type in a buffer that stays in L1 (or used in place when they already are what the
// kernel wants), so kernels see contiguous arrays of one type only.
#pragma once
#include <initializer_list>

#include "kernels/copy.h"
#include "kernels/table.h"
#include "tensor/view.h"

namespace updraft {

/// out[k] = fn(in...). Inputs are broadcast to out[0]; all outputs have one shape. `boolean`: fn writes uint8_t.
/// An output may be one of the inputs (same view), not a shifted part of it.
void run_elementwise(BlockFn fn, Compute compute, std::initializer_list<TensorView> in,
                     std::initializer_list<TensorView> out, const Params& params, bool boolean = false);
void run_elementwise(BlockFn fn, Compute compute, const TensorView* in, int inputs, const TensorView* out, int outputs,
                     const Params& params, bool boolean);

/// out = fn(in...) where fn works on the storage types as they are (kernels().native_elementwise and select_kernel).
void run_native(BlockFn fn, std::initializer_list<TensorView> in, const TensorView& out, const Params& params);

/// The function of a row for a compute type; throws 161002 that names the row when it has none.
BlockFn elementwise_kernel(Ew e, Compute compute);

}  // namespace updraft
