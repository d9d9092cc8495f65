// Elements of strided views, copied and set.
#pragma once
#include "kernels/params.h"
#include "tensor/view.h"

namespace updraft {

/// to = from, broadcast; any strides. Elements of one type move as they are, others are converted. `to` and `from` must
/// not partly overlap.
void copy_elements(const TensorView& to, const TensorView& from);
/// Sets every element.
void fill_elements(const TensorView& to, const Params& value);
void fill_zero(const TensorView& to);

/// A contiguous copy of `from` with element type `t` in `buffer` (numel * size_of(t) bytes); returns its view.
TensorView gather_to(void* buffer, DType t, const TensorView& from);

}  // namespace updraft
