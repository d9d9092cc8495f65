"""Scaled dot product attention and npu_fusion_attention on the NPU against float64 on the CPU."""

import math
import os
import re
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from aclnn import call

torch_npu = pytest.importorskip("torch_npu")

TOLERANCE = {torch.float32: 2e-5, torch.bfloat16: 2e-2, torch.float16: 3e-3}


def close(actual, expected, dtype, what=""):
    actual = actual.detach().cpu().double()
    assert actual.shape == expected.shape, what
    size = max(1.0, expected.abs().max().item()) if expected.numel() else 1
    error = (actual - expected).abs().max().item() if expected.numel() else 0
    assert error <= TOLERANCE[dtype] * size, f"{what}: {error} of {size}"


def reference(q, k, v, scale, allowed=None, pse=0.0, keep=None, keep_prob=1.0, pse_inside=True, sink=None):
    """[B, N, S, D]; allowed: True where a score takes part."""
    k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.transpose(-1, -2)
    scores = (scores + pse) * scale if pse_inside else scores * scale + pse
    if allowed is not None:
        scores = scores.masked_fill(~allowed, -math.inf)
    if sink is not None:
        column = sink.reshape(1, -1, 1, 1).expand(*scores.shape[:3], 1)
        p = torch.softmax(torch.cat([scores, column], -1), -1)[..., :-1]
    else:
        p = torch.softmax(scores, -1).nan_to_num(0.0)
    if keep is not None:
        p = p * keep / keep_prob
    return p @ v


def inputs(b, n, nk, s, sk, d, dtype, dv=None):
    return (torch.randn(b, n, s, d).to(dtype), torch.randn(b, nk, sk, d).to(dtype), torch.randn(b, nk, sk, dv or d).to(dtype))


def gradients(function, tensors, weight):
    leaves = [t.detach().clone().requires_grad_() for t in tensors]
    out = function(*leaves)
    out.backward(weight.to(out.dtype).to(out.device))
    return [out, *[t.grad for t in leaves]]


@pytest.mark.parametrize("dtype", list(TOLERANCE), ids=str)
@pytest.mark.parametrize("shape", [(2, 3, 3, 256, 256, 64), (1, 4, 2, 65, 130, 32), (1, 2, 1, 1, 77, 128), (1, 1, 1, 700, 700, 40),
                                   (2, 2, 2, 33, 17, 256), (1, 2, 2, 5, 3, 4)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_sdpa(dtype, shape, causal):
    torch.manual_seed(1)
    q, k, v = inputs(*shape, dtype)
    b, n, nk, s, sk, d = shape
    weight = torch.randn(b, n, s, d)
    allowed = torch.ones(s, sk, dtype=torch.bool).tril() if causal else None
    expected = gradients(lambda q, k, v: reference(q, k, v, d**-0.5, allowed), [t.double() for t in (q, k, v)], weight.double())
    actual = gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=n != nk),
                       [t.npu() for t in (q, k, v)], weight)
    for a, e, name in zip(actual, expected, ("out", "dq", "dk", "dv")):
        close(a, e, dtype, name)


@pytest.mark.parametrize("queries", [1, 3, 4, 5, 40])
def test_the_gradient_has_the_probabilities_of_the_forward_direction(queries):
    """Of scores of some hundreds the last bit is 1e-5: probabilities add up to 1 only if both directions have the same scores."""
    torch.manual_seed(7)
    q, k, v = (torch.rand(2, 4, n, 24) * 18 - 9 for n in (queries, 40, 40))
    *_, dv = gradients(lambda *t: F.scaled_dot_product_attention(*t), [t.npu() for t in (q, k, v)], torch.ones(q.shape))
    assert (dv.cpu().double().sum(2) / queries - 1).abs().max() < 1e-6


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape", [(1, 8, 1, 300, 300, 64), (1, 1, 1, 1100, 513, 32), (2, 6, 2, 257, 129, 40), (3, 5, 1, 513, 513, 16),
                                   (1, 32, 4, 5, 300, 64)], ids=str)
@pytest.mark.parametrize("causal", [False, True])
def test_gradients_of_few_key_heads(dtype, shape, causal):
    """The queries of a key head are dealt out to several threads, each with its own part of the gradients."""
    test_sdpa(dtype, shape, causal)


