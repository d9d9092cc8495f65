// A convolution over time that looks back alone.
#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {

SAMPLE(aclnnMaskedCausalConv1d, "input=f32[5,2,M] weight=f32[3,M] mask=bool[2,5] out=f32[5,2,M]")
ABOUT(aclnnMaskedCausalConv1d, Vector,
      "Each channel's convolution over the last steps, the last weight for the present one; 0 by mask",
      "逐通道的因果一维卷积，最后一个权重对应当前时刻；mask 为假处置零")
ACLNN(aclnnMaskedCausalConv1d, (In, input), (In, weight), (OptIn, mask), (Out, out)) {
  op.require(input->rank == 3 && is_floating(input->dtype), "input is {}, want [steps, batch, channels]",
             describe(*input));
  const int64_t steps = input->dims[0], batch = input->dims[1], channels = input->dims[2];
  op.require(weight->rank == 2 && weight->dims[1] == channels && weight->dtype == input->dtype,
             "weight is {}, want [width, {}] in the type of input", describe(*weight), channels);
  if (mask)
    op.require(mask->dtype == DType::Bool && mask->rank == 2 && mask->dims[0] == batch && mask->dims[1] == steps,
               "mask is {}, want BOOL[{}, {}]", describe(*mask), batch, steps);
  op.result_like("out", *out, *input, input->dtype);
  const int64_t width = weight->dims[0];
  op.work(2 * width * input->numel());
  op.launch([=, x = *input, w = *weight, valid = optional_view(mask), y = *out] {
    const std::vector<float> from = floats_of(x), by = floats_of(w);
    const std::vector<uint8_t> kept = given(valid) ? gathered<uint8_t>(valid) : std::vector<uint8_t>();
    std::vector<float> to(from.size());
    parallel_for(steps * batch, 64, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t step = row / batch, b = row % batch;
        if (!kept.empty() && !kept[static_cast<size_t>(b * steps + step)]) continue;
        float* sums = to.data() + row * channels;
        for (int64_t back = 0; back < std::min(width, step + 1); ++back) {
          const float *v = from.data() + (row - back * batch) * channels,
                      *f = by.data() + (width - 1 - back) * channels;
          for (int64_t c = 0; c < channels; ++c) sums[c] += f[c] * v[c];
        }
      }
    });
    write_all(y, to);
  });
}

}  // namespace updraft
