// Sums, means, products, extremes and truth of a tensor along dimensions.
#include <cmath>

#include "ops/op.h"
#include "ops/reduction/reduction.h"

namespace updraft {
namespace {

void plan(Op& op, const ReduceSpec& spec, const TensorView& self, DimMask mask, bool keepdim, const TensorView& out) {
  const TensorView to = reduction_output(op, "out", self, mask, keepdim, out);
  if (to.empty()) return;
  op.launch([=] { reduce(spec, self, mask, to); });
}

void plan_extreme(Op& op, bool largest, const TensorView& self, DimMask mask, bool keepdim, const TensorView& out) {
  require_order(op, self);
  suggest_reduction(op, self, mask, keepdim, out, self.dtype);
  op.require(out.empty() || reduced_count(self, mask) > 0, "self is {}: an empty dimension has no {}", describe(self),
             largest ? "maximum" : "minimum");
  plan(op, {largest ? ReduceOp::max : ReduceOp::min, ReduceMap::none, compute_of(self.dtype)}, self, mask, keepdim,
       out);
}

void plan_aminmax(Op& op, const TensorView& self, DimMask mask, bool keepdim, const TensorView& min,
                  const TensorView& max) {
  require_order(op, self);
  suggest_reduction(op, self, mask, keepdim, min, self.dtype);
  suggest_reduction(op, self, mask, keepdim, max, self.dtype);
  op.require(min.empty() || reduced_count(self, mask) > 0, "self is {}: an empty dimension has no extremes",
             describe(self));
  const TensorView low = reduction_output(op, "min", self, mask, keepdim, min);
  const TensorView high = reduction_output(op, "max", self, mask, keepdim, max);
  if (low.empty()) return;
  const Compute compute = compute_of(self.dtype);
  op.launch([=] {
    reduce({ReduceOp::min, ReduceMap::none, compute}, self, mask, low);
    reduce({ReduceOp::max, ReduceMap::none, compute}, self, mask, high);
  });
}

// Elements become the result's type first; a bool result of numbers asks whether they are zero.
ReduceSpec arithmetic(ReduceOp what, const TensorView& self, const TensorView& out) {
  Compute compute = compute_of(out.dtype);
  ReduceMap map = ReduceMap::none;
  if (out.dtype == DType::Bool && self.dtype != DType::Bool) {
    compute = compute_of(self.dtype);
    map = ReduceMap::nonzero;
  }
  return {what, map, compute};
}

DType asked_or(Type dtype, DType otherwise) { return dtype == DType::Undefined ? otherwise : dtype; }

/// A sum or a product: `dtype` is what the client asks out to be.
void plan_arithmetic(Op& op, ReduceOp what, const TensorView& self, DimMask mask, bool keepdim, Type dtype,
                     const TensorView& out) {
  suggest_reduction(op, self, mask, keepdim, out, asked_or(dtype, sum_type(self.dtype)));
  plan(op, arithmetic(what, self, out), self, mask, keepdim, out);
}

void plan_mean(Op& op, const TensorView& self, DimMask mask, bool keepdim, Type dtype, const TensorView& out) {
  suggest_reduction(op, self, mask, keepdim, out, asked_or(dtype, self.dtype));
  op.require(is_floating(out.dtype) || is_complex(out.dtype), "out is {}: a mean is floating point or complex",
             describe(out));
  const TensorView to = reduction_output(op, "out", self, mask, keepdim, out);
  if (to.empty()) return;
  const double n = static_cast<double>(reduced_count(self, mask));
  const ReduceSpec spec = arithmetic(ReduceOp::sum, self, out);
  const bool complex = is_complex(out.dtype);
  op.launch([=] {
    reduce(spec, self, mask, to, [=](void* wide, int64_t count) {
      double* v = static_cast<double*>(wide);
      for (int64_t i = 0; i < (complex ? 2 * count : count); ++i) v[i] /= n;
    });
  });
}

void plan_truth(Op& op, ReduceOp what, const TensorView& self, const std::vector<int64_t>& dims, bool keepdim,
                const TensorView& out) {
  const DimMask mask = reduction_mask(op, self, dims);
  suggest_reduction(op, self, mask, keepdim, out, DType::Bool);
  const TensorView to = reduction_output(op, "out", self, mask, keepdim, out);
  if (to.empty()) return;
  const bool integral = compute_of(self.dtype) == Compute::I64;
  op.launch([=] {
    // The identities of max and min are no truth values: an empty reduction gives false or true.
    reduce({what, ReduceMap::nonzero, compute_of(self.dtype)}, self, mask, to, [=](void* wide, int64_t n) {
      for (int64_t i = 0; i < n; ++i) {
        if (integral) {
          int64_t& v = static_cast<int64_t*>(wide)[i];
          v = v > 0;
        } else {
          double& v = static_cast<double*>(wide)[i];
          v = v > 0;
        }
      }
    });
  });
}

}  // namespace

CARD(aclnnReduceSum, kFloats | kF64 | kIntegers | kBool | kComplex)
ABOUT(aclnnReduceSum, Vector, "out = sum of self over dims", "沿 dims 求和")
ACLNN(aclnnReduceSum, (In, self), (Ints, dims), (Bool, keepDims), (Type, dtype), (Out, out)) {
  plan_arithmetic(op, ReduceOp::sum, *self, reduction_mask(op, *self, *dims), keepDims, dtype, *out);
}

ABOUT(aclnnReduceNansum, Vector, "out = sum of self over dim, NaN counted as 0", "沿 dim 求和，NaN 视为 0")
ACLNN(aclnnReduceNansum, (In, self), (Ints, dim), (Bool, keepDim), (Type, dtype), (Out, out)) {
  const DimMask mask = reduction_mask(op, *self, *dim);
  suggest_reduction(op, *self, mask, keepDim, *out, asked_or(dtype, sum_type(self->dtype)));
  op.require(!is_complex(self->dtype) && !is_complex(out->dtype), "self is {}: complex numbers are not supported",
             describe(*self));
  ReduceSpec spec = arithmetic(ReduceOp::sum, *self, *out);
  if (is_floating(self->dtype) && spec.map == ReduceMap::none) {
    // NaNs must be seen before a conversion to integers hides them.
    if (spec.compute == Compute::I64) spec.compute = compute_of(self->dtype);
    spec.map = ReduceMap::skip_nan;
  }
  plan(op, spec, *self, mask, keepDim, *out);
}

ABOUT(aclnnMean, Vector, "out = mean of self over dim", "沿 dim 求平均值")
ACLNN(aclnnMean, (In, self), (Ints, dim), (Bool, keepDim), (Type, dtype), (Out, out)) {
  plan_mean(op, *self, reduction_mask(op, *self, *dim), keepDim, dtype, *out);
}

ABOUT(aclnnProd, Vector, "out = product of all elements", "全部元素之积")
ACLNN(aclnnProd, (In, self), (Type, dtype), (Out, out)) {
  plan_arithmetic(op, ReduceOp::prod, *self, all_dims(*self), false, dtype, *out);
}

ABOUT(aclnnProdDim, Vector, "out = product of self along dim", "沿 dim 求积")
ACLNN(aclnnProdDim, (In, self), (Int, dim), (Bool, keepDim), (Type, dtype), (Out, out)) {
  plan_arithmetic(op, ReduceOp::prod, *self, reduction_mask(*self, dim), keepDim, dtype, *out);
}

ABOUT(aclnnAmax, Vector, "out = largest element over the dimensions dim", "沿多个维度 dim 取最大值")
ACLNN(aclnnAmax, (In, self), (Ints, dim), (Bool, keepDim), (Out, out)) {
  plan_extreme(op, true, *self, reduction_mask(op, *self, *dim), keepDim, *out);
}
ABOUT(aclnnAmin, Vector, "out = smallest element over the dimensions dim", "沿多个维度 dim 取最小值")
ACLNN(aclnnAmin, (In, self), (Ints, dim), (Bool, keepDim), (Out, out)) {
  plan_extreme(op, false, *self, reduction_mask(op, *self, *dim), keepDim, *out);
}
ABOUT(aclnnMax, Vector, "out = largest of all elements", "全部元素的最大值")
ACLNN(aclnnMax, (In, self), (Out, out)) { plan_extreme(op, true, *self, all_dims(*self), false, *out); }
ABOUT(aclnnMin, Vector, "out = smallest of all elements", "全部元素的最小值")
ACLNN(aclnnMin, (In, self), (Out, out)) { plan_extreme(op, false, *self, all_dims(*self), false, *out); }

ABOUT(aclnnAminmax, Vector, "Smallest and largest element over the dimensions dim", "沿多个维度 dim 取最小值与最大值")
ACLNN(aclnnAminmax, (In, self), (Ints, dim), (Bool, keepDim), (Out, minOut), (Out, maxOut)) {
  plan_aminmax(op, *self, reduction_mask(op, *self, *dim), keepDim, *minOut, *maxOut);
}
ABOUT(aclnnAminmaxDim, Vector, "Smallest and largest element along the one dimension dim",
      "沿单个维度 dim 取最小值与最大值")
ACLNN(aclnnAminmaxDim, (In, self), (Int, dim), (Bool, keepDim), (Out, minOut), (Out, maxOut)) {
  plan_aminmax(op, *self, reduction_mask(*self, dim), keepDim, *minOut, *maxOut);
}
ABOUT(aclnnAminmaxAll, Vector, "Smallest and largest of all elements", "全部元素的最小值与最大值")
ACLNN(aclnnAminmaxAll, (In, self), (Out, minOut), (Out, maxOut)) {
  plan_aminmax(op, *self, all_dims(*self), false, *minOut, *maxOut);
}

// True is 1: the largest of the elements' truths says whether any is true, the smallest whether all are.
ABOUT(aclnnAny, Vector, "out = whether any element over dim is nonzero", "沿 dim 判断是否存在非零元素")
ACLNN(aclnnAny, (In, self), (Ints, dim), (Bool, keepdim), (Out, out)) {
  plan_truth(op, ReduceOp::max, *self, *dim, keepdim, *out);
}
ABOUT(aclnnAll, Vector, "out = whether all elements over dim are nonzero", "沿 dim 判断是否全部非零")
ACLNN(aclnnAll, (In, self), (Ints, dim), (Bool, keepdim), (Out, out)) {
  plan_truth(op, ReduceOp::min, *self, *dim, keepdim, *out);
}

}  // namespace updraft
