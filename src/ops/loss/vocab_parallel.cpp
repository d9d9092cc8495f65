// Cross entropy over a vocabulary that several devices share: each multiplies by its part of the weight. The client
// brings the maxima and the sums of all devices together between the first operator and the second.
#include <algorithm>
#include <cmath>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/matmul/matmul.h"
#include "kernels/table.h"
#include "ops/gathered.h"
#include "ops/op.h"
#include "tensor/view_algebra.h"

namespace updraft {
namespace {

/// Logits are made for so many rows at a time: the vocabulary is long, and they need not all be kept.
constexpr int64_t kRows = 256;

TensorView float_matrix(float* data, int64_t rows, int64_t columns) {
  const int64_t dims[] = {rows, columns};
  return TensorView::contiguous(data, DType::Float, dims, 2);
}

void check_product(const Op& op, const TensorView& input, const TensorView& weight) {
  op.require(input.rank == 2 && weight.rank == 2 && input.dims[1] == weight.dims[1],
             "input is {}, weight is {}: want [rows,K] and [vocabulary,K]", describe(input), describe(weight));
  op.require(compute_of(input.dtype) == Compute::F32 && input.dtype == weight.dtype,
             "input is {}, weight is {}: want the same of FLOAT16, BFLOAT16 and FLOAT", describe(input),
             describe(weight));
}

/// The target's place in this device's part; fails the stream where there is none.
int64_t place(const char* name, int64_t target, int64_t vocabulary, int64_t row) {
  if (target < 0 || target >= vocabulary)
    fail_kernel(fmt::format("{}: the target of row {} is at {} of this part, which has 0 to {}", name, row, target,
                            vocabulary - 1));
  return target;
}

void online_max_sum(const TensorView& input, const TensorView& weight, const TensorView& target, int64_t first,
                    int64_t last, const TensorView& max, const TensorView& sum, const TensorView& predicted,
                    const TensorView& mask, const TensorView& masked, const TensorView& logits) {
  const int64_t rows = input.dims[0], vocabulary = weight.dims[0];
  const std::vector<int64_t> targets = integers_of(target);
  const auto size = static_cast<size_t>(rows);
  std::vector<float> maxima(size), sums(size), of_target(size, 0.0f);
  std::vector<int64_t> places(size, 0);
  // One bit a row, the first row's highest; what fills the last byte counts as masked.
  std::vector<uint8_t> bits((size + 7) / 8, 0);
  for (size_t row = 0; row < bits.size() * 8; ++row)
    if (row >= size || targets[row] < first || targets[row] > last)
      bits[row / 8] = static_cast<uint8_t>(bits[row / 8] | 0x80u >> row % 8);
  ScratchScope scratch;
  auto* product = scratch.take<float>(static_cast<size_t>(std::min(rows, kRows) * vocabulary));
  for (int64_t begin = 0; begin < rows; begin += kRows) {
    const int64_t count = std::min(kRows, rows - begin);
    const TensorView part = float_matrix(product, count, vocabulary);
    matmul(narrow(input, 0, begin, count), weight.transpose(0, 1), part);
    if (given(logits)) copy_elements(narrow(logits, 0, begin, count), part);
    parallel_for(count, std::max<int64_t>(1, 8192 / vocabulary), [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const float* x = product + i * vocabulary;
        const auto row = static_cast<size_t>(begin + i);
        maxima[row] = kernels().row_max_f32(x, vocabulary);
        sums[row] = static_cast<float>(kernels().row_sum_exp_f32(x, maxima[row], vocabulary));
        if (targets[row] < first || targets[row] > last) continue;
        places[row] = place("fused_linear_online_max_sum", targets[row] - first, vocabulary, begin + i);
        of_target[row] = x[places[row]] - maxima[row];
      }
    });
  }
  write_all(max, maxima);
  write_all(sum, sums);
  write_all(predicted, of_target);
  write_all(mask, bits);
  write_all(masked, places);
}

struct Gradient {
  TensorView grad{}, input{}, weight{}, mask{}, masked{}, max{}, sum{}, softmax{};
};

void gradients(const Gradient& g, const TensorView& to_input, const TensorView& to_weight) {
  const int64_t rows = g.input.dims[0], vocabulary = g.weight.dims[0], width = g.weight.dims[1];
  const std::vector<float> by = floats_of(g.grad);
  const std::vector<int64_t> places = integers_of(g.masked);
  const std::vector<uint8_t> bits = gathered<uint8_t>(g.mask);
  const bool saved = given(g.softmax);
  const std::vector<float> maxima = saved ? std::vector<float>() : floats_of(g.max),
                           sums = saved ? std::vector<float>() : floats_of(g.sum);
  ScratchScope scratch;
  auto* data = scratch.take<float>(static_cast<size_t>(std::min(rows, kRows) * vocabulary));
  std::vector<float> total(static_cast<size_t>(vocabulary * width), 0.0f);
  const TensorView sum = float_matrix(total.data(), vocabulary, width);
  for (int64_t begin = 0; begin < rows; begin += kRows) {
    const int64_t count = std::min(kRows, rows - begin);
    const TensorView part = float_matrix(data, count, vocabulary), x = narrow(g.input, 0, begin, count);
    if (saved) copy_elements(part, narrow(g.softmax, 0, begin, count));
    else matmul(x, g.weight.transpose(0, 1), part);
    parallel_for(count, std::max<int64_t>(1, 8192 / vocabulary), [&](int64_t from, int64_t to) {
      for (int64_t i = from; i < to; ++i) {
        const auto row = static_cast<size_t>(begin + i);
        float* p = data + i * vocabulary;
        if (!saved)
          for (int64_t c = 0; c < vocabulary; ++c) p[c] = std::exp(p[c] - maxima[row]) / sums[row];
        if (!(bits[row / 8] & 0x80u >> row % 8))
          p[place("fused_linear_cross_entropy_loss_grad", places[row], vocabulary, begin + i)] -= 1.0f;
        for (int64_t c = 0; c < vocabulary; ++c) p[c] *= by[row];
      }
    });
    matmul(part, g.weight, narrow(to_input, 0, begin, count));
    MatmulOptions add;
    add.beta = begin ? 1 : 0;
    matmul(part.transpose(0, 1), x, sum, add);
  }
  copy_elements(to_weight, sum);
}

}  // namespace

