"""Attention of inference: layouts, groups of heads, lengths, pages, masks and blocks, against PyTorch's CPU in float64; and the
update of a captured call."""
import ctypes
import subprocess
import sys

import pytest
import torch
import torch_npu
from aclnn import Arguments, call, error_text, library, prototypes

HALF = torch.float16


def attention(q, k, v, scale, hidden=None, shift=None):
    """[batch, heads, tokens, size] in float64"""
    q, k, v = q.double(), k.double(), v.double()
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)
    s = q @ k.mT * scale
    if shift is not None:
        s = s + shift.double()
    if hidden is not None:
        s = s.masked_fill(hidden, -torch.inf)
    return s.softmax(-1).nan_to_num(0) @ v, s.logsumexp(-1, keepdim=True)


def laid(x, layout):
    """From BNSD."""
    if layout == "BNSD":
        return x
    x = x.transpose(1, 2).contiguous()
    return x if layout == "BSND" else x.flatten(2)


def close(got, want, rtol=3e-3):
    torch.testing.assert_close(got.cpu().double(), want, rtol=rtol, atol=rtol)


@pytest.mark.parametrize("layout", ["BNSD", "BSND", "BSH"])
@pytest.mark.parametrize("heads, kv_heads", [(4, 4), (4, 2), (4, 1)])
@pytest.mark.parametrize("tokens", [1, 5])
def test_layouts_and_lengths(layout, heads, kv_heads, tokens):
    torch.manual_seed(0)
    q, k, v = torch.randn(2, heads, tokens, 8).half(), torch.randn(2, kv_heads, 9, 8).half(), torch.randn(2, kv_heads, 9, 8).half()
    lengths = [9, 6]
    got, lse = torch_npu.npu_fused_infer_attention_score(
        laid(q, layout).npu(), laid(k, layout).npu(), laid(v, layout).npu(), num_heads=heads, num_key_value_heads=kv_heads,
        input_layout=layout, scale=0.3, actual_seq_lengths_kv=lengths, softmax_lse_flag=True)
    hidden = torch.arange(9)[None, None, None] >= torch.tensor(lengths)[:, None, None, None]
    want, sums = attention(q, k, v, 0.3, hidden)
    close(got, laid(want, layout))
    close(lse.reshape(sums.shape), sums)
    if tokens == 1:
        step = torch_npu.npu_incre_flash_attention(laid(q, layout).npu(), laid(k, layout).npu(), laid(v, layout).npu(),
                                                   num_heads=heads, num_key_value_heads=kv_heads, input_layout=layout,
                                                   scale_value=0.3, actual_seq_lengths=lengths)
        assert torch.equal(step.cpu(), got.cpu())


@pytest.mark.parametrize("mode", [0, 1, 2, 3, 4])
def test_masks(mode):
    torch.manual_seed(1)
    q, k, v = torch.randn(2, 3, 4, 8).half(), torch.randn(2, 3, 7, 8).half(), torch.randn(2, 3, 7, 8).half()
    mask = torch.rand(4, 7) < 0.3
    mask[:, 0] = False
    i, j = torch.arange(4)[:, None], torch.arange(7)
    hidden = {0: mask | (j - i > 2) | (j - i < -1), 1: mask, 2: j > i, 3: j > i + 3, 4: (j - i - 3 > 2) | (j - i - 3 < -1)}[mode]
    given = mask if mode < 2 else torch.ones(2048, 2048, dtype=torch.bool).triu(1)
    got = torch_npu.npu_prompt_flash_attention(q.npu(), k.npu(), v.npu(), num_heads=3, input_layout="BNSD", scale_value=0.3,
                                               pre_tokens=1, next_tokens=2, sparse_mode=mode, atten_mask=given.npu())
    close(got, attention(q, k, v, 0.3, hidden)[0])


