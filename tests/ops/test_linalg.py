"""Linear algebra on the virtual NPU against PyTorch's CPU."""
import time

import pytest
import torch
import torch_npu

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


@pytest.mark.parametrize("shape", [(4, 4), (7, 3), (3, 7), (2, 5, 4), (60, 40), (3, 0)])
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
