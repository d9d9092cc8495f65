// p-norms and log-sum-exp.
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/pipeline.h"
#include "ops/reduction/reduction.h"
#include "tensor/real_types.h"

namespace updraft {
namespace {

void plan_norm(Op& op, const TensorView& self, double p, const std::vector<int64_t>& dims, bool keepdim, DType type,
               const TensorView& out) {
  const DimMask mask = reduction_mask(op, self, dims);
  suggest_reduction(op, self, mask, keepdim, out, type);
  // The client makes norms of complex tensors complex.
  op.require(is_floating(out.dtype) || is_complex(out.dtype), "out is {}: a norm is floating point", describe(out));
  const TensorView to = reduction_output(op, "out", self, mask, keepdim, out);
  if (to.empty()) return;
  const bool extreme = std::isinf(p);
  op.require(reduced_count(self, mask) > 0 || !(extreme || p < 0),
             "self is {}: an empty dimension has no norm of order {}", describe(self), p);
  ReduceSpec spec;
  spec.compute = is_complex(self.dtype)       ? compute_of(self.dtype)
                 : out.dtype == DType::Double ? Compute::F64
                                              : compute_of(self.dtype);
  if (spec.compute == Compute::I64) spec.compute = Compute::F32;
  spec.op = !extreme ? ReduceOp::sum : p > 0 ? ReduceOp::max : ReduceOp::min;
  spec.map = extreme || p == 1 ? ReduceMap::abs
             : p == 0          ? ReduceMap::nonzero
             : p == 2          ? ReduceMap::square
                               : ReduceMap::power;
  spec.p = p;
  if (spec.map == ReduceMap::power) op.work(self.numel() * 10);
  op.launch([=] {
    reduce(spec, self, mask, to, [=](void* wide, int64_t n) {
      double* v = static_cast<double*>(wide);
      if (p == 2) {
        for (int64_t i = 0; i < n; ++i) v[i] = std::sqrt(v[i]);
      } else if (!extreme && p != 0 && p != 1) {
        for (int64_t i = 0; i < n; ++i) v[i] = std::pow(v[i], 1.0 / p);
      }
    });
  });
}

double order_of(const aclScalar& p) { return p.to_double(); }

}  // namespace

ABOUT(aclnnLinalgVectorNorm, Vector, "out = norm of order ord over dims (all where absent)",
      "沿 dims 的 ord 阶向量范数，dims 缺省为全部维度")
ACLNN(aclnnLinalgVectorNorm, (In, self), (Scalar, ord), (OptInts, dims), (Bool, keepDims), (Type, dtype), (Out, out)) {
  plan_norm(op, *self, order_of(*ord), dims ? *dims : std::vector<int64_t>{}, keepDims,
            dtype == DType::Undefined ? real_of(self->dtype) : dtype, *out);
}

ABOUT(aclnnNorm, Vector, "out = norm of order pScalar (2 where absent) over dim",
      "沿 dim 的 pScalar 阶范数，缺省为 2 阶")
ACLNN(aclnnNorm, (In, self), (OptScalar, pScalar), (OptInts, dim), (Bool, keepdim), (Out, out)) {
  plan_norm(op, *self, pScalar ? order_of(*pScalar) : 2.0, dim ? *dim : std::vector<int64_t>{}, keepdim,
            real_of(self->dtype), *out);
}

CARD(aclnnLogSumExp, on("self", kFloats | kIntegers | kBool))
ABOUT(aclnnLogSumExp, Vector, "out = log of the sum of exp(self) over dim, without overflow",
      "沿 dim 计算 ln(sum(exp(self)))，数值稳定")
ACLNN(aclnnLogSumExp, (In, self), (Ints, dim), (Bool, keepDim), (Out, out)) {
  const DimMask mask = reduction_mask(op, *self, *dim);
  suggest_reduction(op, *self, mask, keepDim, *out, is_floating(self->dtype) ? self->dtype : DType::Float);
  op.require(is_floating(out->dtype), "out is {}, want floating point", describe(*out));
  const TensorView to = reduction_output(op, "out", *self, mask, keepDim, *out);
  if (to.empty()) return;
  const Compute compute = real_compute(self->dtype, out->dtype);
  op.work(self->numel() * 8);
  op.launch([=, self = *self] {
    const int64_t n = to.numel();
    std::vector<double> top(static_cast<size_t>(n)), total(static_cast<size_t>(n));
    TensorView max = TensorView::contiguous(top.data(), storage_of(compute), to.dims, to.rank);
    TensorView sum = TensorView::contiguous(total.data(), DType::Double, to.dims, to.rank);
    reduce({ReduceOp::max, ReduceMap::none, compute}, self, mask, max, [](void* wide, int64_t count) {
      double* v = static_cast<double*>(wide);  // infinities would cancel to NaN
      for (int64_t i = 0; i < count; ++i)
        if (std::isinf(v[i])) v[i] = 0;
    });
    reduce({ReduceOp::sum, ReduceMap::exp, compute, 0, &max}, self, mask, sum);
    for (int64_t i = 0; i < n; ++i) {
      const size_t k = static_cast<size_t>(i);
      const double shift =
          compute == Compute::F64 ? top[k] : static_cast<double>(reinterpret_cast<float*>(top.data())[k]);
      total[k] = std::log(total[k]) + shift;
    }
    copy_elements(to, sum);
  });
}

}  // namespace updraft
