// Where the extremes are, and extremes with their places.
#include "ops/reduction/reduction.h"

namespace updraft {
namespace {

void plan_arg(Op& op, bool largest, const TensorView& self, int64_t dim, bool keepdim, const TensorView* value,
              const TensorView& index) {
  require_order(op, self);
  const int d = self.wrap_dim(dim);
  const DimMask mask = reduction_mask(self, dim);
  suggest_reduction(op, self, mask, keepdim, index, DType::Int64);
  if (value) suggest_reduction(op, self, mask, keepdim, *value, self.dtype);
  const TensorView at = reduction_output(op, "indices", self, mask, keepdim, index);
  const TensorView to = value ? reduction_output(op, "values", self, mask, keepdim, *value) : TensorView();
  if (at.empty()) return;
  op.require(self.size(d) > 0, "self is {}: dim {} is empty and has no {}", describe(self), dim,
             largest ? "maximum" : "minimum");
  op.work(self.numel() * 2);
  op.launch([=, with_value = value != nullptr] { reduce_arg(largest, self, d, with_value ? &to : nullptr, &at); });
}

}  // namespace

ABOUT(aclnnArgMax, Vector, "out = index of the largest element along dim", "沿 dim 的最大值索引")
ACLNN(aclnnArgMax, (In, self), (Int, dim), (Bool, keepdim), (Out, out)) {
  plan_arg(op, true, *self, dim, keepdim, nullptr, *out);
}
ABOUT(aclnnArgMin, Vector, "out = index of the smallest element along dim", "沿 dim 的最小值索引")
ACLNN(aclnnArgMin, (In, self), (Int, dim), (Bool, keepdim), (Out, out)) {
  plan_arg(op, false, *self, dim, keepdim, nullptr, *out);
}
ABOUT(aclnnMaxDim, Vector, "Largest element along dim and its index", "沿 dim 的最大值及其索引")
ACLNN(aclnnMaxDim, (In, self), (Int, dim), (Bool, keepdim), (Out, out), (Out, indices)) {
  plan_arg(op, true, *self, dim, keepdim, &*out, *indices);
}
ABOUT(aclnnMinDim, Vector, "Smallest element along dim and its index", "沿 dim 的最小值及其索引")
ACLNN(aclnnMinDim, (In, self), (Int, dim), (Bool, keepdim), (Out, out), (Out, indices)) {
  plan_arg(op, false, *self, dim, keepdim, &*out, *indices);
}

}  // namespace updraft