def test_gradients_of_few_key_heads_with_dropout():
    torch.manual_seed(8)
    q, k, v = inputs(1, 4, 1, 300, 200, 32, torch.float32)
    keep = torch.rand(1, 4, 300, 200) > 0.25
    bits = (keep.flatten().reshape(-1, 8).long() * (1 << torch.arange(8))).sum(-1).to(torch.uint8)
    bits = torch.cat([bits, torch.zeros(-len(bits) % 16, dtype=torch.uint8)])
    dy = torch.randn(1, 4, 300, 32)
    expected = gradients(lambda q, k, v: reference(q, k, v, 0.2, None, keep=keep, keep_prob=0.75), [t.double() for t in (q, k, v)], dy.double())
    moved = [t.npu() for t in (q, k, v)]
    stats = [torch.empty(1, 4, 300, 8, device="npu") for _ in range(2)]
    out = torch.empty(1, 4, 300, 32, device="npu")
    numbers = (0.2, 0.75, 2147483647, 2147483647, 4, "BNSD", 0, 0)
    call("aclnnFlashAttentionScore", *moved, None, bits.npu(), None, None, None, *numbers, *stats, None, out)
    grads = [torch.empty_like(t) for t in moved]
    call("aclnnFlashAttentionScoreGrad", *moved, dy.npu(), None, bits.npu(), None, None, *stats, None, out, None, *numbers, *grads, None)
    for a, e, name in zip([out, *grads], expected, ("out", "dq", "dk", "dv")):
        close(a, e, torch.float32, name)


def test_sdpa_mask_and_strides():
    torch.manual_seed(2)
    x = torch.randn(2, 70, 3, 4, 32)
    mask = torch.rand(2, 1, 70, 70) > 0.4
    mask[0, 0, 3] = False  # a row that sees nothing
    def run(x, m, double):
        q, k, v = (x[:, :, i].transpose(1, 2) for i in range(3))
        if double:
            return reference(q, k, v, 32**-0.5, m)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=m)
    weight = torch.randn(2, 4, 70, 32)
    expected = gradients(lambda x: run(x, mask, True), [x.double()], weight.double())
    actual = gradients(lambda x: run(x, mask.npu(), False), [x.npu()], weight)
    close(actual[0], expected[0], torch.float32, "out")
    close(actual[1], expected[1].nan_to_num(0.0), torch.float32, "dx")


LAYOUTS = {"BNSD": lambda t: t, "BSND": lambda t: t.transpose(1, 2), "BSH": lambda t: t.transpose(1, 2).flatten(2),
           "SBH": lambda t: t.permute(2, 0, 1, 3).flatten(2)}


@pytest.mark.parametrize("layout", list(LAYOUTS))
def test_layouts(layout):
    torch.manual_seed(3)
    q, k, v = inputs(2, 4, 2, 48, 90, 32, torch.float32, dv=16 if layout in ("BNSD", "BSND") else None)
    to = LAYOUTS[layout]
    weight = torch.randn(2, 4, 48, v.shape[-1])
    expected = gradients(lambda q, k, v: reference(q, k, v, 0.2), [t.double() for t in (q, k, v)], weight.double())
    actual = gradients(lambda q, k, v: torch_npu.npu_fusion_attention(q, k, v, 4, layout, scale=0.2)[0],
                       [to(t).contiguous().npu() for t in (q, k, v)], to(weight))
    for a, e in zip(actual, expected):
        close(a, to(e), torch.float32, layout)


def band(s, sk, before, after, shift):
    i, j = torch.arange(s)[:, None] + shift, torch.arange(sk)[None]
    return (j >= i - before) & (j <= i + after)


