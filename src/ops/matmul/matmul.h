// What the operators of this folder share.
#pragma once
#include "kernels/matmul/matmul.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {

/// Refuses operands (two dimensions or more each) that do not multiply to c's shape; inference gives c this shape and
/// `type`, or the type that both promote to.
void check_product(Op& op, const TensorView& a, const TensorView& b, const TensorView& c,
                   DType type = DType::Undefined);
/// Plans c = alpha * a @ b + beta * add; options.add is copied. options.right is that of the tensor that b is a view
/// of.
void plan_product(Op& op, const TensorView& a, const TensorView& b, const TensorView& c,
                  const MatmulOptions& options = {});

}  // namespace updraft
