"""Draws."""

import torch


# replaces torch.nn.functional.gumbel_softmax
def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    noise = -torch.empty_like(logits, memory_format=torch.legacy_contiguous_format).exponential_().log()
    soft = ((logits + noise) / tau).softmax(dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    chosen = torch.zeros_like(logits, memory_format=torch.legacy_contiguous_format).scatter_(dim, index, 1.0)
    return chosen - soft.detach() + soft  # forward the choice, backward the softmax


# replaces torch.poisson
def poisson(input, generator=None):
    """Another draw from the same distribution: the generator of the NPU differs from others' anyway."""
    rate = input.float()
    draws = torch.where(rate < 10, _arrivals(rate.clamp(max=10), generator), _rejection(rate.clamp(min=10), generator))
    return torch.where(rate > 0, draws, torch.zeros_like(draws)).to(input.dtype)


def _arrivals(rate, generator):
    """How many times exponential waits fit into the rate: for small rates."""
    count, time = torch.zeros_like(rate), torch.zeros_like(rate)
    while True:
        time = time + torch.empty_like(rate).exponential_(generator=generator)
        inside = time <= rate
        if not inside.any():
            return count
        count = count + inside.to(count.dtype)


def _log_probability(k, rate):
    """log(rate**k * exp(-rate) / k!), by Stirling's series for k >= 10 and by differences that stay small."""
    shift = torch.zeros_like(k)
    for below in range(10):  # k! = 10! / ((k + 1) ... 10)
        shift = shift + torch.where(k <= below, torch.log(torch.full_like(k, below + 1.0)), torch.zeros_like(k))
    big = k.clamp(min=10)
    series = (1 / 12 - (1 / 360 - 1 / (1260 * big * big)) / (big * big)) / big
    difference = (rate - big) / big
    log = big * (torch.log1p(difference) - difference) - 0.5 * torch.log(2 * torch.pi * big) - series
    return log - (big - k) * torch.log(rate) + shift


def _rejection(rate, generator):
    """Transformed rejection with a squeeze (W. Hoermann, Insurance: Mathematics and Economics 12, 1993): rates from 10."""
    b = 0.931 + 2.53 * rate.sqrt()
    a = -0.059 + 0.02483 * b
    squeeze, inverse = 0.9277 - 3.6224 / (b - 2), 1.1239 + 1.1328 / (b - 3.4)
    result, waiting = torch.zeros_like(rate), torch.ones_like(rate, dtype=torch.bool)
    while waiting.any():
        u = torch.empty_like(rate).uniform_(generator=generator) - 0.5
        v = torch.empty_like(rate).uniform_(generator=generator)
        edge = (0.5 - u.abs()).clamp(min=1e-7)
        k = torch.floor((2 * a / edge + b) * u + rate + 0.43)
        sure = (edge >= 0.07) & (v <= squeeze)
        ratio = torch.log(v.clamp(min=1e-30) * inverse / (a / (edge * edge) + b))
        fits = (k >= 0) & ((edge >= 0.013) | (v <= edge)) & (ratio <= _log_probability(k.clamp(min=0), rate))
        taken = waiting & (sure | fits)
        result = torch.where(taken, k, result)
        waiting = waiting & ~taken
    return result
