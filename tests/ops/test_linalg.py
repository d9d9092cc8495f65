"""Linear algebra on the virtual NPU against PyTorch's CPU."""
import time

import pytest
import torch
import torch_npu
from aclnn import call

DTYPES = [torch.float32, torch.float64]


def close(got, want, dtype=torch.float32, scale=1.0):
    tol = (1e-4 if dtype == torch.float32 else 1e-10) * scale
    torch.testing.assert_close(got.cpu(), want, rtol=tol, atol=tol)


def rand(*shape, dtype=torch.float32):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(sum(shape) + 1)).to(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(1, 1), (5, 5), (2, 3, 16, 16), (70, 70), (0, 4, 4)])
def test_square(dtype, shape):
    x = rand(*shape, dtype=dtype) + torch.eye(shape[-1], dtype=dtype) * 3
    close(torch.inverse(x.npu()), torch.inverse(x), dtype)
    close(torch.inverse(x.npu().mT), torch.inverse(x.mT), dtype)
    for got, want in zip(torch.slogdet(x.npu()), torch.slogdet(x)):
        close(got, want, dtype)
    spd = x @ x.mT + torch.eye(shape[-1], dtype=dtype)
    for upper in (False, True):
        close(torch.linalg.cholesky(spd.npu(), upper=upper), torch.linalg.cholesky(spd, upper=upper), dtype, 10)


def test_singular():
    x = torch.ones(3, 3)
    sign, log = torch.slogdet(x.npu())
    assert sign.item() == 0 and log.item() == float("-inf")
    assert torch.isnan(torch.inverse(x.npu()).cpu()).all()
    assert torch.isnan(torch.linalg.cholesky((-x).npu()).cpu()).all()


