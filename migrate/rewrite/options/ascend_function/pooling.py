"""Pooling."""

import torch
import torch.nn.functional as F


def _tuple(value, count):
    return (value,) * count if isinstance(value, int) else tuple(value)


def _windows(size, parts):
    """First and last + 1 of each part of an adaptive pooling."""
    return [(i * size // parts, -(-(i + 1) * size // parts)) for i in range(parts)]


def _adaptive(input, output_size, dims):
    """The largest of each cell and where it stands in the flattened space, as torch counts."""
    spatial = input.shape[-dims:]
    sizes = [s if o is None else o for o, s in zip(output_size, spatial)]
    cells, places = [], []
    grid = torch.arange(spatial.numel(), device=input.device).reshape(spatial)
    for top, bottom in _windows(spatial[0], sizes[0]):
        for left, right in (_windows(spatial[1], sizes[1]) if dims == 2 else [(None, None)]):
            here = (slice(top, bottom),) + ((slice(left, right),) if dims == 2 else ())
            values, index = input[(..., *here)].flatten(-dims).max(-1)
            cells.append(values)
            places.append(grid[here].flatten()[index])
    shape = (*input.shape[:-dims], *sizes)
    return torch.stack(cells, -1).reshape(shape), torch.stack(places, -1).reshape(shape)


# replaces torch.nn.functional.adaptive_max_pool1d
def adaptive_max_pool1d(input, output_size, return_indices=False):
    values, indices = _adaptive(input, _tuple(output_size, 1), 1)
    return (values, indices) if return_indices else values


# replaces torch.nn.functional.adaptive_max_pool2d
def adaptive_max_pool2d(input, output_size, return_indices=False):
    values, indices = _adaptive(input, _tuple(output_size, 2) if output_size is not None else (None, None), 2)
    return (values, indices) if return_indices else values


class _AdaptiveMaxPool(torch.nn.Module):
    def __init__(self, output_size, return_indices=False):
        super().__init__()
        self.output_size, self.return_indices = output_size, return_indices

    def extra_repr(self):
        return "output_size=%s" % (self.output_size,)


# replaces torch.nn.AdaptiveMaxPool1d
class AdaptiveMaxPool1d(_AdaptiveMaxPool):
    def forward(self, input):
        return adaptive_max_pool1d(input, self.output_size, self.return_indices)


# replaces torch.nn.AdaptiveMaxPool2d
class AdaptiveMaxPool2d(_AdaptiveMaxPool):
    def forward(self, input):
        return adaptive_max_pool2d(input, self.output_size, self.return_indices)


# replaces torch.nn.MaxPool1d
class MaxPool1d(torch.nn.Module):
    """By max_pool2d on one row."""

    def __init__(self, kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding, self.dilation, self.return_indices, self.ceil_mode = padding, dilation, return_indices, ceil_mode

    def forward(self, input):
        kernel, stride, padding, dilation = (_tuple(v, 1)[0] for v in
                                             (self.kernel_size, self.stride, self.padding, self.dilation))
        result = F.max_pool2d(input.unsqueeze(-2), (1, kernel), (1, stride), (0, padding), (1, dilation), self.ceil_mode,
                              self.return_indices)
        return tuple(r.squeeze(-2) for r in result) if self.return_indices else result.squeeze(-2)

    def extra_repr(self):
        return "kernel_size=%s, stride=%s, padding=%s" % (self.kernel_size, self.stride, self.padding)


def _axis_sum(input, dim, kernel, stride, padding, ceil_mode):
    """Sums of windows along a dimension, their number of real elements, and that with padding."""
    size = input.shape[dim]
    room = size + 2 * padding - kernel
    count = (-(-room // stride) if ceil_mode else room // stride) + 1
    if ceil_mode and (count - 1) * stride >= size + padding:
        count -= 1
    starts = [i * stride - padding for i in range(count)]
    real = [(max(s, 0), min(s + kernel, size)) for s in starts]
    sums = torch.stack([input.narrow(dim, a, b - a).sum(dim) for a, b in real], dim)
    as_tensor = [torch.tensor(v, dtype=input.dtype, device=input.device) for v in
                 ([b - a for a, b in real], [min(s + kernel, size + padding) - s for s in starts])]
    return sums, *as_tensor


# replaces torch.nn.functional.avg_pool3d
def avg_pool3d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
    kernel, padding = _tuple(kernel_size, 3), _tuple(padding, 3)
    stride = kernel if stride is None or stride == () else _tuple(stride, 3)
    if divisor_override == 0:
        raise RuntimeError("avg_pool3d: divisor_override must not be 0")
    if any(2 * p > k for p, k in zip(padding, kernel)):
        raise RuntimeError("avg_pool3d: padding must be at most half of the kernel")
    result, divisor = input, 1
    for i in range(3):
        result, real, padded = _axis_sum(result, i - 3, kernel[i], stride[i], padding[i], ceil_mode)
        divisor = divisor * (padded if count_include_pad else real).reshape([-1 if j == i else 1 for j in range(3)])
    return result / (divisor if divisor_override is None else divisor_override)


# replaces torch.nn.AvgPool3d
class AvgPool3d(torch.nn.Module):
    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        super().__init__()
        self.kernel_size, self.stride, self.padding = kernel_size, stride, padding
        self.ceil_mode, self.count_include_pad, self.divisor_override = ceil_mode, count_include_pad, divisor_override

    def forward(self, input):
        return avg_pool3d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad,
                          self.divisor_override)

    def extra_repr(self):
        return "kernel_size=%s, stride=%s, padding=%s" % (self.kernel_size, self.stride, self.padding)