@pytest.mark.parametrize("mode", [0, 1, 2, 3, 4, 6])
def test_sparse_modes(mode):
    torch.manual_seed(4)
    s, sk = 150, 210
    q, k, v = inputs(2, 2, 2, s, sk, 32, torch.float32)
    square = torch.ones(2048, 2048, dtype=torch.bool).triu(1)
    options, big = {}, 2147483647
    if mode == 0:
        allowed = band(s, sk, 30, 20, 0)
        options = dict(atten_mask=~allowed, pre_tockens=30, next_tockens=20)
    elif mode == 1:
        allowed = torch.rand(2, 1, s, sk) > 0.5
        options = dict(atten_mask=~allowed)
    elif mode == 2:
        allowed, options = band(s, sk, big, 0, 0), dict(atten_mask=square)
    elif mode == 3:
        allowed, options = band(s, sk, big, 0, sk - s), dict(atten_mask=square)
    elif mode == 4:
        allowed, options = band(s, sk, 100, 7, sk - s), dict(atten_mask=square, pre_tockens=100, next_tockens=7)
    else:
        allowed = torch.stack([band(s, sk, big, 0, sk - s) | (torch.arange(sk) < n) for n in (90, 130)])[:, None]
        rectangle = torch.zeros(1024, 2048, dtype=torch.bool)
        rectangle[:, 1024:] = True
        options = dict(atten_mask=torch.cat([square, rectangle]), prefix=[90, 130])
    options = {n: x.npu() if isinstance(x, torch.Tensor) else x for n, x in options.items()}
    weight = torch.randn(2, 2, s, 32)
    expected = gradients(lambda q, k, v: reference(q, k, v, 0.2, allowed), [t.double() for t in (q, k, v)], weight.double())
    actual = gradients(lambda q, k, v: torch_npu.npu_fusion_attention(q, k, v, 2, "BNSD", scale=0.2, sparse_mode=mode, **options)[0],
                       [t.npu() for t in (q, k, v)], weight)
    for a, e in zip(actual, expected):
        close(a, e, torch.float32, str(mode))


def test_statistics_and_pse():
    torch.manual_seed(5)
    q, k, v = inputs(2, 3, 3, 40, 50, 16, torch.float32)
    for shape in [(2, 3, 40, 50), (1, 3, 40, 50), (2, 3, 1, 50)]:
        pse = torch.randn(shape)
        expected = reference(*[t.double() for t in (q, k, v)], 0.3, pse=pse.double())
        out, top, total, *_ = torch_npu.npu_fusion_attention(*[t.npu() for t in (q, k, v)], 3, "BNSD", pse=pse.npu(), scale=0.3)
        close(out, expected, torch.float32, str(shape))
    scores = (q.double() @ k.double().transpose(-1, -2) + pse.double()) * 0.3
    close(top[..., 0], scores.amax(-1), torch.float32, "max")
    close(total[..., 7], (scores - scores.amax(-1, keepdim=True)).exp().sum(-1), torch.float32, "sum")


def test_variable_lengths():
    torch.manual_seed(6)
    lengths_q, lengths_k = [5, 70, 0, 31], [9, 70, 0, 64]
    q, k, v = torch.randn(sum(lengths_q), 4, 32), torch.randn(sum(lengths_k), 2, 32), torch.randn(sum(lengths_k), 2, 32)
    weight = torch.randn(q.shape)
    def run(q, k, v):
        outs = []
        for a, b, c in zip(q.split(lengths_q), k.split(lengths_k), v.split(lengths_k)):
            allowed = band(len(a), len(b), 10**6, 0, len(b) - len(a))
            outs.append(reference(*[t.transpose(0, 1)[None] for t in (a, b, c)], 0.2, allowed)[0].transpose(0, 1))
        return torch.cat(outs)
    ends = lambda n: torch.tensor(n).cumsum(0).tolist()
    mask = torch.ones(2048, 2048, dtype=torch.bool).triu(1).npu()
    expected = gradients(run, [t.double() for t in (q, k, v)], weight.double())
    for softmax_layout in ("", "TND"):
        actual = gradients(lambda q, k, v: torch_npu.npu_fusion_attention(
            q, k, v, 4, "TND", scale=0.2, sparse_mode=3, atten_mask=mask, actual_seq_qlen=ends(lengths_q),
            actual_seq_kvlen=ends(lengths_k), softmax_layout=softmax_layout)[0], [t.npu() for t in (q, k, v)], weight)
        for a, e in zip(actual, expected):
            close(a, e, torch.float32)