# More columns than 64 are several blocks of reflectors.
@pytest.mark.parametrize("shape", [(4, 4), (7, 3), (3, 7), (2, 5, 4), (60, 40), (3, 0), (200, 150), (70, 150), (2, 130, 65)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_qr(dtype, shape):
    x = rand(*shape, dtype=dtype)
    for mode in ("reduced", "complete", "r"):
        got, want = torch.linalg.qr(x.npu(), mode), torch.linalg.qr(x, mode)
        close(got[1], want[1], dtype, 10)
        if mode == "reduced" and 0 not in shape:
            close(got[0], want[0], dtype, 10)
        if mode == "complete":
            q, r = got[0].cpu(), got[1].cpu()
            close(q @ r, x, dtype, 10)
            close(q.mT @ q, torch.eye(shape[-2], dtype=dtype).expand(q.shape), dtype, 10)


@pytest.mark.parametrize("shape", [(4, 4), (7, 3), (3, 7), (2, 5, 4), (40, 30)])
def test_svd(shape):
    dtype = torch.float32  # the client refuses others
    x = rand(*shape, dtype=dtype)
    low_rank = x[..., :1] * x[..., :1, :]
    for a in (x, low_rank):
        close(torch.linalg.svdvals(a.npu()), torch.linalg.svdvals(a), dtype, 10)
        for full in (False, True):
            u, s, vh = (t.cpu() for t in torch.linalg.svd(a.npu(), full_matrices=full))
            k = s.shape[-1]
            close((u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :], a, dtype, 10)
            close(u.mT @ u, torch.eye(u.shape[-1], dtype=dtype).expand(u.mT.shape[:-1] + u.shape[-1:]), dtype, 10)
            close(vh @ vh.mT, torch.eye(vh.shape[-2], dtype=dtype).expand(vh.shape[:-1] + vh.shape[-2:-1]), dtype, 10)


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("unit", [False, True])
def test_triangular(upper, unit):
    a, b = rand(2, 9, 9) * 0.2 + torch.eye(9) * 2, rand(2, 9, 4)
    close(torch.linalg.solve_triangular(a.npu(), b.npu(), upper=upper, unitriangular=unit),
          torch.linalg.solve_triangular(a, b, upper=upper, unitriangular=unit))
    close(torch.linalg.solve_triangular(a.npu(), b.mT.npu(), upper=upper, left=False, unitriangular=unit),
          torch.linalg.solve_triangular(a, b.mT, upper=upper, left=False, unitriangular=unit))
    for transpose in (False, True):
        for got, want in zip(torch.triangular_solve(b.npu(), a.npu(), upper, transpose, unit),
                             torch.triangular_solve(b, a, upper, transpose, unit)):
            close(got, want)


def place(t):
    return torch.full(t.shape, 7, dtype=t.dtype, device="npu")


def strided(t):
    """The same numbers as every second row and column of something larger, on the NPU."""
    wide = torch.zeros(*t.shape[:-2], 2 * t.shape[-2], 2 * t.shape[-1] + 1, dtype=t.dtype, device="npu")
    wide[..., ::2, :-1:2] = t.npu()
    return wide[..., ::2, :-1:2]


WIDE = {torch.float32: torch.float64, torch.float16: torch.float32, torch.bfloat16: torch.float32,
        torch.float64: torch.float64, torch.complex64: torch.complex128, torch.complex128: torch.complex128}
BOUND = {torch.float32: 2e-5, torch.float64: 1e-12, torch.complex64: 2e-5, torch.complex128: 1e-12, torch.float16: 5e-3,
         torch.bfloat16: 4e-2}


def near(got, want, dtype):
    got = got.cpu().to(want.dtype)
    assert got.shape == want.shape
    assert want.numel() == 0 or (got - want).abs().max() <= BOUND[dtype] * want.abs().max().clamp_min(1)


def numbers(*shape, dtype):
    parts = [torch.randn(*shape, generator=torch.Generator().manual_seed(k)) for k in range(2)]
    return (torch.complex(*parts) if dtype.is_complex else parts[0]).to(dtype)


@pytest.mark.parametrize("dtype", list(BOUND), ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (33, 33), (2, 3, 12, 12), (40, 4, 4), (300, 300), (2, 150, 150), (3, 0, 0), (0, 2, 2)], ids=str)
def test_solvers_of_every_type(dtype, shape):
    """Against double precision: small ones side by side, large ones with all threads, views and results that are views."""
    n = shape[-1]
    x = numbers(*shape, dtype=dtype) / max(1, n) ** 0.5 + torch.eye(n, dtype=dtype) * 3
    wide = x.to(WIDE[dtype])
    out = place(x)
    for source, target in ((x.npu(), out), (strided(x), strided(torch.zeros_like(x))), (x.npu().mT.contiguous().mT, out)):
        call("aclnnInverse", source, target)
        near(target, torch.linalg.inv(wide), dtype)
        sign, log = (torch.zeros(shape[:-2], dtype=dtype, device="npu") for _ in range(2))
        call("aclnnSlogdet", source, sign, log)
        want = torch.linalg.slogdet(wide)
        near(sign, want[0], dtype)
        near(log / max(1, n), (want[1] / max(1, n)).to(want[0].dtype), dtype)
    call("aclnnInverse", out, out)  # in place
    if dtype not in (torch.float16, torch.bfloat16):
        near(out, wide, dtype)
    positive = (wide @ wide.mH + torch.eye(n)).to(dtype)
    for upper in (False, True):
        want = torch.linalg.cholesky(positive.to(WIDE[dtype]), upper=upper)
        for source in (positive.npu(), strided(positive)):
            one_triangle = source.triu() if upper else source.tril()  # the other one is not read
            call("aclnnLinalgCholesky", one_triangle, upper, out)
            near(out, want, dtype)
        for unit in (False, True):
            b = numbers(*shape[:-1], 5, dtype=dtype)
            for transposed in (False, True):
                solution, copy = place(b), place(x)
                call("aclnnTriangularSolve", strided(b), strided(x / 3), upper, transposed, unit, solution, copy)
                a = (x / 3).to(WIDE[dtype])
                a = a.triu() if upper else a.tril()
                want = torch.linalg.solve_triangular(a.mT if transposed else a, b.to(WIDE[dtype]), upper=upper != transposed,
                                                     unitriangular=unit)
                near(solution, want, dtype)


@pytest.mark.parametrize("left, right", [((4, 4), (2, 3, 4, 5)), ((3, 4, 4), (2, 1, 4, 5)), ((2, 1, 4, 4), (3, 4, 1)), ((3, 4, 4), (4, 2))])
def test_triangular_systems_broadcast(left, right):
    """One triangle for a batch of right sides, and the reverse; torch_npu asks for a result of the broadcast shape."""
    a, b = torch.randn(left) / 9 + torch.eye(4), torch.randn(right)
    for upper in (False, True):
        want, copy = torch.triangular_solve(b.double(), a.double(), upper=upper)
        got, same = torch.triangular_solve(b.npu(), a.npu(), upper=upper)
        torch.testing.assert_close(got.cpu().double(), want, rtol=1e-4, atol=1e-5)
        assert torch.equal(same.cpu(), copy.float())
        out = torch.empty(want.shape).npu(), torch.empty(copy.shape).npu()
        torch.triangular_solve(b.npu(), a.npu(), upper=upper, out=out)
        assert torch.equal(out[0], got)



@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128, torch.float16], ids=str)
@pytest.mark.parametrize("shape", [(1, 1), (7, 3), (3, 7), (2, 3, 8, 5), (130, 250), (250, 130), (30, 4, 4), (4, 0), (0, 4), (2, 3, 0)], ids=str)
def test_factors_of_every_type(dtype, shape):
    m, n = shape[-2:]
    k = min(m, n)
    x = numbers(*shape, dtype=dtype) * 0.1
    wide = x.to(WIDE[dtype])
    eye = lambda size: torch.eye(size, dtype=wide.dtype).expand(*shape[:-2], size, size)
    for source in (x.npu(), strided(x), x.npu().mT.contiguous().mT):
        for mode, columns in ((0, k), (1, m), (2, k)):
            q, r = place(numbers(*shape[:-2], m, columns, dtype=dtype)), place(numbers(*shape[:-2], columns, n, dtype=dtype))
            call("aclnnLinalgQr", source, mode, torch.zeros(0, dtype=dtype, device="npu") if mode == 2 else q, r)
            r = r.cpu().to(wide.dtype)
            assert (r.tril(-1) == 0).all()
            near(r.mH @ r, wide.mH @ wide, dtype)
            if mode != 2:
                q = q.cpu().to(wide.dtype)
                near(q @ r, wide, dtype)
                near(q.mH @ q, eye(columns), dtype)
        values = torch.linalg.svdvals(wide)
        for full in (False, True):
            u = place(numbers(*shape[:-2], m, m if full else k, dtype=dtype))
            vh = place(numbers(*shape[:-2], n if full else k, n, dtype=dtype))
            s = torch.zeros(*shape[:-2], k, dtype=x.real.dtype, device="npu")
            call("aclnnSvd", source, full, True, s, u, vh.mT)
            near(s, values, dtype)
            alone = torch.zeros_like(s)
            call("aclnnSvd", source, full, False, alone, torch.zeros_like(u), torch.zeros_like(vh.mT))
            near(alone, values, dtype)
            u, vh = u.cpu().to(wide.dtype), vh.cpu().to(wide.dtype)
            near((u[..., :k] * s.cpu().to(u.dtype).unsqueeze(-2)) @ vh[..., :k, :], wide, dtype)
            near(u.mH @ u, eye(u.shape[-1]), dtype)
            near(vh @ vh.mH, eye(vh.shape[-2]), dtype)


