// Cross entropy of logits: log-softmax and negative log likelihood in one pass over each row.
#include <cmath>
#include <cstring>

#include "base/parallel.h"
#include "base/scratch.h"
#include "kernels/pipeline.h"
#include "ops/loss/loss.h"

namespace updraft {
namespace {

Reduction named_reduction(const Op& op, Text text) {
  op.require(text != nullptr, "reduction is null, want none, mean or sum");
  if (!std::strcmp(text, "none")) return Reduction::kNone;
  if (!std::strcmp(text, "mean")) return Reduction::kMean;
  if (!std::strcmp(text, "sum")) return Reduction::kSum;
  op.refuse("reduction is {}, want none, mean or sum", text);
}

struct Plan {
  TensorView input, target, weight;
  int64_t rows, classes, ignore;
  bool weighted;
  double smoothing, z_scale;
  Reduction reduction;
};

Plan check(const Op& op, const TensorView& input, const TensorView& target, const OptIn& weight, Text reduction,
           int64_t ignore, double smoothing, double z_scale) {
  op.require(input.rank == 2 && is_floating(input.dtype), "input is {}, want floating-point logits [N,C]",
             describe(input));
  op.require(target.rank == 1 && target.dims[0] == input.dims[0] && is_integral(target.dtype),
             "target is {}, want {} class indices", describe(target), input.dims[0]);
  op.require(smoothing >= 0 && smoothing <= 1, "labelSmoothing is {}, want 0 to 1", smoothing);
  if (weight)
    op.require(weight->rank == 1 && weight->dims[0] == input.dims[1], "weight is {}, want {} values, one a class",
               describe(*weight), input.dims[1]);
  return Plan{input,
              target,
              weight ? *weight : input,
              input.dims[0],
              input.dims[1],
              ignore,
              static_cast<bool>(weight),
              smoothing,
              z_scale,
              named_reduction(op, reduction)};
}

/// Class weights as floats, ones where none are given.
std::vector<float> class_weights(const Plan& p) {
  std::vector<float> w(static_cast<size_t>(p.classes), 1.0f);
  if (p.weighted) gather_to(w.data(), DType::Float, p.weight);
  return w;
}

int64_t target_of(const Plan& p, const int64_t* targets, int64_t row) {
  const int64_t t = targets[row];
  if (t != p.ignore && (t < 0 || t >= p.classes))
    fail_kernel(fmt::format("cross_entropy_loss: target {} is out of range, want 0 to {}", t, p.classes - 1));
  return t;
}

void read_row(const BlockReader& reader, int64_t row, int64_t classes, float* to) {
  for (int64_t c = 0; c < classes; c += kBlockElements) {
    const int64_t count = std::min(kBlockElements, classes - c);
    const void* block = reader.read(row * classes + c, count, to + c);
    if (block != to + c) std::memcpy(to + c, block, static_cast<size_t>(count) * sizeof(float));
  }
}
void write_row(const BlockWriter& writer, int64_t row, int64_t classes, const float* from) {
  for (int64_t c = 0; c < classes; c += kBlockElements) {
    const int64_t count = std::min(kBlockElements, classes - c);
    if (writer.in_place())
      std::memcpy(writer.target(row * classes + c, nullptr), from + c, static_cast<size_t>(count) * sizeof(float));
    else writer.write(row * classes + c, count, from + c);
  }
}

struct RowResult {
  double nll = 0, smooth = 0, weight = 0, z = 0;
};

struct Outputs {
  TensorView loss, log_prob, z_loss, lse;
  bool return_z;
};

void forward(const Plan& p, const Outputs& out) {
  const std::vector<float> weights = class_weights(p);
  std::vector<int64_t> targets(static_cast<size_t>(p.rows));
  gather_to(targets.data(), DType::Int64, p.target);
  std::vector<RowResult> rows(static_cast<size_t>(p.rows));
  std::vector<float> lse(static_cast<size_t>(p.z_scale != 0 ? p.rows : 0));
  parallel_for(p.rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, p.classes)), [&](int64_t begin, int64_t end) {
    const BlockReader reader(p.input, Compute::F32);
    const BlockWriter writer(out.log_prob, Compute::F32);
    ScratchScope scratch;
    auto* x = scratch.take<float>(static_cast<size_t>(p.classes));
    for (int64_t row = begin; row < end; ++row) {
      read_row(reader, row, p.classes, x);
      const float top = kernels().row_max_f32(x, p.classes);
      const float shift = std::isinf(top) ? 0.0f : top;
      const double log_sum = std::log(kernels().row_sum_exp_f32(x, shift, p.classes));
      const auto lse_row = static_cast<float>(log_sum + static_cast<double>(shift));
      kernels().row_subtract_f32(x, x, lse_row, p.classes);
      write_row(writer, row, p.classes, x);
      RowResult& r = rows[static_cast<size_t>(row)];
      if (p.z_scale != 0) lse[static_cast<size_t>(row)] = lse_row;
      const int64_t t = target_of(p, targets.data(), row);
      if (t == p.ignore) continue;
      r.weight = static_cast<double>(weights[static_cast<size_t>(t)]);
      r.nll = -static_cast<double>(x[t]) * r.weight;
      if (p.smoothing > 0) r.smooth = -kernels().row_dot_f32(x, weights.data(), p.classes);
      r.z = p.z_scale * static_cast<double>(lse_row) * static_cast<double>(lse_row);
    }
  });
  const double keep = 1 - p.smoothing, share = p.classes ? p.smoothing / static_cast<double>(p.classes) : 0;
  if (p.z_scale != 0 && out.lse.numel() == p.rows) {
    const BlockWriter writer(out.lse, Compute::F32);
    write_row(writer, 0, p.rows, lse.data());
  }
  double loss = 0, z = 0, weight = 0;
  int64_t counted = 0;
  std::vector<float> each(p.reduction == Reduction::kNone ? static_cast<size_t>(p.rows) : 0), each_z(each.size());
  for (int64_t row = 0; row < p.rows; ++row) {
    const RowResult& r = rows[static_cast<size_t>(row)];
    const double value = keep * r.nll + share * r.smooth;
    if (p.reduction == Reduction::kNone) {
      each[static_cast<size_t>(row)] = static_cast<float>(value + r.z);
      each_z[static_cast<size_t>(row)] = static_cast<float>(r.z);
    }
    loss += value;
    z += r.z;
    weight += r.weight;
    counted += targets[static_cast<size_t>(row)] != p.ignore;
  }
  if (p.reduction == Reduction::kNone) {
    write_row(BlockWriter(out.loss, Compute::F32), 0, p.rows, each.data());
    if (out.return_z) write_row(BlockWriter(out.z_loss, Compute::F32), 0, p.rows, each_z.data());
    return;
  }
  if (p.reduction == Reduction::kMean) {
    loss /= weight;
    z /= static_cast<double>(counted);
  }
  store_one(out.loss, p.z_scale != 0 ? loss + z : loss);
  if (out.return_z) store_one(out.z_loss, z);
}

