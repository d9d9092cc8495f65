// Parts of a tensor that begin, end and strides name, as TensorFlow's StridedSlice has them.
#pragma once
#include "ops/ir/shapes.h"

namespace updraft::ir {

struct SliceMasks {
  int64_t begin = 0, end = 0, ellipsis = 0, new_axis = 0, shrink_axis = 0;
};

/// The part of x; its dimensions are those of the result.
TensorView strided_slice(const Op& op, const TensorView& x, const Dims& begin, const Dims& end, const Dims& strides,
                         const SliceMasks& masks);

/// The elements of x's memory that a size, strides and an offset name.
TensorView as_strided(const Op& op, const char* name, const TensorView& x, const Dims& size, const Dims& strides,
                      int64_t offset);

}  // namespace updraft::ir