def test_dropout():
    torch.manual_seed(7)
    b, n, s, sk, d = 1, 2, 96, 80, 16
    q, k, v = inputs(b, n, n, s, sk, d, torch.float32)
    keep = torch.rand(b, n, s, sk) < 0.7
    bits = keep.flatten().reshape(-1, 8).to(torch.uint8)
    packed = (bits << torch.arange(8, dtype=torch.uint8)).sum(1).to(torch.uint8)
    packed = torch.cat([packed, torch.zeros(128, dtype=torch.uint8)]).npu()
    weight = torch.randn(b, n, s, d)
    expected = gradients(lambda q, k, v: reference(q, k, v, 0.2, keep=keep, keep_prob=0.7), [t.double() for t in (q, k, v)], weight.double())
    out, top, total, rest, *_ = torch_npu.npu_fusion_attention(*[t.npu() for t in (q, k, v)], n, "BNSD", scale=0.2, keep_prob=0.7,
                                                               dropout_mask=packed)
    close(out, expected[0], torch.float32)
    scores = (q.double() @ k.double().transpose(-1, -2)) * 0.2
    close(top[..., 0], scores.amax(-1), torch.float32, "max")
    close(total[..., 0], (scores - scores.amax(-1, keepdim=True)).exp().sum(-1), torch.float32, "sum")
    got = [torch.empty_like(t).npu() for t in (q, k, v)]
    numbers = dict(scaleValue=0.2, keepProb=0.7, headNum=n, inputLayout="BNSD")
    run_form("aclnnFlashAttentionScoreGrad", query=q.npu(), key=k.npu(), value=v.npu(), dy=weight.npu(), dropMask=packed, softmaxMax=top,
             softmaxSum=total, attentionIn=out, **numbers, **dict(zip(("dq", "dk", "dv"), got)))
    for what, a, e in zip(("dq", "dk", "dv"), got, expected[1:], strict=True):
        close(a, e, torch.float32, what)


def test_empty():
    q = torch.empty(0, 2, 4, 8).npu()
    assert F.scaled_dot_product_attention(q, q, q).shape == (0, 2, 4, 8)


def test_same_bits_each_time():
    q, k, v = (t.npu() for t in inputs(2, 4, 4, 300, 300, 64, torch.float32))
    first = F.scaled_dot_product_attention(q, k, v, is_causal=True).cpu()
    for _ in range(3):
        assert torch.equal(first, F.scaled_dot_product_attention(q, k, v, is_causal=True).cpu())


def rotated(x, mode):
    if mode == "half":
        a, b = x.chunk(2, -1)
        return torch.cat((-b, a), -1)
    return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)