void backward(const Plan& p, const TensorView& grad, const TensorView* grad_z, const TensorView* lse,
              const TensorView& to) {
  const std::vector<float> weights = class_weights(p);
  std::vector<int64_t> targets(static_cast<size_t>(p.rows));
  gather_to(targets.data(), DType::Int64, p.target);
  double weight = 0, weight_sum = 0;
  int64_t counted = 0;
  for (int64_t row = 0; row < p.rows; ++row) {
    const int64_t t = target_of(p, targets.data(), row);
    if (t == p.ignore) continue;
    weight += static_cast<double>(weights[static_cast<size_t>(t)]);
    ++counted;
  }
  for (float w : weights) weight_sum += static_cast<double>(w);
  std::vector<float> grads(static_cast<size_t>(p.rows)), grads_z(static_cast<size_t>(p.rows)), lse_values;
  auto spread = [&](const TensorView& from, std::vector<float>& values, double divisor) {
    if (p.reduction == Reduction::kNone) {
      gather_to(values.data(), DType::Float, from);
    } else {
      const double g = load_one(from);
      std::fill(values.begin(), values.end(), static_cast<float>(p.reduction == Reduction::kMean ? g / divisor : g));
    }
  };
  spread(grad, grads, weight);
  if (p.z_scale != 0) {
    // The z-loss is part of the loss, and an output of its own.
    std::vector<float> own(static_cast<size_t>(p.rows));
    spread(grad, grads_z, static_cast<double>(counted));
    if (grad_z) spread(*grad_z, own, static_cast<double>(counted));
    for (size_t i = 0; i < own.size(); ++i) grads_z[i] += own[i];
    lse_values.resize(static_cast<size_t>(p.rows));
    gather_to(lse_values.data(), DType::Float, *lse);
  }
  const double keep = 1 - p.smoothing, share = p.classes ? p.smoothing / static_cast<double>(p.classes) : 0;
  parallel_for(p.rows, std::max<int64_t>(1, 8192 / std::max<int64_t>(1, p.classes)), [&](int64_t begin, int64_t end) {
    const BlockReader reader(p.input, Compute::F32);
    const BlockWriter writer(to, Compute::F32);
    ScratchScope scratch;
    auto* x = scratch.take<float>(static_cast<size_t>(p.classes));
    for (int64_t row = begin; row < end; ++row) {
      const int64_t t = targets[static_cast<size_t>(row)];
      if (t == p.ignore) {
        std::memset(x, 0, static_cast<size_t>(p.classes) * sizeof(float));
      } else {
        read_row(reader, row, p.classes, x);
        const auto g = static_cast<double>(grads[static_cast<size_t>(row)]);
        const auto w = static_cast<double>(weights[static_cast<size_t>(t)]);
        double a = g * (keep * w + share * weight_sum);
        if (p.z_scale != 0)
          a += 2 * p.z_scale * static_cast<double>(lse_values[static_cast<size_t>(row)]) *
               static_cast<double>(grads_z[static_cast<size_t>(row)]);
        kernels().row_cross_entropy_grad_f32(x, x, weights.data(), static_cast<float>(a), static_cast<float>(g * share),
                                             p.classes);
        x[t] -= static_cast<float>(g * keep * w);
      }
      write_row(writer, row, p.classes, x);
    }
  });
}

}  // namespace

