// Elementwise operators over the rows of kernels/elementwise.inc.
#pragma once
#include "kernels/pipeline.h"
#include "ops/op.h"

namespace updraft {

/// Scalar i of `params`, from an aclScalar.
void set_param(Params& params, int i, const aclScalar& value);

/// PyTorch's promotion of a tensor with a scalar: the scalar's type counts only in a higher category.
DType promote_with_scalar(DType tensor, const aclScalar& scalar);

/// Plans out = row(in...), computed in `compute`, inputs broadcast to out.
void plan_elementwise(Op& op, Ew row, Compute compute, std::initializer_list<TensorView> in, const TensorView& out,
                      const Params& params = {});

/// One input; computed in the type of out when `floating` (exp of integers), else of self.
void plan_unary(Op& op, Ew row, const TensorView& self, const TensorView& out, const Params& params = {});
/// Two inputs, computed in their promoted type (or out's, when that is wider: division of integers).
void plan_binary(Op& op, Ew row, const TensorView& self, const TensorView& other, const TensorView& out,
                 const Params& params = {});
/// Tensor and scalar: the scalar becomes the second operand.
void plan_binary(Op& op, Ew row, const TensorView& self, const aclScalar& other, const TensorView& out,
                 const Params& params = {});
void plan_binary(Op& op, Ew row, const aclScalar& self, const TensorView& other, const TensorView& out,
                 const Params& params = {});

/// A 0-d view of a scalar; `keep` (captured by the closure) holds the value.
struct ScalarValue {
  DType dtype;
  alignas(16) unsigned char bytes[16];
  explicit ScalarValue(const aclScalar& s);
  TensorView view() const { return TensorView::contiguous(const_cast<unsigned char*>(bytes), dtype, nullptr, 0); }
};

}  // namespace updraft