def test_what_has_no_answer():
    """One matrix of a batch that is singular, not positive definite or not finite does not touch the others."""
    nan = float("nan")
    x = torch.stack([torch.eye(3) * 2, torch.ones(3, 3), torch.full((3, 3), nan), torch.zeros(3, 3), torch.eye(3) * 4])
    got = torch.inverse(x.npu()).cpu()
    assert torch.equal(got[0], torch.eye(3) / 2) and torch.equal(got[4], torch.eye(3) / 4)
    assert torch.isnan(got[1:4]).all()
    sign, log = (t.cpu() for t in torch.slogdet(x.npu()))
    assert sign[[0, 1, 3, 4]].tolist() == [1, 0, 0, 1] and log[1] == log[3] == float("-inf") and torch.isnan(log[2])
    got = torch.linalg.cholesky(x.npu()).cpu()
    assert torch.isnan(got[1:4]).all() and torch.equal(got[4], torch.eye(3) * 2)
    for upper in (False, True):
        got = torch.linalg.solve_triangular(x.npu(), torch.ones(5, 3, 1).npu(), upper=upper).cpu()
        want = torch.linalg.solve_triangular(x, torch.ones(5, 3, 1), upper=upper)
        torch.testing.assert_close(got, want, equal_nan=True)
    for shape in ((2, 4, 4), (2, 30, 30)):
        bad = torch.randn(shape)
        bad[0, 1, 2] = nan
        bad[1, 3, 3] = float("inf")
        u, s, vh = (t.cpu() for t in torch.linalg.svd(torch.cat([bad, torch.eye(shape[-1]).unsqueeze(0)]).npu()))
        assert torch.isnan(s[0]).all() and not torch.isfinite(s[1]).all() and (s[2] == 1).all()
        q, r = torch.linalg.qr(torch.cat([bad, torch.eye(shape[-1]).unsqueeze(0)]).npu())
        assert torch.isnan(r[0]).any() and torch.equal(r[2].cpu().abs(), torch.eye(shape[-1]))
    with pytest.raises(RuntimeError, match="want matrices of floating-point or complex numbers"):
        call("aclnnInverse", torch.eye(3, dtype=torch.int64).npu(), torch.eye(3, dtype=torch.int64).npu())


