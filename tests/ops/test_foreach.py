"""Foreach operators, fused optimizers and loss scaling: npu against cpu."""
import pytest
import torch
import torch_npu
from aclnn import call

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


# The forms before ScalarV2 and ListV2 take their number as a tensor.
OLD_SCALAR = {"Add": torch._foreach_add, "Sub": torch._foreach_sub, "Mul": torch._foreach_mul, "Div": torch._foreach_div,
              "Maximum": torch._foreach_maximum, "Minimum": torch._foreach_minimum, "Pow": torch._foreach_pow}


@pytest.mark.parametrize("dtype", FLOATS)
def test_numbers_as_tensors(dtype):
    def run(name, *arguments):
        out = [torch.empty_like(t) for t in arguments[0 if isinstance(arguments[0], list) else 1]]
        call(name, *arguments, out)
        return out

    x, y, z = make(dtype, 1, positive=True), make(dtype, 2), make(dtype, 3, positive=True)
    a, b, c = to_npu(x, transposed=True), to_npu(y), to_npu(z)
    number = torch.tensor([1.5], dtype=dtype)
    for name, reference in OLD_SCALAR.items():
        check(run(f"aclnnForeach{name}Scalar", a, number.npu()), reference(x, 1.5), dtype)
    check(run("aclnnForeachAddList", a, b, number.npu()), torch._foreach_add(x, y, alpha=1.5), dtype)
    check(run("aclnnForeachSubList", a, b, number.npu()), torch._foreach_sub(x, y, alpha=1.5), dtype)
    check(run("aclnnForeachAddcmulScalar", a, b, c, number.npu()), torch._foreach_addcmul(x, y, z, 1.5), dtype)
    check(run("aclnnForeachAddcdivScalar", a, b, c, number.npu()), torch._foreach_addcdiv(x, y, z, 1.5), dtype)
    check(run("aclnnForeachLerpList", a, b, c), torch._foreach_lerp(x, y, z), dtype)
    check(run("aclnnForeachPowScalarAndTensor", 1.5, b), torch._foreach_pow(1.5, y), dtype)


def test_round_off_numbers():
    x = [t * 3 for t in make(torch.float32, 1)] + [torch.tensor([0.5, 1.5, -0.5, -2.5, 2.5, 0.49999997, -0.3, 8388609.0, float("inf"), float("nan")])]
    away = lambda t: (t.double().abs() + 0.5).floor().copysign(t.double()).float()  # noqa: E731
    for mode, reference in ((1, torch.round), (2, torch.floor), (3, torch.ceil), (4, away), (5, torch.trunc)):
        out = [torch.empty_like(t) for t in to_npu(x)]
        call("aclnnForeachRoundOffNumber", to_npu(x), torch.tensor([mode], dtype=torch.int8).npu(), out)
        check(out, [reference(t) for t in x], torch.float32)


@pytest.mark.parametrize("amsgrad,maximize", [(False, False), (True, True)])
def test_apply_adam_w(amsgrad, maximize):
    p = make(torch.float32, 1)[1]
    want = torch.nn.Parameter(p.double())
    optimizer = torch.optim.AdamW([want], lr=1e-2, betas=(0.8, 0.95), weight_decay=0.1, amsgrad=amsgrad, maximize=maximize)
    var, m, v, largest = p.npu(), *(torch.zeros_like(p.npu()) for _ in range(3))
    *other, largest_too = p.npu(), *(torch.zeros_like(p.npu()) for _ in range(3))
    for step in range(3):
        g = make(torch.float32, 5 + step)[1]
        want.grad = g.double()
        optimizer.step()
        numbers = 0.8 ** step, 0.95 ** step, 1e-2, 0.1, 0.8, 0.95, 1e-8
        torch_npu.npu_apply_adam_w(*numbers, g.npu(), largest if amsgrad else None, amsgrad, maximize, out=(var, m, v))
        call("aclnnApplyAdamW", *other, *(torch.tensor([n]).npu() for n in numbers), g.npu(), largest_too if amsgrad else None,
             amsgrad, maximize)
    for got in (var, other[0]):
        torch.testing.assert_close(got.cpu().double(), want.detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("nesterov", [False, True])
def test_apply_adam(nesterov):
    """TensorFlow's ApplyAdam: the powers are those of this step, epsilon is added to the root without correction."""
    p = make(torch.float32, 1)[1]
    var, m, v = p.npu(), *(torch.zeros_like(p.npu()) for _ in range(2))
    other = [p.npu(), *(torch.zeros_like(p.npu()) for _ in range(2))]
    w, first, second = p.double(), torch.zeros_like(p.double()), torch.zeros_like(p.double())
    for step in range(1, 4):
        g = make(torch.float32, 5 + step)[1]
        numbers = 0.8 ** step, 0.95 ** step, 1e-2, 0.8, 0.95, 1e-6
        torch_npu.npu_apply_adam(*numbers, g.npu(), False, nesterov, out=(var, m, v))
        call("aclnnApplyAdam", *other, *(torch.tensor([n]).npu() for n in numbers), g.npu(), False, nesterov)
        g = g.double()
        rate = 1e-2 * (1 - 0.95 ** step) ** 0.5 / (1 - 0.8 ** step)
        first, second = first + (g - first) * (1 - 0.8), second + (g * g - second) * (1 - 0.95)
        w = w - rate * (first * 0.8 + g * (1 - 0.8) if nesterov else first) / (second.sqrt() + 1e-6)
    for got in ((var, m, v), other):
        for g, e in zip(got, (w, first, second)):
            torch.testing.assert_close(g.cpu().double(), e, rtol=1e-5, atol=1e-6)
