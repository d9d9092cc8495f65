"""Normalisations that the plain layers do not use: synchronised batch norm, residual forms, fused activations."""
import pytest
import torch
import torch.nn.functional as F
import torch_npu
from aclnn import call

FLOATS = [(torch.float32, 1e-5), (torch.float16, 4e-3), (torch.bfloat16, 3e-2)]


def sample(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to(dtype)


def close(got, want, tolerance=1e-5):
    got, want = got.detach().cpu().double(), want.detach().double()
    assert got.shape == want.shape
    assert (got - want).abs().max() <= tolerance * want.abs().max().clamp_min(1.0), (got - want).abs().max()


# --- synchronised batch norm: two workers imitated in one process against one batch norm of the whole batch ---

def gather_by_moments(parts, eps, running):
    """As torch_npu.utils.syncbatchnorm: sums and sums of squares are gathered."""
    rows = []
    for x in parts:
        flat = x.reshape(x.shape[0], x.shape[1], 1, -1)
        total, square = torch_npu.batch_norm_reduce(flat, eps)
        rows.append(torch.cat([total, square, torch.full((1,), x.numel() // x.shape[1], dtype=total.dtype).npu()]))
    total, square, count = torch.split(torch.stack(rows), parts[0].shape[1], dim=1)
    mean, invstd = torch_npu.batch_norm_gather_stats_update(parts[0], total, square, *running, 0.2, eps, count.view(-1))
    return mean, invstd, count


def gather_by_statistics(parts, eps, running):
    """As torch.nn.modules._functions.SyncBatchNorm: means and inverse deviations are gathered."""
    stats = [torch.batch_norm_stats(x, eps) for x in parts]
    count = torch.tensor([x.numel() / x.shape[1] for x in parts]).npu()
    mean, invstd = torch.batch_norm_gather_stats_with_counts(
        parts[0], torch.stack([m for m, _ in stats]), torch.stack([s for _, s in stats]), *running, 0.2, eps, count)
    return mean, invstd, count.view(-1, 1)


@pytest.mark.parametrize("gather", [gather_by_moments, gather_by_statistics])
@pytest.mark.parametrize("dtype,tolerance", FLOATS)
@pytest.mark.parametrize("shape,split", [((6, 5), 2), ((5, 3, 7), 1), ((4, 9, 6, 5), 3), ((3, 12, 40, 40), 1)])
def test_synchronised_batch_norm(gather, dtype, tolerance, shape, split):
    eps = 1e-3
    x, g = sample(*shape, dtype=dtype) * 3 + 1, sample(*shape, dtype=dtype, seed=1)
    w, b = sample(shape[1], seed=2), sample(shape[1], seed=3)
    mean, var = sample(shape[1], seed=4), sample(shape[1], seed=5).abs()
    wanted = [v.double().requires_grad_() for v in (x, w, b)]
    kept = mean.double(), var.double()
    y = F.batch_norm(wanted[0], *kept, *wanted[1:], training=True, momentum=0.2, eps=eps)
    y.backward(g.double())

    running = mean.npu(), var.npu()
    parts, grads = ([p.npu() for p in (v[:split], v[split:])] for v in (x, g))
    m, s, count = gather(parts, eps, running)
    close(m, x.double().transpose(0, 1).flatten(1).mean(1))
    close(s, (x.double().transpose(0, 1).flatten(1).var(1, correction=0) + eps).rsqrt())
    close(running[0], kept[0])
    close(running[1], kept[1])
    out = torch.cat([torch.batch_norm_elemt(p, w.npu(), b.npu(), m, s, eps) for p in parts])
    assert out.dtype == dtype
    close(out, y, tolerance)

    sums = [torch.batch_norm_backward_reduce(d, p, m, s, w.npu(), True, True, True) for d, p in zip(grads, parts)]
    scale = float(x.numel() // shape[1]) ** 0.5
    close(sums[0][2] + sums[1][2], wanted[1].grad, tolerance * scale)
    close(sums[0][3] + sums[1][3], wanted[2].grad, tolerance * scale)
    dy, dy_xmu = sums[0][0] + sums[1][0], sums[0][1] + sums[1][1]
    counts = count.view(-1).int() if gather is gather_by_statistics else count
    dx = torch.cat([torch.batch_norm_backward_elemt(d, p, m, s, w.npu(), dy, dy_xmu, counts)
                    for d, p in zip(grads, parts)])
    close(dx, wanted[0].grad, tolerance)


def test_synchronised_batch_norm_without_parameters():
    x = sample(4, 3, 5)
    m, s = torch.batch_norm_stats(x.npu(), 1e-5)
    close(torch.batch_norm_elemt(x.npu(), None, None, m, s, 1e-5), F.batch_norm(x.double(), None, None, training=True))
    total, product, dw, db = torch.batch_norm_backward_reduce(x.npu(), x.npu(), m, s, None, True, False, False)
    close(total, x.double().sum((0, 2)))
    close(product, (x.double() * (x.double() - x.double().mean((0, 2), keepdim=True))).sum((0, 2)))


def test_moments_of_a_large_mean():
    # The variance must survive a mean that is a thousand times the deviation.
    x = sample(64, 2, 50) + 1000
    _, s = torch.batch_norm_stats(x.npu(), 0.0)
    close(s, x.double().transpose(0, 1).flatten(1).var(1, correction=0).rsqrt(), 1e-4)


# --- rows: a residual is added first ---

def rows(dtype):
    x1, x2 = sample(5, 3, 40, dtype=dtype), sample(5, 3, 40, dtype=dtype, seed=1)
    return x1, x2, sample(40, dtype=dtype, seed=2), sample(40, dtype=dtype, seed=3)


@pytest.mark.parametrize("dtype,tolerance", FLOATS)
def test_deep_norm(dtype, tolerance):
    x, gx, gamma, beta = rows(dtype)
    wide = [v.double().requires_grad_() for v in (x, gx, gamma, beta)]
    sums = wide[0] * 0.7 + wide[1]
    want = F.layer_norm(sums, (40,), wide[2], wide[3], 1e-5)
    given = [v.npu().requires_grad_() for v in (x, gx, beta, gamma)]
    mean, rstd, y = torch_npu.npu_deep_norm(*given, 0.7, 1e-5)
    close(y, want, tolerance)
    close(mean.flatten(), sums.mean(-1).flatten())
    close(rstd.flatten(), (sums.var(-1, correction=0) + 1e-5).rsqrt().flatten())
    dy = sample(5, 3, 40, dtype=dtype, seed=4)
    want.backward(dy.double())
    y.backward(dy.npu())
    for got, w in zip(given, (wide[0], wide[1], wide[3], wide[2])):
        close(got.grad.reshape(w.shape), w.grad, 4 * tolerance)


@pytest.mark.parametrize("dtype,tolerance", FLOATS)
@pytest.mark.parametrize("extra", [False, True])
def test_add_layer_norm(dtype, tolerance, extra):
    x1, x2, gamma, beta = rows(dtype)
    wide = [v.double().requires_grad_() for v in (x1, x2, gamma, beta)]
    sums = wide[0] + wide[1]
    want = F.layer_norm(sums, (40,), wide[2], wide[3], 1e-5)
    given = [v.npu().requires_grad_() for v in (x1, x2, gamma, beta)]
    y, mean, rstd, x = torch_npu.npu_add_layer_norm(*given, 1e-5, True)
    close(y, want, tolerance)
    close(x, sums, tolerance)
    close(mean.flatten(), sums.mean(-1).flatten(), tolerance)
    close(rstd.flatten(), (sums.var(-1, correction=0) + 1e-5).rsqrt().flatten(), tolerance)
    dy, dsum = sample(5, 3, 40, dtype=dtype, seed=4), sample(5, 3, 40, dtype=dtype, seed=5)
    torch.autograd.backward([want, sums] if extra else [want], [dy.double(), dsum.double()][:1 + extra])
    got = torch_npu.npu_add_layer_norm_backward(dy.npu(), x1.npu(), x2.npu(), rstd, mean, gamma.npu(),
                                                dsum.npu() if extra else None)
    for g, w in zip(got, (wide[0], wide[1], wide[2], wide[3])):
        close(g, w.grad, 4 * tolerance)


def reference_rms(x, gamma, eps, offset=0.0):
    return x * (x.square().mean(-1, keepdim=True) + eps).rsqrt() * (gamma + offset)


@pytest.mark.parametrize("dtype,tolerance", FLOATS)
def test_root_mean_square_forms(dtype, tolerance):
    x1, x2, gamma, _ = rows(dtype)
    sums = (x1.double() + x2.double()).to(dtype)  # what is kept is what is normalised
    want = reference_rms(sums.double(), gamma.double(), 1e-5)
    y, rstd = torch_npu.npu_gemma_rms_norm(x1.npu(), gamma.npu(), 1e-5)
    close(y, reference_rms(x1.double(), gamma.double(), 1e-5, 1.0), tolerance)
    close(rstd.flatten(), (x1.double().square().mean(-1) + 1e-5).rsqrt().flatten())
    if dtype != torch.float32:
        wide, y, rstd, x = torch_npu.npu_add_rms_norm_cast(x1.npu(), x2.npu(), gamma.npu(), 1e-5)
        assert wide.dtype == torch.float32 and y.dtype == dtype
        close(wide, y.cpu().double(), tolerance)
        close(y, want, tolerance)
        close(x, sums, tolerance)
        close(rstd.flatten(), (sums.double().square().mean(-1) + 1e-5).rsqrt().flatten(), 1e-3)
    a, b = x1.npu(), x2.npu()
    rstd = torch_npu.npu_add_rms_norm_v2(a, b, gamma.npu(), 1e-5)
    close(a, want, tolerance)
    close(b, sums, tolerance)
    close(rstd.flatten(), (sums.double().square().mean(-1) + 1e-5).rsqrt().flatten(), 1e-3)


@pytest.mark.parametrize("dtype,tolerance", FLOATS)
def test_fast_layer_norm(dtype, tolerance):
    x, _, gamma, beta = rows(dtype)
    y = torch.empty_like(x.npu())
    mean, rstd = (torch.empty(5, 3, 1, device="npu") for _ in range(2))
    call("aclnnFastLayerNorm", x.npu(), [40], gamma.npu(), beta.npu(), 1e-5, y, mean, rstd)
    close(y, F.layer_norm(x.double(), (40,), gamma.double(), beta.double(), 1e-5), tolerance)
    close(mean, x.double().mean(-1, keepdim=True))
    close(rstd, (x.double().var(-1, correction=0, keepdim=True) + 1e-5).rsqrt())


# --- groups with an activation behind them ---

@pytest.mark.parametrize("dtype,tolerance", FLOATS)
@pytest.mark.parametrize("shape,groups", [((3, 6, 5), 2), ((2, 8, 7, 9), 4), ((2, 6, 30, 40), 3)])
def test_group_norm_with_swish(dtype, tolerance, shape, groups):
    x, dy = sample(*shape, dtype=dtype), sample(*shape, dtype=dtype, seed=1)
    w, b = sample(shape[1], dtype=dtype, seed=2), sample(shape[1], dtype=dtype, seed=3)
    y, mean, rstd = torch_npu.npu_group_norm_silu(x.npu(), w.npu(), b.npu(), groups, 1e-5)
    close(y, F.silu(F.group_norm(x.double(), groups, w.double(), b.double())), tolerance)
    parts = x.double().reshape(shape[0], groups, -1)
    close(mean.reshape(shape[0], groups), parts.mean(-1), tolerance)
    close(rstd.reshape(shape[0], groups), (parts.var(-1, correction=0) + 1e-5).rsqrt(), tolerance)
    for scale in (1.0, 0.6):
        wide = [v.double().requires_grad_() for v in (x, w, b)]
        normal = F.group_norm(wide[0], groups, *wide[1:])
        want = normal * torch.sigmoid(scale * normal)
        want.backward(dy.double())
        y, mean, rstd = torch_npu.npu_group_norm_swish(x.npu(), groups, w.npu(), b.npu(), 1e-5, scale)
        close(y, want, tolerance)
        got = torch_npu.npu_group_norm_swish_grad(dy.npu(), x.npu(), groups, w.npu(), b.npu(), mean, rstd,
                                                  [True, True, True], scale)
        for g, v in zip(got, wide):
            close(g, v.grad, 8 * tolerance)
