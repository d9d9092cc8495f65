"""Rows, sums, orders and copies of fp16 and bf16, which have loops of their own: lengths that end within a block, special numbers,
operands that do not follow one another. Against float64, rounded once."""
import pytest
import torch
import torch_npu  # noqa: F401
from torch.nn import functional as F

HALVES = [torch.float16, torch.bfloat16]
SPECIAL = [0.0, -0.0, 1.0, -1.0, float("inf"), float("-inf"), float("nan"), 65504.0, -65504.0, 1e-5, -3e-8, 3.3895e38, 1e-40]


def numbers(n, type):
    x = torch.randn(n) * 3
    x[: min(n, len(SPECIAL))] = torch.tensor(SPECIAL)[: min(n, len(SPECIAL))]
    return x.to(type)


def same(got, want):
    got = got.cpu()
    assert got.dtype == want.dtype
    assert torch.equal(got.isnan(), want.isnan()) if got.is_floating_point() else True
    torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("type", HALVES)
@pytest.mark.parametrize("n", [1, 31, 63, 64, 65, 200, 5000])
def test_rows_are_rounded_once(type, n):
    torch.manual_seed(n)
    x, y = numbers(n, type), numbers(n, type).flip(0)
    a, b = x.npu(), y.npu()
    for f in (torch.add, torch.sub, torch.mul, torch.div, torch.maximum):
        same(f(a, b), f(x.double(), y.double()).float().to(type))
    for f in (torch.neg, torch.abs, torch.relu, torch.sqrt, torch.floor):
        same(f(a), f(x.double()).float().to(type))
    for f in (torch.lt, torch.ge, torch.eq):
        same(f(a, b), f(x, y))
    same(torch.signbit(a), torch.signbit(x))


@pytest.mark.parametrize("type", HALVES)
def test_operands_that_do_not_follow_one_another(type):
    x, y, row, one = torch.randn(70, 150).to(type), torch.randn(150, 70).to(type), torch.randn(150).to(type), torch.randn(()).to(type)
    a, b, r, o = x.npu(), y.npu(), row.npu(), one.npu()
    for ours, theirs in ((b.t(), y.t()), (r, row), (o, one), (a[:, :1], x[:, :1])):
        same(a + ours, (x.float() + theirs.float()).to(type))
    same(a[:, 3:140] * r[3:140], (x[:, 3:140].float() * row[3:140].float()).to(type))
    c = a.clone()
    c[::2] += r
    x[::2] = (x[::2].float() + row.float()).to(type)
    same(c, x)


@pytest.mark.parametrize("type", HALVES)
@pytest.mark.parametrize("n", [1, 17, 64, 100, 4099])
def test_conversions(type, n):
    x = numbers(n, torch.float32)
    same(x.npu().to(type), x.to(type))
    same(x.to(type).npu().float(), x.to(type).float())


@pytest.mark.parametrize("type", [*HALVES, torch.float32])
@pytest.mark.parametrize("shape", [(3, 5), (100, 8), (5000, 3), (1000, 33), (77, 1025), (40000, 7), (9, 700)])
def test_sums(type, shape):
    torch.manual_seed(shape[0])
    x = torch.randn(shape).to(type)
    step = {torch.float16: 2**-10, torch.bfloat16: 2**-7, torch.float32: 2**-23}[type]
    for dim in (0, 1):
        for ours, theirs in ((x.npu(), x), (x.t().contiguous().npu().t(), x), (x.npu()[:, ::2], x[:, ::2])):
            got, want = ours.sum(dim).cpu().double(), theirs.double().sum(dim)
            bound = want.abs() * step + theirs.double().abs().sum(dim) * 2**-22 + 2**-24
            assert ((got - want).abs() <= bound).all()


