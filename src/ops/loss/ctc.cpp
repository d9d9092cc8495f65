// Connectionist temporal classification (Graves et al., 2006): forward and backward variables in the log domain.
#include <cmath>
#include <limits>

#include "base/parallel.h"
#include "kernels/pipeline.h"
#include "ops/loss/loss.h"

namespace updraft {
namespace {

constexpr double kZero = -std::numeric_limits<double>::infinity();

double log_add(double a, double b) {
  if (a == kZero) return b;
  if (b == kZero) return a;
  return a > b ? a + std::log1p(std::exp(b - a)) : b + std::log1p(std::exp(a - b));
}

struct Plan {
  TensorView log_probs, targets;
  std::vector<int64_t> input_lengths, target_lengths;
  int64_t blank, times, batch, classes;
  bool zero_infinity;
};

Plan check(const Op& op, const TensorView& log_probs, const TensorView& targets, const Ints& inputs, const Ints& labels,
           int64_t blank, bool zero_infinity) {
  op.require((log_probs.rank == 3 || log_probs.rank == 2) && is_floating(log_probs.dtype),
             "logProbs is {}, want floating-point values [T,N,C] or [T,C]", describe(log_probs));
  const bool batched = log_probs.rank == 3;
  Plan p{log_probs,
         targets,
         *inputs,
         *labels,
         blank,
         log_probs.dims[0],
         batched ? log_probs.dims[1] : 1,
         log_probs.dims[log_probs.rank - 1],
         zero_infinity};
  op.require(blank >= 0 && blank < p.classes, "blank is {}, want 0 to {}", blank, p.classes - 1);
  op.require(static_cast<int64_t>(inputs.size()) == p.batch && static_cast<int64_t>(labels.size()) == p.batch,
             "there are {} input and {} target lengths, want {}", inputs.size(), labels.size(), p.batch);
  op.require(targets.rank <= 2 && is_integral(targets.dtype), "targets is {}, want integers [N,S] or [sum]",
             describe(targets));
  int64_t total = 0;
  for (int64_t n = 0; n < p.batch; ++n) {
    const auto i = static_cast<size_t>(n);
    op.require(p.input_lengths[i] >= 0 && p.input_lengths[i] <= p.times, "input length {} is {}, want 0 to {}", n,
               p.input_lengths[i], p.times);
    op.require(p.target_lengths[i] >= 0, "target length {} is {}, want 0 or more", n, p.target_lengths[i]);
    if (targets.rank == 2)
      op.require(p.target_lengths[i] <= targets.dims[1], "target length {} is {}, want at most {}", n,
                 p.target_lengths[i], targets.dims[1]);
    total += p.target_lengths[i];
  }
  if (targets.rank < 2)
    op.require(total <= targets.numel(), "targets is {}, want {} classes", describe(targets), total);
  return p;
}

/// The classes of each sample, one after the other.
struct Labels {
  std::vector<int64_t> values;
  std::vector<int64_t> begin;
  explicit Labels(const Plan& p) {
    values.resize(static_cast<size_t>(p.targets.numel()));
    gather_to(values.data(), DType::Int64, p.targets);
    int64_t at = 0;
    for (int64_t n = 0; n < p.batch; ++n) {
      begin.push_back(p.targets.rank == 2 ? n * p.targets.dims[1] : at);
      at += p.target_lengths[static_cast<size_t>(n)];
    }
    for (int64_t n = 0; n < p.batch; ++n)
      for (int64_t s = 0; s < p.target_lengths[static_cast<size_t>(n)]; ++s) {
        const int64_t c = values[static_cast<size_t>(begin[static_cast<size_t>(n)] + s)];
        if (c < 0 || c >= p.classes)
          fail_kernel(fmt::format("ctc_loss: target {} is out of range, want 0 to {}", c, p.classes - 1));
      }
  }
};

/// The class at place s of the labels with blanks between them.
int64_t at_place(const int64_t* labels, int64_t s, int64_t blank) { return s % 2 ? labels[s / 2] : blank; }
/// A label that differs from the one before it may follow that at once; also one that is itself the blank class.
bool may_skip(const int64_t* labels, int64_t s) { return s >= 2 && s % 2 && labels[s / 2] != labels[s / 2 - 1]; }

std::vector<double> gather_double(const TensorView& v) {
  std::vector<double> x(static_cast<size_t>(v.numel()));
  gather_to(x.data(), DType::Double, v);
  return x;
}

void forward(const Plan& p, const TensorView& loss, const TensorView& alpha) {
  const Labels labels(p);
  const std::vector<double> probs = gather_double(p.log_probs);
  const int64_t width = alpha.dims[alpha.rank - 1];
  std::vector<double> a(static_cast<size_t>(alpha.numel()), kZero), losses(static_cast<size_t>(p.batch));
  parallel_for(p.batch, 1, [&](int64_t first, int64_t last) {
    for (int64_t n = first; n < last; ++n) {
      const int64_t length = p.target_lengths[static_cast<size_t>(n)], times = p.input_lengths[static_cast<size_t>(n)];
      const int64_t places = 2 * length + 1;
      const int64_t* label = labels.values.data() + labels.begin[static_cast<size_t>(n)];
      double* row = a.data() + n * p.times * width;
      auto log_prob = [&](int64_t t, int64_t s) {
        return probs[static_cast<size_t>((t * p.batch + n) * p.classes + at_place(label, s, p.blank))];
      };
      for (int64_t t = 0; t < times; ++t) {
        double* now = row + t * width;
        const double* before = now - width;
        for (int64_t s = 0; s < places; ++s) {
          double sum = kZero;
          if (t == 0) {
            if (s < 2) sum = 0;
          } else {
            sum = before[s];
            if (s > 0) sum = log_add(sum, before[s - 1]);
            if (may_skip(label, s)) sum = log_add(sum, before[s - 2]);
          }
          now[s] = sum + log_prob(t, s);
        }
      }
      double& result = losses[static_cast<size_t>(n)];
      if (times == 0) {
        result = length == 0 ? 0 : -kZero;
      } else {
        const double* end = row + (times - 1) * width;
        result = -(length == 0 ? end[0] : log_add(end[places - 1], end[places - 2]));
      }
    }
  });
  copy_elements(loss, TensorView::contiguous(losses.data(), DType::Double, loss.dims, loss.rank));
  copy_elements(alpha, TensorView::contiguous(a.data(), DType::Double, alpha.dims, alpha.rank));
}

void backward(const Plan& p, const TensorView& grad, const TensorView& loss, const TensorView& alpha,
              const TensorView& to) {
  const Labels labels(p);
  const std::vector<double> probs = gather_double(p.log_probs), a = gather_double(alpha), losses = gather_double(loss);
  std::vector<double> grads = gather_double(grad);
  const int64_t width = alpha.dims[alpha.rank - 1];
  std::vector<double> result(static_cast<size_t>(p.times * p.batch * p.classes), 0.0);
  parallel_for(p.batch, 1, [&](int64_t first, int64_t last) {
    std::vector<double> now, next, sums(static_cast<size_t>(p.classes));
    for (int64_t n = first; n < last; ++n) {
      const int64_t length = p.target_lengths[static_cast<size_t>(n)], times = p.input_lengths[static_cast<size_t>(n)];
      const int64_t places = 2 * length + 1;
      const int64_t* label = labels.values.data() + labels.begin[static_cast<size_t>(n)];
      const double nll = losses[static_cast<size_t>(n)];
      const double g = grads[grads.size() == 1 ? 0 : static_cast<size_t>(n)];
      if (p.zero_infinity && std::isinf(nll)) continue;
      now.assign(static_cast<size_t>(places), kZero);
      for (int64_t t = times - 1; t >= 0; --t) {
        const double* log_prob = probs.data() + (t * p.batch + n) * p.classes;
        std::swap(now, next);
        now.assign(static_cast<size_t>(places), kZero);
        std::fill(sums.begin(), sums.end(), kZero);
        for (int64_t s = 0; s < places; ++s) {
          double sum = kZero;
          if (t == times - 1) {
            if (s >= places - 2) sum = 0;
          } else {
            sum = next[static_cast<size_t>(s)];
            if (s + 1 < places) sum = log_add(sum, next[static_cast<size_t>(s + 1)]);
            if (s + 2 < places && may_skip(label, s + 2)) sum = log_add(sum, next[static_cast<size_t>(s + 2)]);
          }
          const int64_t c = at_place(label, s, p.blank);
          now[static_cast<size_t>(s)] = sum + log_prob[c];
          sums[static_cast<size_t>(c)] =
              log_add(sums[static_cast<size_t>(c)],
                      a[static_cast<size_t>((n * p.times + t) * width + s)] + now[static_cast<size_t>(s)]);
        }
        double* out = result.data() + (t * p.batch + n) * p.classes;
        for (int64_t c = 0; c < p.classes; ++c)
          out[c] = (std::exp(log_prob[c]) - std::exp(sums[static_cast<size_t>(c)] + nll - log_prob[c])) * g;
      }
    }
  });
  copy_elements(to, TensorView::contiguous(result.data(), DType::Double, to.dims, to.rank));
}

}  // namespace

SAMPLE(aclnnCtcLoss,
       "logProbs=f32[8,2,5]:-3..-1 targets=i64[2,3]:1..5 inputLengths=8,8 targetLengths=3,2 blank=0 "
       "negLogLikelihood=f32[2] logAlpha=f32[2,8,7]")
ABOUT(aclnnCtcLoss, Vector, "Connectionist temporal classification: negLogLikelihood of targets over all alignments",
      "CTC 损失：targets 在全部对齐路径上的负对数似然")
ACLNN(aclnnCtcLoss, (In, logProbs), (In, targets), (Ints, inputLengths), (Ints, targetLengths), (Int, blank),
      (Bool, zeroInfinity), (Out, negLogLikelihood), (Out, logAlpha)) {
  const Plan plan = check(op, *logProbs, *targets, inputLengths, targetLengths, blank, zeroInfinity);
  int64_t longest = 0;
  for (int64_t l : *targetLengths) longest = std::max(longest, l);
  op.suggest(*logAlpha, {plan.batch, plan.times, 2 * longest + 1}, logProbs->dtype);
  op.suggest(*negLogLikelihood, {plan.batch}, logProbs->dtype);
  op.require(logAlpha->rank == 3 && logAlpha->dims[0] == plan.batch && logAlpha->dims[1] == plan.times &&
                 logAlpha->dims[2] >= 2 * longest + 1,
             "logAlpha is {}, want [{},{},{} or more]", describe(*logAlpha), plan.batch, plan.times, 2 * longest + 1);
  op.require(negLogLikelihood->numel() == plan.batch, "negLogLikelihood is {}, want {} elements",
             describe(*negLogLikelihood), plan.batch);
  op.work(logAlpha->numel() * 50);
  op.launch([plan, loss = *negLogLikelihood, alpha = *logAlpha] { forward(plan, loss, alpha); });
}

ABOUT(aclnnCtcLossBackward, Vector, "Gradient of the CTC loss for logProbs from logAlpha",
      "CTC 损失对 logProbs 的反向梯度，由 logAlpha 计算")
ACLNN(aclnnCtcLossBackward, (In, gradOut), (In, logProbs), (In, targets), (Ints, inputLengths), (Ints, targetLengths),
      (In, negLogLikelihood), (In, logAlpha), (Int, blank), (Bool, zeroInfinity), (Out, out)) {
  const Plan plan = check(op, *logProbs, *targets, inputLengths, targetLengths, blank, zeroInfinity);
  op.result_like("out", *out, *logProbs, logProbs->dtype);
  op.require(logAlpha->rank == 3 && logAlpha->dims[0] == plan.batch && logAlpha->dims[1] == plan.times,
             "logAlpha is {}, want [{},{},…]", describe(*logAlpha), plan.batch, plan.times);
  op.require(gradOut->numel() == plan.batch && negLogLikelihood->numel() == plan.batch,
             "gradOut is {} and negLogLikelihood {}, want {} elements", describe(*gradOut), describe(*negLogLikelihood),
             plan.batch);
  op.work(logAlpha->numel() * 100);
  if (out->empty()) return;
  op.launch([plan, grad = *gradOut, loss = *negLogLikelihood, alpha = *logAlpha, to = *out] {
    backward(plan, grad, loss, alpha, to);
  });
}

}  // namespace updraft
