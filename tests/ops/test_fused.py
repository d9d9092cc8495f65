"""Fused operators through the C ABI, in the modes that their samples do not call; the words for them are fused_references.py's."""
import pytest
import torch
from aclnn import call

from fused_references import bits_of_mask, kv_parts

torch_npu = pytest.importorskip("torch_npu")
I8 = torch.int8


def r(*shape, low=-1.0, high=1.0):
    return torch.rand(shape, generator=torch.Generator().manual_seed(sum(shape))) * (high - low) + low


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("latent", [True, False])
@pytest.mark.parametrize("quantised", [False, True])
@pytest.mark.parametrize("mode", ["Norm", "PA", "PA_BNSD", "PA_NZ", "PA_BLK_BNSD", "PA_BLK_NZ"])
def test_keys_and_values_into_the_cache(mode, quantised, latent, dtype):
    batch, length, rope, n, pages, page = 2, 5, 32, 64, 5, 4
    kv, gamma = r(batch, 1, length, n + (rope if latent else 0)).to(dtype), r(n).to(dtype)
    cos, sin = r(batch, 1, length, rope).to(dtype), r(batch, 1, length, rope, low=-0.5).to(dtype)
    v = None if latent else r(batch, 1, length, 96).to(dtype)
    k, other = kv_parts(kv.double(), gamma.double(), cos.double(), sin.double(), None if latent else v.double(), 1e-5)
    blocked, by_page, paged = mode.endswith("NZ"), "BLK" in mode, mode != "Norm"
    if not paged:
        index = torch.tensor([[3, 0, 1, -1, 6], [2, 6, 5, 4, 0]])
        places = [(b, p) for b in range(batch) for p in index[b].tolist()]
    elif by_page:
        index = torch.tensor([8, 4, 16, -1])  # a batch of five tokens has two pages of four
        begins = index.reshape(batch, 2)
        places = [divmod(p + t % page, page) if (p := begins[b, t // page].item()) >= 0 else (0, -1)
                  for b in range(batch) for t in range(length)]
    else:
        index = torch.tensor([3, 0, 19, -1, 6, 2, 7, 5, 4, 11])
        places = [divmod(p, page) if p >= 0 else (0, -1) for p in index.tolist()]
    kind = I8 if quantised else dtype
    width = 32 // kind.itemsize
    scales, caches, wanted = [], [], []
    for rows in (k, other):
        cache = torch.full((pages, page, 1, rows.shape[1]) if paged else (batch, 1, 7, rows.shape[1]), 9, dtype=kind)
        scale = r(rows.shape[1], low=20, high=40) if quantised else None
        want = cache.clone()
        seen = want.view(pages, -1, page, width) if blocked else want.view(want.shape[0], -1, 1, rows.shape[1]).transpose(1, 2)
        for (first, row), line in zip(places, rows):
            if row >= 0:
                line = (line * scale).round().clamp(-128, 127) if quantised else line
                seen[first, :, row] = line.to(kind).reshape(-1, width if blocked else rows.shape[1])
        scales.append(scale)
        caches.append(cache.npu())
        wanted.append(want)
    out = [torch.empty(batch, 1, length, rows.shape[1], dtype=dtype).npu() for rows in (k, other)]
    name = "aclnnKvRmsNormRopeCache" + ("" if latent else "V2")
    call(name, kv.npu(), gamma.npu(), cos.npu(), sin.npu(), index.npu(), *caches, *(s if s is None else s.npu() for s in scales),
         None, None, *([] if latent else [v.npu()]), 1e-5, mode, True, *out)
    loose = {torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    for got, want in zip(caches, wanted):
        # A number that lies between two whole ones may be rounded either way.
        torch.testing.assert_close(got.cpu().double(), want.double(), rtol=0 if quantised else loose, atol=1 if quantised else loose)
        assert (got.cpu() != want).double().mean() < (0.02 if quantised else 0.2)
    for got, rows in zip(out, (k, other)):
        torch.testing.assert_close(got.cpu().double().flatten(0, 2), rows, rtol=loose, atol=loose)


def test_index_beyond_the_cache_is_refused():
    kv, line = r(1, 1, 1, 6).npu(), r(1, 1, 1, 2).npu()
    k, other = r(2, 2, 1, 2).npu(), r(2, 2, 1, 4).npu()
    with pytest.raises(RuntimeError, match="index 4 of batch 0 is out of range, the cache has 4 places"):
        call("aclnnKvRmsNormRopeCache", kv, r(4).npu(), line, line, torch.tensor([4]).npu(), k, other, None, None, None, None, 1e-5,
             "PA", False, line, r(1, 1, 1, 4).npu())
        torch.npu.synchronize()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("mode", ["contiguous", "page"])
@pytest.mark.parametrize("rank", [2, 3])
@pytest.mark.parametrize("whole", [False, True])
def test_rope_quant_kvcache(whole, rank, mode, dtype):
    """By the wheel's functions: queries and keys turned, keys and values as whole numbers in the caches, at their places alone."""
    batch, length, queries, heads, size = 2, 3 if rank == 3 else 1, 4, 2, 8
    tokens, width = batch * length, (queries + 2 * heads) * size
    real = r(tokens, width).double()
    column, row = r(width, low=0.01, high=0.02).float(), r(tokens, low=0.5, high=1).float()
    x = (real * 100).round().to(torch.int32) if whole else real.to(dtype)
    real = x.double() * column.double() * row.double()[:, None] if whole else x.double()
    cos, sin = r(tokens, size).to(dtype), r(tokens, size).flip(1).to(dtype)
    scales, offsets = [r(heads, size, low=20, high=30).float(), r(size, low=20, high=30).float()], [r(size).float(), None]
    part = real.view(tokens, -1, size)
    a, b = part.chunk(2, -1)
    turned = part * cos.double()[:, None] + torch.cat([-b, a], -1) * sin.double()[:, None]
    q, k, v = turned[:, :queries], turned[:, queries:-heads], part[:, -heads:]
    shape = (batch, 6, heads, size) if mode == "contiguous" else (3, 4, heads, size)
    index = torch.tensor([1, 3] if mode == "contiguous" else [5, 0, 11, 2, 7, 8][:tokens], dtype=torch.int32)
    places = [(t // length, index[t // length].item() + t % length) if mode == "contiguous" else divmod(index[t].item(), 4) for t in range(tokens)]
    caches = [torch.randint(-9, 9, shape, dtype=I8).npu() for _ in range(2)]
    wanted = [c.cpu().double() for c in caches]
    for want, numbers, scale, offset in zip(wanted, (k, v), scales, offsets):
        for (first, second), line in zip(places, numbers):
            want[first, second] = line * scale.double() + (0 if offset is None else offset.double())
    lead = (batch, length) if rank == 3 else (batch,)
    line = [t.view(*lead, 1, size).npu() for t in (cos, sin)]
    more = {"weight_scale": column.npu(), "activation_scale": row.npu()} if whole else {}
    run = torch_npu.npu_dequant_rope_quant_kvcache if whole else torch_npu.npu_rope_quant_kvcache
    before = [c.clone() for c in caches]
    got = run(x.view(*lead, width).npu(), *line, *caches, index.npu(), *(s.npu() for s in scales), [queries * size, heads * size, heads * size],
              offset_k=offsets[0].npu(), kv_output=True, cache_mode=mode, **more)
    loose = {torch.float16: 2e-3, torch.bfloat16: 2e-2}[dtype]
    for one, want in zip(got[:3], (q, k, v)):
        assert one.shape[:-2] == lead and one.dtype == dtype
        torch.testing.assert_close(one.cpu().double().view(want.shape), want, rtol=loose, atol=loose)
    for cache, want, old in zip(caches, wanted, before):
        seen = cache.cpu().double()
        assert ((seen - want.clamp(-128, 127)).abs() <= 0.5 + 1e-3).all()
        untouched = torch.ones(shape[:2], dtype=torch.bool)
        for place in places:
            untouched[place] = False
        assert torch.equal(cache.cpu()[untouched], old.cpu()[untouched])
    with pytest.raises(RuntimeError, match="bias is given, which is not supported|place 99 of token 0 is out of range"):
        if whole: run(x.view(*lead, width).npu(), *line, *caches, index.npu(), *(s.npu() for s in scales), [queries * size, heads * size, heads * size], bias=column.npu(), **more)
        else: run(x.view(*lead, width).npu(), *line, *caches, torch.full_like(index, 99).npu(), *(s.npu() for s in scales), [queries * size, heads * size, heads * size], cache_mode=mode)
        torch.npu.synchronize()


@pytest.mark.parametrize("four", [False, True])
@pytest.mark.parametrize("left", [False, True])
def test_static_swiglu_quant(left, four):
    x, scale, offset = r(6, 32, low=-3, high=3), r(2, low=2, high=5), r(2)
    y, out = torch.empty(6, 8 if four else 16, dtype=I8).npu(), torch.empty(6).npu()
    call("aclnnSwiGluQuantV2", x.npu(), scale.npu(), offset.npu(), torch.tensor([2, 6], dtype=torch.int32).npu(), left, "static", 0,
         29 if four else 2, y, out)
    a, b = x.double().chunk(2, -1)
    want = torch.nn.functional.silu(a) * b if left else a * torch.nn.functional.silu(b)
    group = torch.tensor([0, 0, 1, 1, 1, 1])
    want = (want * scale[group, None] + offset[group, None]).round().clamp(*((-8, 7) if four else (-128, 127))).long()
    got = y.cpu().long()
    if four:
        got = torch.stack([got & 15, got >> 4 & 15], -1).flatten(1)
        got = torch.where(got > 7, got - 16, got)
    assert torch.equal(got, want)


def test_add_rms_norm_of_four_bits_and_of_one_branch():
    x1, x2, gamma = r(3, 16).half(), r(3, 16, low=0).half(), r(16).half()
    y1, y2 = torch.empty(0, dtype=torch.int32).npu(), torch.empty(3, 2, dtype=torch.int32).npu()
    total, s1, s2 = torch.empty(3, 16, dtype=torch.half).npu(), torch.empty(0).npu(), torch.empty(3).npu()
    call("aclnnAddRmsNormDynamicQuantV2", x1.npu(), x2.npu(), gamma.npu(), None, None, None, 1e-6, [False, True], y1, y2, total, s1, s2)
    x = x1.double() + x2.double()
    y = x * (x.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * gamma.double()
    scale = y.abs().amax(-1) / 7
    torch.testing.assert_close(s2.cpu().double(), scale, rtol=1e-5, atol=0)
    words = y2.cpu().long()[..., None] >> torch.arange(0, 32, 4) & 15
    numbers = torch.where(words > 7, words - 16, words).flatten(1)
    assert torch.equal(numbers, (y / scale[:, None]).round().long())
    assert torch.equal(total.cpu(), (x1.float() + x2.float()).half())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_cross_entropy_of_a_shared_vocabulary(dtype):
    """Two parts of a vocabulary, brought together as a client does, against PyTorch's loss of the whole."""
    rows, width, part = 300, 16, 24
    x, weight = r(rows, width).to(dtype), r(2 * part, width).to(dtype)
    target = torch.randint(0, 2 * part, (rows,), generator=torch.Generator().manual_seed(1))
    parts = []
    for i in range(2):
        out = [torch.empty(rows).npu() for _ in range(3)]
        mask, place = torch.empty((rows + 7) // 8, dtype=torch.uint8).npu(), torch.empty_like(target).npu()
        call("aclnnFusedLinearOnlineMaxSum", x.npu(), weight[i * part:][:part].npu(), target.npu(), i * part, (i + 1) * part - 1, *out,
             mask, place, None)
        assert torch.equal(mask.cpu(), bits_of_mask(target // part != i))
        parts.append((*out, mask, place))
    most = torch.maximum(parts[0][0], parts[1][0])
    total = sum(p[1] * (p[0] - most).exp() for p in parts)
    of_target = sum(torch.where(target.npu() // part == i, p[2] + p[0] - most, 0) for i, p in enumerate(parts))
    loss, empty = torch.empty(rows).npu(), None
    call("aclnnFusedCrossEntropyLossWithMaxSum", most, total, of_target, 0.0, None, None, None, loss, empty)
    wide = [t.double().requires_grad_() for t in (x, weight)]
    want = torch.nn.functional.cross_entropy(wide[0] @ wide[1].T, target, reduction="none")
    torch.testing.assert_close(loss.cpu().double(), want.detach(), rtol=1e-4, atol=1e-4)
    gradient = r(rows)
    want_x, want_weight = torch.autograd.grad(want, wide, gradient.double())
    got_x, loose = 0, {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 1e-5}[dtype]
    for i, p in enumerate(parts):
        grad_x, grad_weight = torch.empty_like(x).npu(), torch.empty(part, width, dtype=dtype).npu()
        call("aclnnFusedLinearCrossEntropyLossGrad", gradient.npu(), x.npu(), weight[i * part:][:part].npu(), p[3], p[4], 0.0, most,
             total, None, grad_x, grad_weight)
        got_x = got_x + grad_x.cpu().double()
        torch.testing.assert_close(grad_weight.cpu().double(), want_weight[i * part:][:part], rtol=loose, atol=loose)
    torch.testing.assert_close(got_x, want_x, rtol=loose, atol=loose)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_ring_update_of_packed_tokens_is_attention_to_all(dtype):
    q, k, v = r(5, 2, 16), r(7, 2, 16, low=-2), r(7, 2, 8)

    def attention(k, v):
        s = torch.einsum("qhd,khd->qhk", q.double(), k.double())
        most = s.amax(-1)
        total = (s - most[..., None]).exp().sum(-1)
        out = torch.einsum("qhk,khd->qhd", s.softmax(-1), v.double()).to(dtype)
        return out.npu(), *(x.float()[..., None].repeat(1, 1, 8).npu() for x in (most, total))

    parts, whole = [attention(k[a:b], v[a:b]) for a, b in ((0, 3), (3, 7))], attention(k, v)
    out = [torch.empty_like(x) for x in whole]
    call("aclnnRingAttentionUpdateV2", *parts[0], *parts[1], torch.tensor([2, 5]).npu(), "TND", "TND", *out)
    for got, want in zip(out, whole):
        torch.testing.assert_close(got.cpu(), want.cpu(), rtol=2e-3 if dtype == torch.float16 else 1e-5, atol=1e-3 if dtype == torch.float16 else 1e-6)


def test_normalised_sums_by_scales_of_columns():
    """By torch_npu: the two steps that it stands for, to the bit, which compiled graphs of npugraph_ex put together."""
    torch.manual_seed(3)
    for half, scale, zero in ((torch.half, torch.float, torch.int32), (torch.bfloat16, torch.bfloat16, torch.bfloat16)):
        x1, x2, gamma = (torch.randn(*dims).to(half).npu() for dims in ((5, 16), (5, 16), (16,)))
        scales, zeros = (torch.rand(16) / 50 + 0.01).to(scale).npu(), torch.randint(-9, 9, (16,)).to(zero).npu()
        y, _, total = torch_npu.npu_add_rms_norm(x1, x2, gamma, 4e-6)
        want = torch_npu.npu_quantize(y, scales, zeros, torch.qint8, axis=-1)
        got = torch_npu.npu_add_rms_norm_quant(x1, x2, gamma, scales, zeros, epsilon=4e-6)
        assert torch.equal(got[0].cpu(), want.int_repr().cpu() if want.is_quantized else want.cpu()) and torch.equal(got[2].cpu(), total.cpu())
        made, result = torch.empty(5, 16, dtype=torch.int8).npu(), torch.empty_like(x1)
        call("aclnnAddRmsNormQuant", x1, x2, gamma, scales, scales, zeros, None, -1, 4e-6, False, made, got[1], result)
        for one, shift in ((made, zeros.float()), (got[1], 0)):
            assert (one.cpu().float() - (y.float() * scales.float() + shift).round().cpu()).abs().max() <= 1 and torch.equal(result.cpu(), total.cpu())


def test_the_wider_result_is_the_other_one_cast():
    """As graphs of npugraph_ex have it that call aclnnAddRmsNormCast for a normalisation and a cast."""
    torch.manual_seed(4)
    x1, x2, gamma = (torch.randn(*dims).half().npu() for dims in ((5, 16), (5, 16), (16,)))
    wide, y, rstd, total = torch.empty(5, 16).npu(), torch.empty_like(x1), torch.empty(5, 1).npu(), torch.empty_like(x1)
    call("aclnnAddRmsNormCast", x1, x2, gamma, 1e-6, wide, y, rstd, total)
    assert torch.equal(wide.cpu(), y.cpu().float()) and y.abs().max() > 0
