// Places that rows of indices name, checked before elements are put there.
#pragma once
#include "ops/op.h"

namespace updraft::ir {

/// Fails the stream where a row of `indices` [..., k] names no place in the first k of `dims`. A negative index names
/// none.
void require_places(Op& op, const TensorView& indices, const int64_t* dims);

}  // namespace updraft::ir
