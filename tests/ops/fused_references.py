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


def add_rms_norm_by_columns(x1, x2, gamma, scales1, scales2, zero1, zero2, axis, epsilon, divides):
    x = x1 + x2
    y = x * (x.square().mean(-1, keepdim=True) + epsilon).rsqrt() * gamma
    made = [((y / s if divides else y * s).add(0 if zero is None else zero).round().clamp(-128, 127)).to(I8) for s, zero in ((scales1, zero1), (scales2, zero2))]
    return *made, x


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


def clipped(a, b, alpha=1.702, limit=7.0, bias=1.0):
    return a.clamp(max=limit) * torch.sigmoid(alpha * a.clamp(max=limit)) * (b.clamp(-limit, limit) + bias)


def clipped_swiglu(x, groups, dim, alpha, limit, bias, neighbours):
    a, b = (x[..., ::2], x[..., 1::2]) if neighbours else x.chunk(2, -1)
    return clipped(a, b, alpha, limit, bias)


def dequant_swiglu(x, weight, rows, bias, smooth, offset, groups, left, mode, kind=2, rounding="rint", dim=-1, halves=0, limit=7.0, alpha=1.702, plus=1.0):
    x = x.double() * weight.double() * rows.double()
    a, b = (x[..., ::2], x[..., 1::2]) if halves == 1 else x.chunk(2, -1) if left else x.chunk(2, -1)[::-1]
    y = clipped(a, b, alpha, limit, plus) if halves else torch.nn.functional.silu(a) * b
    return by_largest(y if smooth is None else y * smooth.double())


def mla_prolog(x, dq, uq_qr, uk, dkv_kr, gamma_q, gamma_kv, sin, cos, places, values, turns, *rest):
    """Of FLOAT. The rest: factors, of which there are none, and how small a mean may be."""
    small = [v for v in rest if isinstance(v, float)][:2]
    heads, plain, kept = uk.shape

    def normal(v, gamma, epsilon):
        return v * (v.square().mean(-1, True) + epsilon).rsqrt() * gamma

    def turned(v, c, s):
        a, b = v[..., ::2], v[..., 1::2]
        return torch.cat([a, b], -1) * c + torch.cat([-b, a], -1) * s
    latent = normal(x @ dq, gamma_q, small[0])
    wide = (latent @ uq_qr).reshape(len(x), heads, -1)
    query = torch.einsum("thd,hdk->thk", wide[..., :plain], uk)
    key = x @ dkv_kr
    values, turns = values.clone(), turns.clone()
    for i, at in enumerate(places.tolist()):
        values.view(-1, kept)[at] = normal(key[i, :kept], gamma_kv, small[1])
        turns.view(-1, sin.shape[-1])[at] = turned(key[i, kept:], cos[i], sin[i])
    return latent, query, turned(wide[..., plain:], cos[:, None], sin[:, None]), values, turns


def mla_prolog_v2(*given):
    _, query, turned, values, turns = mla_prolog(*given)
    return values, turns, query, turned


def mla_prolog_v3(x, dq, uq_qr, uk, dkv_kr, gamma_q, gamma_kv, sin, cos, values, turns, places, *rest):
    latent, query, turned, values, turns = mla_prolog(x, dq, uq_qr, uk, dkv_kr, gamma_q, gamma_kv, sin, cos, places, values, turns, *rest)
    return values, turns, query, turned, latent


def final_routing(x, w, scale, bias, *rest):
    rest = [v for v in rest if v is not None]  # the factors of INT4
    rows, groups, shared, logit, to, _, share, begin = rest[:8]
    y = torch.zeros(4, w.shape[2], dtype=torch.float64)
    y[begin:begin + len(shared)] = shared.double() * share
    expert = torch.repeat_interleave(torch.arange(len(groups)), groups)
    for i, e in enumerate(expert.tolist()):
        y[to[i]] += (x[i].double() @ w[e].double()) * scale[e].double() * rows[i].double() * logit[i].double()
    return y

def put_into_pages(key, keys, slots, value, values, *_):
    keys, values = keys.clone(), values.clone()
    for place, k, v in zip(slots.tolist(), key, value):
        at = divmod(place, keys.shape[1])
        keys[at], values[at] = k, v
    return keys, values


def from_pages(keys, values, tables, lengths, key, value, offset, mode, sums):
    key, value, at = key.clone(), value.clone(), 0
    for table, n in zip(tables.tolist(), lengths.tolist()):
        for t in range(n):
            place = table[t // keys.shape[1]], t % keys.shape[1]
            key[at], value[at], at = keys[place], values[place], at + 1
    return key, value


def attention_of_parts(lse, parts, _):
    whole = torch.stack(lse).logsumexp(0)
    return sum(part * (of - whole).exp()[:, None] for of, part in zip(lse, parts)), whole



FUSED = {
    "MlaPrologV2WeightNz": mla_prolog_v2, "MlaPrologV3WeightNz": mla_prolog_v3,
    "GroupedMatmulFinalizeRoutingV2 GroupedMatmulFinalizeRoutingV3 GroupedMatmulFinalizeRoutingWeightNz GroupedMatmulFinalizeRoutingWeightNzV2": final_routing,
    "InterleaveRope": lambda x, cos, sin: turned_in_place(torch.cat([x[..., ::2], x[..., 1::2]], -1), x, cos, sin, 0)[0],
    "AddRmsNormQuant": add_rms_norm_by_columns, "AttentionUpdate": attention_of_parts, "ScatterPaKvCache": put_into_pages,
    "ScatterPaCache": lambda key, cache, slots, *others: put_into_pages(key, cache, slots, key, cache.clone())[0], "GatherPaKvCache": from_pages,
    "QuantMatmulReduceSumWeightNz": lambda a, b, rows, columns, *_: ((a.double() @ b.double()) * rows[..., None] * columns).sum(0).bfloat16(),
    "ClippedSwiglu": clipped_swiglu, "DequantSwigluQuant DequantSwigluQuantV2": dequant_swiglu,
    "MaskedSoftmaxWithRelPosBias": lambda x, mask, bias, scale, precision: (scale * x + mask + bias).softmax(-1),
    "ApplyRotaryPosEmb ApplyRotaryPosEmbV2": turned_in_place, "RingAttentionUpdateV2": ring_update, "RingAttentionUpdate": lambda *a: ring_update(*a, a[-1]),
    "FusedLinearOnlineMaxSum": online_max_sum, "FusedCrossEntropyLossWithMaxSum": loss_with_max_sum,
    "FusedLinearCrossEntropyLossGrad": loss_gradients, "SwiGluQuantV2": swiglu_quant,
    "AddRmsNormDynamicQuantV2": add_rms_norm_quant, "KvRmsNormRopeCache KvRmsNormRopeCacheV2": kv_cache,
}
