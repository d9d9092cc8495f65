"""FusedLAMB: Adam's update with each layer's step in proportion to its weights; gradients are clipped by their global norm."""

import torch

from apex.optimizers._groups import by_type, in_fp32, state_of, unsupported


class FusedLAMB(torch.optim.Optimizer):
    def __init__(self, params, lr=1e-3, bias_correction=True, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.01,
                 amsgrad=False, adam_w_mode=True, grad_averaging=True, set_grad_none=True, max_grad_norm=1.0,
                 use_nvlamb=False):
        if amsgrad:
            unsupported(self, amsgrad="use torch.optim.AdamW(amsgrad=True)")
        defaults = dict(lr=lr, bias_correction=bias_correction, betas=betas, eps=eps, weight_decay=weight_decay,
                        grad_averaging=grad_averaging, max_grad_norm=max_grad_norm)
        super().__init__(params, defaults)
        self.adam_w_mode = 1 if adam_w_mode else 0
        self.set_grad_none, self.use_nvlamb = set_grad_none, use_nvlamb

    def zero_grad(self, set_to_none=None):
        super().zero_grad(self.set_grad_none if set_to_none is None else set_to_none)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        norm = self._global_norm()
        for group in self.param_groups:
            group["step"] = group.get("step", 0) + 1
            limit = group["max_grad_norm"]
            clip = None if norm is None or not limit else (norm / limit).clamp(min=1.0)
            for params in by_type(group):
                self._update(group, params, clip)
        return loss

    def _global_norm(self):
        norms = [n for group in self.param_groups for params in by_type(group)
                 for n in torch._foreach_norm(in_fp32([p.grad for p in params]))]
        return torch.stack([n.to(norms[0].device) for n in norms]).norm() if norms else None

    def _update(self, group, params, clip):
        (beta1, beta2), step, lr, decay = group["betas"], group["step"], group["lr"], group["weight_decay"]
        first, second = state_of(self, params, "exp_avg", "exp_avg_sq")
        weights, grads = in_fp32(params), in_fp32([p.grad for p in params])
        if clip is not None:
            grads = torch._foreach_div(grads, clip.to(params[0].device))
        if decay and not self.adam_w_mode:
            grads = torch._foreach_add(grads, weights, alpha=decay)
        torch._foreach_mul_(first, beta1)
        torch._foreach_add_(first, grads, alpha=1.0 - beta1 if group["grad_averaging"] else 1.0)
        torch._foreach_mul_(second, beta2)
        torch._foreach_addcmul_(second, grads, grads, value=1.0 - beta2)
        correct1, correct2 = (1.0 - beta1**step, 1.0 - beta2**step) if group["bias_correction"] else (1.0, 1.0)
        divisor = torch._foreach_sqrt(second)
        torch._foreach_div_(divisor, correct2**0.5)
        torch._foreach_add_(divisor, group["eps"])
        update = torch._foreach_div(first, divisor)
        torch._foreach_div_(update, correct1)
        if decay and self.adam_w_mode:
            torch._foreach_add_(update, weights, alpha=decay)
        if decay or self.use_nvlamb:  # layers without weight decay take Adam's step
            ratios = [torch.where((w > 0) & (u > 0), w / u, torch.ones_like(w))
                      for w, u in zip(torch._foreach_norm(weights), torch._foreach_norm(update))]
            torch._foreach_mul_(update, ratios)
        torch._foreach_add_(weights, update, alpha=-lr)
        if weights[0] is not params[0]:
            torch._foreach_copy_(params, weights)
