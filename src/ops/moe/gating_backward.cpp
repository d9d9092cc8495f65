// Gradient of gating (gating.cpp) for the logits, from the scores that it had made of them.
#include <cmath>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {

SAMPLE(aclnnMoeGatingTopKBackward,
       "xNorm=f32[N,8] gradY=f32[N,2] expertIdx=i32[N,2]:0..8 renorm=0 normType=1 routedScalingFactor=1.5 eps=1e-20 "
       "gradX=f32[N,8]")
ABOUT(aclnnMoeGatingTopKBackward, Vector, "Gradient of aclnnMoeGatingTopK for x; xNorm is its out",
      "aclnnMoeGatingTopK 对 x 的反向梯度，xNorm 为其 out")
ACLNN(aclnnMoeGatingTopKBackward, (In, xNorm), (In, gradY), (In, expertIdx), (Int, renorm), (Int, normType),
      (Double, routedScalingFactor), (Double, eps), (Out, gradX)) {
  op.require(xNorm->rank == 2 && is_floating(xNorm->dtype), "xNorm is {}, want floating-point [tokens, experts]",
             describe(*xNorm));
  op.require(gradY->rank == 2 && gradY->dims[0] == xNorm->dims[0] && is_floating(gradY->dtype),
             "gradY is {}, want [{}, k]", describe(*gradY), xNorm->dims[0]);
  op.require_same_shape("expertIdx", *expertIdx, "gradY", *gradY);
  op.require(is_integral(expertIdx->dtype), "expertIdx is {}, want integers", describe(*expertIdx));
  op.require(normType == 0 || normType == 1, "normType is {}, want 0 (softmax) or 1 (sigmoid)", int64_t{normType});
  op.require(renorm == 0 || renorm == 1, "renorm is {}, want 0 or 1", int64_t{renorm});
  op.result_like("gradX", *gradX, *xNorm, gradY->dtype);
  if (gradX->empty()) return;
  op.work(8 * xNorm->numel());
  op.launch([normalised = normType == 1 || renorm == 1, sigmoid = normType == 1, factor = double{routedScalingFactor},
             least = double{eps}, p = *xNorm, g = *gradY, at = *expertIdx, to = *gradX] {
    const std::vector<float> scores = floats_of(p), slopes = floats_of(g);
    const std::vector<int64_t> chosen = integers_of(at);
    const int64_t rows = p.dims[0], n = p.dims[1], k = g.dims[1];
    for (const int64_t e : chosen)
      if (e < 0 || e >= n) fail_kernel(fmt::format("expertIdx has {}, want 0 to {}", e, n - 1));
    std::vector<float> out(scores.size());
    parallel_for(rows, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
      std::vector<double> slope(static_cast<size_t>(n));
      for (int64_t r = begin; r < end; ++r) {
        const float* const s = scores.data() + r * n;
        double sum = least, product = 0;
        for (int64_t j = r * k; j < (r + 1) * k; ++j) {
          const auto x = static_cast<double>(s[chosen[static_cast<size_t>(j)]]);
          sum += x;
          product += x * static_cast<double>(slopes[static_cast<size_t>(j)]);
        }
        std::fill(slope.begin(), slope.end(), 0.0);
        for (int64_t j = r * k; j < (r + 1) * k; ++j) {
          const auto y = static_cast<double>(slopes[static_cast<size_t>(j)]);
          slope[static_cast<size_t>(chosen[static_cast<size_t>(j)])] +=
              factor * (normalised ? y / sum - product / (sum * sum) : y);
        }
        double all = 0;
        for (int64_t c = 0; c < n; ++c) all += slope[static_cast<size_t>(c)] * static_cast<double>(s[c]);
        for (int64_t c = 0; c < n; ++c) {
          const auto x = static_cast<double>(s[c]);
          out[static_cast<size_t>(r * n + c)] = static_cast<float>(sigmoid ? slope[static_cast<size_t>(c)] * x * (1 - x)
                                                                           : x * (slope[static_cast<size_t>(c)] - all));
        }
      }
    });
    write_all(to, out);
  });
}

}  // namespace updraft