SAMPLE(aclnnCrossEntropyLoss,
       "target=i64[N] reduction=none ignoreIndex=-100 labelSmoothing=0 lseSquareScaleForZloss=0 loss=f32[N] "
       "logProb=f32[N,M] zloss=null lseForZloss=null input=f32[N,M]")
CARD(aclnnCrossEntropyLoss, absent(k910 | k310P), on("input", kFloats, kA2 | k950), on("target", kI64, kA2 | k950),
     on("weight", only(DType::Float), kA2 | k950))
ABOUT(aclnnCrossEntropyLoss, Vector, "Log-softmax of input and negative log likelihood of target, with label smoothing",
      "对 input 做 log-softmax 并计算 target 的负对数似然，支持标签平滑")
ACLNN(aclnnCrossEntropyLoss, (In, input), (In, target), (OptIn, weight), (Text, reduction), (Int, ignoreIndex),
      (Double, labelSmoothing), (Double, lseSquareScaleForZloss), (Bool, returnZloss), (Out, loss), (Out, logProb),
      (OptOut, zloss), (OptOut, lseForZloss)) {
  const Plan plan = check(op, *input, *target, weight, reduction, ignoreIndex, labelSmoothing, lseSquareScaleForZloss);
  op.result_like("logProb", *logProb, *input, input->dtype);
  suggest_loss(op, plan.reduction, *target, input->dtype, *loss);
  if (zloss) suggest_loss(op, plan.reduction, *target, input->dtype, *zloss);
  if (lseForZloss) op.suggest(*lseForZloss, {plan.rows}, DType::Float);
  op.require(loss->numel() == (plan.reduction == Reduction::kNone ? plan.rows : 1),
             "loss is {}, which does not match reduction {}", describe(*loss), reduction);
  const bool z = returnZloss && zloss;
  if (z) op.require(zloss->numel() == loss->numel(), "zloss is {}, want as loss {}", describe(*zloss), describe(*loss));
  op.require(lseSquareScaleForZloss == 0 || (lseForZloss && lseForZloss->numel() == plan.rows),
             "lseForZloss is missing, want {} elements", plan.rows);
  Outputs out{*loss, *logProb, z ? *zloss : *loss, lseForZloss ? *lseForZloss : *loss, z};
  op.work(input->numel() * 8);
  op.launch([plan, out] { forward(plan, out); });
}

SAMPLE(aclnnCrossEntropyLossGrad,
       "gradLoss=f32[N] logProb=f32[N,M]:-3..-1 target=i64[N] reduction=none ignoreIndex=-100 labelSmoothing=0 "
       "lseSquareScaleForZloss=0")
ABOUT(aclnnCrossEntropyLossGrad, Vector, "Gradient of aclnnCrossEntropyLoss from its logProb",
      "aclnnCrossEntropyLoss 的反向梯度，由前向的 logProb 计算")
ACLNN(aclnnCrossEntropyLossGrad, (In, gradLoss), (In, logProb), (In, target), (OptIn, weight), (OptIn, gradZloss),
      (OptIn, lseForZloss), (Text, reduction), (Int, ignoreIndex), (Double, labelSmoothing),
      (Double, lseSquareScaleForZloss), (Out, out)) {
  const Plan plan =
      check(op, *logProb, *target, weight, reduction, ignoreIndex, labelSmoothing, lseSquareScaleForZloss);
  op.result_like("out", *out, *logProb, logProb->dtype);
  op.require(gradLoss->numel() == (plan.reduction == Reduction::kNone ? plan.rows : 1),
             "gradLoss is {}, which does not match reduction {}", describe(*gradLoss), reduction);
  op.require(lseSquareScaleForZloss == 0 || (lseForZloss && lseForZloss->numel() == plan.rows),
             "lseForZloss is missing, want {} elements", plan.rows);
  const bool z = gradZloss && gradZloss->numel() == gradLoss->numel();
  const TensorView grad = *gradLoss, grad_z = z ? *gradZloss : grad, lse = lseForZloss ? *lseForZloss : grad;
  op.work(out->numel() * 8);
  if (out->empty()) return;
  op.launch([plan, grad, grad_z, lse, z, to = *out] { backward(plan, grad, z ? &grad_z : nullptr, &lse, to); });
}

}  // namespace updraft
