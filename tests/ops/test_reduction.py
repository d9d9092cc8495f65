"""Reductions, scans, norms and softmax on the NPU against the CPU in float64."""

import math
import os
import subprocess
import sys

import pytest
import torch
import torch.nn.functional as F
from aclnn import call

torch_npu = pytest.importorskip("torch_npu")

TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-10, torch.float16: 3e-3, torch.bfloat16: 2e-2}
FLOATS = list(TOLERANCE)
INTEGERS = [torch.int64, torch.int32, torch.uint8, torch.bool]


def sample(shape, dtype):
    if dtype == torch.bool:
        return torch.rand(shape) > 0.3
    if dtype.is_floating_point:
        return torch.randn(shape, dtype=torch.float64).to(dtype)
    return torch.randint(0, 9, shape).to(dtype)


def same(actual, expected, dtype, what=""):
    """Close in the type's precision, relative to the largest element; NaN and infinities in the same places."""
    if dtype == torch.float16:
        expected = expected.half()  # beyond its range is infinite
    actual, expected = actual.detach().cpu().double(), expected.detach().double()
    assert actual.shape == expected.shape, (what, actual.shape, expected.shape)
    special = ~torch.isfinite(expected)
    assert torch.equal(special, ~torch.isfinite(actual)), what
    torch.testing.assert_close(actual[special], expected[special], equal_nan=True, rtol=0, atol=0)
    if (~special).any():
        size = max(1.0, expected[~special].abs().max().item())
        error = (actual - expected)[~special].abs().max().item()
        assert error <= TOLERANCE.get(dtype, 0) * size, f"{what}: {error} of {size}"


def views(x):
    """The same values as the CPU sees them, laid out differently."""
    yield x
    if x.dim() > 1:
        yield x.transpose(0, -1)
    if x.dim() and x.shape[-1] > 3:
        yield x[..., ::2]
    if x.dim():
        yield x[..., :1].expand(x.shape)


def dims_of(x):
    yield {}
    for d in range(x.dim()):
        yield {"dim": d, "keepdim": d % 2 == 1}
    if x.dim() > 2:
        yield {"dim": (0, -1)}
        yield {"dim": (1, 2), "keepdim": True}


SHAPES = [(), (1,), (0,), (3, 0), (7, 5), (4, 3, 40, 2), (3, 1000), (1000, 3), (200, 70), (300000,)]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_floating_reductions(dtype):
    torch.manual_seed(0)
    for shape in SHAPES:
        for x in views(sample(shape, dtype)):
            y = x.npu()
            for kw in dims_of(x):
                what = f"{tuple(x.shape)} {x.stride()} {kw}"
                wide = x.double()
                same(y.sum(**kw), wide.sum(**kw), dtype, "sum " + what)
                same(y.mean(**kw), wide.mean(**kw), dtype, "mean " + what)
                if x.numel():
                    same(y.amax(**kw), wide.amax(**kw), dtype, "amax " + what)
                    same(y.amin(**kw), wide.amin(**kw), dtype, "amin " + what)
                    for p in (2, 1, 0, float("inf"), 3):
                        same(torch.linalg.vector_norm(y, p, **kw), torch.linalg.vector_norm(wide, p, **kw), dtype, f"norm {p} " + what)
                    if x.numel() > 1:
                        same(torch.var(y, correction=0, **kw), torch.var(wide, correction=0, **kw), dtype, "var " + what)
                        same(torch.std(y, correction=0, **kw), torch.std(wide, correction=0, **kw), dtype, "std " + what)
                if isinstance(kw.get("dim"), int):
                    same(torch.logsumexp(y, **kw), torch.logsumexp(wide, **kw), dtype, "logsumexp " + what)
                    if x.shape[kw["dim"]]:
                        for name in ("max", "min"):
                            got, want = getattr(y, name)(**kw), getattr(x, name)(**kw)
                            assert torch.equal(got.values.cpu(), want.values) and torch.equal(got.indices.cpu(), want.indices), name + what


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_reductions(dtype):
    torch.manual_seed(0)
    for shape in SHAPES:
        for x in views(sample(shape, dtype)):
            y = x.npu()
            for kw in dims_of(x):
                names = ["sum"] + (["amax", "amin"] if x.numel() else [])
                if not isinstance(kw.get("dim"), tuple):
                    names += ["any", "all", "prod"]
                for name in names:
                    got, want = getattr(y, name)(**kw), getattr(x, name)(**kw)
                    assert got.dtype == want.dtype and torch.equal(got.cpu(), want), (name, shape, x.stride(), kw)


