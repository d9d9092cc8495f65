// Scores of attention within windows: scaled, masked and moved by relative positions, then softmax.
#include "base/parallel.h"
#include "kernels/table.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {

SAMPLE(aclnnMaskedSoftmaxWithRelPosBias,
       "x=f32[2,2,3,N,M] attenMask=f32[1,2,1,N,M] relativePosBias=f32[1,1,3,N,M] scaleValue=0.5 innerPrecisionMode=0 "
       "out=f32[2,2,3,N,M]")
ABOUT(aclnnMaskedSoftmaxWithRelPosBias, Vector,
      "out = softmax(scaleValue * x + attenMask + relativePosBias) over the last dimension",
      "out = softmax(scaleValue * x + attenMask + relativePosBias)，沿最后一维")
ACLNN(aclnnMaskedSoftmaxWithRelPosBias, (In, x), (OptIn, attenMask), (In, relativePosBias), (Double, scaleValue),
      (Int, innerPrecisionMode), (Out, out)) {
  (void)innerPrecisionMode;  // how exact the card computes: FLOAT here
  op.require(x->rank >= 2 && compute_of(x->dtype) == Compute::F32,
             "x is {}, want two dimensions or more of FLOAT, FLOAT16 or BFLOAT16", describe(*x));
  op.result_like("out", *out, *x, x->dtype);
  const TensorView bias = relativePosBias->expand_as(*x);
  TensorView mask;
  if (attenMask) mask = attenMask->expand_as(*x);
  if (x->empty()) return;
  op.work(x->numel() * 16);
  op.launch([=, x = *x, out = *out] {
    const int64_t n = row_length(x);
    const auto scale = static_cast<float>(scaleValue);
    std::vector<float> scores = floats_of(x);
    const std::vector<float> move = floats_of(bias), hide = given(mask) ? floats_of(mask) : std::vector<float>();
    parallel_for(x.numel() / n, std::max<int64_t>(1, 4096 / n), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        float* row = scores.data() + i * n;
        for (int64_t c = 0; c < n; ++c) {
          const auto at = static_cast<size_t>(i * n + c);
          row[c] = row[c] * scale + (hide.empty() ? 0.0f : hide[at]) + move[at];
        }
        kernels().softmax_row(static_cast<int>(Compute::F32), false, row, n, row);
      }
    });
    write_all(out, scores);
  });
}

}  // namespace updraft