@pytest.mark.parametrize("mode", ["half", "interleave"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_rotary(mode, dtype):
    torch.manual_seed(8)
    x = torch.randn(2, 5, 3, 16).to(dtype).transpose(1, 2)
    cos, sin = torch.rand(1, 1, 5, 16).to(dtype), torch.rand(1, 1, 5, 16).to(dtype)
    weight = torch.randn(2, 3, 5, 16)
    expected = gradients(lambda x, c, s: x * c + rotated(x, mode) * s, [t.double() for t in (x, cos, sin)], weight.double())
    actual = gradients(lambda x, c, s: torch_npu.npu_rotary_mul(x, c, s, mode), [t.npu() for t in (x, cos, sin)], weight)
    for a, e, name in zip(actual, expected, ("out", "dx", "dcos", "dsin")):
        close(a, e, dtype, name)


@pytest.mark.parametrize("interleaved", [False, True])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("shape,table", [((2, 3, 5, 64), (1, 1, 5, 64)), ((2, 5, 3, 6), (1, 5, 1, 6)), ((4, 7, 34), (4, 7, 34)),
                                         ((3, 2, 130), (1, 1, 1)), ((2, 3, 4, 2), (1, 3, 4, 2)), ((128,), (128,))], ids=str)
def test_rotary_tables(interleaved, dtype, shape, table):
    """Rows in place and in copies, tables that are broadcast over any dimensions, and their gradients."""
    torch.manual_seed(4)
    wide = [torch.randn(s).to(dtype).double() for s in (shape, table, table, shape)]

    def turned(v):
        if interleaved:
            return torch.stack([-v[..., 1::2], v[..., ::2]], -1).flatten(-2)
        return torch.cat([-v[..., v.shape[-1] // 2:], v[..., :v.shape[-1] // 2]], -1)

    leaves = [t.clone().requires_grad_() for t in wide[:3]]
    want = leaves[0] * leaves[1] + turned(leaves[0]) * leaves[2]
    want.backward(wide[3])
    x, cos, sin, dy = (t.to(dtype).npu() for t in wide)
    views = [x, x.transpose(0, -1).contiguous().transpose(0, -1), torch.stack([x, x], -1)[..., 0]]
    for v in views:
        out, dx, dcos, dsin = (torch.full_like(t, 7) for t in (x, x, cos, sin))
        call("aclnnRotaryPositionEmbedding", v, cos, sin, int(interleaved), out)
        close(out, want.detach(), dtype, "out")
        call("aclnnRotaryPositionEmbeddingGrad", dy, cos, sin, v, int(interleaved), dx, dcos, dsin)
        for a, leaf, name in zip((dx, dcos, dsin), leaves, ("dx", "dcos", "dsin")):
            close(a, leaf.grad, dtype, name)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_rotary_by_a_matrix(dtype):
    """npu_rotary_mul with a matrix that says what is turned: halves and neighbours, as without, and three parts at once."""
    torch.manual_seed(5)
    x, cos, sin = (torch.randn(s).to(dtype) for s in ((2, 3, 5, 24), (1, 1, 5, 24), (1, 1, 5, 24)))
    half = torch.zeros(24, 24)
    half[:12, 12:], half[12:, :12] = torch.eye(12), -torch.eye(12)
    pairs = torch.block_diag(*[torch.tensor([[0.0, 1], [-1, 0]])] * 12)
    thirds = torch.block_diag(*[torch.roll(torch.eye(8), 4, 0)] * 3)
    for matrix, mode in ((half, "half"), (pairs, "interleave"), (thirds, "half")):
        got = torch_npu.npu_rotary_mul(x.npu(), cos.npu(), sin.npu(), mode, matrix.to(dtype).npu())
        want = x.double() * cos.double() + (x.double() @ matrix.double()) * sin.double()
        close(got, want, dtype, mode)
        if matrix is not thirds:
            torch.testing.assert_close(got, torch_npu.npu_rotary_mul(x.npu(), cos.npu(), sin.npu(), mode), rtol=1e-2, atol=1e-2)
    with pytest.raises(RuntimeError, match="rotate"):
        torch_npu.npu_rotary_mul(x.npu(), cos.npu(), sin.npu(), "half", half[:6].to(dtype).npu())


def test_masked_softmax():
    torch.manual_seed(9)
    x, mask = torch.randn(2, 3, 32, 37), torch.rand(2, 3, 32, 37) > 0.6
    expected = torch.softmax(x.double().masked_fill(mask, -math.inf), -1)
    close(torch._masked_softmax(x.npu(), mask.npu(), 3, 2), expected, torch.float32)


def test_transform_bias_rescale_qkv():
    torch.manual_seed(10)
    qkv, bias = torch.randn(2, 7, 48), torch.randn(48)
    for a, e in zip(torch._transform_bias_rescale_qkv(qkv.npu(), bias.npu(), 4), torch._transform_bias_rescale_qkv(qkv, bias, 4)):
        close(a, e.double(), torch.float32)


def run_form(name, **values):
    """A form by the C ABI: what is not given is absent."""
    declared = re.search(rf"\b{name}GetWorkspaceSize\(([^)]*)\)", next(
        p.read_text() for p in Path(os.environ["ASCEND_HOME_PATH"], "include", "aclnnop").glob("*.h")
        if f" {name}GetWorkspaceSize" in p.read_text())).group(1)
    names = [p.split()[-1].lstrip("*") for p in declared.split(",")][:-2]
    numbers = dict(scaleValue=1.0, keepProb=1.0, preTokens=2147483647, nextTokens=2147483647, headNum=1, inputLayout="",
                   innerPrecise=0, sparseMode=0, pseType=1, softmaxLayout="")
    assert not set(values) - set(names), set(values) - set(names)
    call(name, *[values.get(n, numbers.get(n)) for n in names])


@pytest.mark.parametrize("version,sinks,pse_type", [("", False, 1), ("V2", False, 0), ("V2", False, 1), ("V3", True, 0), ("V3", True, 1)])
def test_forms(version, sinks, pse_type):
    """V2 says where the position bias goes (0: behind the scale; 1: it is scaled, too), V3 has sinks."""
    torch.manual_seed(11)
    q, k, v = inputs(2, 4, 2, 60, 80, 32, torch.float32)
    pse, sink, weight = torch.randn(2, 4, 60, 80), torch.randn(4), torch.randn(2, 4, 60, 32)
    wide = [t.double().requires_grad_() for t in (q, k, v, pse, sink)]
    want = reference(*wide[:3], 0.3, pse=wide[3], pse_inside=pse_type == 1, sink=wide[4] if sinks else None)
    want.backward(weight.double())
    given = dict(zip(("query", "key", "value", "realShift"), (t.npu() for t in (q, k, v, pse))))
    if sinks:
        given["sink"] = sink.npu()
    if version:
        given["pseType"] = pse_type
    numbers = dict(scaleValue=0.3, headNum=4, inputLayout="BNSD")
    top, total = torch.empty(2, 4, 60, 8, device="npu"), torch.empty(2, 4, 60, 8, device="npu")
    out = torch.empty(2, 4, 60, 32, device="npu")
    run_form("aclnnFlashAttentionScore" + version, **given, **numbers, softmaxMax=top, softmaxSum=total, attentionOut=out)
    close(out, want.detach(), torch.float32)
    grads = [torch.empty_like(t.npu()) for t in (q, k, v, pse)]
    more = {"dsink": torch.empty(4, device="npu")} if sinks else {}
    run_form("aclnnFlashAttentionScoreGrad" + version, **given, **numbers, **more, dy=weight.npu(), softmaxMax=top,
             softmaxSum=total, attentionIn=out, **dict(zip(("dq", "dk", "dv", "dpse"), grads)))
    for got, leaf in zip(grads + list(more.values()), wide):
        close(got, leaf.grad, torch.float32)


@pytest.mark.parametrize("forward,backward,sinks", [
    ("aclnnFlashAttentionVarLenScoreV2", "aclnnFlashAttentionUnpaddingScoreGradV2", False),
    ("aclnnFlashAttentionVarLenScoreV5", "aclnnFlashAttentionUnpaddingScoreGradV5", True)])
def test_forms_of_variable_length(forward, backward, sinks):
    torch.manual_seed(12)
    lengths_q, lengths_k = [5, 40, 31], [9, 40, 64]
    q, k, v = torch.randn(sum(lengths_q), 4, 32), torch.randn(sum(lengths_k), 2, 32), torch.randn(sum(lengths_k), 2, 32)
    sink, weight = torch.randn(4), torch.randn(q.shape)
    wide = [t.double().requires_grad_() for t in (q, k, v, sink)]
    want = torch.cat([reference(*[t.transpose(0, 1)[None] for t in parts], 0.2, sink=wide[3] if sinks else None)[0].transpose(0, 1)
                      for parts in zip(*(t.split(n) for t, n in zip(wide, (lengths_q, lengths_k, lengths_k))))])
    want.backward(weight.double())
    given = dict(zip(("query", "key", "value"), (t.npu() for t in (q, k, v))))
    if sinks:
        given["sink"] = sink.npu()
    given.update(scaleValue=0.2, headNum=4, inputLayout="TND", actualSeqQLen=torch.tensor(lengths_q).cumsum(0).tolist(),
                 actualSeqKvLen=torch.tensor(lengths_k).cumsum(0).tolist())
    top, total = torch.empty(76, 4, 8, device="npu"), torch.empty(76, 4, 8, device="npu")
    out = torch.empty(76, 4, 32, device="npu")
    run_form(forward, **given, softmaxMax=top, softmaxSum=total, attentionOut=out)
    close(out, want.detach(), torch.float32)
    grads = [torch.empty_like(t.npu()) for t in (q, k, v)]
    more = {"dsink": torch.empty(4, device="npu")} if sinks else {}
    run_form(backward, **given, **more, dy=weight.npu(), softmaxMax=top, softmaxSum=total, attentionIn=out,
             **dict(zip(("dq", "dk", "dv"), grads)))
    for got, leaf in zip(grads + list(more.values()), wide):
        close(got, leaf.grad, torch.float32)
