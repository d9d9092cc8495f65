"""FusedSGD: torch.optim.SGD under Apex's arguments."""

import torch

from apex.optimizers._groups import unsupported


class FusedSGD(torch.optim.SGD):
    def __init__(self, params, lr, momentum=0.0, dampening=0.0, weight_decay=0.0, nesterov=False, wd_after_momentum=False,
                 materialize_master_grads=True, set_grad_none=False):
        if wd_after_momentum and weight_decay and momentum:
            unsupported(self, wd_after_momentum="without it the decay is added to the gradient, before momentum")
        super().__init__(params, lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay, nesterov=nesterov)
        self.set_grad_none = set_grad_none

    def zero_grad(self, set_to_none=None):
        super().zero_grad(self.set_grad_none if set_to_none is None else set_to_none)
