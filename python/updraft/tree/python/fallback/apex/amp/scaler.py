"""A loss scale: fixed, or halved at an overflow and doubled after 2000 steps without one."""

import collections

import torch


def saturating(device):
    """Whether this device saturates fp16 instead of giving infinities; an overflow then shows in a status flag only."""
    if device.type != "npu":
        return False
    import torch_npu

    return not torch_npu.npu.utils.is_support_inf_nan()


class LossScaler:
    def __init__(self, loss_scale, init_scale=2.0**16, scale_factor=2.0, scale_window=2000, min_loss_scale=None,
                 max_loss_scale=2.0**24, backoff_factor=None):
        self.dynamic = loss_scale == "dynamic"
        self._loss_scale = min(max_loss_scale, init_scale) if self.dynamic else float(loss_scale)
        self._growth, self._window = scale_factor, scale_window
        self._backoff = backoff_factor if backoff_factor is not None else 1.0 / scale_factor
        self._min, self._max = min_loss_scale, max_loss_scale
        self._unskipped = 0
        self._found = []  # tensors, not 0 where gradients overflowed

    def loss_scale(self):
        return self._loss_scale

    def before_backward(self, device):
        """Forgets overflows of the forward; the kernel of unscale_ reads the flag."""
        if self.dynamic and saturating(device):
            torch.npu.clear_npu_overflow_flag()

    def unscale_(self, tensors):
        """Divides gradients by the scale, in place, and notes whether one was not finite."""
        groups = collections.defaultdict(list)
        for tensor in tensors:
            groups[tensor.device, tensor.dtype].append(tensor)
        for (device, _), group in groups.items():
            if not self.dynamic:
                torch._foreach_mul_(group, 1.0 / self._loss_scale)
                continue
            found = torch.zeros((), device=device)
            inverse = torch.full((), 1.0 / self._loss_scale, device=device)
            torch._amp_foreach_non_finite_check_and_unscale_(group, found, inverse)
            self._found.append(found)

    def update_scale(self):
        """Adapts the scale to what was found since the last call; true if the step must be skipped."""
        found, self._found = self._found, []
        if not self.dynamic:
            return False
        overflow = any(f.item() for f in found)
        if overflow:
            self._loss_scale *= self._backoff
            if self._min is not None:
                self._loss_scale = max(self._min, self._loss_scale)
            self._unskipped = 0
        else:
            self._unskipped += 1
            if self._unskipped == self._window:
                self._loss_scale = min(self._max, self._loss_scale * self._growth)
                self._unskipped = 0
        return overflow

    def state_dict(self):
        return {"loss_scale": self._loss_scale, "unskipped": self._unskipped}

    def load_state_dict(self, state):
        self._loss_scale, self._unskipped = float(state["loss_scale"]), int(state["unskipped"])
        self._found = []
