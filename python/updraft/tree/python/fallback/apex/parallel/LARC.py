"""LARC: each layer's learning rate in proportion to the norm of its weights over that of its gradient."""

import torch


class LARC(torch.optim.Optimizer):
    """Around another optimizer, whose groups and state it shows as its own."""

    def __init__(self, optimizer, trust_coefficient=0.02, clip=True, eps=1e-8):
        self.optim = optimizer  # no super().__init__(): everything is the inner optimizer's
        self.trust_coefficient, self.clip, self.eps = trust_coefficient, clip, eps

    param_groups = property(lambda self: self.optim.param_groups, lambda self, value: setattr(self.optim, "param_groups", value))
    state = property(lambda self: self.optim.state, lambda self, value: setattr(self.optim, "state", value))
    defaults = property(lambda self: self.optim.defaults)

    def __getstate__(self):
        return self.__dict__

    def __setstate__(self, state):
        self.__dict__.update(state)

    def __repr__(self):
        return "LARC(%r)" % self.optim

    def state_dict(self):
        return self.optim.state_dict()

    def load_state_dict(self, state_dict):
        self.optim.load_state_dict(state_dict)

    def zero_grad(self, *args, **kwargs):
        self.optim.zero_grad(*args, **kwargs)

    def add_param_group(self, group):
        self.optim.add_param_group(group)

    @torch.no_grad()
    def step(self, closure=None):
        decays = []
        for group in self.optim.param_groups:
            decay = group.get("weight_decay", 0)
            decays.append(decay)
            group["weight_decay"] = 0  # it is part of the gradient that is scaled here
            for param in group["params"]:
                if param.grad is not None:
                    self._scale(param, group["lr"], decay)
        try:
            return self.optim.step() if closure is None else self.optim.step(closure)
        finally:
            for group, decay in zip(self.optim.param_groups, decays):
                group["weight_decay"] = decay

    def _scale(self, param, lr, decay):
        weight, grad = param.norm(), param.grad.norm()
        rate = self.trust_coefficient * weight / (grad + weight * decay + self.eps)
        if self.clip:
            rate = (rate / lr).clamp(max=1)
        applies = (weight != 0) & (grad != 0)  # else the layer keeps its gradient
        param.grad.copy_(torch.where(applies, (param.grad + decay * param) * rate, param.grad))
