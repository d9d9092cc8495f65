// A convolution over time that looks back alone, and its gradients.
#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {

namespace {

/// [steps, batch, channels], [width, channels] and [batch, steps].
void check(const Op& op, const In& input, const In& weight, const OptIn& mask) {
  op.require(input->rank == 3 && is_floating(input->dtype), "input is {}, want [steps, batch, channels]",
             describe(*input));
  const int64_t steps = input->dims[0], batch = input->dims[1], channels = input->dims[2];
  op.require(weight->rank == 2 && weight->dims[1] == channels && weight->dtype == input->dtype,
             "weight is {}, want [width, {}] in the type of input", describe(*weight), channels);
  if (mask)
    op.require(mask->dtype == DType::Bool && mask->rank == 2 && mask->dims[0] == batch && mask->dims[1] == steps,
               "mask is {}, want BOOL[{}, {}]", describe(*mask), batch, steps);
}

/// Whether a row, of [steps, batch], is kept.
struct Kept {
  std::vector<uint8_t> of;
  int64_t steps, batch;
  Kept(const TensorView& mask, int64_t s, int64_t b) : steps(s), batch(b) {
    if (given(mask)) of = gathered<uint8_t>(mask);
  }
  bool operator()(int64_t row) const {
    return of.empty() || of[static_cast<size_t>(row % batch * steps + row / batch)] != 0;
  }
};

}  // namespace

SAMPLE(aclnnMaskedCausalConv1d, "input=f32[5,2,M] weight=f32[3,M] mask=bool[2,5] out=f32[5,2,M]")
ABOUT(aclnnMaskedCausalConv1d, Vector,
      "Each channel's convolution over the last steps, the last weight for the present one; 0 by mask",
      "逐通道的因果一维卷积，最后一个权重对应当前时刻；mask 为假处置零")
ACLNN(aclnnMaskedCausalConv1d, (In, input), (In, weight), (OptIn, mask), (Out, out)) {
  check(op, input, weight, mask);
  const int64_t steps = input->dims[0], batch = input->dims[1], channels = input->dims[2];
  op.result_like("out", *out, *input, input->dtype);
  const int64_t width = weight->dims[0];
  op.work(2 * width * input->numel());
  op.launch([=, x = *input, w = *weight, valid = optional_view(mask), y = *out] {
    const std::vector<float> from = floats_of(x), by = floats_of(w);
    const Kept kept(valid, steps, batch);
    std::vector<float> to(from.size());
    parallel_for(steps * batch, 64, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const int64_t step = row / batch;
        if (!kept(row)) continue;
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

SAMPLE(aclnnMaskedCausalConv1dBackward,
       "gradOutput=f32[5,2,M] input=f32[5,2,M] weight=f32[3,M] mask=bool[2,5] gradInput=f32[5,2,M] gradWeight=f32[3,M]")
ABOUT(aclnnMaskedCausalConv1dBackward, Vector, "Gradients of aclnnMaskedCausalConv1d for input and weight",
      "aclnnMaskedCausalConv1d 对 input 与 weight 的梯度")
ACLNN(aclnnMaskedCausalConv1dBackward, (In, gradOutput), (In, input), (In, weight), (OptIn, mask), (Out, gradInput),
      (Out, gradWeight)) {
  check(op, input, weight, mask);
  op.require_same_shape("gradOutput", *gradOutput, "input", *input);
  op.result_like("gradInput", *gradInput, *input, input->dtype);
  op.result_like("gradWeight", *gradWeight, *weight, weight->dtype);
  const int64_t steps = input->dims[0], batch = input->dims[1], channels = input->dims[2], width = weight->dims[0];
  op.work(4 * width * input->numel());
  op.launch([=, g = *gradOutput, x = *input, w = *weight, valid = optional_view(mask), dx = *gradInput,
             dw = *gradWeight] {
    const Kept kept(valid, steps, batch);
    const int64_t rows = steps * batch;
    std::vector<float> grad = floats_of(g);
    for (int64_t row = 0; row < rows; ++row)
      if (!kept(row)) std::fill_n(grad.begin() + row * channels, channels, 0.0f);
    const std::vector<float> from = floats_of(x), by = floats_of(w);
    std::vector<float> to(from.size());
    parallel_for(rows, 64, [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        float* sums = to.data() + row * channels;
        for (int64_t on = 0; on < std::min(width, steps - row / batch); ++on) {
          const float *v = grad.data() + (row + on * batch) * channels, *f = by.data() + (width - 1 - on) * channels;
          for (int64_t c = 0; c < channels; ++c) sums[c] += f[c] * v[c];
        }
      }
    });
    write_all(dx, to);
    std::vector<double> weights(static_cast<size_t>(width * channels));
    parallel_for(channels, 64, [&](int64_t begin, int64_t end) {
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t back = 0; back < std::min(width, row / batch + 1); ++back) {
          const float *v = from.data() + (row - back * batch) * channels, *of = grad.data() + row * channels;
          double* sums = weights.data() + (width - 1 - back) * channels;
          for (int64_t c = begin; c < end; ++c) sums[c] += static_cast<double>(v[c]) * static_cast<double>(of[c]);
        }
    });
    write_all(dw, weights);
  });
}

}  // namespace updraft