def test_linear_algebra_has_the_same_bits_each_time():
    x = numbers(400, 400, dtype=torch.float32).npu()
    for function in (torch.inverse, torch.linalg.qr, torch.linalg.svd, torch.slogdet):
        first, second = (function(x) for _ in range(2))
        for a, b in zip(*((r,) if isinstance(r, torch.Tensor) else r for r in (first, second))):
            assert torch.equal(a, b)


def test_gradients_of_linear_algebra():
    """PyTorch's formulas over the operators, npu against double precision. The wheel has none for slogdet."""
    x = numbers(2, 6, 6, dtype=torch.float32) + 4 * torch.eye(6)
    for function in (torch.inverse, lambda v: torch.linalg.cholesky(v @ v.mT), lambda v: torch.linalg.qr(v)[0],
                     torch.linalg.svdvals, lambda v: torch.linalg.solve_triangular(v, v.mT, upper=True)):
        a, b = x.npu().requires_grad_(), x.double().requires_grad_()
        got, want = function(a), function(b)
        got.sin().sum().backward()
        want.sin().sum().backward()
        close(a.grad, b.grad.float(), scale=2)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_distances(p):
    x, y = rand(2, 9, 5), rand(2, 30, 5)
    close(torch.ops.aten._cdist_forward(x.npu(), y.npu(), p, None), torch.cdist(x, y, p))
    close(torch.pdist(x[0].npu(), p), torch.pdist(x[0], p))
    if p == 3:
        g, d = rand(2, 9, 30), torch.cdist(x, y, p)
        close(torch.ops.aten._cdist_backward(g.npu(), x.npu(), y.npu(), p, d.npu()),
              torch.ops.aten._cdist_backward(g, x, y, p, d))


def test_vectors():
    x = rand(6, 9)
    close(torch.trace(x.npu()), torch.trace(x))
    close(torch.trace(x.npu().t()[::2]), torch.trace(x.t()[::2]))
    assert torch.trace(torch.arange(9).reshape(3, 3).npu()).item() == 12
    for dim, a, b in ((1, rand(5, 3), rand(1, 3)), (0, rand(3, 4, 2), rand(3, 4, 2))):
        close(torch.linalg.cross(a.npu(), b.npu(), dim=dim), torch.linalg.cross(a, b, dim=dim))
        close(torch.linalg.cross(a.npu().mT, b.npu().mT, dim=-2 if dim == 1 else 0),
              torch.linalg.cross(a.mT, b.mT, dim=-2 if dim == 1 else 0))
    image = rand(2, 6, 4, 5)
    assert torch.equal(torch.channel_shuffle(image.npu(), 3).cpu(), torch.channel_shuffle(image, 3))
    for p in (1, 2, 3.5, float("inf")):
        close(torch.renorm(image.npu(), p, 1, 2.0), torch.renorm(image, p, 1, 2.0))
    torch.npu.synchronize()


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 2.0, 3.0, float("inf")])
def test_gradient_of_distances(p):
    grads = []
    for device in ("cpu", "npu"):
        torch.manual_seed(0)
        x, y = (torch.randn(2, n, 5).to(device).requires_grad_() for n in (9, 30))
        (torch.cdist(x, y, p, compute_mode="donot_use_mm_for_euclid_dist") * torch.arange(30.0).to(device)).sum().backward()
        grads.append((x.grad, y.grad))
    for want, got in zip(*grads):
        close(got, want)


