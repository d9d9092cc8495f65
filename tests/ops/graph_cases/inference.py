"""Cases of graph operators that serving language models asks for: adapters, causal convolutions, activations of eight bits, balanced experts,
caches in lists. Wanted is what PyTorch gives in double."""
import math

import torch
import torch.nn.functional as F


def adapted(y, x, b, at, a, layer=0, scale=1e-3, offset=0):
    """What npu_batch_gather_matmul says: rows with a negative number have no adapter."""
    y = y.double().clone()
    for row, number in enumerate(at.tolist()):
        if number < 0:
            continue
        v = x[row].double()
        v = v if a is None else a[number, layer].double() @ v
        y[row, offset:offset + b.shape[2]] += scale * (b[number, layer].double() @ v)
    return y


def causal(v, w, mask):
    steps, _, channels = v.shape
    padded = F.pad(v.double().permute(1, 2, 0), (w.shape[0] - 1, 0))
    out = F.conv1d(padded, w.double().T[:, None], groups=channels).permute(2, 0, 1)
    return out if mask is None else out * mask.T[:, :, None]


def in_blocks(v, down, across):
    v, bytes_ = v.double(), torch.zeros(v.shape, dtype=torch.int8)
    rows, columns = v.shape[-2:]
    scale = torch.zeros(*v.shape[:-2], -(-rows // down), -(-columns // across), dtype=torch.float64)
    for i in range(scale.shape[-2]):
        for j in range(scale.shape[-1]):
            part = (..., slice(i * down, (i + 1) * down), slice(j * across, (j + 1) * across))
            most = v[part].abs().amax((-2, -1), keepdim=True) / 127
            scale[..., i, j] = most[..., 0, 0]
            bytes_[part] = torch.where(most > 0, v[part] / most, torch.zeros(())).round().to(torch.int8)
    return bytes_, scale.float()


def balanced(ids, table, scales, threshold, active, rank, ranks, by_token):
    places, kept = torch.zeros_like(ids), torch.ones(ids.shape, dtype=torch.bool)
    for t, row in enumerate(ids.tolist()):
        for c, expert in enumerate(row):
            count = table[expert, 0].item()
            places[t, c] = table[expert, 1 + (t % count if by_token else rank // math.ceil(ranks / count))]
            if scales is not None:
                kept[t, c] = (active is None or active[t]) and not scales[t, c] < threshold.flatten()[c] * scales[t].sum()
    return places, kept


def delta_rule(q, k, v, beta, state, lengths, slots, g, gk, accepted):
    out, kept, begin = torch.empty_like(v), state.clone(), 0
    for n, length in enumerate(lengths.tolist()):
        s = state[slots[begin + (0 if accepted is None else int(accepted[n]) - 1)]]
        for t in range(begin, begin + length):
            kt, qt = (x[t].repeat_interleave(2, 0) for x in (k, q))
            s = s if g is None else s * g[t].exp()[:, None, None]
            s = s + ((v[t] - (s * kt[:, None]).sum(-1)) * beta[t][:, None])[..., None] * kt[:, None]
            out[t], kept[slots[t]] = (s * qt[:, None]).sum(-1) * 0.5, s
        begin += length
    return kept, out


def add_cases(case, r):
    y, x, at = r(5, 12), r(5, 8), torch.tensor([1, -1, 0, 2, 1], dtype=torch.int32)
    narrow, wide, straight = r(3, 2, 4, 8), r(3, 2, 6, 4), r(3, 2, 6, 8)
    case("AddLora", y, x, wide, at, narrow, layer_idx=1, scale=0.5, y_offset=3, y_slice_size=6, want=lambda *v: adapted(*v, layer=1, scale=0.5, offset=3))
    case("AddLora", y, x, straight, at, None, want=adapted)
    case("AddLora", y.half(), x.half(), wide.half(), at, narrow.half(), scale=1.0, tolerance=2e-3, want=lambda *v: adapted(*v, scale=1.0))

    signal, taps, mask = r(7, 2, 5), r(3, 5), torch.rand(2, 7, generator=torch.Generator().manual_seed(1)) > 0.3
    case("MaskedCausalConv1d", signal, taps, mask, want=causal)
    case("MaskedCausalConv1d", signal.bfloat16(), taps.bfloat16(), None, want=causal, tolerance=1e-2)
    case("MaskedCausalConv1d", signal[:2], taps, None, want=causal)  # fewer steps than weights

    rows = r(3, 4, 8)

    def activated(v, smooth, offset, how="none", dynamic=True):
        v = F.gelu(v.double(), approximate=how)
        if not dynamic:
            return (v * smooth.double() + (0 if offset is None else offset.double())).round().clamp(-128, 127).to(torch.int8), torch.zeros(0)
        v = v if smooth is None else v * smooth.double()
        scale = v.abs().amax(-1) / 127
        return (v / scale[..., None]).round().to(torch.int8), scale.float()
    case("GeluQuant", rows, None, None, want=activated)
    case("GeluQuant", rows.half(), r(8, low=0.5).half(), None, approximate="tanh", want=lambda *v: activated(*v, how="tanh"))
    case("GeluQuant", rows, r(8, low=20.0, high=50.0), r(8), quant_mode="static", want=lambda *v: activated(*v, dynamic=False))
    case("GeluQuant", rows, torch.tensor([40.0]), None, quant_mode="static", want=lambda *v: activated(*v, dynamic=False))

    case("DynamicBlockQuant", r(3, 300), dst_type=2, want=lambda v: in_blocks(v, 1, 128))
    case("DynamicBlockQuant", torch.cat([r(2, 5, 6).half(), torch.zeros(2, 3, 6).half()], 1), dst_type=2, row_block_size=2, col_block_size=4,
         want=lambda v: in_blocks(v, 2, 4))

    table = torch.tensor([[1, 4, 0, 0], [3, 0, 2, 5], [2, 7, 1, 0]], dtype=torch.int32)
    ids = torch.tensor([[0, 1], [1, 2], [2, 1], [1, 0]], dtype=torch.int32)
    scales, least = torch.tensor([[0.5, 0.1], [0.4, 0.3], [0.9, 0.2], [0.3, 0.3]]), torch.tensor([[0.3, 0.4]])
    active = torch.tensor([True, True, True, False])
    for rank in (0, 3, 7):
        case("MoeUpdateExpert", ids, table, None, None, None, local_rank_id=rank, world_size=8,
             want=lambda *v, rank=rank: balanced(*v, rank, 8, False))
    case("MoeUpdateExpert", ids.long(), table, scales, least, active, balance_mode=1, want=lambda *v: balanced(*v, 0, 0, True))
    case("MoeUpdateExpert", ids, table, scales.half(), least, None, local_rank_id=5, world_size=8, tolerance=1e-4,
         want=lambda *v: balanced(*v, 5, 8, False))

    q, k, v, beta, state, g = r(5, 2, 4), r(5, 2, 4), r(5, 4, 3), r(5, 4), r(6, 4, 3, 4), r(5, 4)
    lengths, slots = torch.tensor([2, 3], dtype=torch.int32), torch.tensor([4, 1, 0, 5, 3], dtype=torch.int32)
    for gate, accepted in ((g, None), (None, torch.tensor([1, 3], dtype=torch.int32))):
        case("RecurrentGatedDeltaRule", q, k, v, beta, state, lengths, slots, gate, None, accepted, scale_value=0.5, want=delta_rule)

    q, k, w = r(2, 3, 4, 8).half(), r(2, 9, 1, 8).half(), r(2, 3, 4).half()
    scores = torch.einsum("bsh,bsht->bst", w.double(), torch.einsum("bshd,btd->bsht", q.double(), k[:, :, 0].double()).relu())
    whole = scores.argsort(dim=-1, descending=True)[:, :, None, :4].int()
    case("LightningIndexer", q, k, w, None, None, None, sparse_count=4, sparse_mode=0, want=lambda *v: (whole, torch.zeros(0).half()))
    numbers = [(t * 90).round().to(torch.int8) for t in (q, k)]
    by_query, by_key = r(2, 3, 4).half(), r(2, 9, 1).half()

    def of_numbers(a, b, weights, sa, sb, *_):
        product = torch.einsum("bshd,btd->bsht", a.double() * sa.double()[..., None], b[:, :, 0].double() * sb.double())
        return torch.einsum("bsh,bsht->bst", weights.double(), product.relu()).argsort(dim=-1, descending=True)[:, :, None, :4].int()
    case("QuantLightningIndexer", *numbers, w, by_query, by_key, None, None, None, sparse_count=4, sparse_mode=0, want=of_numbers)
    picked = torch.stack([rows[at.flatten().long()].reshape(3, 4, 8) for rows, at in zip(k[:, :, 0].double(), whole)])
    share = (torch.einsum("bshd,bsnd->bshn", q.double(), picked) * 0.5).softmax(-1)
    tiles, scale = torch.randint(-90, 90, (2, 9, 1, 4), dtype=torch.int8), 0.01 + r(2, 9, 1, 2) / 9
    cache = torch.cat([tiles, k[..., :4].contiguous().view(torch.int8), scale.view(torch.int8)], -1)
    values = (tiles * scale.repeat_interleave(2, -1)).double()[:, :, 0]
    at = whole.flatten(1).long()[..., None]
    chosen = [t.gather(1, at.expand(-1, -1, t.shape[-1])).reshape(2, 3, 4, -1) for t in (torch.cat([values, k[:, :, 0, :4].double()], -1), values)]
    read = torch.einsum("bshn,bsnd->bshd", (torch.einsum("bshd,bsnd->bshn", q.double(), chosen[0]) * 0.5).softmax(-1), chosen[1])
    case("KvQuantSparseFlashAttention", q, cache, cache, whole, *[None] * 6, scale_value=0.5, sparse_mode=0, attention_mode=2, tile_size=2, rope_head_dim=4, tolerance=4e-3,
         want=lambda *v: read)
    case("SparseFlashAttention", q, k, k, whole, None, None, None, None, None, None, scale_value=0.5, sparse_mode=0, attention_mode=2, tolerance=4e-3,
         want=lambda *v: (torch.einsum("bshn,bsnd->bshd", share, picked), torch.zeros(0), torch.zeros(0)))

    caches = [r(4, 6, 3) + n for n in range(3)]
    start, new, chosen = torch.tensor([1, 4, 0], dtype=torch.int32), r(3, 4, 2, 3), torch.tensor([1, 0, 1], dtype=torch.uint8)

    def written(a, b, c, at, updates, which):
        made = [v.clone() for v in (a, b, c)]
        for n, cache in enumerate(made):
            if which is None or which[n]:
                cache[:, at[n]:at[n] + 2] = updates[n]
        return made
    case("ScatterList", *caches, start, new, chosen, outputs=3, want=written)
    case("ScatterList", *caches, start, new, None, outputs=3, want=written)