def test_nan_and_infinity():
    nan, inf = float("nan"), float("inf")
    x = torch.tensor([[1, nan, 3, 2, nan, -1], [inf, 1, -inf, 2, 2, 2], [nan] * 6, [-inf] * 6])
    for kw in ({}, {"dim": 0}, {"dim": 1}):
        torch.testing.assert_close(torch.nansum(x.npu(), **kw).cpu(), torch.nansum(x, **kw), equal_nan=True)
    for name in "max min median nanmedian cummax cummin argmax argmin amax amin sum prod logsumexp any all cumsum var".split():
        for d in (0, 1):
            got, want = (getattr(torch, name)(t, dim=d) for t in (x.npu(), x))
            for a, b in zip(*[(r if isinstance(r, tuple) else (r,)) for r in (got, want)]):
                torch.testing.assert_close(a.cpu(), b, equal_nan=True, msg=f"{name} {d}")


def test_empty_has_no_maximum():
    for name in ("amax", "argmax", "max"):
        with pytest.raises((RuntimeError, IndexError)):
            getattr(torch.empty(3, 0).npu(), name)(dim=1)
            torch.npu.synchronize()


def gradients(function, tensors):
    leaves = [t.detach().clone(memory_format=torch.preserve_format).requires_grad_() for t in tensors]
    out = function(*leaves)
    generator = torch.Generator().manual_seed(5)
    weight = torch.randn(out.shape, generator=generator, dtype=torch.float64).to(out.device, leaves[0].dtype)
    out.backward(weight)
    return [out.detach(), *[t.grad for t in leaves if t.grad is not None]]