SAMPLE(aclnnFusedLinearOnlineMaxSum,
       "input=f32[10,M] weight=f32[6,M] target=i64[10]:0..8 vocabStartIndex=2 vocabEndIndex=7 logitsMax=f32[10] "
       "sumExpLogits=f32[10] predictedLogits=f32[10] targetMask=u8[2] maskedTarget=i64[10] "
       "vocabParallelLogits=f32[10,6]")
ABOUT(aclnnFusedLinearOnlineMaxSum, MixCube,
      "Logits input @ weight^T of a part of the vocabulary, their maxima, sums of exponentials and targets'",
      "对词表切片计算 input @ weight^T，并给出每行最大值、指数和与 target 处的值")
ACLNN(aclnnFusedLinearOnlineMaxSum, (In, input), (In, weight), (In, target), (Int, vocabStartIndex),
      (Int, vocabEndIndex), (Out, logitsMax), (Out, sumExpLogits), (Out, predictedLogits), (Out, targetMask),
      (Out, maskedTarget), (OptOut, vocabParallelLogits)) {
  check_product(op, *input, *weight);
  const int64_t rows = input->dims[0], vocabulary = weight->dims[0];
  op.require_shape("target", *target, &rows, 1);
  op.require(is_integral(target->dtype), "target is {}, want INT32 or INT64", describe(*target));
  op.require(vocabulary > 0 && vocabEndIndex >= vocabStartIndex,
             "weight is {} for targets {} to {}: want a part of the vocabulary", describe(*weight), vocabStartIndex,
             vocabEndIndex);
  for (const auto& [name, out] : {std::pair{"logitsMax", &*logitsMax}, std::pair{"sumExpLogits", &*sumExpLogits},
                                  std::pair{"predictedLogits", &*predictedLogits}})
    op.result(name, *out, {rows}, DType::Float);
  op.result("targetMask", *targetMask, {(rows + 7) / 8}, DType::UInt8);
  op.result("maskedTarget", *maskedTarget, {rows}, target->dtype);
  TensorView logits;
  if (vocabParallelLogits) {
    op.result("vocabParallelLogits", *vocabParallelLogits, {rows, vocabulary}, input->dtype);
    logits = *vocabParallelLogits;
  }
  if (!rows) return;
  op.work(rows * vocabulary * (input->dims[1] + 8));
  op.flops(2 * rows * vocabulary * input->dims[1]);
  op.launch([=, x = *input, w = *weight, t = *target, max = *logitsMax, sum = *sumExpLogits, p = *predictedLogits,
             mask = *targetMask, masked = *maskedTarget] {
    online_max_sum(x, w, t, vocabStartIndex, vocabEndIndex, max, sum, p, mask, masked, logits);
  });
}

SAMPLE(aclnnFusedCrossEntropyLossWithMaxSum,
       "logitsMax=f32[N] sumExpLogits=f32[N] predictedLogits=f32[N] labelSmoothing=0 input=null weight=null "
       "vocabParallelLogits=f32[N,M] loss=f32[N] softmax=f32[N,M]")
ABOUT(aclnnFusedCrossEntropyLossWithMaxSum, Vector,
      "loss = log(sumExpLogits) - predictedLogits, and the softmax of the logits",
      "loss = log(sumExpLogits) - predictedLogits，并输出 logits 的 softmax")
