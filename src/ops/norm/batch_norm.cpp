// Batch normalisation, and the pieces of it that synchronised batch normalisation is made of.
#include <cmath>

#include "kernels/channels.h"
#include "ops/norm/vectors.h"
#include "ops/op.h"
#include "tensor/real_types.h"

namespace updraft {
namespace {

// A tensor or nothing: captured by value.
void require_channels(const Op& op, const char* name, const TensorView& v, int64_t channels) {
  if (v.data || v.dtype != DType::Undefined)
    op.require(v.numel() == channels, "{} is {}, want one value for each of {} channels", name, describe(v), channels);
}

/// Statistics of half-precision inputs are FLOAT.
/// Inference: a value for each channel, in the outputs that are there.
template <class... Outs>
void suggest_channels(const Op& op, int64_t channels, DType type, const Outs&... outs) {
  auto one = [&](const auto& out) {
    if (out.handle) op.suggest(*out, {channels}, type);
  };
  (one(outs), ...);
}

int64_t channels_of(const Op& op, const TensorView& input) {
  op.require(input.rank >= 2, "input is {}, want at least two dimensions (batch, channels)", describe(input));
  op.require(is_floating(input.dtype), "input is {}, want floating point", describe(input));
  return input.dims[1];
}

double unbiased(const double* state) { return state[0] > 1 ? state[2] / (state[0] - 1) : std::nan(""); }

void update_running(const TensorView& mean, const TensorView& var, double momentum,
                    const std::vector<double>& batch_mean, const std::vector<double>& batch_var) {
  const int64_t n = static_cast<int64_t>(batch_mean.size());
  for (int k = 0; k < 2; ++k) {
    const TensorView& to = k ? var : mean;
    if (!to.data) continue;
    std::vector<double> values = read_vector(to, n, 0);
    const std::vector<double>& batch = k ? batch_var : batch_mean;
    for (size_t i = 0; i < values.size(); ++i) values[i] = (1 - momentum) * values[i] + momentum * batch[i];
    write_vector(to, values);
  }
}

void plan_backward_elements(Op& op, const TensorView& dy, const TensorView& x, const TensorView& dx) {
  op.require_same_shape("gradOut", dy, "input", x);
  if (dx.data) op.require_same_shape("gradInput", dx, "input", x);
  op.work(x.numel() * 6);
}

}  // namespace

ABOUT(aclnnBatchNorm, Vector,
      "Normalises each channel; in training by its own statistics, which update the running ones",
      "逐通道批归一化；训练时使用批统计量并更新滑动统计量")
ACLNN(aclnnBatchNorm, (In, input), (OptIn, weight), (OptIn, bias), (OptInOut, runningMean), (OptInOut, runningVar),
      (Bool, training), (Double, momentum), (Double, eps), (Out, output), (OptOut, saveMean), (OptOut, saveInvstd)) {
  const int64_t C = channels_of(op, *input);
  op.result_like("output", *output, *input, input->dtype);
  suggest_channels(op, C, wide_type(input->dtype), saveMean, saveInvstd);
  const TensorView w = view_or_none(weight), b = view_or_none(bias), rm = view_or_none(runningMean),
                   rv = view_or_none(runningVar), sm = view_or_none(saveMean), si = view_or_none(saveInvstd);
  require_channels(op, "weight", w, C);
  require_channels(op, "bias", b, C);
  require_channels(op, "runningMean", rm, C);
  require_channels(op, "runningVar", rv, C);
  op.require(training || (runningMean && runningVar), "running mean and variance are needed when not training");
  op.work(input->numel() * 6);
  op.launch([=, x = *input, y = *output] {
    const std::vector<double> scale = read_vector(w, C, 1), shift = read_vector(b, C, 0);
    std::vector<double> mean, invstd, var(static_cast<size_t>(C));
    if (training) {
      mean.resize(static_cast<size_t>(C));
      invstd.resize(static_cast<size_t>(C));
    } else {
      mean = read_vector(rm, C, 0);
      invstd = read_vector(rv, C, 1);
      for (double& v : invstd) v = 1 / std::sqrt(v + eps);
    }
    channel_forward(x, &y, training, [&](int64_t c, const double* state, double& a, double& d) {
      const size_t i = static_cast<size_t>(c);
      if (training) {
        mean[i] = state[1];
        var[i] = unbiased(state);
        invstd[i] = 1 / std::sqrt((state[0] > 0 ? state[2] / state[0] : 0) + eps);
      }
      a = scale[i] * invstd[i];
      d = shift[i] - mean[i] * a;
    });
    if (sm.data && sm.numel() == C) write_vector(sm, mean);
    if (si.data && si.numel() == C) write_vector(si, invstd);
    if (training && !x.empty()) update_running(rm, rv, momentum, mean, var);
  });
}

ABOUT(aclnnBatchNormBackward, Vector, "Gradients of batch normalisation for input, weight and bias, as outputMask asks",
      "批归一化对输入、权重、偏置的反向梯度，由 outputMask 选择")
ACLNN(aclnnBatchNormBackward, (In, gradOut), (In, input), (OptIn, weight), (OptIn, runningMean), (OptIn, runningVar),
      (OptIn, saveMean), (OptIn, saveInvstd), (Bool, training), (Double, eps), (Bools, outputMask), (OptOut, gradInput),
      (OptOut, gradWeight), (OptOut, gradBias)) {
  const int64_t C = channels_of(op, *input);
  op.require(outputMask.size() == 3, "outputMask has {} values, want 3", outputMask.size());
  if (gradInput) op.suggest_like(*gradInput, *input, input->dtype);
  suggest_channels(op, C, weight ? weight->dtype : wide_type(input->dtype), gradWeight, gradBias);
  const TensorView w = view_or_none(weight), rm = view_or_none(runningMean), rv = view_or_none(runningVar),
                   sm = view_or_none(saveMean), si = view_or_none(saveInvstd);
  const TensorView dx = outputMask[0] ? view_or_none(gradInput) : TensorView();
  const TensorView dw = outputMask[1] ? view_or_none(gradWeight) : TensorView();
  const TensorView db = outputMask[2] ? view_or_none(gradBias) : TensorView();
  require_channels(op, "weight", w, C);
  op.require(training ? saveMean && saveInvstd : runningMean && runningVar, "the {} statistics are absent",
             training ? "saved" : "running");
  require_channels(op, "mean", training ? sm : rm, C);
  require_channels(op, "variance", training ? si : rv, C);
  plan_backward_elements(op, *gradOut, *input, dx);
  op.launch([=, dy = *gradOut, x = *input] {
    const std::vector<double> scale = read_vector(w, C, 1), mean = read_vector(training ? sm : rm, C, 0);
    std::vector<double> invstd = read_vector(training ? si : rv, C, 1);
    if (!training)
      for (double& v : invstd) v = 1 / std::sqrt(v + eps);
    const double n = C ? static_cast<double>(x.numel() / C) : 0;
    std::vector<double> gamma(static_cast<size_t>(C)), beta(static_cast<size_t>(C));
    channel_backward(dy, x, mean.data(), dx.data ? &dx : nullptr, training || dw.data || db.data,
                     [&](int64_t c, const double* sums, double* abc) {
                       const size_t i = static_cast<size_t>(c);
                       gamma[i] = sums[1] * invstd[i];
                       beta[i] = sums[0];
                       abc[0] = scale[i] * invstd[i];
                       if (!training) return;
                       abc[1] = -abc[0] * invstd[i] * invstd[i] * sums[1] / n;
                       abc[2] = -abc[0] * sums[0] / n - abc[1] * mean[i];
                     });
    write_vector(dw, gamma);
    write_vector(db, beta);
  });
}

ABOUT(aclnnBatchNormStats, Vector, "Mean and 1 / sqrt(variance + eps) of each channel",
      "各通道的均值与 1 / sqrt(方差 + eps)")
ACLNN(aclnnBatchNormStats, (In, input), (Double, eps), (Out, mean), (Out, invstd)) {
  const int64_t C = channels_of(op, *input);
  suggest_channels(op, C, wide_type(input->dtype), mean, invstd);
  require_channels(op, "mean", *mean, C);
  require_channels(op, "invstd", *invstd, C);
  op.work(input->numel() * 4);
  op.launch([=, x = *input, mean = *mean, invstd = *invstd] {
    std::vector<double> m(static_cast<size_t>(C)), s(static_cast<size_t>(C));
    channel_forward(x, nullptr, true, [&](int64_t c, const double* state, double&, double&) {
      m[static_cast<size_t>(c)] = state[1];
      s[static_cast<size_t>(c)] = 1 / std::sqrt(state[2] / state[0] + eps);
    });
    write_vector(mean, m);
    write_vector(invstd, s);
  });
}

ABOUT(aclnnBatchNormReduce, Vector, "Sum and sum of squares of each channel", "各通道的和与平方和")
ACLNN(aclnnBatchNormReduce, (In, x), (Out, sum), (Out, squareSum)) {
  const int64_t C = channels_of(op, *x);
  suggest_channels(op, C, wide_type(x->dtype), sum, squareSum);
  require_channels(op, "sum", *sum, C);
  require_channels(op, "squareSum", *squareSum, C);
  op.work(x->numel() * 4);
  op.launch([=, x = *x, sum = *sum, square = *squareSum] {
    std::vector<double> s(static_cast<size_t>(C)), q(static_cast<size_t>(C));
    channel_forward(x, nullptr, true, [&](int64_t c, const double* state, double&, double&) {
      s[static_cast<size_t>(c)] = state[0] * state[1];
      q[static_cast<size_t>(c)] = state[2] + state[0] * state[1] * state[1];
    });
    write_vector(sum, s);
    write_vector(square, q);
  });
}

CARD(aclnnBatchNormElemt, on("input weight bias mean", kFloats))
ABOUT(aclnnBatchNormElemt, Vector, "output = (input - mean) * invstd * weight + bias for each channel",
      "逐通道计算 output = (input - mean) * invstd * weight + bias")
ACLNN(aclnnBatchNormElemt, (In, input), (OptIn, weight), (OptIn, bias), (In, mean), (In, invstd), (Double, eps),
      (Out, output)) {
  (void)eps;  // invstd holds it
  const int64_t C = channels_of(op, *input);
  op.result_like("output", *output, *input, input->dtype);
  const TensorView w = view_or_none(weight), b = view_or_none(bias);
  require_channels(op, "weight", w, C);
  require_channels(op, "bias", b, C);
  require_channels(op, "mean", *mean, C);
  require_channels(op, "invstd", *invstd, C);
  op.work(input->numel() * 2);
  op.launch([=, x = *input, y = *output, mean = *mean, invstd = *invstd] {
    const std::vector<double> scale = read_vector(w, C, 1), shift = read_vector(b, C, 0), m = read_vector(mean, C, 0),
                              s = read_vector(invstd, C, 1);
    channel_forward(x, &y, false, [&](int64_t c, const double*, double& a, double& d) {
      const size_t i = static_cast<size_t>(c);
      a = scale[i] * s[i];
      d = shift[i] - m[i] * a;
    });
  });
}

ABOUT(aclnnBatchNormReduceBackward, Vector,
      "Sums of a channel's gradients for synchronised batch normalisation, and of its parameters",
      "同步批归一化反向所需的逐通道梯度和，及权重、偏置的梯度")
ACLNN(aclnnBatchNormReduceBackward, (In, gradOut), (In, input), (In, mean), (In, invstd), (OptIn, weight),
      (Bool, inputG), (Bool, weightG), (Bool, biasG), (OptOut, sumDy), (OptOut, sumDyXmu), (OptOut, gradWeight),
      (OptOut, gradBias)) {
  const int64_t C = channels_of(op, *input);
  suggest_channels(op, C, wide_type(input->dtype), sumDy, sumDyXmu);
  suggest_channels(op, C, weight ? weight->dtype : wide_type(input->dtype), gradWeight, gradBias);
  require_channels(op, "mean", *mean, C);
  require_channels(op, "invstd", *invstd, C);
  const TensorView s = inputG ? view_or_none(sumDy) : TensorView(), t = inputG ? view_or_none(sumDyXmu) : TensorView();
  const TensorView dw = weightG ? view_or_none(gradWeight) : TensorView();
  const TensorView db = biasG ? view_or_none(gradBias) : TensorView();
  plan_backward_elements(op, *gradOut, *input, TensorView());
  op.launch([=, dy = *gradOut, x = *input, mean = *mean, invstd = *invstd] {
    const std::vector<double> m = read_vector(mean, C, 0), is = read_vector(invstd, C, 1);
    std::vector<double> a(static_cast<size_t>(C)), b(a), g(a);
    channel_backward(dy, x, m.data(), nullptr, true, [&](int64_t c, const double* sums, double*) {
      const size_t i = static_cast<size_t>(c);
      a[i] = sums[0];
      b[i] = sums[1];
      g[i] = sums[1] * is[i];
    });
    write_vector(s, a);
    write_vector(t, b);
    write_vector(dw, g);
    write_vector(db, a);
  });
}

ABOUT(aclnnBatchNormElemtBackward, Vector,
      "Input gradient of synchronised batch normalisation from the sums of all workers",
      "由各卡汇总的和计算同步批归一化的输入梯度")
ACLNN(aclnnBatchNormElemtBackward, (In, gradOut), (In, input), (In, mean), (In, invstd), (OptIn, weight), (In, sumDy),
      (In, sumDyXmu), (In, counter), (Out, gradInput)) {
  const int64_t C = channels_of(op, *input);
  op.suggest_like(*gradInput, *input, input->dtype);
  const TensorView w = view_or_none(weight);
  require_channels(op, "mean", *mean, C);
  require_channels(op, "invstd", *invstd, C);
  require_channels(op, "weight", w, C);
  require_channels(op, "sumDy", *sumDy, C);
  require_channels(op, "sumDyXmu", *sumDyXmu, C);
  plan_backward_elements(op, *gradOut, *input, *gradInput);
  op.launch([=, dy = *gradOut, x = *input, mean = *mean, invstd = *invstd, s = *sumDy, t = *sumDyXmu, count = *counter,
             dx = *gradInput] {
    const std::vector<double> m = read_vector(mean, C, 0), is = read_vector(invstd, C, 1), scale = read_vector(w, C, 1),
                              dy_sum = read_vector(s, C, 0), product = read_vector(t, C, 0),
                              counts = read_vector(count, count.numel(), 0);
    double n = 0;
    for (double k : counts) n += k;
    channel_backward(dy, x, m.data(), &dx, false, [&](int64_t c, const double*, double* abc) {
      const size_t i = static_cast<size_t>(c);
      abc[0] = scale[i] * is[i];
      abc[1] = -abc[0] * is[i] * is[i] * product[i] / n;
      abc[2] = -abc[0] * dy_sum[i] / n - abc[1] * m[i];
    });
  });
}

SAMPLE(aclnnBatchNormGatherStatsWithCounts, "mean=f32[2,4] invstd=f32[2,4] counts=f32[2]:4..9")
ABOUT(aclnnBatchNormGatherStatsWithCounts, Vector,
      "Joins workers' means and invstds by their counts and updates running statistics",
      "按样本数合并各卡的 mean 与 invstd，并更新滑动统计量")
ACLNN(aclnnBatchNormGatherStatsWithCounts, (In, input), (In, mean), (In, invstd), (OptInOut, runningMean),
      (OptInOut, runningVar), (Double, momentum), (Double, eps), (In, counts), (Out, meanAll), (Out, invstdAll)) {
  const int64_t C = channels_of(op, *input);
  op.require(C > 0 && mean->numel() % C == 0 && invstd->numel() == mean->numel(),
             "mean is {} and invstd {}, want one row of {} channels a worker", describe(*mean), describe(*invstd), C);
  suggest_channels(op, C, wide_type(input->dtype), meanAll, invstdAll);
  const int64_t workers = mean->numel() / C;
  op.require(counts->numel() == workers, "counts is {}, want {} values", describe(*counts), workers);
  const TensorView rm = view_or_none(runningMean), rv = view_or_none(runningVar);
  op.work(mean->numel() * 8);
  op.launch([=, mean = *mean, invstd = *invstd, counts = *counts, mean_all = *meanAll, invstd_all = *invstdAll] {
    const std::vector<double> m = read_vector(mean, workers * C, 0), is = read_vector(invstd, workers * C, 1),
                              n = read_vector(counts, workers, 0);
    std::vector<double> out_mean(static_cast<size_t>(C)), out_invstd(out_mean), var(out_mean);
    for (int64_t c = 0; c < C; ++c) {
      double total[3] = {0, 0, 0};
      for (int64_t k = 0; k < workers; ++k) {
        const size_t at = static_cast<size_t>(k * C + c);
        const double count = n[static_cast<size_t>(k)];
        const double part[3] = {count, m[at], (1 / (is[at] * is[at]) - eps) * count};
        merge_stats(total, part);
      }
      const size_t i = static_cast<size_t>(c);
      out_mean[i] = total[1];
      out_invstd[i] = 1 / std::sqrt(total[2] / total[0] + eps);
      var[i] = unbiased(total);
    }
    write_vector(mean_all, out_mean);
    write_vector(invstd_all, out_invstd);
    update_running(rm, rv, momentum, out_mean, var);
  });
}

SAMPLE(aclnnSyncBatchNormGatherStats,
       "totalSum=f32[2,4] totalSquareSum=f32[2,4]:4..5 sampleCount=i32[2]:2..9 mean=f32[4] variance=f32[4] "
       "batchMean=f32[4] batchInvstd=f32[4]")
ABOUT(aclnnSyncBatchNormGatherStats, Vector,
      "Mean and invstd of all workers from their sums; updates running statistics",
      "由各卡的和与平方和计算全局均值与 invstd，并更新滑动统计量")
ACLNN(aclnnSyncBatchNormGatherStats, (In, totalSum), (In, totalSquareSum), (In, sampleCount), (OptInOut, mean),
      (OptInOut, variance), (Float, momentum), (Float, eps), (Out, batchMean), (Out, batchInvstd)) {
  suggest_channels(op, totalSum->rank > 0 ? totalSum->dims[totalSum->rank - 1] : 0, wide_type(totalSum->dtype),
                   batchMean, batchInvstd);
  const int64_t C = batchMean->numel();
  op.require(C > 0 && totalSum->numel() % C == 0 && totalSquareSum->numel() == totalSum->numel(),
             "totalSum is {} and totalSquareSum {}, want rows of {} channels", describe(*totalSum),
             describe(*totalSquareSum), C);
  const int64_t workers = totalSum->numel() / C;
  const TensorView rm = view_or_none(mean), rv = view_or_none(variance);
  op.work(totalSum->numel() * 8);
  op.launch([=, sum = *totalSum, square = *totalSquareSum, count = *sampleCount, out_mean = *batchMean,
             out_invstd = *batchInvstd] {
    const std::vector<double> s = read_vector(sum, workers * C, 0), q = read_vector(square, workers * C, 0),
                              counts = read_vector(count, count.numel(), 0);
    double n = 0;
    for (double k : counts) n += k;
    std::vector<double> m(static_cast<size_t>(C)), is(m), var(m);
    for (int64_t c = 0; c < C; ++c) {
      double a = 0, b = 0;
      for (int64_t k = 0; k < workers; ++k) {
        a += s[static_cast<size_t>(k * C + c)];
        b += q[static_cast<size_t>(k * C + c)];
      }
      const size_t i = static_cast<size_t>(c);
      m[i] = a / n;
      const double v = std::max(b / n - m[i] * m[i], 0.0);
      is[i] = 1 / std::sqrt(v + static_cast<double>(eps));
      var[i] = n > 1 ? v * n / (n - 1) : v;
    }
    write_vector(out_mean, m);
    write_vector(out_invstd, is);
    update_running(rm, rv, static_cast<double>(momentum), m, var);
  });
}

}  // namespace updraft
