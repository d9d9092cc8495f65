"""Variance, quantiles, steps, runs of equal values."""

import torch


# replaces torch.var_mean
def var_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    if isinstance(dim, bool):  # var_mean(input, unbiased)
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased else 0
    if dim is None or dim == ():
        dim = tuple(range(input.dim()))
    return torch.var(input, dim=dim, correction=correction, keepdim=keepdim), torch.mean(input, dim=dim, keepdim=keepdim)


# replaces torch.std_mean
def std_mean(input, dim=None, unbiased=True, keepdim=False, *, correction=None):
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    if correction is None:
        correction = 1 if unbiased else 0
    if dim is None or dim == ():
        dim = tuple(range(input.dim()))
    return torch.std(input, dim=dim, correction=correction, keepdim=keepdim), torch.mean(input, dim=dim, keepdim=keepdim)


# replaces torch.heaviside
def heaviside(input, values, *, out=None):
    if input.dtype != values.dtype:
        raise RuntimeError("heaviside: input and values must have one dtype, not %s and %s" % (input.dtype, values.dtype))
    result = torch.where(input == 0, values, (input > 0).to(input.dtype))
    if out is None:
        return result
    out.resize_(result.shape)
    return out.copy_(result)


# replaces torch.unique_consecutive
def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    shape = input.shape
    rows = input.reshape(-1) if dim is None else input.movedim(dim, 0)
    count = rows.shape[0]
    new = torch.ones(count, dtype=torch.bool, device=input.device)
    if count > 1:
        differs = rows[1:] != rows[:-1]
        new[1:] = differs if rows.dim() == 1 else differs.reshape(count - 1, -1).any(1)
    starts = new.nonzero().reshape(-1)
    values = rows[starts]
    result = [values if dim is None else values.movedim(0, dim)]
    if return_inverse:
        inverse = new.to(torch.int64).cumsum(0) - 1
        result.append(inverse.reshape(shape) if dim is None else inverse)
    if return_counts:
        ends = torch.cat([starts[1:], torch.full((1,), count, dtype=starts.dtype, device=starts.device)]) if count else starts
        result.append(ends - starts)
    return result[0] if len(result) == 1 else tuple(result)


# replaces torch.nanquantile
def nanquantile(input, q, dim=None, keepdim=False, *, interpolation="linear", out=None):
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise ValueError("nanquantile: no interpolation %r" % (interpolation,))
    if out is not None:
        raise RuntimeError("ascend_function.nanquantile has no out=: assign the result")
    points = torch.as_tensor(q, dtype=input.dtype, device=input.device)
    if points.dim() > 1 or bool(((points < 0) | (points > 1)).any()):
        raise RuntimeError("nanquantile: q is a number, or a list of numbers, from 0 to 1")
    rank = input.dim()
    rows = input.reshape(-1) if dim is None else input.movedim(dim, -1)
    missing = rows != rows
    ordered = torch.where(missing, torch.full_like(rows, float("inf")), rows).sort(-1).values
    valid = (~missing).sum(-1, keepdim=True)
    place = points.reshape(-1) * (valid - 1).clamp(min=0).to(input.dtype)
    if interpolation == "nearest":
        place = place.round()
    below, above = place.floor().to(torch.int64), place.ceil().to(torch.int64)
    if interpolation == "lower":
        above = below
    elif interpolation == "higher":
        below = above
    low, high = ordered.gather(-1, below), ordered.gather(-1, above)
    weight = torch.full_like(place, 0.5) if interpolation == "midpoint" else place - below.to(place.dtype)
    found = torch.where(below == above, low, torch.lerp(low, torch.where(below == above, low, high), weight))
    found = torch.where(valid == 0, torch.full_like(found, float("nan")), found).movedim(-1, 0)  # q first
    if keepdim:
        found = found.reshape([found.shape[0]] + [1] * rank) if dim is None else found.unsqueeze(dim + 1 if dim >= 0 else dim)
    return found[0] if points.dim() == 0 else found
