// Variance and standard deviation.
#include <cmath>
#include <limits>

#include "ops/reduction/reduction.h"

namespace updraft {
namespace {

void plan_variance(Op& op, const TensorView& self, const std::vector<int64_t>& dims, int64_t correction, bool keepdim,
                   bool root, const TensorView& out, const TensorView* mean) {
  const DimMask mask = reduction_mask(op, self, dims);
  suggest_reduction(op, self, mask, keepdim, out, self.dtype);
  if (mean) suggest_reduction(op, self, mask, keepdim, *mean, self.dtype);
  op.require(is_floating(self.dtype) && is_floating(out.dtype), "self is {}, out is {}: variance is of floating point",
             describe(self), describe(out));
  const TensorView to = reduction_output(op, "out", self, mask, keepdim, out);
  const TensorView mean_to = mean ? reduction_output(op, "mean", self, mask, keepdim, *mean) : TensorView();
  if (to.empty()) return;
  const bool with_mean = mean != nullptr;
  const double n = static_cast<double>(reduced_count(self, mask));
  const double degrees = std::max(n - static_cast<double>(correction), 0.0);
  op.work(self.numel() * 4);
  op.launch([=] {
    reduce_moments(self, mask, with_mean ? &mean_to : nullptr, &to, [=](double*, double* m2, int64_t count) {
      for (int64_t i = 0; i < count; ++i) {
        const double v = n > 0 ? m2[i] / degrees : std::numeric_limits<double>::quiet_NaN();
        m2[i] = root ? std::sqrt(v) : v;
      }
    });
  });
}

}  // namespace

ABOUT(aclnnVarCorrection, Vector, "out = variance over dim, divided by n - correction",
      "沿 dim 的方差，除数为 n - correction")
ACLNN(aclnnVarCorrection, (In, self), (Ints, dim), (Int, correction), (Bool, keepdim), (Out, out)) {
  plan_variance(op, *self, *dim, correction, keepdim, false, *out, nullptr);
}
ABOUT(aclnnStd, Vector, "out = standard deviation over dim, divided by n - correction",
      "沿 dim 的标准差，除数为 n - correction")
ACLNN(aclnnStd, (In, self), (Ints, dim), (Int, correction), (Bool, keepdim), (Out, out)) {
  plan_variance(op, *self, *dim, correction, keepdim, true, *out, nullptr);
}
ABOUT(aclnnVarMean, Vector, "Variance and mean over dim, the variance divided by n - correction",
      "沿 dim 的方差与均值，方差除数为 n - correction")
ACLNN(aclnnVarMean, (In, self), (Ints, dim), (Int, correction), (Bool, keepdim), (Out, varOut), (Out, meanOut)) {
  plan_variance(op, *self, *dim, correction, keepdim, false, *varOut, &*meanOut);
}
ABOUT(aclnnStdMeanCorrection, Vector, "Standard deviation and mean over dim, divided by n - correction",
      "沿 dim 的标准差与均值，除数为 n - correction")
ACLNN(aclnnStdMeanCorrection, (In, self), (Ints, dim), (Int, correction), (Bool, keepdim), (Out, stdOut),
      (Out, meanOut)) {
  plan_variance(op, *self, *dim, correction, keepdim, true, *stdOut, &*meanOut);
}

}  // namespace updraft
