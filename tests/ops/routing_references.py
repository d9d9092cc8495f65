"""What operators of experts and of quantised numbers compute, in PyTorch's words: functions of the parameters that are read."""
import itertools

import torch
from torch.nn import functional as F

I32, I8 = torch.int32, torch.int8


def order(keys):
    return torch.sort(keys.flatten(), stable=True).indices


def places(keys):
    return torch.argsort(order(keys))


def permute(tokens, indices, count, padded):
    k = indices.shape[1] if indices.dim() == 2 else 1
    rows = order(indices)
    rows = rows[:count] if count > 0 else rows[:rows.numel() + count]
    return tokens[rows // k], places(indices).to(I32)


def unpermute(rows, sorted_, probs, padded, shape):
    k = 1 if probs is None else probs.shape[1]
    picked = rows[sorted_.long()].reshape(-1, k, rows.shape[1])
    return (picked if probs is None else picked * probs[..., None]).sum(1)


def unpermute_grad(rows, grad, sorted_, probs, padded, shape):
    with torch.enable_grad():
        rows, probs = rows.clone().requires_grad_(), probs.clone().requires_grad_()
        return torch.autograd.grad(unpermute(rows, sorted_, probs, padded, shape), (rows, probs), grad)


def mapped(tokens, routing, probs, count, pad):
    """By experts; without pad also where each token's rows lie."""
    expert, token = routing.t().bool().nonzero(as_tuple=True)
    return tokens[token], probs[token, expert], torch.sort(token, stable=True).indices.to(I32)


def mapped_grad(g, slopes, sorted_, routing, experts, tokens, pad):
    token, expert = routing.bool().nonzero(as_tuple=True)
    rows = torch.zeros(tokens, g.shape[1], dtype=g.dtype).index_add_(0, token, g[sorted_.long()])
    return rows, torch.zeros(tokens, experts, dtype=g.dtype).index_put_((token, expert), slopes[sorted_.long()])


def unmapped(rows, sorted_, routing, probs, pad, shape):
    token, expert = routing.bool().nonzero(as_tuple=True)
    weights = probs[token, expert]
    out = torch.zeros(shape, dtype=rows.dtype).index_add_(0, token, rows[sorted_.long()] * weights[:, None])
    return out, sorted_, token.to(I32), weights


def copies(ids, table, scales, least, active, rank, ranks, by_token):
    places, kept = torch.zeros_like(ids), torch.ones(ids.shape, dtype=torch.bool)
    for t, row in enumerate(ids.tolist()):
        for c, expert in enumerate(row):
            count = int(table[expert, 0])
            places[t, c] = table[expert, 1 + (t % count if by_token else rank // -(-ranks // count))]
            kept[t, c] = active[t] and not scales[t, c] < least[c] * scales[t].sum()
    return places, kept


def kept_logits(logits, p, k):
    """As op-plugin's page of npu_top_k_top_p has it, without a sort: tests have no equal ones."""
    out = logits.clone()
    for row, share, count in zip(out, p, k.tolist()):
        row[row < row.topk(count).values[-1]] = -torch.inf
        order = row.argsort()
        gone = row[order].softmax(0).cumsum(0) <= 1 - share
        gone[-1] = False
        row[order[gone]] = -torch.inf
    return out


def adapted(y, x, wide, which, narrow, layer, scale, offset, size):
    out = y.clone()
    for row, adapter in enumerate(which.tolist()):
        out[row, offset:offset + wide.shape[2]] += scale * (wide[adapter, layer] @ (narrow[adapter, layer] @ x[row]))
    return out


def causal(x, weight, mask):
    """[steps, batch, channels] by [width, channels]."""
    padded = torch.cat([torch.zeros(len(weight) - 1, *x.shape[1:], dtype=x.dtype), x])
    return sum(w * padded[i:i + len(x)] for i, w in enumerate(weight)).masked_fill(~mask.t()[..., None], 0)


def delta_rule(q, k, v, beta, g, states, begin, scale):
    """states: a copy of the matrices by [head]; yields the token, its output and the matrices after it."""
    for t in range(begin, len(v)):
        repeat = v.shape[1] // q.shape[1]
        kt, qt = (x[t].repeat_interleave(repeat, 0) for x in (k, q))
        states = states * g[t].exp()[:, None, None]
        step = (v[t] - (states * kt[:, None]).sum(-1)) * beta[t][:, None]
        states = states + step[..., None] * kt[:, None]
        yield t, (states * qt[:, None]).sum(-1) * scale, states


def recurrent_rule(q, k, v, beta, state, lengths, slots, g, gk, accepted, scale):
    out, state = torch.empty_like(v), state.clone()
    for t, made, after in delta_rule(q, k, v, beta, g, state[slots[0]].clone(), 0, scale):
        out[t], state[slots[t]] = made, after
    return state, out


def chunk_rule(q, k, v, beta, state, lengths, scale, g):
    all_of_it = list(delta_rule(q, k, v, beta, g, state[0], 0, scale))
    return torch.stack([made for _, made, _ in all_of_it]), all_of_it[-1][2][None]


def indexed(q, k, w, q_lengths, k_lengths, table, q_layout, k_layout, count, mode, *others):
    score = torch.einsum("bsh,bsht->bst", w, torch.einsum("bshd,btd->bsht", q, k[:, :, 0]).relu())
    queries, keys = score.shape[1:]
    hidden = torch.arange(keys)[None] > torch.arange(queries)[:, None] + keys - queries
    return score.masked_fill(hidden, -torch.inf).argsort(dim=-1, descending=True, stable=True)[:, :, None, :count].to(I32), None


def attended(q, k, v, named, *others):
    """To all tokens that are named, once each time."""
    others = [o for o in others if o is not None]
    sinks, scale = (others[0], others[1]) if isinstance(others[0], torch.Tensor) else (None, others[0])
    picked = torch.stack([rows[of[:, 0].long()][:, :, 0] for rows, of in zip(k, named)]), torch.stack([rows[of[:, 0].long()][:, :, 0] for rows, of in zip(v, named)])
    score = torch.einsum("bshd,bsnd->bshn", q, picked[0]) * scale
    if sinks is not None:
        score = torch.cat([score, sinks[:, None].expand(*score.shape[:3], 1)], -1)
    share = score.softmax(-1)[..., :named.shape[-1]]
    return torch.einsum("bshn,bsnd->bshd", share, picked[1]), None, None


def attended_grad(q, k, v, named, g, out, most, total, *others):
    scale = [o for o in others if o is not None][0]
    dq, dk, dv = torch.zeros_like(q), torch.zeros_like(k), torch.zeros_like(v)
    for b, s, h in itertools.product(*(range(n) for n in q.shape[:3])):
        for n in named[b, s, 0].long():
            share = (q[b, s, h] @ k[b, n, 0] * scale - most[b, 0, s, h]).exp() / total[b, 0, s, h]
            slope = share * (g[b, s, h] @ v[b, n, 0] - g[b, s, h] @ out[b, s, h]) * scale
            dq[b, s, h] += slope * k[b, n, 0]
            dk[b, n, 0] += slope * q[b, s, h]
            dv[b, n, 0] += share * g[b, s, h]
    return dq, dk, dv


def gating_grad(p, g, at, renorm, sigmoid, factor, eps):
    with torch.enable_grad():
        x = (p.logit() if sigmoid else p).clone().requires_grad_()
        kept = (x.sigmoid() if sigmoid else x.softmax(-1)).gather(1, at.long())
        y = kept * factor / (kept.sum(-1, keepdim=True) + eps if sigmoid or renorm else 1)
        return torch.autograd.grad(y, x, g)


def gelu_quant(x, smooth, shift, *others):
    return dynamic(F.gelu(x), smooth)


def top(p, k, finished):
    values, experts = torch.sort(p, dim=-1, descending=True, stable=True)
    experts = experts[..., :k].to(I32)
    if finished is not None:
        experts = experts.masked_fill(finished[..., None], p.shape[-1])
    return values[..., :k], experts


def gating_softmax(x, finished, k):
    values, experts = top(x.softmax(-1), k, finished)
    return values, experts, torch.arange(values.numel()).reshape(k, -1).t().to(I32)


def gating_softmax_v2(x, finished, k, renorm, whole):
    values, experts = top(x if renorm else x.softmax(-1), k, finished)
    return values.softmax(-1) if renorm else values, experts, x.softmax(-1)


def gating(x, bias, k, kept, groups, two, renorm, sigmoid, whole, scale, eps):
    p = x.sigmoid() if sigmoid else x.softmax(-1)
    by = (p + (0 if bias is None else bias)).reshape(len(x), groups, -1)
    best = by.topk(2, -1).values.sum(-1) if two else by.amax(-1)
    allowed = torch.zeros_like(best, dtype=torch.bool).scatter(1, best.topk(kept, -1).indices, True)
    experts = top(by.masked_fill(~allowed[..., None], -torch.inf).flatten(1), k, None)[1]
    y = p.gather(1, experts.long())
    if sigmoid or renorm:
        y = y / (y.sum(-1, keepdim=True) + eps)
    return y * scale, experts, p


def first_routing(x, numbers, experts, active):
    rows = numbers.flatten()[order(experts)].long()
    back = torch.empty_like(rows).scatter(0, rows, torch.arange(rows.numel()))
    return x[rows[:min(active, len(x)) * experts.shape[1]] % len(x)], back.to(I32), experts.flatten().sort().values


def routing(x, experts, scale, offset, active, capacity, count, drop, kind, counted, mode, span, scatter):
    rows, k = order(experts), experts.shape[1]
    return (x[rows // k], (rows if scatter else places(experts)).to(I32), torch.bincount(experts.flatten(), minlength=count),
            None if scale is None else scale[rows // k])


def plain_routing(x, experts, active, capacity, count, drop, kind, before):
    return x[order(experts) // experts.shape[1]], places(experts).to(I32), torch.bincount(experts.flatten(), minlength=count).to(I32)


def quantised_routing(x, experts, scale, offset, active, capacity, count, drop, kind, before, mode):
    y, s = dynamic(x[order(experts) // experts.shape[1]], None)
    return y, places(experts).to(I32), torch.bincount(experts.flatten(), minlength=count).to(I32), s


def finalize(rows, index, skips, bias, scales, experts, by_column):
    n, k = scales.shape
    at = index.reshape(k, n).t() if by_column else index.reshape(n, k)
    out = (scales[..., None] * (rows[at.long()] + bias[experts.long()])).sum(1)
    return sum((s for s in skips if s is not None), out)


def re_routing(tokens, counts, scales, kind, scatter):
    cells = torch.arange(counts.numel()).reshape(counts.shape).t().flatten()
    ends = counts.flatten().cumsum(0)
    rows = torch.cat([torch.arange(int(ends[c] - counts.flatten()[c]), int(ends[c])) for c in cells])
    index = rows[:len(tokens)]
    return tokens[index], scales[index], index.to(I32), counts.sum(0)


def dynamic(x, smooth, *others):
    x = x if smooth is None else x * smooth
    scale = x.abs().amax(-1) / 127
    return (x / scale[..., None]).round().to(I8), scale


def ranged(x, smooth, *others):
    x = x if smooth is None else x * smooth
    scale = (x.amax(-1) - x.amin(-1)) / 255
    offset = 127 - x.amax(-1) / scale
    return (x / scale[..., None] + offset[..., None]).round().to(I8), scale, offset


def quant_product(x1, x2, by_row, scale, y_scale, o1, o2, oy, bias, t1, t2, group):
    return (x1.double() @ x2.double() + bias) * scale * by_row[:, None]


def weight_quant_product(x, weight, scale, offset, quant, quant_offset, bias, *others):
    return x @ ((weight + offset) * scale) + bias


def swiglu_rows(x, w, scale, by_row, groups, counted=True):
    """SwiGLU of the products of groups of rows, quantised by rows; rows without a group stay 0."""
    y, s = torch.zeros(len(x), w.shape[2] // 2, dtype=I8), torch.zeros(len(x), dtype=torch.float64)
    ends = groups.cumsum(0) if counted else groups
    for g, (begin, end) in enumerate(zip([0, *ends.tolist()], ends.tolist())):
        v = (x[begin:end].double() @ w[g].double()) * scale[g] * by_row[begin:end, None]
        left, right = v.chunk(2, -1)
        y[begin:end], s[begin:end] = dynamic(F.silu(left) * right, None)
    return y, s


def selected(q, k, v, blocks, size, scale):
    """Attention of [tokens, heads, size] to the blocks of keys that are named, its largest scores and its sums."""
    group, rows, most, total = q.shape[1] // k.shape[1], [], [], []
    for t in range(len(q)):
        for h in range(q.shape[1]):
            keys = torch.cat([torch.arange(b * size, (b + 1) * size) for b in blocks[t, h // group].tolist()])
            s = k[keys, h // group] @ q[t, h] * scale
            rows.append(s.softmax(-1) @ v[keys, h // group])
            most.append(s.detach().amax())
            total.append((s.detach() - s.detach().amax()).exp().sum())
    eight = [torch.stack(x).reshape(*q.shape[:2], 1).expand(-1, -1, 8) for x in (most, total)]
    return *eight, torch.stack(rows).reshape(*q.shape[:2], -1)


def selected_grad(q, k, v, out, g, most, total, blocks, q_ends, k_ends, mask, scale, size, *others):
    with torch.enable_grad():
        on = [x.clone().requires_grad_() for x in (q, k, v)]
        return torch.autograd.grad(selected(*on, blocks, size, scale)[2], on, g)


def ffn(x, w1, w2, tokens, b1, b2, *others):
    parts = [F.silu(part @ w1[e] + b1[e]) @ w2[e] + b2[e] for e, part in enumerate(x.split(tokens))]
    return torch.cat(parts)


def words(scale, offset):
    bits = scale.float().view(I32).long() & 0xFFFFE000
    return bits | 1 << 46


def inferred(q, k, v, lengths, scale=0.5):
    """Attention of [batch, heads, tokens, size], as far as the lengths of keys go, and its sums."""
    k, v = (x.repeat_interleave(q.shape[1] // x.shape[1], 1) for x in (k, v))
    hidden = torch.arange(k.shape[2]) >= torch.tensor(lengths)[:, None, None, None]
    s = (q @ k.mT * scale).masked_fill(hidden, -torch.inf)
    return s.softmax(-1) @ v, s.logsumexp(-1, keepdim=True)


def block_sparse(q, k, v, mask, *others):
    return inferred(q, k, v, [k.shape[2]] * len(q))


def block_sparse_grad(g, q, k, v, *others):
    with torch.enable_grad():
        on = [x.clone().requires_grad_() for x in (q, k, v)]
        return torch.autograd.grad(block_sparse(*on, None)[0], on, g)


def rope(at, q, k, table, sections, size, halves, *mode):
    half = table.shape[1] // 2
    row = torch.tensor([0] * half if at.dim() == 1 else [i for i, n in enumerate(sections) for _ in range(n)])
    lines = table[(at[None] if at.dim() == 1 else at).long()[row].t()]  # [tokens, half, width]
    cos, sin = (lines[:, torch.arange(half), torch.arange(half) + o][:, None] for o in (0, half))
    out = []
    for x in (q, k):
        x = x.reshape(len(x), -1, size).clone()
        first, second = (slice(0, half), slice(half, 2 * half)) if halves else (slice(0, 2 * half, 2), slice(1, 2 * half, 2))
        a, b = x[..., first].clone(), x[..., second].clone()
        x[..., first], x[..., second] = a * cos - b * sin, b * cos + a * sin
        out.append(x.flatten(1))
    return out


def grads(f, g, *inputs):
    with torch.enable_grad():
        on = [x.clone().requires_grad_() for x in inputs]
        return torch.autograd.grad(f(*on), on, g)


def compressed(x, weight, ends, block, stride):
    """Windows of each batch, weighed by place and head."""
    out, begin = [], 0
    for end in ends or [len(x)]:
        out += [(x[at:at + block] * weight[..., None]).sum(0) for at in range(begin, end - block + 1, stride)]
        begin = end
    return torch.stack(out)


def normal(x, gamma, eps):
    rstd = (x.square().mean(-1, keepdim=True) + eps).rsqrt()
    return x * rstd * gamma, rstd


def whole(x, scale, offset):
    return (x * scale + offset).round().clamp(-128, 127).to(I8)


def rope_quant_cache(x, cos, sin, k_cache, v_cache, at, k_scale, v_scale, k_offset, v_offset, *others):
    """Of x [batch, length, (queries + 2) * size], one head of keys and values, and a cache [batch, places, 1, size]."""
    batch, length, size = *x.shape[:2], cos.shape[-1]
    heads = x.reshape(batch, length, -1, size)
    a, b = heads.chunk(2, -1)
    q, k, v = (heads * cos + torch.cat([-b, a], -1) * sin)[:, :, :-2], (heads * cos + torch.cat([-b, a], -1) * sin)[:, :, -2:-1], heads[:, :, -1:]
    caches = []
    for cache, numbers, scale, offset in (k_cache, k, k_scale, k_offset), (v_cache, v, v_scale, v_offset):
        cache = cache.clone()
        for n, first in enumerate(at.tolist()):
            cache[n, first:first + length] = whole(numbers[n], scale, offset)
        caches.append(cache)
    return *caches, q, k, v


ROUTING = {
    "RotateQuant": lambda x, rotation, *others: dynamic((x.unflatten(-1, (-1, rotation.shape[0])) @ rotation).flatten(-2), None),
    "DequantRopeQuantKvcache": rope_quant_cache,
    "GroupedMatmulV4 GroupedMatmulV5": lambda x, w, *others: ([a @ b for a, b in zip(x, w)],),
    "IncreFlashAttentionV4": lambda q, k, v, shift, mask, lengths, *others: inferred(q, k[0], v[0], lengths)[0],
    "PromptFlashAttentionV3": lambda q, k, v, shift, mask, own, lengths, *others: inferred(q, k, v, lengths)[0],
    "FusedInferAttentionScoreV2 FusedInferAttentionScoreV3 FusedInferAttentionScoreV4": lambda q, k, v, shift, mask, own, lengths, *others: inferred(
        q, k[0], v[0], lengths),
    "BlockSparseAttention": block_sparse, "BlockSparseAttentionGrad": block_sparse_grad,
    "RopeWithSinCosCache RopeWithSinCosCacheV2": rope,
    "MoeTokenPermute": permute, "MoeTokenUnpermute": unpermute, "MoeTokenUnpermuteGrad": unpermute_grad,
    "MoeTokenPermuteGrad": lambda g, sorted_, k, padded: g[sorted_.long()].reshape(-1, k, g.shape[1]).sum(1),
    "MoeTokenPermuteWithRoutingMap": mapped, "MoeTokenPermuteWithRoutingMapGrad": mapped_grad, "MoeTokenUnpermuteWithRoutingMap": unmapped,
    "MoeTokenUnpermuteWithRoutingMapGrad": lambda g, at, ids, routing, rows, probs, pad, shape: (g * probs, (g * rows).sum(1, keepdim=True)),
    "MoeGatingTopKBackward": gating_grad,
    "GroupedMatmulAdd GroupedMatmulAddV2": lambda x, w, groups, y, *others: y + x.T @ w,
    "QuantLightningIndexer": lambda q, k, w, by_query, by_key, q_lengths, k_lengths, table, q_mode, k_mode, *others: indexed(
        q * by_query[..., None], k * by_key[..., None], w, q_lengths, k_lengths, table, *others)[:1],
    "LightningIndexer": indexed, "LightningIndexerGrad": lambda q, k, dy, named, w, *others: grads(
        lambda a, b, c: torch.einsum("bsh,bsht->bst", c, torch.einsum("bshd,btd->bsht", a, b[:, :, 0]).relu()).gather(2, named[:, :, 0].long()), dy[:, :, 0], q, k, w),
    "SparseFlashAttention SparseFlashAttentionV2": attended, "SparseFlashAttentionGrad": attended_grad,
    "RecurrentGatedDeltaRule": recurrent_rule, "ChunkGatedDeltaRule": chunk_rule, "MoeUpdateExpert": copies, "ApplyTopKTopP": kept_logits, "AddLora": adapted, "MaskedCausalConv1d": causal, "GeluQuant": gelu_quant,
    "MaskedCausalConv1dBackward": lambda g, x, w, mask: grads(lambda a, b: causal(a, b, mask), g, x, w),
    "NsaCompress": lambda x, w, ends, layout, *sizes: compressed(x, w, ends, *sizes[:2]),
    "NsaCompressGrad": lambda g, x, w, ends, block, stride, *others: grads(lambda a, b: compressed(a, b, ends, block, stride), g, x, w),
    "RmsNormQuant": lambda x, gamma, beta, scale, offset, eps: whole(normal(x, gamma, eps)[0] * 1 + beta, scale, offset),
    "RmsNormQuantV3": lambda x, gamma, scale, offset, beta, eps, divide, *others: (
        whole(normal(x, gamma, eps)[0] + beta, 1 / scale if divide else scale, offset), normal(x, gamma, eps)[1]),
    "RotaryPositionEmbeddingV2": lambda x, cos, sin, mode, by: cos * x + sin * (x @ by),
    "FusedMatmul": lambda x1, x2, bias, x3, kind, *others: (x1 @ x2 + bias) * x3,
    "TransposeBatchMatMul": lambda x1, x2, *others: (x1.transpose(0, 1) @ x2).transpose(0, 1),
    "DynamicBlockQuant": lambda x, *others: (dynamic(x, None)[0], dynamic(x, None)[1][:, None]),
    "MoeGatingTopKSoftmax": gating_softmax, "MoeGatingTopKSoftmaxV2": gating_softmax_v2, "MoeGatingTopK": gating,
    "MoeInitRouting": first_routing, "MoeInitRoutingV2": plain_routing, "MoeInitRoutingV3": routing, "MoeInitRoutingQuantV2": quantised_routing,
    "MoeFinalizeRouting": lambda rows, a, b, bias, scales, index, experts: finalize(rows, index, (a, b), bias, scales, experts, True),
    "MoeFinalizeRoutingV2": lambda rows, index, a, b, bias, scales, experts, mode: finalize(
        rows, index, (a, b), bias, scales, experts, mode < 2),
    "MoeComputeExpertTokens": lambda experts, n: (experts[None] <= torch.arange(n)[:, None]).sum(1).to(I32),
    "MoeReRouting": re_routing, "DynamicQuant": dynamic, "DynamicQuantV2": ranged, "DynamicQuantV3": ranged,
    "AscendAntiQuant": lambda x, scale, offset, kind, square: (x + offset) * (scale**2 if square else scale),
    "WeightQuantBatchMatmulV2 WeightQuantBatchMatmulV3": weight_quant_product,
    "GroupedMatmulSwigluQuantV2 GroupedMatmulSwigluQuantWeightNzV2": lambda x, w, scale, assist, bias, by_row, smooth, groups, *others: (
        swiglu_rows(x, w[0], scale[0], by_row, groups)),
    "GroupedMatmulSwigluQuantWeightNZ": lambda x, w, bias, offset, scale, by_row, groups: swiglu_rows(x, w, scale, by_row, groups, False),
    "NsaSelectedAttention": lambda q, k, v, blocks, mask, q_ends, k_ends, scale, heads, layout, mode, size, *others: selected(
        q, k, v, blocks, size, scale),
    "NsaSelectedAttentionGrad": selected_grad,
    "QuantMatmulV4": lambda x1, x2, scale, offset, by_row, bias, *_: quant_product(x1, x2, by_row, scale, *[None] * 4, bias, *[None] * 3),
    "TransQuantParamV2": words, "QuantMatmulV5": quant_product, "QuantMatmulWeightNz": quant_product, "FFNV2": ffn,
}
