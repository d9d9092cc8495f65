"""Products of fp16, which are converted block by block: against float64, with every layout of the operands."""
import pytest
import torch
import torch_npu  # noqa: F401


def near(got, want, terms, type):
    """fp32 sums, rounded once to the type; `terms` is the sum of the terms' sizes."""
    last_bit = {torch.float16: 2**-10, torch.bfloat16: 2**-7, torch.float32: 2**-22}[type]
    bound = want.abs() * last_bit + terms * 2**-20 + 2**-24
    wrong = (got.cpu().double() - want).abs() - bound
    assert (wrong <= 0).all(), wrong.max()


def laid(x, transposed):
    return x.transpose(-1, -2).contiguous().npu().transpose(-1, -2) if transposed else x.npu()


def check(a, b, x, y):
    near(x @ y, a.double() @ b.double(), a.double().abs() @ b.double().abs(), x.dtype)


SMALL = [(385, 257, 417), (500, 600, 1300), (2, 3, 5), (50, 1, 70), (33, 512, 31)]
LARGE = [(40, 96, 90001), (90001, 96, 40), (40, 220003, 24)]
LAYOUTS = [(False, False), (True, True), (False, True), (True, False)]


@pytest.mark.parametrize("m, k, n, left, right", [(*s, *l) for s in SMALL for l in LAYOUTS] + [(*s, *l) for s in LARGE for l in LAYOUTS[:2]])
def test_layouts(m, k, n, left, right):
    torch.manual_seed(m + n)
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    check(a, b, laid(a, left), laid(b, right))


def test_long_sums():
    """32,768 terms that cancel: what is left are the roundings of the sums between, no more than of PyTorch's product of floats."""
    torch.manual_seed(0)
    u, v = torch.rand(64, 16384).half(), torch.rand(16384, 64).half()
    a, b = torch.cat((u, -u), 1), torch.cat((v, v))
    got = (a.npu() @ b.npu()).cpu().double()
    assert got.pow(2).mean().sqrt() <= 2e-3  # 7e-4 there, and 1e-2 where one chain of sums goes through all terms


@pytest.mark.parametrize("step", [2, 3])
def test_strides(step):
    torch.manual_seed(step)
    a, b = torch.randn(70, 130 * step).half()[:, ::step], torch.randn(130 * step, 90 * step).half()[::step, ::step]
    x = torch.randn(70, 130 * step).half().npu()[:, ::step].copy_(a)
    y = torch.randn(130 * step, 90 * step).half().npu()[::step, ::step].copy_(b)
    check(a, b, x, y)


@pytest.mark.parametrize("dims_a, dims_b", [((3, 40, 50), (3, 50, 60)), ((4, 1, 40, 50), (1, 5, 50, 60)), ((7, 40, 50), (50, 60)), ((40, 50), (7, 50, 60))])
@pytest.mark.parametrize("right", [False, True])
def test_batches(dims_a, dims_b, right):
    torch.manual_seed(len(dims_a))
    a, b = torch.randn(dims_a).half(), torch.randn(dims_b).half()
    check(a, b, a.npu(), laid(b, right))


@pytest.mark.parametrize("beta", [0.0, 1.0, 0.5])
@pytest.mark.parametrize("alpha", [1.0, -2.0])
@pytest.mark.parametrize("shape", [(90,), (70, 1), (70, 90)])
def test_added(alpha, beta, shape):
    torch.manual_seed(7)
    a, b, c = torch.randn(70, 300).half(), torch.randn(300, 90).half(), torch.randn(shape).half()
    got = torch.addmm(c.npu(), a.npu(), b.npu(), alpha=alpha, beta=beta)
    want = alpha * (a.double() @ b.double()) + beta * c.double()
    near(got, want, abs(alpha) * (a.double().abs() @ b.double().abs()) + c.double().abs(), torch.float16)


def test_in_place():
    torch.manual_seed(1)
    a, b, c = torch.randn(70, 300).half(), torch.randn(300, 90).half(), torch.randn(70, 90).half()
    got = c.npu().addmm_(a.npu(), b.npu())
    near(got, c.double() + a.double() @ b.double(), a.double().abs() @ b.double().abs(), torch.float16)