def test_keys_in_pages():
    torch.manual_seed(2)
    q, k, v = torch.randn(2, 4, 1, 8).half(), torch.randn(2, 2, 40, 8).half(), torch.randn(2, 2, 40, 8).half()
    table = torch.tensor([[4, 0, 2], [1, 5, 3]], dtype=torch.int32)
    pages = torch.full((2, 6, 16, 16), torch.nan, dtype=HALF)  # key and value: [pages, tokens, heads * size]
    for which, x in enumerate((k, v)):
        for b in range(2):
            rows = x[b].transpose(0, 1).flatten(1)
            for p in range(3):
                part = rows[16 * p:16 * (p + 1)]
                pages[which, table[b, p], :len(part)] = part
    lengths = [40, 17]
    got = torch_npu.npu_incre_flash_attention(q.transpose(1, 2).flatten(2).npu(), pages[0].npu(), pages[1].npu(), num_heads=4,
                                              num_key_value_heads=2, input_layout="BSH", scale_value=0.3, block_size=16,
                                              block_table=table.npu(), actual_seq_lengths=lengths)
    hidden = torch.arange(40)[None, None, None] >= torch.tensor(lengths)[:, None, None, None]
    close(got, laid(attention(q, k, v, 0.3, hidden)[0], "BSH"))


def ends(lengths):
    return torch.tensor(lengths).cumsum(0).tolist()


