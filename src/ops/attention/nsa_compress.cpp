// Tokens of a window weighed and added up, as native sparse attention compresses its keys and values. Windows begin
// every `stride` tokens of a batch, as long as a whole one fits. Facts: op-plugin's pages of npu_nsa_compress.
#include <string_view>

#include "base/parallel.h"
#include "ops/gathered.h"
#include "ops/op.h"

namespace updraft {
namespace {

/// Where windows begin, over all tokens.
struct Windows {
  int64_t block, heads, width;
  std::vector<int64_t> begins;

  Windows(const Op& op, const TensorView& input, const TensorView& weight, const OptInts& ends, const char* layout,
          int64_t block_size, int64_t stride, int64_t ends_type)
      : block(block_size) {
    op.require(std::string_view(layout) == "TND", "layout is \"{}\", want \"TND\"", layout);
    op.require(ends_type == 0, "actualSeqLenType is {}, want 0 (where batches end)", ends_type);
    op.require(block > 0 && stride > 0 && stride <= block,
               "compressBlockSize is {} and compressStride {}, want 1 or more, the first not less", block, stride);
    op.require(input.rank == 3 && compute_of(input.dtype) == Compute::F32, "input is {}, want real numbers [T, N, D]",
               describe(input));
    op.require(weight.rank == 2 && weight.dims[0] == block && weight.dims[1] == input.dims[1] &&
                   compute_of(weight.dtype) == Compute::F32,
               "weight is {}, want [{}, {}]", describe(weight), block, input.dims[1]);
    heads = input.dims[1], width = input.dims[2];
    const std::vector<int64_t> one = {input.dims[0]};
    int64_t from = 0;
    for (int64_t end : ends ? *ends : one) {
      op.require(end >= from && end <= input.dims[0],
                 "actualSeqLen has {} after {}, want ends of batches up to {}, the tokens of input", end, from,
                 input.dims[0]);
      for (int64_t at = from; at + block <= end; at += stride) begins.push_back(at);
      from = end;
    }
  }
  int64_t count() const { return static_cast<int64_t>(begins.size()); }
};

}  // namespace

SAMPLE(aclnnNsaCompress,
       "input=f32[40,2,M] weight=f32[16,2] actSeqLen=8,40 layout=TND compressBlockSize=16 compressStride=8 "
       "actSeqLenType=0 output=f32[3,2,M]")
ABOUT(aclnnNsaCompress, Vector, "Each window of tokens as one: their sum by the weights of head and place",
      "将滑窗内的 token 按位置与头的权重加权求和为一个 token")
ACLNN(aclnnNsaCompress, (In, input), (In, weight), (OptInts, actSeqLen), (Text, layout), (Int, compressBlockSize),
      (Int, compressStride), (Int, actSeqLenType), (Out, output)) {
  const Windows w(op, *input, *weight, actSeqLen, layout, compressBlockSize, compressStride, actSeqLenType);
  op.result("output", *output, {w.count(), w.heads, w.width}, input->dtype);
  op.work(2 * output->numel() * w.block);
  op.launch([=, x = *input, by = *weight, to = *output] {
    const std::vector<float> tokens = floats_of(x), factors = floats_of(by);
    std::vector<float> sums(static_cast<size_t>(to.numel()));
    parallel_for(w.count() * w.heads, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, w.block * w.width)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     const int64_t from = w.begins[static_cast<size_t>(i / w.heads)], head = i % w.heads;
                     float* const sum = sums.data() + i * w.width;
                     for (int64_t j = 0; j < w.block; ++j) {
                       const float factor = factors[static_cast<size_t>(j * w.heads + head)];
                       const float* const v = tokens.data() + ((from + j) * w.heads + head) * w.width;
                       for (int64_t c = 0; c < w.width; ++c) sum[c] += factor * v[c];
                     }
                   }
                 });
    write_all(to, sums);
  });
}

SAMPLE(aclnnNsaCompressGrad,
       "outputGrad=f32[3,2,M] input=f32[40,2,M] weight=f32[16,2] actSeqLen=8,40 compressBlockSize=16 compressStride=8 "
       "actSeqLenType=0 layout=TND inputGrad=f32[40,2,M] weightGrad=f32[16,2]")
ABOUT(aclnnNsaCompressGrad, Vector, "Gradients of aclnnNsaCompress for input and weight",
      "aclnnNsaCompress 对 input 与 weight 的梯度")
ACLNN(aclnnNsaCompressGrad, (In, outputGrad), (In, input), (In, weight), (OptInts, actSeqLen), (Int, compressBlockSize),
      (Int, compressStride), (Int, actSeqLenType), (Text, layout), (Out, inputGrad), (Out, weightGrad)) {
  const Windows w(op, *input, *weight, actSeqLen, layout, compressBlockSize, compressStride, actSeqLenType);
  const int64_t dims[] = {w.count(), w.heads, w.width};
  op.require_shape("outputGrad", *outputGrad, dims, 3);
  op.result_like("inputGrad", *inputGrad, *input, input->dtype);
  op.result_like("weightGrad", *weightGrad, *weight, weight->dtype);
  op.work(4 * outputGrad->numel() * w.block);
  op.launch([=, g = *outputGrad, x = *input, by = *weight, dx = *inputGrad, dw = *weightGrad] {
    const std::vector<float> grad = floats_of(g), tokens = floats_of(x), factors = floats_of(by);
    std::vector<float> to(tokens.size()), weights(factors.size());
    // By heads: windows overlap, and all of them have the same weights.
    parallel_for(w.heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t head = begin; head < end; ++head) {
        std::vector<double> sums(static_cast<size_t>(w.block));
        for (int64_t i = 0; i < w.count(); ++i) {
          const float* const of = grad.data() + (i * w.heads + head) * w.width;
          for (int64_t j = 0; j < w.block; ++j) {
            const int64_t at = ((w.begins[static_cast<size_t>(i)] + j) * w.heads + head) * w.width;
            const float factor = factors[static_cast<size_t>(j * w.heads + head)];
            float sum = 0;
            for (int64_t c = 0; c < w.width; ++c) {
              to[static_cast<size_t>(at + c)] += factor * of[c];
              sum += tokens[static_cast<size_t>(at + c)] * of[c];
            }
            sums[static_cast<size_t>(j)] += static_cast<double>(sum);
          }
        }
        for (int64_t j = 0; j < w.block; ++j)
          weights[static_cast<size_t>(j * w.heads + head)] = static_cast<float>(sums[static_cast<size_t>(j)]);
      }
    });
    write_all(dx, to);
    write_all(dw, weights);
  });
}

}  // namespace updraft
