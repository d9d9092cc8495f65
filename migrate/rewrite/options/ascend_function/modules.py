"""Activations and padding."""

import torch


# replaces torch.nn.RReLU
class RReLU(torch.nn.Module):
    def __init__(self, lower=1.0 / 8, upper=1.0 / 3, inplace=False):
        super().__init__()
        self.lower, self.upper, self.inplace = lower, upper, inplace

    def forward(self, input):
        slope = torch.empty_like(input).uniform_(self.lower, self.upper) if self.training else (self.lower + self.upper) / 2
        result = torch.where(input >= 0, input, input * slope)
        return input.copy_(result) if self.inplace else result

    def extra_repr(self):
        return "lower=%s, upper=%s%s" % (self.lower, self.upper, ", inplace=True" if self.inplace else "")


class _Pad3d(torch.nn.Module):
    def __init__(self, padding):
        super().__init__()
        self.padding = (padding,) * 6 if isinstance(padding, int) else tuple(padding)

    def forward(self, input):
        """One dimension after the other by an index: where each element of the result comes from."""
        for i in range(3):
            dim, before, after = -1 - i, self.padding[2 * i], self.padding[2 * i + 1]
            size = input.shape[dim]
            index = self.source(torch.arange(-before, size + after, device=input.device), size, before, after)
            input = input.index_select(dim, index)
        return input

    def extra_repr(self):
        return str(self.padding)


# replaces torch.nn.ReplicationPad3d
class ReplicationPad3d(_Pad3d):
    def source(self, places, size, before, after):
        return places.clamp(0, size - 1)


# replaces torch.nn.ReflectionPad3d
class ReflectionPad3d(_Pad3d):
    def source(self, places, size, before, after):
        if max(before, after) >= size:
            raise RuntimeError("ReflectionPad3d: padding (%d, %d) needs more than the %d elements" % (before, after, size))
        places = places.abs()
        return torch.where(places >= size, 2 * (size - 1) - places, places)
