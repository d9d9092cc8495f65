"""Sparse attention (DeepSeek-V3.2): which keys each query reads, and attention to these, by torch_npu's calls in every layout,
and the windows of native sparse attention, against the same in float64."""
import pytest
import torch
import torch_npu
from aclnn import call

HEADS, SIZE, ROPE = 4, 32, 8


class Batches:
    """Queries and keys of several sequences, in a layout."""

    def __init__(self, layout, queries, keys, dtype=torch.bfloat16, page=16):
        torch.manual_seed(sum(keys))
        self.queries, self.keys, self.dtype, self.layout = queries, keys, dtype, layout
        # small whole numbers: scores are exact and differ
        self.q = [torch.randint(-3, 4, (n, HEADS, SIZE)).to(dtype) for n in queries]
        self.k = [torch.randint(-3, 4, (n, 1, SIZE)).to(dtype) for n in keys]
        self.w = [torch.rand(n, HEADS).to(dtype) for n in queries]
        self.q_rope, self.k_rope = ([torch.rand(len(x), x.shape[1], ROPE).to(dtype) for x in of] for of in (self.q, self.k))
        self.page = page

    def rows(self, parts):
        """Of queries, in the layout of queries."""
        if self.layout.startswith("TND"):
            return torch.cat(parts).npu()
        longest = max(self.queries)
        return torch.stack([torch.cat([x, torch.full((longest - len(x), *x.shape[1:]), 7).to(x.dtype)]) for x in parts]).npu()

    def cached(self, parts):
        """Of keys, in the layout of keys."""
        if self.layout == "TND":
            return torch.cat(parts).npu()
        if self.layout == "BSND":
            longest = max(self.keys)
            return torch.stack([torch.cat([x, torch.full((longest - len(x), *x.shape[1:]), 7).to(x.dtype)]) for x in parts]).npu()
        pages = torch.full((20, self.page, *parts[0].shape[1:]), 7).to(parts[0].dtype)
        for x, numbers in zip(parts, self.table):
            for i, row in enumerate(x):
                pages[numbers[i // self.page], i % self.page] = row
        return pages.npu()

    @property
    def table(self):
        order = torch.randperm(20, generator=torch.Generator().manual_seed(5)).int()
        return order[:len(self.keys) * 4].reshape(len(self.keys), 4)

    def told(self, key_name):
        packed, paged = self.layout.startswith("TND"), self.layout.endswith("PA_BSND")
        q, k = torch.tensor(self.queries).int(), torch.tensor(self.keys).int()
        return {"actual_seq_lengths_query": (q.cumsum(0).int() if packed else q).npu(),
                f"actual_seq_lengths_{'key' if key_name == 'key' else 'kv'}": (k.cumsum(0).int() if self.layout == "TND" else k).npu(),
                "layout_query": "TND" if packed else "BSND", f"layout_{key_name}": "PA_BSND" if paged else self.layout,
                "block_table": self.table.npu() if paged else None}

    def each(self, out):
        """What belongs to the queries of each sequence, and what to none."""
        out = out.cpu()
        if self.layout.startswith("TND"):
            return list(out.split(self.queries)), out[:0]
        return [o[:n] for o, n in zip(out, self.queries)], torch.cat([o[n:] for o, n in zip(out, self.queries)])


LAYOUTS = ["BSND", "TND", "PA_BSND", "TND+PA_BSND"]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", [0, 3])
def test_the_keys_that_weigh_most(layout, mode):
    b = Batches(layout, [3, 1, 2], [40, 5, 17])
    for count in (1, 4, 24):
        asked = layout in ("BSND", "TND")
        indices, values = torch_npu.npu_lightning_indexer(b.rows(b.q), b.cached(b.k), b.rows(b.w), sparse_count=count, sparse_mode=mode,
                                                          return_value=asked, **b.told("key"))
        found, others = b.each(indices)
        assert (others == -1).all()
        for n, (got, q, k, w) in enumerate(zip(found, b.q, b.k, b.w)):
            score = (w.double()[..., None] * (q.double() @ k[:, 0].double().T).relu()).sum(1)
            for i, row in enumerate(score):
                seen = len(k) if mode == 0 else len(k) - len(q) + i + 1
                kept = min(count, seen)
                mine = got[i, 0]
                assert (mine[kept:] == -1).all() and len(set(mine[:kept].tolist())) == kept and (mine[:kept] < seen).all()
                torch.testing.assert_close(row[mine[:kept].long()], row[:seen].sort(descending=True).values[:kept], rtol=1e-6, atol=1e-5)
                if asked:
                    torch.testing.assert_close(b.each(values)[0][n][i, 0, :kept].double(), row[mine[:kept].long()], rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode", [0, 3])
@pytest.mark.parametrize("kind", [torch.float16, torch.float32])  # of the scales
def test_the_keys_that_weigh_most_of_whole_numbers(layout, mode, kind):
    b = Batches(layout, [3, 1, 2], [40, 5, 17], torch.float16)
    g = torch.Generator().manual_seed(2)
    q, k = ([torch.randint(-128, 128, t.shape, generator=g).to(torch.int8) for t in of] for of in (b.q, b.k))
    by_query, by_key = ([torch.rand(t.shape[:2], generator=g).to(kind) / 99 for t in of] for of in (q, k))
    for count in (1, 4, 24):
        indices = torch_npu.npu_quant_lightning_indexer(b.rows(q), b.cached(k), b.rows(b.w), b.rows(by_query), b.cached(by_key), 0, 0, sparse_count=count,
                                                        sparse_mode=mode, **b.told("key"))
        found, others = b.each(indices)
        assert (others == -1).all() and indices.dtype == torch.int32
        for n, got in enumerate(found):
            product = q[n].double() @ k[n][:, 0].double().T * by_query[n].double()[..., None] * by_key[n].double()[:, 0]
            score = (b.w[n].double()[..., None] * product.relu()).sum(1)
            for i, row in enumerate(score):
                seen = row.numel() if mode == 0 else row.numel() - len(score) + i + 1
                kept, mine = min(count, seen), got[i, 0]
                assert (mine[kept:] == -1).all() and len(set(mine[:kept].tolist())) == kept and (mine[:kept] < seen).all()
                torch.testing.assert_close(row[mine[:kept].long()], row[:seen].sort(descending=True).values[:kept], rtol=1e-5, atol=1e-6)


def test_what_keys_of_whole_numbers_must_be():
    q, k = torch.ones(1, 2, 4, 16, dtype=torch.int8).npu(), torch.ones(1, 5, 1, 16, dtype=torch.int8).npu()
    w, by_query, by_key = torch.ones(1, 2, 4).half().npu(), torch.ones(1, 2, 4).half().npu(), torch.ones(1, 5, 1).half().npu()
    for wrong, text in (((q.half(), k.half(), w, by_query, by_key, 0, 0), "query is .*want INT8"), ((q, k, w, by_query[:, :1], by_key, 0, 0), "query_dequant_scale"),
                        ((q, k, w, by_query, by_key[:, :3], 0, 0), "key_dequant_scale"), ((q, k, w, by_query, by_key, 1, 0), "query_quant_mode is 1")):
        with pytest.raises(RuntimeError, match=text):
            torch_npu.npu_quant_lightning_indexer(*wrong, sparse_count=2)


def rows_of_bytes(numbers, rope, scales):
    """INT8, then rope as it lies, then the scales, for each token of [n, 1, size]."""
    return torch.cat([numbers, rope.contiguous().view(torch.int8), scales.contiguous().view(torch.int8)], -1)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode, block, dtype", [(0, 1, torch.float16), (3, 1, torch.bfloat16), (3, 4, torch.float16)])
def test_attention_to_named_keys_of_whole_numbers(layout, mode, block, dtype):
    """Tiles of 128 with a scale each, rope behind them, as the cache of latent attention holds them."""
    b = Batches(layout, [3, 1, 2], [40, 5, 17], dtype)
    g = torch.Generator().manual_seed(4)
    size, rope = 256, 64
    q = [torch.randn(n, HEADS, size + rope, generator=g).to(dtype) for n in b.queries]
    numbers = [torch.randint(-128, 128, (n, 1, size), generator=g).to(torch.int8) for n in b.keys]
    scales = [torch.rand(n, 1, size // 128, generator=g) / 50 for n in b.keys]
    turned = [torch.randn(n, 1, rope, generator=g).to(dtype) for n in b.keys]
    named = []
    for n, length in zip(b.queries, b.keys):
        blocks = -(-length // block)
        named.append(torch.stack([torch.cat([torch.randperm(blocks, generator=g)[:5], torch.full((5,), -1)])[:5] for _ in range(n)])[:, None].int())
    indices = b.rows(named)
    if not layout.startswith("TND"):
        for row, n in zip(indices, b.queries):
            row[n:] = -1
    caches = b.cached([rows_of_bytes(*parts) for parts in zip(numbers, turned, scales)])
    assert caches.shape[-1] == 256 + 2 * 64 + 2 * 4
    sinks = torch.randn(HEADS, generator=g)
    loose = {torch.float16: 2e-3, torch.bfloat16: 1e-2}[dtype]
    for sink in (None, sinks):
        told, limit = b.told("kv"), (1 << 63) - 1
        if sink is None:
            out = torch_npu.npu_kv_quant_sparse_flash_attention(b.rows(q), caches, caches, indices, 0.1, 2, 2, sparse_block_size=block, sparse_mode=mode,
                                                                attention_mode=2, **told)
        else:  # newer wheels call this where sinks are given
            out = torch.empty_like(out)
            call("aclnnKvQuantSparseFlashAttentionV2", b.rows(q), caches, caches, indices, None, None, told["block_table"], told["actual_seq_lengths_query"],
                 told["actual_seq_lengths_kv"], sink.npu(), 0.1, 2, 2, block, told["layout_query"], told["layout_kv"], mode, limit, limit, 2, 1, 128, 64, out)
        for n, got in enumerate(b.each(out)[0]):
            values = numbers[n].double() * scales[n].double().repeat_interleave(128, -1)
            keys = torch.cat([values, turned[n].double()], -1)[:, 0]
            for i in range(len(got)):
                seen = len(keys) if mode == 0 else len(keys) - len(got) + i + 1
                at = [t for start in named[n][i, 0].tolist() if start >= 0 for t in range(start * block, (start + 1) * block) if t < seen]
                scores = q[n][i].double() @ keys[at].T * 0.1
                share = (scores if sink is None else torch.cat([scores, sink.double()[:, None]], 1)).softmax(-1)[:, :len(at)]
                want = share @ values[:, 0][at] if at else torch.zeros(HEADS, size).double()
                torch.testing.assert_close(got[i].double(), want, rtol=loose, atol=loose)


def test_what_rows_of_whole_numbers_must_be():
    q, cache = torch.ones(1, 2, 4, 192).half().npu(), torch.zeros(1, 5, 1, 128 + 128 + 4, dtype=torch.int8).npu()
    named = torch.zeros(1, 2, 1, 2, dtype=torch.int32).npu()
    for cache_of, more, text in ((cache[..., :-1].contiguous(), {}, "want heads of 260 bytes"), (cache, {"attention_mode": 0}, "attention_mode is 0, want 2"),
                                 (cache, {"quant_scale_repo_mode": 0}, "quant_scale_repo_mode is 0"), (cache, {"tile_size": 100}, "tiles of 100"),
                                 (cache.half(), {}, "key is .*want INT8")):
        with pytest.raises(RuntimeError, match=text):
            torch_npu.npu_kv_quant_sparse_flash_attention(q, cache_of, cache_of, named, 1.0, 2, 2, **{**dict(attention_mode=2), **more})


@pytest.mark.parametrize("layout", ["BSND", "TND"])
@pytest.mark.parametrize("kind", [torch.float16, torch.float32])  # of the weights
def test_gradients_of_what_keys_weigh(layout, kind):
    b = Batches(layout, [3, 1, 2], [40, 5, 17], torch.float16)
    weights = [w.to(kind) for w in b.w]
    told = b.told("key")
    given = b.rows(b.q), b.cached(b.k)
    indices, _ = torch_npu.npu_lightning_indexer(*given, b.rows(b.w), sparse_count=8, sparse_mode=3, **told)
    dy = torch.rand(indices.shape, generator=torch.Generator().manual_seed(1)).half()
    made = torch_npu.npu_lightning_indexer_grad(*given, dy.npu(), indices, b.rows(weights), told["actual_seq_lengths_query"], told["actual_seq_lengths_key"],
                                                layout=layout, sparse_mode=3)
    chosen, slopes = b.each(indices)[0], b.each(dy)[0]
    for n, (q, k, w) in enumerate(zip(b.q, b.k, weights)):
        leaves = [t.double().requires_grad_() for t in (q, k, w)]
        score = (leaves[2][..., None] * (leaves[0] @ leaves[1][:, 0].T).relu()).sum(1)
        sum((row[i[i >= 0].long()] * s[i >= 0].double()).sum() for row, (i,), (s,) in zip(score, chosen[n], slopes[n])).backward()
        for t, leaf, counts in zip(made, leaves, (b.queries, b.keys, b.queries)):
            t = (t.cpu().split(counts) if layout == "TND" else [x[:m] for x, m in zip(t.cpu(), counts)])[n]
            torch.testing.assert_close(t.double(), leaf.grad, rtol=2e-3, atol=2e-3 * leaf.grad.abs().max().item())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("mode, block, rope", [(0, 1, True), (3, 1, True), (3, 4, False), (0, 8, True)])
def test_attention_to_named_keys(layout, mode, block, rope):
    b = Batches(layout, [3, 1, 2], [40, 5, 17])
    g = torch.Generator().manual_seed(1)
    named = []
    for n, length in zip(b.queries, b.keys):
        blocks = -(-length // block)
        rows = torch.full((n, 1, 6), -1, dtype=torch.int32)
        for row in rows:
            count = int(torch.randint(1, min(6, blocks) + 1, (1,), generator=g))
            row[0, :count] = torch.randperm(blocks, generator=g)[:count]
        named.append(rows)
    sums = layout in ("BSND", "TND")
    scale, more = 0.1, {}
    if rope:
        more = dict(query_rope=b.rows(b.q_rope), key_rope=b.cached(b.k_rope))
    indices = b.rows(named)
    if not layout.startswith("TND"):
        for row, n in zip(indices, b.queries):
            row[n:] = -1
    keys = b.cached(b.k)
    out, top, total = torch_npu.npu_sparse_flash_attention(
        b.rows(b.q), keys, keys, indices, scale, sparse_block_size=block, sparse_mode=mode, attention_mode=2, return_softmax_lse=sums,
        **more, **b.told("kv"))
    for n, (got, q, k, rows) in enumerate(zip(b.each(out)[0], b.q, b.k, named)):
        q, k = q.double(), k[:, 0].double()
        left, right = (torch.cat([q, b.q_rope[n].double()], -1), torch.cat([k, b.k_rope[n][:, 0].double()], -1)) if rope else (q, k)
        for i in range(len(q)):
            seen = len(k) if mode == 0 else len(k) - len(q) + i + 1
            read = [s for x in rows[i, 0].tolist() if x >= 0 for s in range(x * block, min((x + 1) * block, len(k))) if s < seen]
            if not read:
                assert (got[i] == 0).all()
                continue
            score = left[i] @ right[read].T * scale
            torch.testing.assert_close(got[i].double(), score.softmax(-1) @ k[read], rtol=2e-2, atol=2e-2)
            if sums:
                at = (0, sum(b.queries[:n]) + i) if layout == "TND" else (n, 0, i)
                torch.testing.assert_close(top.cpu()[at].double(), score.amax(-1), rtol=1e-5, atol=1e-5)
                torch.testing.assert_close(total.cpu()[at].double(), (score - score.amax(-1, keepdim=True)).exp().sum(-1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("layout", ["BSND", "TND"])
@pytest.mark.parametrize("mode, block, rope", [(0, 1, True), (3, 1, True), (3, 4, False)])
def test_gradients_of_attention_to_named_keys(layout, mode, block, rope):
    b = Batches(layout, [3, 1, 2], [40, 5, 17], torch.float16)
    g = torch.Generator().manual_seed(2)
    named = [torch.stack([torch.randperm(-(-length // block), generator=g)[:2][None].int() for _ in range(n)]) for n, length in zip(b.queries, b.keys)]
    slopes = [torch.rand(n, HEADS, SIZE, generator=g).half() for n in b.queries]
    values = [torch.rand(k.shape, generator=g).half() for k in b.k]
    indices, told = b.rows(named), b.told("kv")
    if layout == "BSND":
        for row, n in zip(indices, b.queries):
            row[n:] = -1
    more = dict(query_rope=b.rows(b.q_rope), key_rope=b.cached(b.k_rope)) if rope else {}
    given = b.rows(b.q), b.cached(b.k), b.cached(values)
    out = torch_npu.npu_sparse_flash_attention(*given, indices, 0.1, sparse_block_size=block, sparse_mode=mode, attention_mode=2 if rope else 0,
                                               return_softmax_lse=True, **more, **told)
    made = torch_npu.npu_sparse_flash_attention_grad(*given, indices, b.rows(slopes), *out, 0.1, block, **more, layout=layout, sparse_mode=mode,
                                                     actual_seq_qlen=told["actual_seq_lengths_query"], actual_seq_kvlen=told["actual_seq_lengths_kv"])

    def parts(t, counts):
        t = t.cpu().double()
        return t.split(counts) if layout == "TND" else [x[:n] for x, n in zip(t, counts)]

    got = [parts(t, counts) for t, counts in zip(made, (b.queries, b.keys, b.keys, b.queries, b.keys)) if t.numel()]
    assert len(got) == (5 if rope else 3)
    for n in range(3):
        leaves = [t[n].double().requires_grad_() for t in (b.q, b.k, values, *([b.q_rope, b.k_rope] if rope else []))]
        q, k, v = leaves[0], leaves[1][:, 0], leaves[2][:, 0]
        left, right = (torch.cat([q, leaves[3]], -1), torch.cat([k, leaves[4][:, 0]], -1)) if rope else (q, k)
        for i in range(len(q)):
            seen = len(k) if mode == 0 else len(k) - len(q) + i + 1
            read = [s for x in named[n][i, 0].tolist() for s in range(x * block, min((x + 1) * block, len(k))) if s < seen]
            if read:
                (((left[i] @ right[read].T * 0.1).softmax(-1) @ v[read]) * slopes[n][i].double()).sum().backward(retain_graph=True)
        for made_part, leaf in zip(got, leaves):
            want = torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
            torch.testing.assert_close(made_part[n], want, rtol=1e-2, atol=1e-2 * max(0.1, want.abs().max().item()))


def test_refusals():
    b = Batches("BSND", [2], [9])
    q, k, w = b.rows(b.q), b.cached(b.k), b.rows(b.w)
    for wrong, text in ((dict(layout_query="SBND"), "layout_query is"), (dict(sparse_mode=1), "sparse_mode is 1"), (dict(pre_tokens=3), "pre_tokens is 3"),
                        (dict(layout_key="PA_BSND"), "actual_seq_lengths_key is null"), (dict(layout_key="TND"), "key is")):
        with pytest.raises(RuntimeError, match=text):
            torch_npu.npu_lightning_indexer(q, k, w, **{**dict(sparse_count=2), **wrong})
    with pytest.raises(RuntimeError, match="weights"):
        torch_npu.npu_lightning_indexer(q, k, w[:, :1], sparse_count=2)
    named = torch.zeros(1, 2, 1, 2, dtype=torch.int32).npu()
    for wrong, text in ((dict(sparse_block_size=3), "sparse_block_size is 3"), (dict(attention_mode=1), "attention_mode is 1"),
                        (dict(query_rope=q), "belong together")):
        with pytest.raises(RuntimeError, match=text):
            torch_npu.npu_sparse_flash_attention(q, k, k, named, 1.0, **wrong)


@pytest.mark.parametrize("dtype, loose", [(torch.bfloat16, 2e-2), (torch.float16, 4e-3)])
@pytest.mark.parametrize("ends", [[70], [10, 26, 26, 90, 123]])  # batches shorter than a window, and none
def test_windows_as_one_token(dtype, loose, ends):
    torch.manual_seed(1)
    x, w = torch.randn(ends[-1], 4, 32).to(dtype), torch.rand(32, 4).to(dtype)
    on = [t.double().requires_grad_() for t in (x, w)]
    begins = [at for start, end in zip([0, *ends], ends) for at in range(start, end - 31, 16)]
    want = torch.stack([(on[0][at:at + 32] * on[1][..., None]).sum(0) for at in begins])
    g = torch.randn(want.shape).to(dtype)
    want.backward(g.double())
    there = [t.npu().requires_grad_() for t in (x, w)]
    got = torch_npu.npu_nsa_compress(*there, 32, 16, actual_seq_len=ends)
    got.backward(g.npu())
    for a, b in ((got.detach(), want.detach()), (there[0].grad, on[0].grad), (there[1].grad, on[1].grad)):
        assert a.dtype == dtype
        torch.testing.assert_close(a.cpu().double(), b, rtol=loose, atol=loose * b.abs().max().item())
    with pytest.raises(RuntimeError, match="ends of batches up to"):
        torch_npu.npu_nsa_compress(*there, 32, 16, actual_seq_len=[ends[-1] + 1])


@pytest.mark.parametrize("tokens, size", [(0, 32), (2, 0)])
def test_gradients_of_nothing(tokens, size):
    q, k = torch.zeros(1, tokens, HEADS, size).half().npu(), torch.ones(1, 9, 1, size).half().npu()
    named, sums = torch.zeros(1, tokens, 1, 2, dtype=torch.int32).npu(), torch.ones(1, 1, tokens, HEADS).npu()
    dq, dk, dv = (torch.full_like(t, 7) for t in (q, k, k))
    no_limit = (1 << 63) - 1
    call("aclnnSparseFlashAttentionGrad", q, k, k, named, q, q, sums, sums, None, None, None, None, 1.0, 1, "BSND", 0, no_limit, no_limit, False, dq, dk, dv, None, None)
    assert not dk.any() and not dv.any()
    weights = torch.ones(1, tokens, HEADS).half().npu()
    dw, dk = torch.full_like(weights, 7), torch.full_like(k, 7)
    call("aclnnLightningIndexerGrad", q, k, torch.ones(1, tokens, 1, 2).half().npu(), named, weights, None, None, HEADS, "BSND", 0, no_limit, no_limit, False, dq, dk, dw)
    assert not dk.any() and not dw.any()
