"""Orders of frequencies."""

import torch


# replaces torch.fft.fftshift
def fftshift(input, dim=None):
    dims = _dims(input, dim)
    return torch.roll(input, [input.shape[d] // 2 for d in dims], dims)


# replaces torch.fft.ifftshift
def ifftshift(input, dim=None):
    dims = _dims(input, dim)
    return torch.roll(input, [(input.shape[d] + 1) // 2 for d in dims], dims)


def _dims(input, dim):
    if dim is None:
        return list(range(input.dim()))
    return [dim] if isinstance(dim, int) else list(dim)


# replaces torch.fft.fftfreq
def fftfreq(n, d=1.0, *, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    dtype = dtype or torch.get_default_dtype()
    first = torch.arange(0, (n + 1) // 2, dtype=dtype, device=device)
    second = torch.arange(-(n // 2), 0, dtype=dtype, device=device)
    return _finish(torch.cat([first, second]) * (1.0 / (n * d)), out, requires_grad)


# replaces torch.fft.rfftfreq
def rfftfreq(n, d=1.0, *, out=None, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    dtype = dtype or torch.get_default_dtype()
    return _finish(torch.arange(0, n // 2 + 1, dtype=dtype, device=device) * (1.0 / (n * d)), out, requires_grad)


def _finish(result, out, requires_grad):
    if out is not None:
        out.resize_(result.shape)
        return out.copy_(result)
    return result.requires_grad_(requires_grad)