def in_pages(x, lengths, page, table):
    """Tokens of sequences, one after the other, [tokens, heads, size]: in pages [pages, tokens, heads * size] that have NaN elsewhere."""
    pages = torch.full((int(table.max()) + 2, page, x[0].numel()), torch.nan, dtype=x.dtype)
    for i, rows in enumerate(x.flatten(1).split(lengths)):
        for p in range(0, len(rows), page):
            part = rows[p:p + page]
            pages[table[i, p // page], :len(part)] = part
    return pages


@pytest.mark.parametrize("pages", [False, True])
@pytest.mark.parametrize("mode, before", [(0, 0), (3, 0), (4, 6)])
@pytest.mark.parametrize("rope", [0, 4])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_tokens_of_all_sequences_in_one_row(pages, mode, before, rope, dtype):
    """What vLLM passes: a prompt, a step, a prompt that goes on and a sequence without tokens, keys in pages or not; and rows behind them."""
    torch.manual_seed(6)
    new, seen, heads, kv_heads, page = [5, 1, 0, 40], [5, 17, 0, 150], 4, 2, 16
    q, k, v = (torch.randn(n, h, d).to(dtype) for n, h, d in ((sum(new), heads, 8), (sum(seen), kv_heads, 8), (sum(seen), kv_heads, 12)))
    q_rope, k_rope = torch.randn(sum(new), heads, rope).to(dtype), torch.randn(sum(seen), kv_heads, rope).to(dtype)
    table = torch.randperm(44).int().reshape(4, 11)
    place = (lambda x: in_pages(x, seen, page, table).npu()) if pages else (lambda x: x.npu())
    extra = dict(query_rope=torch.cat([q_rope, q_rope[:3]]).npu(), key_rope=place(k_rope)) if rope else {}
    triangle = torch.ones(2048, 2048, dtype=torch.int8).triu(1).npu()
    got, lse = torch_npu.npu_fused_infer_attention_score(
        torch.cat([q, q[:3]]).npu(), place(k), place(v), num_heads=heads, num_key_value_heads=kv_heads, input_layout="TND", scale=0.3,
        block_table=table.npu() if pages else None, block_size=page if pages else 0, sparse_mode=mode, pre_tokens=before or 2147483647,
        next_tokens=0 if mode else 2147483647, atten_mask=triangle if mode else None, actual_seq_lengths=ends(new),
        actual_seq_lengths_kv=seen if pages else ends(seen), softmax_lse_flag=True, **extra)
    assert got.shape == (sum(new) + 3, heads, 12) and lse.shape == (sum(new) + 3, heads, 1)
    got, lse = got.cpu(), lse.cpu()
    assert not got[sum(new):].any()
    at = 0
    q, k = torch.cat([q, q_rope], -1), torch.cat([k, k_rope], -1)
    for n, m, keys, values in zip(new, seen, k.split(seen), v.split(seen)):
        i, j = torch.arange(n)[:, None] + m - n, torch.arange(m)
        hidden = torch.zeros(n, m, dtype=torch.bool) if mode == 0 else (j > i) | ((j < i - before) if before else False)
        want, sums = attention(*(x.transpose(0, 1)[None] for x in (q[at:at + n], keys, values)), 0.3, hidden)
        close(got[at:at + n], want[0].transpose(0, 1), 3e-3 if dtype == HALF else 2e-2)
        close(lse[at:at + n], sums[0].transpose(0, 1), 3e-3)
        at += n


def test_scores_without_values():
    torch.manual_seed(7)
    q, k, v, sink = torch.randn(2, 4, 3, 8).half(), torch.randn(2, 2, 9, 8).half(), torch.randn(2, 2, 9, 8).half(), torch.randn(4)
    out, lse = torch.empty_like(q).npu(), torch.empty(2, 4, 3, 1).npu()
    call("aclnnFusedInferAttentionScoreV4", q.npu(), [k.npu()], [v.npu()], *[None] * 25, sink.npu(), 4, 0.3, 0, 0, "BNSD", 2, 0, 0, 0, 0, True, 0,
         0, 0, out, lse)
    keys = torch.cat([k, torch.zeros(2, 2, 1, 8).half()], 2)  # a key of its own, whose score is the sink and whose value is 0
    shift = torch.zeros(1, 4, 3, 10)
    shift[..., 9] = sink[:, None]
    want, sums = attention(q, keys, torch.cat([v, torch.zeros(2, 2, 1, 8).half()], 2), 0.3, shift=shift)
    close(out, want)
    close(lse, sums)


@pytest.mark.parametrize("change, words", [
    (dict(actual_seq_lengths=[3, 7]), r"actualSeqLengths\[1\] is 7, want where the sequence ends: 3 up to 6"),
    (dict(actual_seq_lengths=[3, 2]), r"actualSeqLengths\[1\] is 2"),
    (dict(actual_seq_lengths=None), "TND wants both for each sequence"),
    (dict(actual_seq_lengths_kv=[4, 10]), r"actualSeqLengthsKv\[1\] is 10, want where the sequence ends, up to 9"),
    (dict(query_rope=torch.randn(6, 4, 2).half()), "queryRope and keyRope belong together"),
    (dict(block_table=torch.zeros(1, 2).int()), "key is FLOAT16.* heads of 2 and 8")])
def test_sequences_that_do_not_fit(change, words):
    q, k = torch.randn(6, 4, 8).half().npu(), torch.randn(9, 4, 8).half().npu()
    given = dict(num_heads=4, input_layout="TND", actual_seq_lengths=[3, 6], actual_seq_lengths_kv=[4, 9]) | change
    given = {n: v.npu() if isinstance(v, torch.Tensor) else v for n, v in given.items()}
    with pytest.raises(RuntimeError, match=words):
        torch_npu.npu_fused_infer_attention_score(q, k, k, **given)


def test_what_is_not_supported_is_refused():
    q = torch.randn(1, 2, 4, 8).half().npu()
    with pytest.raises(RuntimeError, match="inputLayout is"):
        torch_npu.npu_prompt_flash_attention(q, q, q, num_heads=2, input_layout="SH", scale_value=1.0)
    with pytest.raises(RuntimeError, match="quantScale2 is given"):
        torch_npu.npu_fused_infer_attention_score(q, q, q, num_heads=2, input_layout="BNSD",
                                                  quant_scale2=torch.ones(1).npu())


def test_lengths_of_a_captured_call_are_updated():
    torch.manual_seed(3)
    q, k, v = torch.randn(1, 4, 1, 16).half().npu(), torch.randn(1, 4, 32, 16).half().npu(), torch.randn(1, 4, 32, 16).half().npu()

    def run(length):
        return torch_npu.npu_fused_infer_attention_score(q, k, v, num_heads=4, input_layout="BNSD", scale=0.25,
                                                         actual_seq_lengths_kv=length)[0]
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, auto_dispatch_capture=True):
        out = run([32])
    for length in ([32], [5], [20]):
        graph.update(cpu_update_input=[{"actual_seq_lengths_kv": length}])
        graph.replay()
        torch.npu.synchronize()
        assert torch.equal(out.cpu(), run(length).cpu())


@pytest.mark.parametrize("layout", ["BNSD", "TND"])
@pytest.mark.parametrize("kv_heads", [4, 2])
def test_blocks_that_are_seen(layout, kv_heads):
    torch.manual_seed(4)
    q, k, v = torch.randn(2, 4, 20, 8).half(), torch.randn(2, kv_heads, 20, 8).half(), torch.randn(2, kv_heads, 20, 8).half()
    mask = (torch.rand(2, 4, 3, 2) < 0.6).to(torch.int8)
    mask[0, 1, 2] = 0  # these queries see nothing
    seen = mask.bool().repeat_interleave(8, 2)[:, :, :20].repeat_interleave(16, 3)[..., :20]
    exact = [x.double().requires_grad_() for x in (q, k, v)]
    want, lse = attention(*exact, 0.4, ~seen)
    turn = (lambda x: x) if layout == "BNSD" else (lambda x: x.transpose(1, 2).flatten(0, 1))
    on = [turn(x).npu() for x in (q, k, v)]
    got, sums = torch_npu.npu_block_sparse_attention(
        *on, mask.npu(), [8, 16], q_input_layout=layout, kv_input_layout=layout, num_key_value_heads=kv_heads, scale_value=0.4,
        inner_precise=0, actual_seq_lengths=[20, 20], actual_seq_lengths_kv=[20, 20], softmax_lse_flag=1)
    close(got, turn(want.detach()))
    close(sums, turn(lse.detach()))
    g = torch.randn(2, 4, 20, 8).half()
    # PyTorch's gradient of a row that sees nothing is NaN: that row is left out of what is differentiated.
    torch.where(seen.any(-1, keepdim=True), want, 0).backward(g.double())
    grads = torch_npu.npu_block_sparse_attention_backward(
        turn(g).npu(), *on, got, sums, mask.npu(), block_shape=[8, 16], q_input_layout=layout, kv_input_layout=layout,
        num_key_value_heads=kv_heads, scale_value=0.4, actual_seq_lengths=[20, 20], actual_seq_lengths_kv=[20, 20])
    for a, b in zip(grads, exact):
        close(a, turn(b.grad.nan_to_num(0)), 6e-3)


@pytest.mark.parametrize("neox", ["half", "interleave"])
def test_rotary_table(neox):
    torch.manual_seed(5)
    table = torch.randn(30, 8)
    q, k = torch.randn(6, 2 * 12), torch.randn(6, 12)
    at = torch.randint(0, 30, (3, 6))
    got = torch_npu.npu_mrope(at.npu(), q.npu(), k.npu(), table.npu(), 12, mrope_section=[2, 1, 1], rotary_mode=neox)
    row = torch.tensor([0, 0, 1, 2])
    cos, sin = (table[at[row].t(), torch.arange(4) + o].double() for o in (0, 4))
    for x, y in zip((q, k), got):
        x = x.double().reshape(6, -1, 12)
        a, b = (x[..., :4], x[..., 4:8]) if neox == "half" else (x[..., 0:8:2], x[..., 1:8:2])
        turned = [a * cos[:, None] - b * sin[:, None], b * cos[:, None] + a * sin[:, None]]
        turned = torch.cat(turned, -1) if neox == "half" else torch.stack(turned, -1).flatten(-2)
        torch.testing.assert_close(y.cpu().double(), torch.cat([turned, x[..., 8:]], -1).flatten(1), rtol=1e-5, atol=1e-5)


def test_blocks_that_tokens_select():
    torch.manual_seed(3)
    size, lengths = 4, ([3, 5], [8, 30])  # ends of two sequences; the second has a block of two keys at its end
    q, k, v = (torch.randn(n, h, d).half().npu().requires_grad_() for n, h, d in ((5, 4, 16), (30, 2, 16), (30, 2, 8)))
    named = torch.tensor([[0, 1, -1], [1, 0, -1], [1, -1, -1], [5, 0, 2], [3, 5, 9]], dtype=torch.int32)  # -1 and 9: no block
    blocks = torch.stack([named, named.flip(1)], 1)
    out, most, total = torch_npu.npu_nsa_select_attention(q, k, v, blocks.npu(), 0.3, 4, size, 3, actual_seq_qlen=lengths[0],
                                                          actual_seq_kvlen=lengths[1])
    on = [x.detach().cpu().double().requires_grad_() for x in (q, k, v)]
    rows, scores = [], []
    for t in range(5):
        begin, end = ((0, 8), (8, 30))[t >= 3]
        for h in range(4):
            keys = [begin + b * size + i for b in blocks[t, h // 2].tolist() if b >= 0 for i in range(size) if begin + b * size + i < end]
            s = on[1][keys, h // 2] @ on[0][t, h] * 0.3
            rows.append(s.softmax(-1) @ on[2][keys, h // 2])
            scores.append(s.detach())
    want = torch.stack(rows).reshape(5, 4, 8)
    close(out.detach(), want.detach())
    most, total = (x.cpu().double() for x in (most, total))
    close(most, torch.stack([s.amax() for s in scores]).reshape(5, 4, 1).expand(-1, -1, 8))
    close(total, torch.stack([(s - s.amax()).exp().sum() for s in scores]).reshape(5, 4, 1).expand(-1, -1, 8))
    by = torch.randn(5, 4, 8).half()
    out.backward(by.npu())
    for got, expected in zip((q, k, v), torch.autograd.grad(want, on, by.double())):
        close(got.grad, expected)
    with pytest.raises(RuntimeError, match="the sequences end at 4 and 30, want 5 and 30"):
        torch_npu.npu_nsa_select_attention(q, k, v, blocks.npu(), 0.3, 4, size, 3, actual_seq_qlen=[3, 4], actual_seq_kvlen=[8, 30])


def test_lengths_count_among_the_indices_of_addresses():
    """A client that keeps the executor of a call gives its result another address by the index that counts lengths, too."""
    torch.manual_seed(9)
    q, k, v = (torch.randn(2, 2, n, 8).half().npu() for n in (1, 9, 9))
    out, other = torch.zeros_like(q), torch.zeros_like(q)
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    values = [q, [k], [v], None, None, [9, 6], *[None] * 9, 2, 0.3, "BNSD", 2, 0, 1, out]
    arguments = Arguments()
    converted = [arguments.convert(kind, v) for kind, v in zip(prototypes()["aclnnIncreFlashAttentionV4"], values)]
    assert library().aclnnIncreFlashAttentionV4GetWorkspaceSize(*converted, ctypes.byref(size), ctypes.byref(executor)) == 0
    assert library().aclSetAclOpExecutorRepeatable(executor) == 0
    arguments.destroy()
    workspace = torch.empty(size.value, dtype=torch.uint8, device="npu")
    stream = ctypes.c_void_p(torch.npu.current_stream().npu_stream)

    def run():
        torch.npu.synchronize()
        assert library().aclnnIncreFlashAttentionV4(ctypes.c_void_p(workspace.data_ptr()), size, executor, stream) == 0
        torch.npu.synchronize()

    run()
    assert library().aclSetTensorAddr(executor, ctypes.c_size_t(15), None, ctypes.c_void_p(other.data_ptr())) == 0
    run()
    assert out.abs().sum() > 0 and torch.equal(out.cpu(), other.cpu())
    shifted = v + 1
    torch.npu.synchronize()
    assert library().aclSetDynamicTensorAddr(executor, ctypes.c_size_t(2), ctypes.c_size_t(0), None, ctypes.c_void_p(shifted.data_ptr())) == 0
    run()
    close(other, out.cpu().double() + 1, rtol=5e-3)
    assert library().aclSetTensorAddr(executor, ctypes.c_size_t(5), None, ctypes.c_void_p(other.data_ptr())) == 161002
    assert "actualSeqLengths is an array of integers" in error_text()().decode()
    library().aclDestroyAclOpExecutor(executor)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int8])
@pytest.mark.parametrize("sums", [False, True])
@pytest.mark.parametrize("index", [torch.int32, torch.int64])
def test_tokens_from_pages(dtype, sums, index):
    """What chunked prefill reads of a cache: sequences from a place on, one of them empty; what lies behind them stays."""
    torch.manual_seed(3)
    pages, page, lengths, offsets = 7, 4, [5, 0, 9], [4, 0, 2]
    keys, values = torch.randint(-99, 99, (pages, page, 2, 16)).to(dtype), torch.randint(-99, 99, (pages, page, 2, 8)).to(dtype)
    tables = torch.stack([torch.randperm(pages)[:3] for _ in lengths])
    key, value = torch.full((16, 2, 16), 7).to(dtype), torch.full((16, 2, 8), 7).to(dtype)
    got = key.npu(), value.npu()
    seen = torch.tensor([0, *lengths]).cumsum(0) if sums else torch.tensor(lengths)
    torch_npu.npu_gather_pa_kv_cache(keys.npu(), values.npu(), tables.to(index).npu(), seen.to(index).npu(), *got,
                                     seq_offset=torch.tensor(offsets).to(index).npu(), is_seq_lens_cumsum=sums)
    at = 0
    for table, n, first in zip(tables, lengths, offsets):
        for t in range(first, first + n):
            key[at], value[at] = keys[table[t // page], t % page], values[table[t // page], t % page]
            at += 1
    assert torch.equal(got[0].cpu(), key) and torch.equal(got[1].cpu(), value)


def test_blocked_pages_give_what_they_got():
    torch.manual_seed(4)
    key, value = torch.randn(6, 2, 16).half().npu(), torch.randn(6, 2, 32).half().npu()
    keys, values = torch.zeros(3, 2, 4, 16).half().npu(), torch.zeros(3, 4, 4, 16).half().npu()  # [pages, heads * size / 16, page, 16]
    slots = torch.tensor([8, 9, 10, 11, 0, 1]).int().npu()
    torch_npu.npu_scatter_pa_kv_cache(key, value, keys, values, slots, cache_mode="PA_NZ")
    out = torch.zeros_like(key), torch.zeros_like(value)
    call("aclnnGatherPaKvCache", keys, values, torch.tensor([[2, 0]]).int().npu(), torch.tensor([6]).int().npu(), *out, None, "PA_NZ", False)
    assert torch.equal(out[0], key) and torch.equal(out[1], value)


@pytest.mark.parametrize("lengths, tables, words", [([9], [[0, 1]], "blockTables names 2 pages of 4"), ([5], [[0, 3]], "page 3 for sequence 0, the cache has 3"),
                                                    ([8], [[0, 1]], "more than the 6 tokens")])
def test_tokens_that_no_page_has(lengths, tables, words):
    program = f"""
import torch, torch_npu
cache, out = torch.zeros(3, 4, 2, 8).half().npu(), torch.zeros(6, 2, 8).half().npu()
torch_npu.npu_gather_pa_kv_cache(cache, cache, torch.tensor({tables}).int().npu(), torch.tensor({lengths}).int().npu(), out, out.clone())
torch.npu.synchronize()
"""
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", program], capture_output=True, text=True, timeout=100)
    assert done.returncode and words in done.stderr, done.stderr[-2000:]