def against_double(function, tensors, dtype, what, factor=4):
    got = gradients(function, [t.npu() for t in tensors])
    want = gradients(function, [t.double() for t in tensors])
    for a, b in zip(got, want):
        actual, expected = a.cpu().double(), b
        size = max(1.0, expected.abs().max().item()) if expected.numel() else 1.0
        error = (actual - expected).abs().max().item() if expected.numel() else 0.0
        # The gradient's weight is rounded to dtype on one side only.
        assert error <= factor * max(TOLERANCE[dtype], 1e-9) * size, f"{what}: {error} of {size}"


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_softmax(dtype):
    torch.manual_seed(0)
    for shape in [(5,), (3, 0), (4, 7), (6, 300, 17), (3, 5000), (9, 2, 33, 40)]:
        for x in list(views(sample(shape, dtype)))[:3]:
            for d in range(x.dim()):
                against_double(lambda t, d=d: F.softmax(t, d), [x], dtype, f"softmax {shape} {x.stride()} {d}")
                against_double(lambda t, d=d: F.log_softmax(t, d), [x], dtype, f"log_softmax {shape} {x.stride()} {d}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_layer_norm(dtype):
    torch.manual_seed(0)
    for shape, tail in [((4, 8), 1), ((3, 5, 7), 2), ((100, 768), 1), ((2, 0, 4), 1), ((6, 9000), 1)]:
        for x in (sample(shape, dtype), sample(shape[:-1] + (2 * shape[-1],), dtype)[..., ::2]):
            normalized = x.shape[-tail:]
            w, b = sample(normalized, dtype), sample(normalized, dtype)
            against_double(lambda t, w, b: F.layer_norm(t, t.shape[-w.dim():], w, b), [x, w, b], dtype, f"{shape}")
            against_double(lambda t, n=normalized: F.layer_norm(t, n), [x], dtype, f"{shape}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_group_norm(dtype):
    torch.manual_seed(0)
    for shape, groups in [((2, 6, 5, 5), 3), ((3, 40), 2), ((2, 8, 4, 3, 3), 1), ((2, 32, 33, 31), 8)]:
        x, w, b = sample(shape, dtype), sample(shape[1:2], dtype), sample(shape[1:2], dtype)
        layouts = [x] + ([x.to(memory_format=torch.channels_last)] if x.dim() == 4 else [])
        for t in layouts:
            against_double(lambda t, w, b, g=groups: F.group_norm(t, g, w, b), [t, w, b], dtype, f"{shape} {t.stride()}", 8)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm(dtype, training):
    torch.manual_seed(0)
    for shape in [(4, 6), (3, 9, 5), (2, 6, 5, 5), (2, 16, 20, 20), (2, 3, 300, 301), (4, 5, 3, 4, 6), (300, 20), (16, 32, 7, 7)]:
        c = shape[1]
        x, w, b = sample(shape, dtype) * 2 + 1, torch.randn(c), torch.randn(c)
        mean, var = torch.randn(c), torch.rand(c) + 0.5
        for t in [x] + ([x.to(memory_format=torch.channels_last)] if x.dim() == 4 else []):
            kept = []

            def norm(t, w, b):
                m, v = (s.detach().clone().to(t.device, w.dtype) for s in (mean, var))
                kept.append((m, v))
                return F.batch_norm(t, m, v, w, b, training, 0.1, 1e-5)

            against_double(norm, [t, w, b], dtype, f"{shape} {t.stride()}", 8)
            for a, e in zip(*kept):
                torch.testing.assert_close(a.cpu().double(), e, rtol=1e-5, atol=1e-5)


def test_scans_and_selection():
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64, torch.int64):
        for shape in [(1,), (0,), (9, 7), (6, 300, 17), (3, 5000)]:
            for x in list(views(sample(shape, dtype)))[:3]:
                y = x.npu()
                for d in range(x.dim()):
                    same(y.cumsum(d), x.double().cumsum(d), dtype, "cumsum")
                    same(y.cumprod(d), x.cumprod(d), dtype, "cumprod")
                    for name in ("cummax", "cummin", "median"):
                        if x.numel():
                            got, want = getattr(y, name)(d), getattr(x, name)(d)
                            assert torch.equal(got.values.cpu(), want.values) and torch.equal(got.indices.cpu(), want.indices), (name, shape, d)
                    if x.numel() and x.shape[d] > 2:
                        assert torch.equal(y.kthvalue(3, d).values.cpu(), x.kthvalue(3, d).values)


def test_counts():
    torch.manual_seed(0)
    x, i = torch.randn(5000), torch.randint(0, 40, (5000,))
    assert torch.equal(torch.histc(x.npu(), 7, -1, 2).cpu(), torch.histc(x, 7, -1, 2))
    assert torch.histc(x.npu(), 7, -torch.finfo(torch.float32).max, torch.finfo(torch.float32).max).sum() == 5000  # the width is no float
    for low, high in ((-torch.inf, 1), (0, torch.nan), (2, 1)):
        with pytest.raises(RuntimeError, match="aclnnHistc|max|finite"):
            torch.histc(x.npu(), 7, low, high)
    assert torch.equal(torch.bincount(i.npu(), minlength=50).cpu(), torch.bincount(i, minlength=50))
    same(torch.bincount(i.npu(), x.npu()), torch.bincount(i, x.double()), torch.float32)
    pooled, places = F.max_pool2d(torch.randn(2, 3, 8, 8), 2, return_indices=True)
    assert torch.equal(F.max_unpool2d(pooled.npu(), places.npu(), 2).cpu(), F.max_unpool2d(pooled, places, 2))


def test_root_mean_square_norm():
    torch.manual_seed(0)
    x, r, w = torch.randn(7, 96), torch.randn(7, 96), torch.randn(96)

    def reference(t, w):
        return t * torch.rsqrt((t * t).mean(-1, keepdim=True) + 1e-6) * w

    against_double(lambda t, w: torch_npu.npu_rms_norm(t, w, 1e-6)[0] if t.is_npu else reference(t, w), [x, w], torch.float32, "rms_norm")
    y, _, s = torch_npu.npu_add_rms_norm(x.npu(), r.npu(), w.npu(), 1e-6)
    same(s, (x + r).double(), torch.float32)
    same(y, reference((x + r).double(), w.double()), torch.float32)


SUMS = """
import torch, torch_npu
torch.manual_seed(0)
x = torch.randn((1 << 21) + 5)
whole = torch.empty(x.numel() + 16, device="npu")
for skip in (0, 1, 3, 8):
    y = whole[skip:skip + x.numel()]
    y.copy_(x)
    rows = y[:1 << 21].view(1 << 11, 1 << 10)
    short = y[:1 << 21].view(-1, 64)
    bits = [v.flatten().view(torch.int32).cpu().double() for v in (y.sum(), y.norm(), y.var(), rows.sum(0), rows.sum(1), rows.mean(0), short.sum(1), short.norm(dim=1))]
    print(*(int((b * torch.arange(1, b.numel() + 1)).sum()) for b in bits))
"""


def test_neither_threads_nor_alignment_matter():
    """The order of a sum is fixed by its shape: the same bits by one thread or three, wherever in memory the numbers lie."""
    said = set()
    for threads in ("1", "2", "3"):
        done = subprocess.run([sys.executable, "-c", SUMS], capture_output=True, text=True, env=dict(os.environ, UPDRAFT_THREADS=threads))
        assert done.returncode == 0, done.stderr
        said |= set(done.stdout.splitlines())
    assert len(said) == 1, said


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int32], ids=str)
def test_forms_by_the_c_abi(dtype):
    """Forms that torch_npu keeps for older libraries."""
    x = sample((4, 6, 5), torch.float32).mul(4).round().to(dtype)
    y = x.npu().transpose(0, 2)
    for dim in (0, 1, -1):
        for keep in (False, True):
            want = torch.aminmax(x.transpose(0, 2), dim=dim, keepdim=keep)
            for name, where in (("aclnnAminmaxDim", dim), ("aclnnAminmax", [dim])):
                low, high = (torch.empty_like(w.npu()) for w in want)
                call(name, y, where, keep, low, high)
                assert torch.equal(low.cpu(), want.min) and torch.equal(high.cpu(), want.max)
    low, high = torch.empty((), dtype=dtype).npu(), torch.empty((), dtype=dtype).npu()
    call("aclnnAminmaxAll", y, low, high)
    assert low.item() == x.min() and high.item() == x.max()
    out = torch.empty((), dtype=dtype).npu()
    call("aclnnMedian", y, out)
    assert out.item() == x.median()
    if dtype.is_floating_point:
        x[1, 2, 3] = math.nan
        call("aclnnNanMedian", x.npu(), out)
        assert out.item() == x.nanmedian()
        call("aclnnMedian", x.npu(), out)
        assert math.isnan(out.item())


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_pairs_of_moments(dtype):
    x = sample((4, 6, 5), dtype)
    for dim, correction, keep in (([1], 1, False), ([0, 2], 0, True), ([0, 1, 2], 1, False)):
        wide = x.double()
        for name, reference in (("aclnnVarMean", torch.var_mean), ("aclnnStdMeanCorrection", torch.std_mean)):
            want = reference(wide, dim, correction=correction, keepdim=keep)
            got = [torch.empty(w.shape, dtype=dtype).npu() for w in want]
            call(name, x.npu(), dim, correction, keep, *got)
            for g, w in zip(got, want):
                same(g, w, dtype, name)
    for p in (1.0, 2.0, math.inf, 0.0, 3.0):
        want = torch.linalg.vector_norm(x.double(), p, [0, 2])
        out = torch.empty(6, dtype=dtype).npu()
        call("aclnnNorm", x.npu(), p, [0, 2], False, out)
        same(out, want, dtype, f"norm {p}")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_columns(dtype):
    """Sums of columns, of their squares and of their magnitudes: any number of rows, rows apart, NaN and infinities anywhere."""
    torch.manual_seed(0)
    for rows, columns in ((5, 37), (16, 700), (700, 16), (129, 513), (33, 2050), (2100, 64)):
        x = torch.randn(rows, columns).to(dtype)
        apart = torch.randn(rows, columns + 3).to(dtype).npu()
        apart[:, :columns] = x.npu()
        for name, f in (("sum", lambda t: t.sum(0)), ("squares", lambda t: t.norm(dim=0)), ("magnitudes", lambda t: t.norm(1, dim=0))):
            for y in (x.npu(), apart[:, :columns]):
                same(f(y), f(x.double()), dtype, (name, rows, columns))
        x[rows // 2, 0], x[rows - 1, 1], x[0, columns - 1] = math.nan, math.inf, -math.inf
        for f in (lambda t: t.sum(0), lambda t: t.norm(dim=0), lambda t: t.norm(1, dim=0)):
            got, want = f(x.npu()).cpu(), f(x.float())
            assert torch.equal(got.isnan(), want.isnan()) and torch.equal(got.isinf(), want.isinf()) and got[1] == math.inf


@pytest.mark.parametrize("n", [2, 3, 4, 7, 8, 15, 16, 17, 24, 31, 40, 64, 100, 511, 512, 513])
def test_short_rows(n):
    """Rows are reduced several at a time: any number of them, rows apart, extremes and NaN anywhere, the same bits whatever the layout."""
    for rows in (1, 7, 16, 37, 700):
        x = torch.randn(rows, n)
        padded = torch.randn(rows, n + 3).npu()
        padded[:, :n] = x.npu()
        for f in (lambda t: t.sum(1), lambda t: t.norm(dim=1), lambda t: t.abs().amax(1), lambda t: t.amax(1), lambda t: t.amin(1), lambda t: t.norm(1, dim=1)):
            got = f(x.npu())
            same(got, f(x.double()), torch.float32, (rows, n))
            assert torch.equal(got, f(padded[:, :n]))
        x[rows // 2, n // 2] = math.nan
        x[rows - 1, n - 1] = math.inf
        for f in (lambda t: t.sum(1), lambda t: t.amax(1), lambda t: t.amin(1)):
            same(f(x.npu()), f(x.double()), torch.float32, (rows, n))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64], ids=str)
