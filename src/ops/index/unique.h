// Distinct elements for graph operators (unique.cpp).
#pragma once
#include "ops/op.h"

namespace updraft {

/// y: the elements of `x` in the order in which they first occur; places: which of them each element is, of integers.
void plan_unique_as_it_occurs(Op& op, const TensorView& x, aclTensor& y, aclTensor& places);

}  // namespace updraft