def test_gradient_of_largest_differences_of_halves():
    """The distance is rounded to fp16, the differences that it is compared with are not: as on the card."""
    torch.manual_seed(0)
    x, y, weight = (torch.randn(*shape).half() for shape in ((9, 5), (30, 5), (9, 30)))
    difference = x.float().unsqueeze(1) - y.float().unsqueeze(0)
    distance = difference.abs().amax(-1, keepdim=True).half().float()
    assert (distance > difference.abs().amax(-1, keepdim=True)).any() and (distance < difference.abs().amax(-1, keepdim=True)).any()
    want = (weight.double().unsqueeze(-1) * difference.sign() * (difference.abs() >= distance)).sum(1)
    a = x.npu().requires_grad_()
    (torch.cdist(a, y.npu(), float("inf")) * weight.npu()).sum().backward()
    close(a.grad, want.half())


@pytest.mark.parametrize("shapes", [((2, 5, 3), (7, 3)), ((5, 3), (2, 2, 7, 3)), ((2, 1, 5, 3), (4, 7, 3)), ((5, 3), (0, 7, 3))])
def test_gradient_of_distances_with_batches(shapes):
    grads = []
    for device in ("cpu", "npu"):
        torch.manual_seed(0)
        x, y = (torch.randn(s).to(device).requires_grad_() for s in shapes)
        out = torch.cdist(x, y, compute_mode="donot_use_mm_for_euclid_dist")
        out.backward(torch.ones(out.shape).to(device))
        grads.append((x.grad, y.grad))
    for want, got in zip(*grads):
        close(got, want)


@pytest.mark.parametrize("n_fft", [1, 7, 12, 16, 30, 64])
@pytest.mark.parametrize("normalized", [False, True])
def test_stft(n_fft, normalized):
    x = rand(3, 200)
    options = {"n_fft": n_fft, "hop_length": 5, "center": False, "normalized": normalized, "return_complex": True}
    windows = [{}, {"window": torch.hann_window(n_fft)}]
    if n_fft > 4:
        windows.append({"window": torch.hamming_window(n_fft - 3), "win_length": n_fft - 3})
    for window in windows:
        moved = {k: v.npu() if isinstance(v, torch.Tensor) else v for k, v in window.items()}
        for onesided in (False, True):
            for signal in (x, x[0], x.t().contiguous().t()):
                got = torch.stft(signal.npu(), onesided=onesided, **options, **moved).cpu()
                want = torch.stft(signal, onesided=onesided, **options, **window)
                assert got.dtype == want.dtype
                torch.testing.assert_close(torch.view_as_real(got), torch.view_as_real(want), rtol=1e-5, atol=2e-5)


def test_sleep_holds_the_stream():
    x = torch.zeros(3).npu()
    torch.npu.synchronize()
    start = time.monotonic()
    torch.npu._sleep(60_000_000)  # a cycle is a nanosecond
    y = x + 1
    assert y.cpu().tolist() == [1, 1, 1]
    assert time.monotonic() - start >= 0.05


def test_renorm_by_the_number_of_values():
    x = torch.randn(4, 3, 5)
    x[1], x[2, :2], x[3, 0, 1:] = 0, 0, 0
    got = torch.renorm(x.npu(), 0, 0, 6.0).cpu()
    count = (x != 0).sum((1, 2), keepdim=True).double()
    want = x.double() * torch.where(count > 6, 6 / (count + 1e-7), 1.0)
    torch.testing.assert_close(got.double(), want, rtol=1e-6, atol=1e-7)