@pytest.mark.parametrize("n", [2, 5, 8, 11, 16, 37, 64, 200, 512, 1000])
def test_products_and_sums_of_short_rows(n, dtype):
    """Products leave float's range on their way and come back; integers wrap around."""
    for rows in (1, 9, 500):
        if dtype == torch.int64: x = torch.randint(-(1 << 62), 1 << 62, (rows, n))
        else: x = torch.exp(torch.randn(rows, n, dtype=torch.float64)).to(dtype)
        if dtype == torch.float32 and n >= 4:
            x[:, 0], x[:, 1], x[:, -1], x[:, -2] = 1e30, 1e30, 1e-30, 1e-30
        wide = x.double() if dtype.is_floating_point else x
        padded = torch.zeros(rows, n + 3, dtype=dtype).npu()
        padded[:, :n] = x.npu()
        for f in (lambda t: t.prod(1), lambda t: t.sum(1), lambda t: t.amax(1), lambda t: t.amin(1)):
            got, want = f(x.npu()), f(wide)
            assert torch.equal(got, f(padded[:, :n]))
            if dtype == torch.int64: assert torch.equal(got.cpu(), want)
            else: torch.testing.assert_close(got.cpu(), want.to(dtype), rtol=1e-6 if dtype == torch.float32 else 1e-12, atol=0)
        if dtype.is_floating_point:
            x[rows // 2, n // 2] = math.nan
            for f in (lambda t: t.prod(1), lambda t: t.sum(1), lambda t: t.amax(1)):
                assert torch.equal(f(x.npu()).isnan().cpu(), f(x).isnan())


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32], ids=str)
def test_extremes_of_small_integers(dtype):
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    for shape in ((1 << 18,), (5, 4097), (300, 33), (300, 64), (3, 70, 9), (100_003, 3), (41, 5)):
        x = torch.randint(low, high, shape).to(dtype)
        for y in views(x):
            on_npu = y.npu()
            for f in (torch.amax, torch.amin):
                assert torch.equal(f(on_npu).cpu(), f(y)), (shape, f)
                for d in range(y.dim()):
                    assert torch.equal(f(on_npu, d).cpu(), f(y, d)), (shape, f, d)


