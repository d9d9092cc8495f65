// Fused Adam and AdamW.
#include <cmath>

#include "ops/aclop.h"
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

// --- the same of the aclop era; outputs are the first three inputs -----------------------------------------------
namespace {

AdamStep step_of(AclopCall& call, size_t grad) {
  if (call.inputs.size() <= grad || call.outputs.size() < 3)
    throw Error(code::kAclInvalidParam, "{} has {} inputs and {} outputs, want {} and 3", call.type, call.inputs.size(),
                call.outputs.size(), grad + 1);
  require_present(call, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, grad}, {0, 1, 2});
  for (size_t i = 0; i < 3; ++i)
    if (call.outputs[i].view.data != call.inputs[i].view.data) copy_elements(call.outputs[i].view, call.inputs[i].view);
  return {call.outputs[0].view, call.outputs[1].view, call.outputs[2].view, call.inputs[grad].view, {}, false};
}
double number(const AclopCall& call, size_t i) { return number_at(call.inputs[i].view); }

ABOUT_ACLOP("ApplyAdamW", Vector, "One AdamW step of var with moments m and v", "AdamW 单步更新 var 及动量 m、v")
ACLOP("ApplyAdamW", [](AclopCall& call) {
  AdamStep s = step_of(call, 10);
  if (call.integer("amsgrad", 0)) {
    if (call.inputs.size() < 12 || !call.inputs[11].view.data)
      throw Error(code::kAclInvalidParam, "ApplyAdamW: amsgrad wants max_grad_norm");
    s.largest = call.inputs[11].view;
  }
  const double b1 = number(call, 7), b2 = number(call, 8);
  run_adam(s, adamw_numbers(number(call, 5), b1, b2, number(call, 3) * b1, number(call, 4) * b2, number(call, 6),
                            number(call, 9), call.integer("maximize", 0) != 0));
})

ABOUT_ACLOP("ApplyAdamD", Vector, "One Adam step of var with moments m and v", "Adam 单步更新 var 及动量 m、v")
ACLOP("ApplyAdamD", [](AclopCall& call) {
  AdamStep s = step_of(call, 9);
  s.nesterov = call.integer("use_nesterov", 0) != 0;
  run_adam(s, adam_numbers(number(call, 5), number(call, 6), number(call, 7), number(call, 3), number(call, 4),
                           number(call, 8)));
})

}  // namespace
}  // namespace updraft
