"""FusedAdagrad: torch.optim.Adagrad under Apex's arguments."""

import torch

from apex.optimizers._groups import unsupported


class FusedAdagrad(torch.optim.Adagrad):
    def __init__(self, params, lr=1e-2, eps=1e-10, weight_decay=0.0, set_grad_none=True, adagrad_w_mode=False):
        if adagrad_w_mode and weight_decay:
            unsupported(self, adagrad_w_mode="without it the decay is added to the gradient")
        super().__init__(params, lr=lr, eps=eps, weight_decay=weight_decay)
        self.set_grad_none = set_grad_none

    def zero_grad(self, set_to_none=None):
        super().zero_grad(self.set_grad_none if set_to_none is None else set_to_none)