def test_columns_keep_their_nan_and_infinities():
    x = torch.randn(1000, 700)
    x[:, 3] = -math.inf
    x[:, 5] = math.inf
    x[500, 7] = math.nan
    for f in (torch.amax, torch.amin):
        same(f(x.npu(), 0), f(x, 0), torch.float32)


@pytest.mark.parametrize("dtype", FLOATS + [torch.int64, torch.int32, torch.uint8, torch.complex64], ids=str)
@pytest.mark.parametrize("n", [1, 3, 8, 33, 64, 65])
def test_short_scans(n, dtype):
    """Slices that follow one another are converted together."""
    x = torch.randn(1003, n, dtype=dtype) if dtype.is_complex else sample((1003, n), dtype)
    wide = x.to(torch.complex128) if dtype.is_complex else x.double() if dtype.is_floating_point else x
    padded = torch.zeros(1003, n + 2, dtype=dtype).npu()
    padded[:, :n] = x.npu()
    for y in (x.npu(), padded[:, :n]):
        got, want = y.cumsum(1).cpu(), wide.cumsum(1)
        if dtype.is_complex: torch.testing.assert_close(got.to(want.dtype), want, rtol=1e-5, atol=1e-5)
        else: same(got, want, dtype)


def test_short_scans_of_infinity_and_nan():
    x = torch.randn(64, 21)
    for r, c, value in ((0, 0, math.inf), (1, 3, math.inf), (1, 9, -math.inf), (2, 7, math.nan), (3, 8, -math.inf), (4, 20, math.nan)):
        x[r, c] = value
    x[5], x[6] = -0.0, 3e38
    got, want = x.npu().cumsum(1).cpu(), x.double().cumsum(1).float()
    torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6, equal_nan=True)
    assert not torch.signbit(got[5]).any()