@pytest.mark.parametrize("type", [*HALVES, torch.float32])
@pytest.mark.parametrize("n", [1, 3, 15, 16, 17, 63, 64, 65, 100, 1024, 1030, 3001])
@pytest.mark.parametrize("log", [False, True])
def test_softmax(type, n, log):
    torch.manual_seed(n)
    x = torch.randn(9, n).to(type) * 4
    if n > 2:
        x[1, 1], x[2, n - 1], x[3, 0], x[4, :], x[5, n // 2] = float("-inf"), float("nan"), float("inf"), float("-inf"), 300
    f = F.log_softmax if log else F.softmax
    got, want = f(x.npu(), -1).cpu().double(), f(x.double(), -1)
    assert torch.equal(got.isnan(), want.isnan())
    tolerance = {torch.float16: 1e-3, torch.bfloat16: 8e-3, torch.float32: 1e-6}[type]
    # A logarithm near 0 is the difference of larger numbers.
    torch.testing.assert_close(got, want, rtol=tolerance, atol=1e-6 if log else tolerance / 50, equal_nan=True)


@pytest.mark.parametrize("type", [*HALVES, torch.float32])
@pytest.mark.parametrize("shape", [(9, 1), (9, 15), (33, 16), (5, 100), (70, 64), (3, 1030), (2, 5001)])
@pytest.mark.parametrize("log", [False, True])
def test_gradient_of_softmax(type, shape, log):
    torch.manual_seed(shape[1])
    f = torch.ops.aten._log_softmax_backward_data if log else torch.ops.aten._softmax_backward_data
    y = torch.randn(shape).log_softmax(-1) if log else torch.randn(shape).softmax(-1)
    g, y = torch.randn(shape).to(type), y.to(type)
    want = f(g.double(), y.double(), -1, torch.float64)
    tolerance = {torch.float16: 1e-3, torch.bfloat16: 8e-3, torch.float32: 1e-6}[type]
    apart = torch.cat([g, y], 1).npu()  # rows that do not follow one another
    for ours in ((g.npu(), y.npu()), (g.t().contiguous().npu().t(), y.t().contiguous().npu().t()), (g.npu(), y.t().contiguous().npu().t()),
                 (apart[:, :shape[1]], apart[:, shape[1]:])):
        torch.testing.assert_close(f(*ours, -1, type).cpu().double(), want, rtol=tolerance, atol=tolerance / 50 if type != torch.float32 else 1e-5)


@pytest.mark.parametrize("type", [*HALVES, torch.float32])
@pytest.mark.parametrize("n", [1, 63, 64, 65, 5000])
def test_bounds_and_weights_that_are_one_for_all(type, n):
    x, y = numbers(n, type), numbers(n, type).flip(0)
    for low, high in ((-1.5, 2.0), (2.0, -1.5), (float("nan"), 1.0), (0.0, float("nan")), (-0.0, float("inf")), (None, 1.0), (-1.0, None)):
        same(x.npu().clamp(low, high), x.clamp(low, high))
    x, y = x.nan_to_num(0, 9, -9).clamp(-9, 9), y.nan_to_num(0, 9, -9).clamp(-9, 9)
    for weight in (0.0, 0.3, 0.5, 0.75, 1.0):
        got = torch.lerp(x.npu(), y.npu(), weight).cpu()
        want = torch.lerp(x.double(), y.double(), weight)
        torch.testing.assert_close(got.double(), want, rtol={torch.float16: 1e-3, torch.bfloat16: 8e-3, torch.float32: 1e-6}[type], atol=2e-6)


@pytest.mark.parametrize("type", HALVES)
@pytest.mark.parametrize("shape", [(9, 2), (100, 8), (33, 16), (1000, 33), (70, 512), (9, 513)])
def test_extremes_of_short_rows(type, shape):
    x = torch.randn(shape).to(type)
    x[1, 1], x[2, 0], x[3, -1] = float("nan"), float("inf"), float("-inf")
    for ours, theirs in ((x.npu(), x), (x.npu()[::2], x[::2]), (x.t().contiguous().npu().t(), x)):
        same(ours.amax(1), theirs.amax(1))
        same(ours.amin(-1), theirs.amin(-1))


@pytest.mark.parametrize("type", [*HALVES, torch.float32])
@pytest.mark.parametrize("shape, k", [((40, 64), 2), ((5, 1000), 7), ((3, 5000), 100), ((2, 70000), 5), ((4, 300), 299), ((1, 200000), 60)])
@pytest.mark.parametrize("largest", [True, False])
def test_topk(type, shape, k, largest):
    torch.manual_seed(k)
    x = torch.randn(shape).to(type)
    x[0, :3] = torch.tensor([float("nan"), -0.0, 0.0])
    values, indices = (t.cpu() for t in x.npu().topk(k, largest=largest))
    # Equal elements come in the order of their positions.
    want, at = x.double().sort(dim=-1, descending=largest, stable=True)
    torch.testing.assert_close(values.double(), want[:, :k], rtol=0, atol=0, equal_nan=True)
    assert torch.equal(indices, at[:, :k])


@pytest.mark.parametrize("type", [*HALVES, torch.float32, torch.float64])
def test_embedding_gradient(type):
    torch.manual_seed(3)
    index, g = torch.randint(20, (300,)), torch.randn(300, 70).to(type)
    got = torch.ops.aten.embedding_dense_backward(g.npu(), index.npu(), 20, 4, False).cpu().double()
    want, size = torch.zeros(20, 70).double(), torch.zeros(20, 70).double()
    kept = index != 4
    want.index_add_(0, index[kept], g[kept].double())
    size.index_add_(0, index[kept], g[kept].double().abs())
    step = {torch.float16: 2**-10, torch.bfloat16: 2**-7, torch.float32: 2**-23, torch.float64: 2**-52}[type]
    assert ((got - want).abs() <= want.abs() * step + size * (2**-48 if type == torch.float64 else 2**-20)).all()


@pytest.mark.parametrize("type", [torch.int8, torch.float16, torch.float32, torch.int64, torch.complex128])
def test_gather(type):
    x = (torch.randn(50, 60) * 50).to(type)
    for dim in (0, 1):
        index = torch.randint(50, (50, 60))
        for ours in (index, index.to(torch.int32), index.t().contiguous().t()):
            same(x.npu().gather(dim, ours.npu()), x.gather(dim, index))
    flat = torch.randint(3000, (777,))
    same(x.npu().take(flat.npu()), x.take(flat))


@pytest.mark.parametrize("type", [*HALVES, torch.float32])
@pytest.mark.parametrize("mode", ["half", "interleave"])
def test_rotary(type, mode):
    torch.manual_seed(5)
    x, cos, sin = torch.randn(2, 3, 7, 38).to(type), torch.randn(1, 1, 7, 38).to(type), torch.randn(1, 1, 7, 38).to(type)
    ours = [t.npu().requires_grad_() for t in (x, cos, sin)]
    theirs = [t.double().requires_grad_() for t in (x, cos, sin)]
    y = torch_npu.npu_rotary_mul(*ours, rotary_mode=mode)
    w, c, s = theirs
    if mode == "half":
        turned = torch.cat((-w[..., 19:], w[..., :19]), -1)
    else:
        turned = torch.stack((-w[..., 1::2], w[..., ::2]), -1).flatten(-2)
    want = w * c + turned * s
    g = torch.randn(y.shape).to(type)
    y.backward(g.npu())
    want.backward(g.double())
    tolerance = {torch.float16: 2e-3, torch.bfloat16: 2e-2, torch.float32: 2e-6}[type]
    torch.testing.assert_close(y.detach().cpu().double(), want.detach(), rtol=tolerance, atol=tolerance)
    for a, b in zip(ours, theirs):
        torch.testing.assert_close(a.grad.cpu().double(), b.grad, rtol=tolerance, atol=4 * tolerance)


@pytest.mark.parametrize("type", [*HALVES, torch.float32])
@pytest.mark.parametrize("shape, dim", [((9, 700), 1), ((4, 256), 1), ((3, 5), 1), ((700, 9), 0), ((6, 1025), 1)])
def test_running_sums(type, shape, dim):
    torch.manual_seed(shape[1])
    x = torch.randn(shape).to(type)
    step = {torch.float16: 2**-10, torch.bfloat16: 2**-7, torch.float32: 2**-23}[type]
    for ours, theirs in ((x.npu(), x), (x.t().contiguous().npu().t(), x), (x.npu()[:, ::2], x[:, ::2])):
        got, want = ours.cumsum(dim).cpu().double(), theirs.double().cumsum(dim)
        assert ((got - want).abs() <= want.abs() * step + 2**-24).all()


@pytest.mark.parametrize("type", [*HALVES, torch.float32])
@pytest.mark.parametrize("n, k", [(1023, 8), (1024, 1), (1024, 16), (1300, 17), (5000, 64), (3000, 65), (70000, 50)])
@pytest.mark.parametrize("largest", [True, False])
def test_top_of_many(type, n, k, largest):
    torch.manual_seed(n + k)
    rows = torch.stack((torch.randn(n), torch.randint(0, 9, (n,)).float(), torch.arange(n).float(), -torch.arange(n).float(), torch.ones(n),
                        torch.randn(n).index_fill(0, torch.tensor([3, n // 2, n - 1]), float("nan")))).to(type)
    values, places = rows.npu().topk(k, 1, largest)
    want = torch.sort(rows, dim=1, descending=largest, stable=True)
    same(values, want.values[:, :k])
    assert torch.equal(places.cpu(), want.indices[:, :k])  # the first of equals


@pytest.mark.parametrize("type", [*HALVES, torch.float32, torch.int8, torch.int64, torch.complex64])
@pytest.mark.parametrize("n", [1, 1023, 1025, 5000])
def test_masked_fill(type, n):
    torch.manual_seed(n)
    x, mask = (torch.randn(n) * 9).to(type), torch.rand(n) < 0.4
    assert torch.equal(x.npu().masked_fill(mask.npu(), 3).cpu(), x.masked_fill(mask, 3))


@pytest.mark.parametrize("type", [torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8])
def test_absolute_integers(type):
    limits = torch.iinfo(type)
    x = torch.cat((torch.tensor([limits.min, limits.max, 0, 1], dtype=type), torch.randint(limits.min // 2, limits.max // 2, (300,)).to(type)))
    assert torch.equal(x.npu().abs().cpu(), x.abs())


@pytest.mark.parametrize("f, low, high, ulp", [(torch.log, 1e-44, 3e38, 2), (torch.tanh, -12, 12, 4), (torch.tanh, -1e-3, 1e-3, 4),
                                               (torch.erfc, -5, 9.1, 5), (torch.erfc, -1e-3, 1e-3, 5)])
def test_functions_of_floats(f, low, high, ulp):
    x = torch.logspace(-44, 38, 40001, dtype=torch.float64).float() if f is torch.log else torch.linspace(low, high, 40001)
    got, want = f(x.npu()).cpu(), f(x.double())
    bound = (torch.nextafter(want.abs().float(), torch.tensor(float("inf"))) - want.abs().float()).double() * ulp
    assert ((got.double() - want).abs() <= bound).all(), ((got.double() - want).abs() / bound).max()
    near_one = torch.linspace(0.5, 2, 20001)
    if f is torch.log:
        torch.testing.assert_close(f(near_one.npu()).cpu().double(), f(near_one.double()), rtol=3e-7, atol=0)
    special = torch.tensor(SPECIAL)
    same(f(special[:7].npu()), f(special[:7]))


def test_gelu_of_floats():
    x = torch.cat((torch.linspace(-12, 12, 100001), torch.linspace(-1e-3, 1e-3, 101)))
    wide = x.double()
    want = wide * 0.5 * torch.erfc(-wide / 2**0.5)
    share = ((F.gelu(x.npu()).cpu().double() - want).abs() / want.abs().clamp_min(1e-30))
    assert share[x >= 0].max() < 3e-7 and share[(x < 0) & (x > -2)].max() < 8e-7 and share[(x < 0) & (x > -4)].max() < 3e-6
    assert share[(x < 0) & (x > -9)].max() < 6e-5
    assert F.gelu(torch.tensor([float("inf"), float("nan"), -20.0]).npu()).cpu().nan_to_num(7).tolist() == [torch.finfo(torch.float32).max, 7, 0]


@pytest.mark.parametrize("type", HALVES)
@pytest.mark.parametrize("number", [3.0, -0.1, 0.0, -0.0, 1e-6, 90.016, 70000.0, 7])
def test_halves_with_a_number(type, number):
    """Products take the number as a float, sums as one of the tensor's type, as PyTorch's CPU does; zeros keep their signs."""
    x, view = numbers(200, type), torch.randn(40, 60).to(type)
    near = torch.tensor(number).to(type).item()
    for ours, theirs in ((x.npu(), x), (view.npu()[:, 3:50], view[:, 3:50]), (view.npu().t(), view.t())):
        for f, n in ((lambda t, v: t * v, number), (lambda t, v: t + v, near), (lambda t, v: torch.sub(t, v, alpha=2), near),
                     (lambda t, v: torch.add(t, v, alpha=-3), near), (lambda t, v: v - t, near), (torch.rsub, near),
                     (lambda t, v: t.clone().add_(v), near), (lambda t, v: t.clone().sub_(v), near)):
            got, want = f(ours, number).cpu(), f(theirs.float(), n).to(type)
            same(got, want)
            assert torch.equal(got.signbit() & ~got.isnan(), want.signbit() & ~want.isnan())


@pytest.mark.parametrize("type", [*HALVES, torch.float32, torch.uint8, torch.int64])
@pytest.mark.parametrize("shape", [(16, 16), (32, 16), (33, 65), (100, 7), (257, 515), (64, 1024)])
def test_transposed_copies(type, shape):
    x = torch.randn(shape).mul(90).to(type)
    assert torch.equal(x.npu().t().contiguous().cpu(), x.t().contiguous())
    assert torch.equal(x.npu()[1:, 3:].t().contiguous().cpu(), x[1:, 3:].t().contiguous())
    other = torch.randn(shape).mul(50).to(type).t().contiguous()
    assert torch.equal((other.npu() + x.npu().t()).cpu(), (other.double() + x.t().double()).to(type) if type.is_floating_point else other + x.t())
