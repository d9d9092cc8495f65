"""Random numbers on the virtual NPU: distributions, ranges, reproducibility."""
import math

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from aclnn import call

N = 200_000
FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]


def seeded(make, seed=7):
    torch.npu.manual_seed(seed)
    return make().cpu()


def distance(x, cdf):
    """Kolmogorov-Smirnov statistic times sqrt(n); above 2 has a probability of 7e-4."""
    x, _ = x.double().flatten().sort()
    n = x.numel()
    c = cdf(x)
    steps = torch.arange(n + 1, dtype=torch.float64) / n
    return float(torch.maximum((c - steps[:-1]).abs().max(), (c - steps[1:]).abs().max())) * math.sqrt(n)


def phi(x):
    return 0.5 * (1 + torch.erf(x / math.sqrt(2)))


@pytest.mark.parametrize("make", [
    lambda: torch.rand(1000, device="npu"), lambda: torch.randn(1000, device="npu"),
    lambda: torch.randint(0, 1 << 40, (1000,), device="npu"), lambda: torch.randperm(1000, device="npu"),
    lambda: torch.bernoulli(torch.full((1000,), 0.5, device="npu")),
    lambda: torch.multinomial(torch.ones(50, device="npu"), 20), lambda: F.dropout(torch.ones(1000, device="npu"))])
def test_seed(make):
    a, b = seeded(make), seeded(make)
    assert torch.equal(a, b)
    assert not torch.equal(a, seeded(make, 8))
    torch.npu.manual_seed(7)
    first, second = make().cpu(), make().cpu()
    assert torch.equal(first, a) and not torch.equal(first, second)


def test_layout_and_length_do_not_matter():
    torch.npu.manual_seed(3)
    a = torch.empty(100, 300, device="npu").uniform_()
    torch.npu.manual_seed(3)
    b = torch.empty(300, 100, device="npu").t().uniform_()
    torch.npu.manual_seed(3)
    c = torch.empty(12345, device="npu").uniform_()
    assert torch.equal(a.cpu(), b.cpu())
    assert torch.equal(a.cpu().flatten()[:12345], c.cpu())


@pytest.mark.parametrize("dtype", FLOATS)
def test_uniform(dtype):
    x = seeded(lambda: torch.empty(N, dtype=dtype, device="npu").uniform_())
    assert x.min() >= 0 and x.max() < 1
    assert abs(x.double().mean() - 0.5) < 5e-3
    if dtype in (torch.float32, torch.float64):
        assert distance(x, lambda v: v) < 2
        assert x.unique().numel() > 0.99 * N - N * N / 2 ** 25
    for low, high in ((-3, 5), (1000, 1001), (-1e-3, 0), (0, 0), (0.1, 0.1001)):
        y = seeded(lambda: torch.empty(5000, dtype=dtype, device="npu").uniform_(low, high))
        low, high = (torch.tensor(v, dtype=dtype) for v in (low, high))
        assert (y >= low).all() and ((y < high) | (y == low)).all()


@pytest.mark.parametrize("dtype", FLOATS)
def test_normal(dtype):
    x = seeded(lambda: torch.randn(N, dtype=dtype, device="npu")).double()
    assert abs(x.mean()) < 0.01 and abs(x.std() - 1) < 0.01
    assert abs((x ** 3).mean()) < 0.05 and abs((x ** 4).mean() - 3) < 0.1
    if dtype in (torch.float32, torch.float64):
        assert distance(x, phi) < 2
    assert abs((x[1:] * x[:-1]).mean()) < 0.01
    assert abs((x[256:] * x[:-256]).mean()) < 0.01  # the two results of one Box-Muller step
    y = seeded(lambda: torch.empty(N, dtype=dtype, device="npu").normal_(3, 0.5)).double()
    assert abs(y.mean() - 3) < 0.01 and abs(y.std() - 0.5) < 0.01


