"""Foreach operators, fused optimizers and loss scaling: npu against cpu."""
import pytest
import torch
import torch_npu  # noqa: F401

SHAPES = [(3,), (17, 33), (), (0,), (2, 3, 4), (20000,)]
FLOATS = [torch.float32, torch.float16, torch.bfloat16]
TOLERANCE = {torch.float32: 2e-6, torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def make(dtype, seed, positive=False):
    g = torch.Generator().manual_seed(seed)
    out = [torch.randn(s, generator=g, dtype=torch.float64).to(dtype) for s in SHAPES]
    return [t.abs() + 0.1 for t in out] if positive else out


def to_npu(tensors, transposed=False):
    return [t.t().contiguous().npu().t() if transposed and t.dim() == 2 else t.npu() for t in tensors]


def check(actual, expected, dtype):
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected):
        a = a.cpu()
        assert a.dtype == e.dtype and a.shape == e.shape
        torch.testing.assert_close(a, e, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype], equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", "abs exp expm1 neg reciprocal sign sqrt acos asin atan cos cosh erf erfc log log10 log1p "
                                 "log2 sigmoid sin sinh tan tanh floor ceil round trunc frac".split())
def test_unary(name, dtype):
    x = make(dtype, 1)
    expected = getattr(torch, f"_foreach_{name}")(x)
    y = to_npu(x, transposed=True)
    check(getattr(torch, f"_foreach_{name}")(y), expected, dtype)
    getattr(torch, f"_foreach_{name}_")(y)
    check(y, expected, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("kind", ["list", "scalar", "scalars"])
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "maximum", "minimum", "pow"])
def test_binary(name, kind, dtype):
    x, y = make(dtype, 1, positive=name == "pow"), make(dtype, 2, positive=name == "div")
    other = {"list": y, "scalar": 2.5, "scalars": [1.5 + i for i in range(len(x))]}[kind]
    expected = getattr(torch, f"_foreach_{name}")(x, other)
    z, w = to_npu(x), to_npu(y) if kind == "list" else other
    check(getattr(torch, f"_foreach_{name}")(z, w), expected, dtype)
    getattr(torch, f"_foreach_{name}_")(z, w)
    check(z, expected, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["addcmul", "addcdiv"])
def test_pointwise(name, dtype):
    x, y, z = make(dtype, 1), make(dtype, 2), make(dtype, 3, positive=True)
    for value in (0.3, torch.tensor([0.1 * i for i in range(len(x))])):
        expected = getattr(torch, f"_foreach_{name}")(x, y, z, value)
        a = to_npu(x)
        getattr(torch, f"_foreach_{name}_")(a, to_npu(y), to_npu(z), value)
        check(a, expected, dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_lerp_norm_copy_zero(dtype):
    x, y = make(dtype, 1), make(dtype, 2)
    for weight in (0.3, 0.7):
        check(torch._foreach_lerp(to_npu(x), to_npu(y), weight), torch._foreach_lerp(x, y, weight), dtype)
    for order in (1, 2):
        check(torch._foreach_norm(to_npu(x), order), [torch.linalg.vector_norm(t.double(), order).to(dtype) for t in x], dtype)
    to = to_npu([torch.ones_like(t, dtype=torch.float32) for t in x])
    torch._foreach_copy_(to, to_npu(x))
    check(to, [t.float() for t in x], torch.float32)
    torch._foreach_zero_(to)
    check(to, [torch.zeros_like(t, dtype=torch.float32) for t in x], torch.float32)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("bad", [None, float("inf"), float("nan")])
def test_unscale(dtype, bad):
    grads = make(dtype, 1)
    if bad is not None:
        grads[-1][12345] = bad
    on_npu, found = to_npu(grads), torch.zeros(1).npu()
    torch._amp_foreach_non_finite_check_and_unscale_(on_npu, found, torch.tensor([0.25]).npu())
    assert found.item() == (bad is not None)
    check(on_npu, [(t.float() * 0.25).to(dtype) for t in grads], dtype)


@pytest.mark.parametrize("found,tracker,scale,after", [(0.0, 0, 8.0, 1), (1.0, 3, 4.0, 0), (0.0, 4, 16.0, 0)])
def test_update_scale(found, tracker, scale, after):
    s, t = torch.tensor([8.0]).npu(), torch.tensor([tracker], dtype=torch.int32).npu()
    torch._amp_update_scale_(s, t, torch.tensor([found]).npu(), 2.0, 0.5, 5)
    assert (s.item(), t.item()) == (scale, after)


def train(device, optimizer, **options):
    torch.manual_seed(1)
    params = [torch.nn.Parameter(torch.randn(s).to(device)) for s in [(40, 30), (30,), (5000,), ()]]
    o = optimizer(params, **options)
    g = torch.Generator().manual_seed(3)
    for _ in range(4):
        for p in params:
            p.grad = torch.randn(p.shape, generator=g).to(device)
        o.step()
    return [p.detach().cpu() for p in params]


@pytest.mark.parametrize("optimizer,options", [
    (torch.optim.AdamW, {"fused": True, "lr": 1e-2}),
    (torch.optim.AdamW, {"fused": True, "lr": 1e-2, "amsgrad": True, "maximize": True}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, "fused": True}),
    (torch.optim.RMSprop, {"lr": 0.1}),
])
def test_optimizer(optimizer, options):
    reference = {k: v for k, v in options.items() if k != "fused"}
    for a, e in zip(train("npu", optimizer, **options), train("cpu", optimizer, **reference)):
        torch.testing.assert_close(a, e, rtol=1e-5, atol=2e-6)
