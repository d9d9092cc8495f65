"""torch_npu's operators over libatb.so (NNAL's transformer library), against PyTorch's CPU in float64. Masks, pages, lengths and layouts are
those that vllm-ascend and op-plugin's own tests give."""
import subprocess
import sys

import pytest
import torch
import torch_npu

HALF, BF16 = torch.float16, torch.bfloat16


def close(got, want, dtype=HALF):
    tolerance = {HALF: 3e-3, BF16: 2e-2, torch.float32: 1e-5}[dtype]
    torch.testing.assert_close(got.cpu().double(), want.double(), rtol=tolerance, atol=tolerance)


def attention(q, k, v, scale, add=0):
    """One sequence, [tokens, heads, size], in float64: the result, and the logarithms of the sums [tokens, heads]."""
    q, k, v = (x.double().transpose(0, 1) for x in (q, k, v))
    k, v = (x.repeat_interleave(len(q) // len(x), 0) for x in (k, v))
    s = q @ k.mT * scale + add
    return (s.softmax(-1) @ v).transpose(0, 1), s.logsumexp(-1).transpose(0, 1)


def causal(queries, keys):
    return torch.full((queries, keys), -torch.inf).triu(keys - queries + 1)


def sequences(new, seen, heads=4, kv_heads=2, size=16, value_size=8, dtype=HALF):
    torch.manual_seed(sum(seen))
    return [torch.randn(n, h, d).to(dtype) for n, h, d in
            ((sum(new), heads, size), (sum(seen), kv_heads, size), (sum(seen), kv_heads, value_size))]


def in_pages(x, lengths, page, table):
    """[pages, page, heads, size] with NaN where nothing is."""
    pages = torch.full((int(table.max()) + 2, page, *x.shape[1:]), torch.nan, dtype=x.dtype)
    for i, rows in enumerate(x.split(lengths)):
        for p in range(0, len(rows), page):
            pages[table[i, p // page], :len(rows[p:p + page])] = rows[p:p + page]
    return pages


def each(new, seen, q, k, v):
    return zip(q.split(new), k.split(seen), v.split(seen))


def table_of(sequences, width):
    return torch.randperm(sequences * width + 1)[:sequences * width].int().reshape(sequences, width)


def ints(values):
    return torch.tensor(values, dtype=torch.int32)


# --- prompts ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [HALF, BF16])
@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("on_device", [False, True])
def test_prompts(dtype, flat, on_device):
    lengths = [5, 1, 33]
    q, k, v = sequences(lengths, lengths, dtype=dtype)
    out = torch.full((sum(lengths), 4, 8), torch.nan, dtype=dtype).npu()
    # vllm-ascend's masks: -inf in FLOAT16, 1 in BFLOAT16
    mask = torch.zeros(40, 40, dtype=dtype).masked_fill(torch.ones(40, 40, dtype=torch.bool).triu(1), -torch.inf if dtype == HALF else 1)
    given = [x.flatten(1) if flat else x for x in (q, k, v)]
    to = out.flatten(1) if flat else out
    where = ints(lengths).npu() if on_device else ints(lengths)
    torch_npu._npu_flash_attention(*(x.npu() for x in given), mask.npu(), where, 0.3, 4, 2, to)
    close(to.view_as(out), torch.cat([attention(*x, 0.3, causal(len(x[0]), len(x[0])))[0] for x in each(lengths, lengths, q, k, v)]), dtype)


def test_prompts_without_a_mask():
    lengths = [7, 20]
    q, k, v = sequences(lengths, lengths)
    want = torch.cat([attention(*x, 0.3)[0] for x in each(lengths, lengths, q, k, v)])
    for kind in ({}, {"kernel_type": 2}):
        out = torch.zeros(27, 4, 8).half().npu()
        name = "_npu_flash_attention_unpad_v2" if kind else "_npu_flash_attention_unpad"
        getattr(torch_npu, name)(q.npu(), k.npu(), v.npu(), ints(lengths), 0.3, 4, 2, out=out, **kind)
        close(out, want)


def test_prompts_with_a_compressed_mask():
    lengths = [7, 20]
    q, k, v = sequences(lengths, lengths)
    out = torch.zeros(27, 4, 8).half().npu()
    triangle = torch.full((128, 128), -10000.0).triu(1).half().npu()
    torch_npu._npu_flash_attention_v3(q.npu(), k.npu(), v.npu(), triangle, ints(lengths), 0.3, 4, 2, out=out)
    close(out, torch.cat([attention(*x, 0.3, causal(len(x[0]), len(x[0])))[0] for x in each(lengths, lengths, q, k, v)]))


@pytest.mark.parametrize("batch", [False, True])
def test_prompts_with_a_bias_of_heads(batch):
    lengths = [7, 20]
    q, k, v = sequences(lengths, lengths)
    bias = torch.randn(2, 4, 20, 20).half() if batch else torch.randn(4, 20, 20).half()
    out = torch.zeros(27, 4, 8).half().npu()
    torch_npu.atb._npu_flash_attention_v2(q.npu(), k.npu(), v.npu(), lengths, mask=bias.npu(), mask_type=2, scale_value=0.3, num_heads=4,
                                          num_kv_heads=2, out=out)
    of = [(bias[i] if batch else bias)[:, :n, :n].double() for i, n in enumerate(lengths)]
    close(out, torch.cat([attention(*x, 0.3, b)[0] for x, b in zip(each(lengths, lengths, q, k, v), of)]))


@pytest.mark.parametrize("name", ["qlens", "prefix_v2", "prefix_encoder"])
def test_prompts_that_go_on(name):
    new, seen, page = [5, 1, 30], [5, 40, 45], 16
    q, k, v = sequences(new, seen, value_size=16)
    table = table_of(3, 3)
    keys, values = in_pages(k, seen, page, table).npu(), in_pages(v, seen, page, table).npu()
    triangle, out = torch.full((128, 128), -10000.0).triu(1).half().npu(), torch.zeros_like(q).npu()
    if name == "qlens":
        torch_npu._npu_flash_attention_qlens(q.npu(), keys, values, table.npu(), triangle, ints(new), ints(seen), 2, 4, 0.3, out)
    elif name == "prefix_v2":
        torch_npu.atb._npu_flash_attention_prefix_v2(q.npu(), keys, values, table.npu(), triangle, new, seen, num_kv_heads=2, num_heads=4,
                                                     scale_value=0.3, out=out)
    else:
        out = torch_npu.atb.npu_self_attention_prefix_encoder(q.npu(), keys, values, table.npu(), new, seen, 4, 0.3, 2)
    close(out, torch.cat([attention(*x, 0.3, causal(n, m))[0] for x, n, m in zip(each(new, seen, q, k, v), new, seen)]))


# --- steps --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [HALF, BF16])
@pytest.mark.parametrize("on_device", [False, True])
def test_steps(dtype, on_device):
    new, seen, page = [1, 1, 1], [40, 3, 16], 16
    q, k, v = sequences(new, seen, dtype=dtype)
    table = table_of(3, 3)
    keys, values = in_pages(k, seen, page, table).npu(), in_pages(v, seen, page, table).npu()
    want = torch.cat([attention(*x, 0.3)[0] for x in each(new, seen, q, k, v)])
    lengths = ints(seen).npu() if on_device else ints(seen)
    out = torch.full((4, 4, 8), torch.nan, dtype=dtype).npu()  # a row more than there are sequences, as graphs have
    padded = torch.cat([q, q[:1]]).npu()
    torch_npu._npu_paged_attention(padded, keys, values, 2, 4, 0.3, table.npu(), lengths, out)
    close(out[:3], want, dtype)
    assert not out[3].any()
    workspace = torch_npu._npu_paged_attention_get_workspace(padded, keys, values, 2, 4, 0.3, table.npu(), ints(seen), out)
    out.zero_()
    torch_npu._npu_paged_attention(padded, keys, values, 2, 4, 0.3, table.npu(), ints(seen), out, workspace=workspace)
    close(out[:3], want, dtype)


def test_steps_with_a_bias():
    new, seen, page = [1, 1], [40, 3], 16
    q, k, v = sequences(new, seen)
    table, bias = table_of(2, 3), torch.randn(2, 4, 1, 40).half()
    keys, values = in_pages(k, seen, page, table).npu(), in_pages(v, seen, page, table).npu()
    out = torch.zeros(2, 4, 8).half().npu()
    torch_npu.atb._npu_paged_attention_v2(q.npu(), keys, table.npu(), seen, value_cache=values, mask=bias.npu(), num_kv_heads=2, num_heads=4,
                                          scale_value=0.3, mask_type=2, out=out)
    close(out, torch.cat([attention(*x, 0.3, b[..., :n].double())[0] for x, b, n in zip(each(new, seen, q, k, v), bias, seen)]))


@pytest.mark.parametrize("compressed", [False, True])
def test_several_queries_a_step(compressed):
    new, seen, page = [5, 1, 30], [25, 40, 45], 16
    q, k, v = sequences(new, seen, dtype=BF16)
    table = table_of(3, 3)
    keys, values = in_pages(k, seen, page, table).npu(), in_pages(v, seen, page, table).npu()
    out = torch.zeros(36, 4, 8, dtype=BF16).npu()
    given = q.npu(), keys, values, table.npu(), ints(seen)
    if compressed:
        torch_npu._npu_paged_attention_splitfuse_v2(*given, torch.ones(128, 128).triu(1).to(BF16).npu(), ints(new), 2, 4, 0.3, out=out)
    else:  # a row for each token of all sequences
        mask = torch.cat([torch.full((n, 45), -10000.0).triu(m - n + 1) for n, m in zip(new, seen)]).to(BF16)
        torch_npu._npu_paged_attention_splitfuse(*given, mask.npu(), ints(new), 2, 4, 0.3, out)
    close(out, torch.cat([attention(*x, 0.3, causal(n, m))[0] for x, n, m in zip(each(new, seen, q, k, v), new, seen)]), BF16)


# --- latent keys ----------------------------------------------------------------------------------------------------
def test_values_that_are_a_part_of_keys():
    new, seen, page = [1, 1], [40, 3], 16
    q, k, _ = sequences(new, seen, kv_heads=1, size=24)
    table = table_of(2, 3)
    out = torch.zeros(2, 4, 16).half().npu()
    torch_npu._npu_paged_attention_mla(q.npu(), in_pages(k, seen, page, table).npu(), 1, 4, 0.3, table.npu(), ints(seen), 16, out)
    close(out, torch.cat([attention(*x, 0.3)[0] for x in each(new, seen, q, k, k[..., :16])]))


@pytest.mark.parametrize("several", [False, True])
def test_latent_keys_in_pages(several):
    new, seen, page = ([3, 1], [40, 5], 16) if several else ([1, 1], [40, 5], 16)
    q, k, _ = sequences(new, seen, kv_heads=1, size=40)
    table = table_of(2, 3)
    keys = in_pages(k, seen, page, table).npu()
    extra = dict(qseqlen=new, mask_type="mask_type_free", mask=torch.ones(1).half().npu()) if several else {}
    got, lse = torch_npu.atb.npu_multi_head_latent_attention(
        q[..., :32].npu(), q[..., 32:].npu(), keys[..., :32].contiguous(), keys[..., 32:].contiguous(), table.npu(), seen, 4, 0.3, 1, True,
        calc_type="calc_type_ring", **extra)
    results = [attention(*x, 0.3, causal(n, m)) for x, n, m in zip(each(new, seen, q, k, k[..., :32]), new, seen)]
    close(got, torch.cat([r[0] for r in results]))
    close(lse[..., 0], torch.cat([r[1] for r in results]))
    one = torch_npu.atb.npu_multi_head_latent_attention(q[..., :32].npu(), q[..., 32:].npu(), keys[..., :32].contiguous(),
                                                        keys[..., 32:].contiguous(), table.npu(), seen, 4, 0.3, 1, **extra)
    assert torch.equal(one, got)


@pytest.mark.parametrize("masked", [False, True])
def test_keys_in_blocks_that_come_one_after_the_other(masked):
    """Both blocks, the second brought together with the first, as one attention over all keys; a sequence without keys in the second."""
    new, blocks = [4, 6], ([9, 4], [7, 0])
    torch.manual_seed(1)
    q = torch.randn(10, 4, 24).half()
    keys = [[torch.randn(n, 4, 24).half() for n in lengths] for lengths in blocks]
    values = [[torch.randn(n, 4, 16).half() for n in lengths] for lengths in blocks]
    before = {}
    for i, lengths in enumerate(blocks):
        k, v = torch.cat(keys[i]), torch.cat(values[i])
        out, lse = torch_npu.atb.npu_ring_mla(
            q[..., :16].contiguous().npu(), q[..., 16:].contiguous().npu(), k[..., :16].contiguous().npu(), k[..., 16:].contiguous().npu(),
            v.npu(), torch.ones(512, 512).triu(1).half().npu(), ints([new, lengths]), 4, 4, qk_scale=0.3,
            mask_type="mask_type_triu" if masked and i == 0 else "no_mask", calc_type="calc_type_default" if i else "calc_type_first_ring", **before)
        before = dict(pre_out=out, prev_lse=lse)
    results = []
    for j, part in enumerate(q.split(new)):
        add = torch.cat([torch.full((new[j], blocks[0][j]), -torch.inf).triu(1) if masked else torch.zeros(new[j], blocks[0][j]),
                         torch.zeros(new[j], blocks[1][j])], 1)
        results.append(attention(part, torch.cat([keys[0][j], keys[1][j]]), torch.cat([values[0][j], values[1][j]]), 0.3, add))
    close(out, torch.cat([r[0] for r in results]))
    close(lse, torch.cat([r[1] for r in results]).T)


# --- caches ---------------------------------------------------------------------------------------------------------
def test_tokens_into_pages():
    torch.manual_seed(2)
    key, value = torch.randn(5, 2, 16).half(), torch.randn(5, 2, 8).half()
    slots = [0, 5, -1, 11, 2]
    keys, values = torch.randn(3, 4, 2, 16).half(), torch.randn(3, 4, 2, 8).half()
    on, alone = [keys.npu(), values.npu()], keys.npu()
    torch_npu._npu_reshape_and_cache(key.npu(), value.npu(), *on, ints(slots).npu())
    torch_npu._npu_reshape_and_cache_siso(key.npu(), alone, ints(slots).npu())
    for token, slot in enumerate(slots):
        if slot >= 0:
            keys.view(12, 2, 16)[slot], values.view(12, 2, 8)[slot] = key[token], value[token]
    assert torch.equal(on[0].cpu(), keys) and torch.equal(on[1].cpu(), values) and torch.equal(alone.cpu(), keys)


def test_tokens_into_blocked_pages():
    """FRACTAL_NZ, keys and values of different types."""
    program = """
import torch, torch_npu
torch.npu.config.allow_internal_format = True
key, value = torch.arange(3 * 64).reshape(3, 1, 64).to(torch.int8), torch.randn(3, 1, 32).bfloat16()
keys, values = (torch_npu.npu_format_cast(torch.zeros(2, n, 16, part, dtype=t).npu(), 29) for n, part, t in ((2, 32, torch.int8), (2, 16, torch.bfloat16)))
torch_npu._npu_reshape_and_cache(key.npu(), value.npu(), keys, values, torch.tensor([3, 31, 0]).int().npu())
for cache, x, part in ((keys.cpu(), key, 32), (values.cpu(), value, 16)):
    want = torch.zeros_like(cache)
    for token, slot in enumerate([3, 31, 0]):
        want[slot // 16, :, slot % 16] = x[token].reshape(-1, part)
    assert torch.equal(cache, want)
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", program], check=True, timeout=200)


@pytest.mark.parametrize("sums", [False, True])
def test_tokens_from_pages(sums):
    """Reading begins with the page that a sequence starts in."""
    torch.manual_seed(3)
    keys, values = torch.randn(9, 4, 1, 16).half(), torch.randn(9, 4, 1, 8).half()
    table, lengths, starts = torch.randperm(9).int().reshape(3, 3), [5, 0, 4], [4, 0, 3]
    got = torch_npu.atb.npu_paged_cache_load(keys.npu(), values.npu(), table.npu(), ints([0, 5, 5, 9] if sums else lengths).npu(),
                                             seq_starts=ints(starts).npu(), cumsum=sums)
    for cache, x in zip((keys, values), got):
        rows = [cache[table[i, t // 4], t % 4] for i, n in enumerate(lengths) for t in range(starts[i] // 4 * 4, starts[i] // 4 * 4 + n)]
        assert torch.equal(x.cpu(), torch.stack(rows))


# --- the rest -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("neox", [False, True])
def test_rotary_embedding(neox):
    """torch_npu keeps the first table that it sees in the process: one table serves both styles."""
    torch.manual_seed(4)
    angles = torch.arange(50)[:, None] * 0.7 ** torch.arange(8)
    table = torch.cat([angles.cos(), angles.sin()], -1)
    at, q, k = torch.tensor([3, 0, 49, 7]), torch.randn(4, 5 * 16).half(), torch.randn(4, 2 * 16).half()
    on = [q.npu(), k.npu()]
    torch_npu._npu_rotary_embedding(at.npu(), *on, 16, table.npu(), neox)
    cos, sin = (x[at][:, None].double() for x in table.chunk(2, -1))
    for x, y in zip((q, k), on):
        x = x.double().reshape(4, -1, 16)
        a, b = (x[..., :8], x[..., 8:]) if neox else (x[..., ::2], x[..., 1::2])
        turned = [a * cos - b * sin, b * cos + a * sin]
        close(y, (torch.cat(turned, -1) if neox else torch.stack(turned, -1).flatten(-2)).flatten(1))


@pytest.mark.parametrize("dtype", [HALF, BF16])
def test_products_that_are_added(dtype):
    torch.manual_seed(5)
    x, w, c = torch.randn(40, 24).to(dtype), torch.randn(40, 30).to(dtype), torch.randn(24, 30)
    on = c.npu()
    torch_npu._npu_matmul_add_fp32(x.npu(), w.npu(), on)
    torch.testing.assert_close(on.cpu().double(), x.double().T @ w.double() + c.double(), rtol=1e-5, atol=1e-4)


def test_quantised():
    torch.manual_seed(6)
    x, scale, offset = torch.randn(3, 6, 16).half() * 20, torch.rand(6, 16).half() + 0.1, torch.randint(-9, 9, (6, 16)).to(torch.int8)
    y = torch.zeros(3, 6, 16, dtype=torch.int8).npu()
    torch_npu._npu_quantize_per_tensor(x.npu(), scale.npu(), offset.npu(), y)
    want = ((x.float() / scale.float()).round() + offset).clamp(-128, 127)
    assert torch.equal(y.cpu(), want.to(torch.int8))


def test_normalised_and_quantised():
    torch.manual_seed(7)
    x, gamma, beta = torch.randn(4, 1, 128).half(), torch.randn(1, 128).half(), torch.randn(1, 128).half()
    y = torch.zeros(4, 1, 128, dtype=torch.int8).npu()
    torch_npu._npu_quant_rms_norm(x.npu(), gamma.npu(), beta.npu(), torch.tensor([0.3]).half().npu(), torch.tensor([2]).to(torch.int8).npu(), y, 1e-5)
    normal = x.double() * (x.double().square().mean(-1, keepdim=True) + 1e-5).rsqrt() * gamma.double() + beta.double()
    exact = normal / torch.tensor(0.3).half().double() + 2
    assert ((y.cpu().double() - exact.clamp(-128, 127)).abs() <= 0.5 + 1e-4).all()


@pytest.mark.parametrize("dtype", [HALF, BF16, torch.float32])
@pytest.mark.parametrize("n", [1, 2])
def test_best_groups(dtype, n):
    torch.manual_seed(8)
    x = torch.stack([torch.randperm(32) for _ in range(10)]).to(dtype)
    on = x.npu()
    torch_npu._npu_group_topk(on, k=3, group_num=8, n=n)
    best = x.double().view(10, 8, 4).topk(n, -1).values.sum(-1).sort(stable=True, dim=-1, descending=True).indices[:, :3]
    kept = torch.zeros(10, 8, dtype=torch.bool).scatter_(1, best, True).repeat_interleave(4, 1)
    assert torch.equal(on.cpu(), torch.where(kept, x, 0))


@pytest.mark.parametrize("normal", [False, True])
def test_experts(normal):
    torch.manual_seed(9)
    x, add = torch.randn(10, 32), torch.randn(32)
    y, indices = torch_npu.atb.npu_fused_add_topk_div(
        x.npu(), add.npu(), group_num=8, group_topk=3, n=2, k=4, is_norm=normal, scale=2.5)
    p = x.double().sigmoid()
    by = p + add.double()
    best = by.view(10, 8, 4).topk(2, -1).values.sum(-1).topk(3, -1).indices
    kept = torch.zeros(10, 8, dtype=torch.bool).scatter_(1, best, True).repeat_interleave(4, 1)
    chosen = by.masked_fill(~kept, -torch.inf).topk(4, -1).indices
    weights = p.gather(1, chosen)
    assert torch.equal(indices.cpu().long(), chosen)
    close(y, weights / (weights.sum(-1, keepdim=True) if normal else 1) * 2.5, torch.float32)


def test_a_captured_step():
    new, seen, page = [1, 1], [40, 3], 16
    q, k, v = sequences(new, seen)
    table = table_of(2, 3)
    keys, values, on = in_pages(k, seen, page, table).npu(), in_pages(v, seen, page, table).npu(), q.npu()
    out, tables = torch.zeros(2, 4, 8).half().npu(), table.npu()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        torch_npu._npu_paged_attention(on, keys, values, 2, 4, 0.3, tables, ints(seen), out)
    for _ in range(2):
        q = torch.randn_like(q)
        on.copy_(q)
        out.zero_()
        graph.replay()
        close(out, torch.cat([attention(*x, 0.3)[0] for x in each(new, seen, q, k, v)]))


# --- refusals -------------------------------------------------------------------------------------------------------
BEGIN = """
import torch, torch_npu
q, out = torch.zeros(2, 4, 16).half().npu(), torch.zeros(2, 4, 16).half().npu()
cache, table, lengths = torch.zeros(3, 4, 2, 16).half().npu(), torch.tensor([[0, 1], [2, 0]]).int().npu(), torch.tensor([5, 3]).int()
"""


@pytest.mark.parametrize("call, words", [
    ("torch_npu._npu_paged_attention_quant(q, cache, cache, 2, 4, 0.3, table, lengths, 3, 1, q, q, out)",
     "PagedAttentionOperation (quantType is 3: quantised keys and values are not supported, want 0) setup failed"),
    ("torch_npu._npu_paged_attention(q, cache, cache, 2, 4, 0.3, table, torch.tensor([5, 9]).int(), out)",
     "actualSeqLengthsKv[1] is 9, want the keys of the sequence, 0 up to 8"),
    ("torch_npu._npu_paged_attention(q, cache, cache, 3, 4, 0.3, table, lengths, out)", "numKeyValueHeads is 3, want a divisor of 4"),
    ("torch_npu._npu_paged_attention(q, cache, cache, 2, 4, 0.3, table + 7, lengths, out)", "page 7 of sequence 0 is out of range, want 0 to 2"),
    ("torch_npu._npu_paged_attention(q, cache, cache, 2, 4, 0.3, table, lengths, q[:1])", "attentionOut is"),
    ("torch_npu.atb._npu_flash_attention_v2(q, q, q, [2], mask=torch.zeros(256, 256).half().npu(), slopes=torch.zeros(4).half().npu(), "
     "mask_type=4, scale_value=0.3, num_heads=4, num_kv_heads=4, out=out)", "maskType is 4, supported are"),
    ("torch_npu.atb.npu_multi_head_latent_attention(q, q, cache, cache, table, [5, 3], 4, 0.3, 2, cache_mode='nzcache')",
     "updraft: AtbMLA: cacheMode is 3: quantised and blocked caches are not supported, want 1 (krope_ctkv)"),
    ("k = q[:, :2].contiguous(); torch_npu._npu_reshape_and_cache(k, k, cache, cache.clone(), torch.tensor([0]).int().npu())", "slotMapping is INT32[1]"),
])
def test_what_is_not_supported_says_so(call, words):
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", f"{BEGIN}{call}\ntorch.npu.synchronize()"], capture_output=True, text=True,
                          timeout=200)
    assert done.returncode and words in done.stderr, done.stderr[-3000:]
