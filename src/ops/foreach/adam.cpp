// Fused Adam and AdamW.
#include <cmath>

#include "ops/foreach/optimizer.h"

namespace updraft {
namespace {

void check(const Op& op, const AdamStep& s) {
  op.require(is_floating(s.var.dtype), "var is {}, want a floating type", describe(s.var));
  op.require_same_shape("var", s.var, "m", s.mean);
  op.require_same_shape("var", s.var, "v", s.square);
  op.require_same_shape("var", s.var, "grad", s.grad);
  if (s.largest.data) op.require_same_shape("var", s.var, "maxGradNorm", s.largest);
}

}  // namespace

// `step` holds the number of steps before this one.
SAMPLE(aclnnApplyAdamWV2,
       "var=f32[N,M] m=f32[N,M] v=f32[N,M] maxGradNorm=null grad=f32[N,M] step=f32[1]:1..2 lr=0.1 beta1=0.9 beta2=0.99 "
       "weightDecay=0.1 eps=0.00001")
ABOUT(aclnnApplyAdamWV2, Vector, "One AdamW step of var with moments m and v; the number of steps before is in step",
      "AdamW 单步更新 var 及动量 m、v，step 为此前的步数")
ACLNN(aclnnApplyAdamWV2, (InOut, var), (InOut, m), (InOut, v), (OptInOut, maxGradNorm), (In, grad), (In, step),
      (Float, lr), (Float, beta1), (Float, beta2), (Float, weightDecay), (Float, eps), (Bool, amsgrad),
      (Bool, maximize)) {
  AdamStep s{*var, *m, *v, *grad, {}, false};
  op.require(step->numel() == 1, "step is {}, want one element", describe(*step));
  op.require(!amsgrad || maxGradNorm, "amsgrad wants maxGradNorm");
  if (amsgrad) s.largest = *maxGradNorm;
  check(op, s);
  if (s.var.empty()) return;
  op.work(s.var.numel() * 4);
  op.launch([=, before = *step] {
    const double steps = number_at(before) + 1;
    run_adam(s, adamw_numbers(lr, beta1, beta2, std::pow(static_cast<double>(beta1), steps),
                              std::pow(static_cast<double>(beta2), steps), weightDecay, eps, maximize));
  });
}

// The powers are those of the steps before this one.
SAMPLE(aclnnApplyAdamW,
       "beta1Power=f32[1] beta2Power=f32[1] lr=f32[1] weightDecay=f32[1] beta1=f32[1] beta2=f32[1] epsilon=f32[1] "
       "maxGradNorm=null")
ABOUT(aclnnApplyAdamW, Vector, "One AdamW step of var with moments m and v; powers of beta and rates in tensors",
      "AdamW 单步更新 var 及动量 m、v，beta 的幂与学习率等为张量")
ACLNN(aclnnApplyAdamW, (InOut, var), (InOut, m), (InOut, v), (In, beta1Power), (In, beta2Power), (In, lr),
      (In, weightDecay), (In, beta1), (In, beta2), (In, epsilon), (In, grad), (OptInOut, maxGradNorm), (Bool, amsgrad),
      (Bool, maximize)) {
  AdamStep s{*var, *m, *v, *grad, {}, false};
  op.require(!amsgrad || maxGradNorm, "amsgrad wants maxGradNorm");
  if (amsgrad) s.largest = *maxGradNorm;
  check(op, s);
  if (s.var.empty()) return;
  op.work(s.var.numel() * 4);
  op.launch([=, p1 = *beta1Power, p2 = *beta2Power, rate = *lr, decay = *weightDecay, b1 = *beta1, b2 = *beta2,
             e = *epsilon] {
    const double first = number_at(b1), second = number_at(b2);
    run_adam(s, adamw_numbers(number_at(rate), first, second, number_at(p1) * first, number_at(p2) * second,
                              number_at(decay), number_at(e), maximize));
  });
}

SAMPLE(aclnnApplyAdam, "beta1Power=f32[1] beta2Power=f32[1] lr=f32[1] beta1=f32[1] beta2=f32[1] epsilon=f32[1]")
ABOUT(aclnnApplyAdam, Vector, "One Adam step of var with moments m and v, on request with Nesterov's momentum",
      "Adam 单步更新 var 及动量 m、v，可选 Nesterov 动量")
ACLNN(aclnnApplyAdam, (InOut, var), (InOut, m), (InOut, v), (In, beta1Power), (In, beta2Power), (In, lr), (In, beta1),
      (In, beta2), (In, epsilon), (In, grad), (Bool, useLocking), (Bool, useNesterov)) {
  (void)useLocking;  // a stream is a lock already
  AdamStep s{*var, *m, *v, *grad, {}, useNesterov};
  check(op, s);
  if (s.var.empty()) return;
  op.work(s.var.numel() * 4);
  op.launch([=, p1 = *beta1Power, p2 = *beta2Power, rate = *lr, b1 = *beta1, b2 = *beta2, e = *epsilon] {
    run_adam(s,
             adam_numbers(number_at(rate), number_at(b1), number_at(b2), number_at(p1), number_at(p2), number_at(e)));
  });
}

}  // namespace updraft
