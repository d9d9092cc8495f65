"""Operators that do in one step what models spell out: cross entropy of a shared vocabulary, normalisations and gated units that
quantise, keys and values on their way into a cache. By parameters and results, as references.py has them."""
import torch

I8 = torch.int8


def bits_of_mask(masked):
    """A bit for each row, the first row's highest; what fills the last byte is set."""
    padded = torch.cat([masked, torch.ones(-len(masked) % 8, dtype=torch.bool)]).reshape(-1, 8)
    return (padded.long() * 2 ** torch.arange(7, -1, -1)).sum(1).to(torch.uint8)


def mask_of_bits(bits, n):
    return (bits.long()[:, None] >> torch.arange(7, -1, -1) & 1).flatten()[:n].bool()


def online_max_sum(x, weight, target, first, last):
    logits = x @ weight.T
    most = logits.amax(1)
    masked = (target < first) | (target > last)
    place = torch.where(masked, 0, target - first)
    of_target = torch.where(masked, 0, logits.gather(1, place.long()[:, None])[:, 0] - most)
    return most, (logits - most[:, None]).exp().sum(1), of_target, bits_of_mask(masked), place, logits


def loss_with_max_sum(most, total, of_target, smoothing, x, weight, logits):
    return total.log() - of_target, (logits - most[:, None]).exp() / total[:, None]


def loss_gradients(g, x, weight, bits, place, smoothing, most, total, softmax):
    p = (x @ weight.T - most[:, None]).exp() / total[:, None] if softmax is None else softmax.clone()
    p[torch.arange(len(p)), place.long()] -= (~mask_of_bits(bits, len(p))).to(p.dtype)
    p = p * g[:, None]
    return p @ weight, p.T @ x


def by_largest(x, most=127):
    scale = x.abs().amax(-1) / most
    return (x / scale[..., None]).round().clamp(-most - 1, most).to(I8), scale


def swiglu_quant(x, smooth, offsets, groups, left, mode, kind, out):
    a, b = x.chunk(2, -1)
    y = torch.nn.functional.silu(a) * b if left else a * torch.nn.functional.silu(b)
    ends = groups.long().cumsum(0) if kind else groups.long()
    begin = 0
    for group, end in enumerate(ends.tolist()):
        y[begin:end] = y[begin:end] * smooth[group] + (offsets[group] if mode == "static" else 0)
        begin = end
    if mode == "static":
        return y.round().clamp(-128, 127).to(I8), None
    numbers, scale = by_largest(y)
    return numbers, 1 / scale


def add_rms_norm_quant(x1, x2, gamma, smooth1, smooth2, beta, epsilon, mask):
    x = x1 + x2
    y = x * (x.square().mean(-1, keepdim=True) + epsilon).rsqrt() * gamma + (0 if beta is None else beta)
    (y1, s1), (y2, s2) = (by_largest(y if s is None else y * s) for s in (smooth1, smooth2))
    return y1, y2, x, s1, s2


def turned(x, cos, sin):
    even, odd = x[..., ::2], x[..., 1::2]
    return torch.cat([even, odd], -1) * cos + torch.cat([-odd, even], -1) * sin


def kv_parts(kv, gamma, cos, sin, v, epsilon):
    """What goes into the two caches, [tokens, width] each."""
    n, rope = len(gamma), cos.shape[-1]
    y = kv[..., :n] * (kv[..., :n].square().mean(-1, keepdim=True) + epsilon).rsqrt() * gamma
    if v is None:
        return turned(kv[..., n:], cos, sin).flatten(0, 2), y.flatten(0, 2)
    return torch.cat([turned(y[..., :rope], cos, sin), y[..., rope:]], -1).flatten(0, 2), v.flatten(0, 2)


def paged_cache(cache, index, rows):
    out = cache.clone()
    for place, row in zip(index.tolist(), rows):
        out.view(-1, out.shape[-1])[place] = row
    return out


def kv_cache(kv, gamma, cos, sin, index, k_cache, other_cache, k_scale, scale, k_offset, offset, *others):
    v, epsilon, _, _ = others if len(others) == 4 else (None, *others)
    k, other = kv_parts(kv, gamma, cos, sin, v, epsilon)
    shape = kv.shape[:3]
    return (paged_cache(k_cache, index, k), paged_cache(other_cache, index, other), k.reshape(*shape, -1),
            other.reshape(*shape, -1))


def turned_in_place(q, k, cos, sin, layout, how="half"):
    def one(x):
        a, b = (x[..., ::2], x[..., 1::2]) if how == "interleave" else x.chunk(2, -1)
        half = torch.stack([-b, a], -1).flatten(-2) if how == "interleave" else torch.cat([-b, a], -1)
        return x * cos + half * sin
    return one(q), one(k)


def ring_update(out, most, total, other, other_most, other_total, lengths, layout, softmax):
    """Of [length, batch, heads * size] and [batch, heads, length, 8], or of [tokens, heads, size] and [tokens, heads, 8]."""
    # The eight that stand side by side are meant to be the same: the first is taken.
    most, total, other_most, other_total = (x[..., :1].expand_as(x) for x in (most, total, other_most, other_total))
    top = torch.maximum(most, other_most)
    first, second = total * (most - top).exp(), other_total * (other_most - top).exp()
    share = (first / (first + second))[..., 0]
    if layout == "SBH":
        share = share.permute(2, 0, 1).repeat_interleave(out.shape[-1] // most.shape[1], -1)
    else:
        share = share[..., None]
    return out * share + other * (1 - share), top, first + second


FUSED = {
    "MaskedSoftmaxWithRelPosBias": lambda x, mask, bias, scale, precision: (scale * x + mask + bias).softmax(-1),
    "ApplyRotaryPosEmb ApplyRotaryPosEmbV2": turned_in_place, "RingAttentionUpdateV2": ring_update, "RingAttentionUpdate": lambda *a: ring_update(*a, a[-1]),
    "FusedLinearOnlineMaxSum": online_max_sum, "FusedCrossEntropyLossWithMaxSum": loss_with_max_sum,
    "FusedLinearCrossEntropyLossGrad": loss_gradients, "SwiGluQuantV2": swiglu_quant,
    "AddRmsNormDynamicQuantV2": add_rms_norm_quant, "KvRmsNormRopeCache KvRmsNormRopeCacheV2": kv_cache,
}
