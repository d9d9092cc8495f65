"""Inputs that every rank can compute for every other, and what collectives make of them, in float64 or int64."""
import torch

from .launch import DEVICE

INTEGERS = [torch.int8, torch.int16, torch.int32, torch.int64] if DEVICE == "npu" else [torch.int8, torch.int32, torch.int64]  # gloo: no int16
FLOATS = [torch.float16, torch.bfloat16, torch.float32]
REDUCED = INTEGERS + FLOATS  # what the wheel reduces as it is
MOVED = REDUCED + [torch.uint8, torch.bool, torch.float64]
SIZES = [0, 1, 7, 4097]
LARGE = 1 << 20
# Roundings of one element on the way: ours is one, a card's ring may be one a rank.
EPSILON = {torch.float16: 2**-10, torch.bfloat16: 2**-7, torch.float32: 2**-22, torch.float64: 2**-50}


def numbers(rank, n, dtype, seed=0):
    """Small enough that no product of four overflows int8; never zero for floats, so that prod tells something."""
    g = torch.Generator().manual_seed(1000 * seed + rank)
    if dtype == torch.bool:
        return torch.randint(2, (n,), generator=g).bool()
    if dtype.is_floating_point:
        sign = torch.randint(2, (n,), generator=g) * 2 - 1
        return ((torch.rand(n, generator=g, dtype=torch.float64) + 0.5) * sign).to(dtype)
    low = 0 if dtype == torch.uint8 else -3
    return torch.randint(low, 4, (n,), generator=g).to(dtype)


def wide(x):
    return x.double() if x.dtype.is_floating_point else x.long()


def reduced(op, inputs):
    """What op makes of the inputs of all ranks, in their dtype."""
    stack, dtype = torch.stack([wide(x) for x in inputs]), inputs[0].dtype
    if dtype == torch.bool:  # sum is or
        return {"sum": stack.amax(0), "max": stack.amax(0), "min": stack.amin(0), "prod": stack.amin(0)}[op].bool()
    if op == "avg":
        return (stack.sum(0) / len(inputs)).to(dtype)
    return {"sum": stack.sum(0), "prod": stack.prod(0), "max": stack.amax(0) if stack.shape[1] else stack[0],
            "min": stack.amin(0) if stack.shape[1] else stack[0]}[op].to(dtype)


def tolerance(op, dtype, ranks):
    """(rtol, atol): sums of numbers up to 1.5 cancel, so their error is measured against the inputs."""
    if op in ("max", "min") or not dtype.is_floating_point:
        return 0.0, 0.0
    return ranks * EPSILON[dtype], 1.5 * ranks * EPSILON[dtype] if op in ("sum", "avg") else 0.0