ACLNN(aclnnFusedCrossEntropyLossWithMaxSum, (In, logitsMax), (In, sumExpLogits), (In, predictedLogits),
      (Double, labelSmoothing), (OptIn, input), (OptIn, weight), (OptIn, vocabParallelLogits), (Out, loss),
      (OptOut, softmax)) {
  op.require(labelSmoothing == 0 && !input && !weight,
             "labelSmoothing is {}, input {} and weight {}: want 0, null and null", labelSmoothing,
             input ? describe(*input).text() : "null", weight ? describe(*weight).text() : "null");
  op.require(logitsMax->rank == 1 && is_floating(logitsMax->dtype), "logitsMax is {}, want a number for each row",
             describe(*logitsMax));
  const int64_t rows = logitsMax->dims[0];
  op.require_shape("sumExpLogits", *sumExpLogits, &rows, 1);
  op.require_shape("predictedLogits", *predictedLogits, &rows, 1);
  op.result("loss", *loss, {rows}, DType::Float);
  TensorView logits, to;
  if (vocabParallelLogits && softmax) {
    logits = *vocabParallelLogits;
    op.require(logits.rank == 2 && logits.dims[0] == rows && is_floating(logits.dtype),
               "vocabParallelLogits is {}, want {} rows of logits", describe(logits), rows);
    op.result_like("softmax", *softmax, logits, DType::Float);
    to = *softmax;
  }
  if (!rows) return;
  op.work(rows * 16 + (given(logits) ? logits.numel() * 8 : 0));
  op.launch([=, max = *logitsMax, sum = *sumExpLogits, p = *predictedLogits, loss = *loss] {
    const std::vector<float> maxima = floats_of(max), sums = floats_of(sum);
    std::vector<float> result = floats_of(p);
    for (size_t row = 0; row < result.size(); ++row) result[row] = std::log(sums[row]) - result[row];
    write_all(loss, result);
    if (!given(logits) || logits.empty()) return;
    std::vector<float> x = floats_of(logits);
    const int64_t width = logits.dims[1];
    parallel_for(rows, std::max<int64_t>(1, 8192 / width), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const auto at = static_cast<size_t>(row);
        float* v = x.data() + row * width;
        for (int64_t c = 0; c < width; ++c) v[c] = std::exp(v[c] - maxima[at]) / sums[at];
      }
    });
    write_all(to, x);
  });
}

SAMPLE(aclnnFusedLinearCrossEntropyLossGrad,
       "grad=f32[10] input=f32[10,M] weight=f32[6,M] targetMask=u8[2] maskedTarget=i64[10]:0..5 labelSmoothing=0 "
       "logitsMax=f32[10] sumExpLogits=f32[10] softmax=null inputGrad=f32[10,M] weightGrad=f32[6,M]")
ABOUT(aclnnFusedLinearCrossEntropyLossGrad, MixCube,
      "Gradients of aclnnFusedLinearOnlineMaxSum's input and weight, from the softmax or from its parts",
      "aclnnFusedLinearOnlineMaxSum 对 input 与 weight 的反向梯度，由 softmax 或其组成部分计算")
ACLNN(aclnnFusedLinearCrossEntropyLossGrad, (In, grad), (In, input), (In, weight), (In, targetMask), (In, maskedTarget),
      (Double, labelSmoothing), (OptIn, logitsMax), (OptIn, sumExpLogits), (OptIn, softmax), (Out, inputGrad),
      (Out, weightGrad)) {
  check_product(op, *input, *weight);
  const int64_t rows = input->dims[0], vocabulary = weight->dims[0], bytes = (rows + 7) / 8;
  op.require(labelSmoothing == 0, "labelSmoothing is {}, want 0", labelSmoothing);
  op.require_shape("grad", *grad, &rows, 1);
  op.require_shape("maskedTarget", *maskedTarget, &rows, 1);
  op.require_shape("targetMask", *targetMask, &bytes, 1);
  op.require(targetMask->dtype == DType::UInt8, "targetMask is {}, want UINT8: a bit for each row",
             describe(*targetMask));
  op.require(softmax || (logitsMax && sumExpLogits), "softmax is null, which wants logitsMax and sumExpLogits");
  Gradient g{.grad = *grad, .input = *input, .weight = *weight, .mask = *targetMask, .masked = *maskedTarget};
  if (softmax) {
    const int64_t dims[] = {rows, vocabulary};
    op.require_shape("softmax", *softmax, dims, 2);
    g.softmax = *softmax;
  } else {
    op.require_shape("logitsMax", *logitsMax, &rows, 1);
    op.require_shape("sumExpLogits", *sumExpLogits, &rows, 1);
    g.max = *logitsMax;
    g.sum = *sumExpLogits;
  }
  op.result_like("inputGrad", *inputGrad, *input, input->dtype);
  op.result_like("weightGrad", *weightGrad, *weight, weight->dtype);
  op.work(rows * vocabulary * (3 * input->dims[1] + 8));
  op.flops((softmax ? 4 : 6) * rows * vocabulary * input->dims[1]);
  op.launch([=, to_input = *inputGrad, to_weight = *weightGrad] { gradients(g, to_input, to_weight); });
}

}  // namespace updraft