def test_infinities_and_nan_reach_their_own_results_only():
    a, b = torch.randn(50, 300).half(), torch.randn(300, 40).half()
    a[3, 7], a[4, 9], b[11, 5] = float("inf"), float("nan"), float("-inf")
    got, want = (a.npu() @ b.npu()).cpu(), a.double() @ b.double()
    assert torch.equal(got.isnan(), want.isnan())
    assert torch.equal(got.isinf(), want.isinf())


def test_overflow_is_infinity():
    a = torch.full((20, 400), 30.0).half()
    assert (a.npu() @ a.npu().t()).cpu().isinf().all()


def test_the_gradient_of_a_layer():
    torch.manual_seed(2)
    layer = torch.nn.Linear(200, 330).half()
    x, g = torch.randn(130, 200).half(), torch.randn(130, 330).half()
    ours = torch.nn.Linear(200, 330).half().npu()
    ours.load_state_dict(layer.state_dict())
    given = x.npu().requires_grad_()
    ours(given).backward(g.npu())
    w, xs, gs = layer.weight.double(), x.double(), g.double()
    near(given.grad, gs @ w, gs.abs() @ w.abs(), torch.float16)
    near(ours.weight.grad, gs.t() @ xs, gs.abs().t() @ xs.abs(), torch.float16)
    near(ours.bias.grad, gs.sum(0), gs.abs().sum(0), torch.float16)


@pytest.mark.parametrize("size, channels, outputs", [(7, 96, 40), (14, 33, 70), (21, 8, 5)])
def test_pointwise_convolution(size, channels, outputs):
    """It is a product of halves, also of planes that fp32 takes to a blocked layout."""
    torch.manual_seed(size)
    x, w = torch.randn(3, channels, size, size).half(), torch.randn(outputs, channels, 1, 1).half()
    xs, ws = x.npu().requires_grad_(), w.npu().requires_grad_()
    y = torch.nn.functional.conv2d(xs, ws)
    conv, flat = torch.nn.functional.conv2d, w.double().flatten(1)
    near(y, conv(x.double(), w.double()), conv(x.double().abs(), w.double().abs()), torch.float16)
    g = torch.randn(y.shape).half()
    y.backward(g.npu())
    gs = g.double().flatten(2)
    near(xs.grad.flatten(2), flat.t() @ gs, flat.abs().t() @ gs.abs(), torch.float16)
    planes = x.double().flatten(2).transpose(1, 2)
    near(ws.grad.flatten(1), (gs @ planes).sum(0), (gs.abs() @ planes.abs()).sum(0), torch.float16)


@pytest.mark.parametrize("shape", [(100, 200, 300), (400, 600, 500), (17, 65, 33)])
@pytest.mark.parametrize("left, right", LAYOUTS)
def test_infinities_and_subnormals(shape, left, right):
    """An infinity or NaN reaches the results that it belongs to and no others; the smallest numbers count."""
    m, k, n = shape
    torch.manual_seed(k)
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    a[m // 2, k // 3], a[0, 0], a[1, 1] = float("inf"), float("-inf"), 65504
    b[k // 2, n // 3], b[k // 3, 5], b[1, 2] = float("nan"), 0, 65504
    a[3], b[:, 7] = a[3] * 2**-20, b[:, 7] * 2**-13
    got, want = (laid(a, left) @ laid(b, right)).cpu(), a.double() @ b.double()
    assert torch.equal(got.isnan(), want.isnan())
    far = (want.abs() > 65519) & ~want.isnan()
    assert torch.equal(got[far], want[far].half())
    rest = want.isfinite() & ~far
    terms = a.double().nan_to_num(0, 0, 0).abs() @ b.double().nan_to_num(0, 0, 0).abs()
    near(got[rest], want[rest], terms[rest], torch.float16)


def test_products_are_exact():
    """One term alone: all 22 bits of the product of two numbers of eleven come through to where the result is rounded."""
    bits = torch.arange(1024, 2048)
    a, b = torch.zeros(1024, 32).half(), torch.zeros(32, 1024).half()
    a[:, 5], b[5] = bits.half() / 1024, bits.flip(0).half() / 1024
    want = (a[:, 5:6].double() @ b[5:6].double()).half()
    assert torch.equal((a.npu() @ b.npu()).cpu(), want)
