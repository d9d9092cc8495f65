"""FusedAdam: AdamW, or Adam with adam_w_mode=False; the step count is in the group, as in NVIDIA's checkpoints."""

import torch

from apex.optimizers._groups import by_type, in_fp32, state_of, unsupported


class FusedAdam(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, bias_correction=True, betas=(0.9, 0.999), eps=1e-8, adam_w_mode=True,
                 weight_decay=0.0, amsgrad=False, set_grad_none=True, capturable=False, master_weights=False):
        if amsgrad:
            unsupported(self, amsgrad="use torch.optim.AdamW(amsgrad=True)")
        if capturable:
            unsupported(self, capturable="use torch.optim.AdamW(capturable=True)")
        if master_weights:
            unsupported(self, master_weights="use apex.amp with opt_level O2")
        defaults = dict(lr=lr, bias_correction=bias_correction, betas=betas, eps=eps, weight_decay=weight_decay)
        super().__init__(params, defaults)
        self.adam_w_mode = 1 if adam_w_mode else 0
        self.set_grad_none = set_grad_none

    def zero_grad(self, set_to_none=None):
        super().zero_grad(self.set_grad_none if set_to_none is None else set_to_none)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            for params in by_type(group):
                self._update(group, params)
        return loss

    def _update(self, group, params):
        (beta1, beta2), step, lr, decay = group["betas"], group["step"], group["lr"], group["weight_decay"]
        first, second = state_of(self, params, "exp_avg", "exp_avg_sq")
        weights, grads = in_fp32(params), in_fp32([p.grad for p in params])
        if decay and self.adam_w_mode:
            torch._foreach_mul_(weights, 1.0 - lr * decay)
        elif decay:
            grads = torch._foreach_add(grads, weights, alpha=decay)
        torch._foreach_lerp_(first, grads, 1.0 - beta1)
        torch._foreach_mul_(second, beta2)
        torch._foreach_addcmul_(second, grads, grads, value=1.0 - beta2)
        correct1, correct2 = (1.0 - beta1**step, 1.0 - beta2**step) if group["bias_correction"] else (1.0, 1.0)
        divisor = torch._foreach_sqrt(second)
        torch._foreach_div_(divisor, correct2**0.5)
        torch._foreach_add_(divisor, group["eps"])
        torch._foreach_addcdiv_(weights, first, divisor, value=-lr / correct1)
        if weights[0] is not params[0]:
            torch._foreach_copy_(params, weights)