def test_normal_tensors():
    mean = torch.tensor([[0.0], [100.0]], device="npu").expand(2, N // 10)
    std = torch.tensor([[1.0], [4.0]], device="npu")
    for x in (torch.normal(mean, std), torch.normal(mean, std.expand(2, N // 10))):
        x = x.cpu()
        assert abs(x[0].mean()) < 0.05 and abs(x[1].mean() - 100) < 0.2
        assert abs(x[0].std() - 1) < 0.03 and abs(x[1].std() - 4) < 0.1
    assert abs(torch.normal(mean, 2.0).cpu()[1].std() - 2) < 0.1
    assert abs(torch.normal(5.0, std.expand(2, N // 10)).cpu()[1].mean() - 5) < 0.2
    assert torch.normal(2.0, 1.0, (3, 4), device="npu").shape == (3, 4)


def test_calls_are_independent():
    torch.npu.manual_seed(0)
    calls = torch.stack([torch.randn(20000, device="npu").cpu() for _ in range(6)])
    correlation = torch.corrcoef(calls) - torch.eye(6)
    assert correlation.abs().max() < 0.04


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64] + FLOATS)
def test_integers(dtype):
    high = 2 if dtype == torch.bool else 10
    x = seeded(lambda: torch.randint(0, high, (N,), device="npu").to(dtype) if dtype == torch.bool else
               torch.empty(N, dtype=dtype, device="npu").random_(0, high)).double()
    counts = torch.bincount(x.long(), minlength=high)
    assert counts.numel() == high
    chi = ((counts - N / high) ** 2 / (N / high)).sum()
    assert chi < 30
    if dtype in (torch.int8, torch.int16, torch.int32, torch.int64):
        info = torch.iinfo(dtype)
        y = seeded(lambda: torch.empty(N, dtype=dtype, device="npu").random_(info.min, info.max)).double()
        assert y.min() >= info.min and y.max() <= info.max
        width = float(info.max) - float(info.min)
        assert y.min() < info.min + width / 50 and y.max() > info.max - width / 50
        assert abs(y.mean() / width) < 0.005


@pytest.mark.parametrize("dtype, bounds", [
    (torch.float16, [(0, 65504), (-65504, 42), (-42, 65504)]), (torch.bfloat16, [(0, 1000), (-999, 999), (1 << 40, (1 << 41) - 1)]),
    (torch.float32, [(0, (1 << 31) - 1), (-(1 << 63), (1 << 63) - 1)])])
def test_integers_are_not_rounded_out_of_their_range(dtype, bounds):
    """Ranges of which the type does not hold every integer."""
    for low, high in bounds:
        y = torch.empty(N, dtype=dtype, device="npu").random_(low, high).cpu().double()
        tenth = (high - low) / 10
        assert low <= y.min() < low + tenth and high - tenth < y.max() < high


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64, torch.bool])
def test_whole_numbers_get_what_a_conversion_makes_of_real_ones(dtype):
    def drawn(type):
        x = torch.zeros(N, dtype=type, device="npu")
        return seeded(lambda: x.normal_(3 if dtype == torch.uint8 else 0, 0.5)), seeded(lambda: torch.empty_like(x).uniform_(0, 5))
    for whole, real in zip(drawn(dtype), drawn(torch.float32)):
        assert whole.dtype == dtype and torch.equal(whole, real.to(dtype))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.float64])
def test_bernoulli(dtype):
    for p in (0.0, 0.1, 0.75, 1.0):
        x = seeded(lambda: torch.empty(N, dtype=dtype, device="npu").bernoulli_(p)).double()
        assert set(x.unique().tolist()) <= {0.0, 1.0}
        assert abs(x.mean() - p) < 4 * math.sqrt(p * (1 - p) / N) + 1e-12
    ps = torch.tensor([0.0, 0.2, 1.0])
    x = seeded(lambda: torch.empty(N // 4, 3, dtype=dtype, device="npu").bernoulli_(ps.npu())).double()
    assert (x.mean(0) - ps).abs().max() < 0.01


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
def test_dropout(dtype, p):
    for shape in ((N,), (37, 101), (), (0,), (3, 1)):
        x = (torch.rand(shape) + 0.5).to(dtype)
        g = (torch.rand(shape) + 0.5).to(dtype)
        a = x.npu().requires_grad_()
        y = F.dropout(a, p, training=True)
        y.backward(g.npu())
        y, grad = y.detach().cpu(), a.grad.cpu()
        kept = y != 0
        scale = 1 / (1 - p) if p < 1 else 0
        torch.testing.assert_close(y, torch.where(kept, x.float() * scale, 0).to(dtype))
        torch.testing.assert_close(grad, torch.where(kept, g.float() * scale, 0).to(dtype))
        if x.numel() == N:
            assert abs(kept.double().mean() - (1 - p)) < 4 * math.sqrt(p * (1 - p) / N) + 1e-12
    t = torch.rand(40, 60) + 0.5
    y = F.dropout(t.npu().t(), 0.3, training=True).cpu()
    torch.testing.assert_close(y, torch.where(y != 0, t.t() / 0.7, 0))
    assert torch.equal(F.dropout(t.npu(), 0.3, training=False).cpu(), t)


def test_dropout_bits_are_independent():
    torch.npu.manual_seed(5)
    kept = (F.dropout(torch.ones(1 << 18, device="npu"), 0.5).cpu() != 0).double() - 0.5
    for lag in (1, 8, 32, 128, 256, 1024):
        assert abs((kept[lag:] * kept[:-lag]).mean() * 4) < 0.01


def test_randperm():
    for n in (0, 1, 2, 5, 1000, 100_000):
        for dtype in (torch.int64, torch.int32, torch.float32):
            x = torch.randperm(n, dtype=dtype, device="npu").cpu()
            assert x.dtype == dtype and torch.equal(x.sort().values, torch.arange(n, dtype=dtype))
    counts = torch.zeros(6)
    for _ in range(300):
        p = torch.randperm(3, device="npu").cpu().tolist()
        counts[p[0] * 2 + (p[1] > p[2])] += 1
    assert counts.min() > 25 and counts.max() < 80


def test_multinomial():
    w = torch.tensor([0.0, 1.0, 3.0, 0.0, 6.0, 0.0])
    for dtype in (torch.float32, torch.float16, torch.float64):
        x = torch.multinomial(w.to(dtype).npu(), N, replacement=True).cpu()
        f = torch.bincount(x, minlength=6) / N
        assert (f - w / 10).abs().max() < 0.005 and f[[0, 3, 5]].sum() == 0
    rows = torch.multinomial(w.npu().expand(20000, 6), 3).cpu()
    assert torch.equal(rows.sort(1).values, torch.tensor([1, 2, 4]).expand(20000, 3))
    f = torch.bincount(rows[:, 0], minlength=6) / 20000
    assert (f - w / 10).abs().max() < 0.015
    second = rows[rows[:, 0] == 4][:, 1]
    assert abs((second == 2).double().mean() - 0.75) < 0.02


def test_composites():
    x = torch.empty(N, device="npu").exponential_(2.0).cpu()
    assert distance(x, lambda v: 1 - torch.exp(-2 * v)) < 2
    w = torch.empty(300, 400, device="npu")
    torch.nn.init.kaiming_uniform_(w)
    assert abs(w.cpu().std() - math.sqrt(2 / 400)) < 1e-3
    torch.nn.init.xavier_normal_(w)
    assert abs(w.cpu().std() - math.sqrt(2 / 700)) < 1e-3
    torch.nn.init.trunc_normal_(w, std=0.02)
    assert abs(w.cpu().std() - 0.0176) < 2.5e-3
    assert torch.rand_like(w).cpu().max() < 1 and abs(torch.randn_like(w).cpu().mean()) < 0.02


def on_device(seed, offset, dtype=torch.int64):
    return torch.tensor([seed], dtype=dtype).npu(), torch.tensor([offset], dtype=dtype).npu()


# Operators whose seed and offset lie in device memory, and the form that takes them as numbers.
SEEDED = {
    "Uniform": (lambda x, s: call("aclnnInplaceUniformTensor", x, -1.0, 3.0, *s),
                lambda x, s: call("aclnnInplaceUniform", x, -1.0, 3.0, *s)),
    "Normal": (lambda x, s: call("aclnnInplaceNormalTensor", x, 2.0, 0.5, *s),
               lambda x, s: call("aclnnInplaceNormal", x, 2.0, 0.5, *s)),
    "Random": (lambda x, s: call("aclnnInplaceRandomTensor", x, 3, 9, *s),
               lambda x, s: call("aclnnInplaceRandom", x, 3, 9, *s)),
    "WithoutFromTo": (lambda x, s: call("aclnnInplaceRandomWithoutFromToTensor", x, *s),
                      lambda x, s: call("aclnnInplaceRandomWithoutFromTo", x, *s)),
}


@pytest.mark.parametrize("name", SEEDED)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_seed_on_the_device(name, dtype):
    by_tensor, by_number = SEEDED[name]

    def draw(f, seed):
        x = torch.empty(300, 70, dtype=dtype, device="npu").t()
        f(x, seed)
        return x.cpu()

    first = draw(by_tensor, (*on_device(7, 100), 0))
    assert torch.equal(first, draw(by_tensor, (*on_device(7, 100), 0)))
    assert torch.equal(first, draw(by_tensor, (*on_device(7, 60, torch.int32), 40)))  # offsets add up
    assert torch.equal(first, draw(by_number, (7, 100)))
    assert not torch.equal(first, draw(by_tensor, (*on_device(8, 100), 0)))
    assert not torch.equal(first, draw(by_tensor, (*on_device(7, 104), 0)))


def test_ranges_by_seed_on_the_device():
    x = torch.empty(N, device="npu")
    SEEDED["Uniform"][0](x, (*on_device(1, 0), 0))
    assert distance(x.cpu(), lambda v: (v + 1) / 4) < 2
    SEEDED["Normal"][0](x, (*on_device(1, 0), 0))
    assert distance(x.cpu(), lambda v: phi((v - 2) / 0.5)) < 2
    SEEDED["Random"][0](x, (*on_device(1, 0), 0))
    counts = torch.bincount(x.cpu().long() - 3, minlength=6)
    assert counts.numel() == 6 and ((counts - N / 6) ** 2 / (N / 6)).sum() < 25
    SEEDED["WithoutFromTo"][0](x, (*on_device(1, 0), 0))
    assert x.min() >= 0 and x.max() <= 2 ** 24 and x.max() > 2 ** 24 * 0.999 and abs(x.cpu().double().mean() / 2 ** 23 - 1) < 0.01
    y = torch.empty(N, dtype=torch.int32, device="npu")
    SEEDED["WithoutFromTo"][1](y, (1, 0))
    y = y.cpu().double()
    assert y.min() >= 0 and y.max() > 2 ** 31 * 0.999 and abs(y.mean() / 2 ** 30 - 1) < 0.01


def test_multinomial_by_seed_on_the_device():
    w = torch.tensor([0.0, 1.0, 3.0, 6.0])
    out, again = (torch.empty(N, dtype=torch.int64, device="npu") for _ in range(2))
    call("aclnnMultinomialTensor", w.npu(), N, True, *on_device(3, 0), 8, out)
    assert (torch.bincount(out.cpu(), minlength=4) / N - w / 10).abs().max() < 0.005
    call("aclnnMultinomial", w.npu(), N, True, 3, 8, again)
    assert torch.equal(out.cpu(), again.cpu())
    rows = torch.empty(5, 3, dtype=torch.int64, device="npu")
    call("aclnnMultinomialTensor", w.npu().expand(5, 4).contiguous(), 3, False, *on_device(3, 0), 0, rows)
    assert torch.equal(rows.cpu().sort(1).values, torch.tensor([1, 2, 3]).expand(5, 3))


def bits(mask, n):
    return ((mask.cpu()[:, None] >> torch.arange(8, dtype=torch.uint8)) & 1).flatten()[:n].bool()


@pytest.mark.parametrize("p", [0.0, 0.3, 1.0])
def test_dropout_masks(p):
    n, shape = 120_000, [300, 400]
    masks = [torch.zeros((n + 127) // 128 * 16, dtype=torch.uint8, device="npu") for _ in range(5)]
    call("aclnnDropoutGenMask", shape, p, 5, 16, masks[0])
    call("aclnnDropoutGenMaskV2", shape, p, 5, 16, torch.float32, masks[1])
    call("aclnnDropoutGenMaskV2Tensor", shape, p, *on_device(5, 10), 6, torch.float32, masks[2])
    x, out = torch.rand(shape) + 0.5, torch.empty(shape, device="npu")
    call("aclnnDropout", x.npu(), p, True, 5, 16, out, masks[4])
    plain, all_kept = torch.empty_like(out), torch.zeros_like(masks[4])
    call("aclnnDropout", x.npu(), p, False, 5, 16, plain, all_kept)
    assert torch.equal(plain.cpu(), x) and bits(all_kept, n).all()
    dropped = out.clone()
    call("aclnnDropoutV3", x.npu(), None, p, 5, 16, out, masks[3])
    assert torch.equal(dropped.cpu(), out.cpu())
    kept = [bits(m, n) for m in masks]
    assert all(torch.equal(kept[0], k) for k in kept[1:])
    assert abs(kept[0].double().mean() - (1 - p)) < 4 * math.sqrt(p * (1 - p) / n) + 1e-12
    torch.testing.assert_close(out.cpu().flatten(), torch.where(kept[0], x.flatten() / max(1 - p, 1e-9), 0))
    call("aclnnDropoutDoMask", x.npu().t(), masks[0], p, again := torch.empty(400, 300, device="npu"))
    torch.testing.assert_close(again.cpu().flatten(), torch.where(kept[0], x.t().flatten() / max(1 - p, 1e-9), 0))


def test_simulated_thread_exponential():
    x = torch.empty(N, device="npu")
    torch.npu.manual_seed(4)
    torch_npu.npu_sim_exponential_(x, 2.0)
    assert distance(x.cpu(), lambda v: 1 - torch.exp(-2 * v)) < 2
    torch.npu.manual_seed(4)
    assert torch.equal(torch_npu.npu_sim_exponential_(torch.empty(N, device="npu"), 2.0).cpu(), x.cpu())


@pytest.mark.parametrize("p", [0.1, 0.5, 0.97])
@pytest.mark.parametrize("shape", [(144,), (70, 1111)])
def test_dropout_in_place_drops_what_dropout_does(p, shape):
    """Out of place torch_npu makes a mask of bits, in place PyTorch draws Bernoulli numbers: from one seed both are the same."""
    x = torch.randn(shape) + 3
    torch.npu.manual_seed(2)
    out = F.dropout(x.npu(), p)
    torch.npu.manual_seed(2)
    y = x.npu()
    F.dropout(y, p, inplace=True)
    assert torch.equal(out.cpu() == 0, y.cpu() == 0)
    torch.testing.assert_close(out, y, rtol=1e-6, atol=0)


@pytest.mark.parametrize("p, share", [(0.0, 0), (1.0, 1), (0.25, 0.25)])
def test_bernoulli_at_its_ends(p, share):
    drawn = torch.full((N,), p, device="npu").bernoulli_(p).cpu()
    assert abs(drawn.mean().item() - share) < 0.01 and set(drawn.tolist()) <= {0.0, 1.0}
