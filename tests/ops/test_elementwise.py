"""Elementwise operators, activations, comparisons and sequences on the virtual NPU against PyTorch's CPU."""
import itertools
import math

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from aclnn import call

torch.npu.set_compile_mode(jit_compile=False)
TOLERANCE = {torch.float32: (2e-6, 2e-6), torch.float64: (1e-12, 1e-12), torch.complex64: (2e-5, 2e-5)}
# Half precision is computed in float32 and rounded once: half a place of the last digit, and what float32 loses.
ROUNDED = {torch.float16: (2**-11 * 1.01, 2**-25 + 2e-6), torch.bfloat16: (2**-8 * 1.01, 2e-6)}
FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
INTEGERS = [torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64]
SPECIAL = [0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -1.0, 3.0, -3.0, 0.5, 88.0, -88.0, 6.0, 1e-6]


def values(dtype, shape=(3, 37), seed=0, low=-4.0, high=4.0):
    g = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(shape, generator=g) > 0.5
    if dtype.is_complex:
        return torch.complex(torch.randn(shape, generator=g), torch.randn(shape, generator=g)).to(dtype)
    if not dtype.is_floating_point:
        return torch.randint(0 if dtype == torch.uint8 else -100, 101, shape, generator=g).to(dtype)
    return (torch.rand(shape, generator=g, dtype=torch.float64) * (high - low) + low).to(dtype)


def wide(x):
    if torch.is_tensor(x) and x.dtype in (torch.float16, torch.bfloat16, torch.float32):
        return x.double()
    return x.to(torch.complex128) if torch.is_tensor(x) and x.dtype == torch.complex64 else x


def npu(x):
    return x.npu() if torch.is_tensor(x) else x


def check(f, *args, exact=False, scale=1.0):
    """f on npu against f on the CPU in float64 (exact: in the same type, bit for bit)."""
    got = f(*map(npu, args))
    same = f(*args) if exact else None
    want = same if exact else f(*map(wide, args))
    assert got.shape == want.shape
    got = got.cpu()
    if exact:
        assert got.dtype == want.dtype, (got.dtype, want.dtype)
        torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
        return
    if got.dtype in ROUNDED:
        rtol, atol = ROUNDED[got.dtype]
        limit = torch.finfo(got.dtype).max * (1 + torch.finfo(got.dtype).eps / 4)
        want = torch.where(want.abs() < limit, want.double(), want.to(got.dtype).double())  # what overflows is infinite there
        torch.testing.assert_close(wide(got), want, rtol=rtol, atol=atol, equal_nan=True)
        return
    rtol, atol = TOLERANCE.get(got.dtype, (0, 0))
    if got.dtype.is_floating_point:
        want = want.to(got.dtype)
    torch.testing.assert_close(wide(got), wide(want).to(wide(got).dtype), rtol=rtol * scale, atol=atol * scale, equal_nan=True)


UNARY = {
    "abs": (torch.abs, -4, 4), "neg": (torch.neg, -4, 4), "sign": (torch.sign, -4, 4), "sqrt": (torch.sqrt, 0, 9),
    "rsqrt": (torch.rsqrt, 0.01, 9), "reciprocal": (torch.reciprocal, 0.2, 4), "exp": (torch.exp, -9, 9),
    "exp2": (torch.exp2, -9, 9), "expm1": (torch.expm1, -3, 3), "log": (torch.log, 0.01, 9), "log2": (torch.log2, 0.01, 9),
    "log10": (torch.log10, 0.01, 9), "log1p": (torch.log1p, -0.9, 9), "sin": (torch.sin, -9, 9), "cos": (torch.cos, -9, 9),
    "tan": (torch.tan, -1.4, 1.4), "asin": (torch.asin, -1, 1), "acos": (torch.acos, -1, 1), "atan": (torch.atan, -9, 9),
    "sinh": (torch.sinh, -4, 4), "cosh": (torch.cosh, -4, 4), "tanh": (torch.tanh, -4, 4), "asinh": (torch.asinh, -9, 9),
    "acosh": (torch.acosh, 1, 9), "atanh": (torch.atanh, -0.95, 0.95), "erf": (torch.erf, -4, 4), "erfc": (torch.erfc, -2, 2),
    "erfinv": (torch.erfinv, -0.99, 0.99), "sinc": (torch.sinc, -4, 4), "floor": (torch.floor, -4, 4),
    "ceil": (torch.ceil, -4, 4), "trunc": (torch.trunc, -4, 4), "round": (torch.round, -4, 4), "frac": (torch.frac, -4, 4),
    "relu": (torch.relu, -4, 4), "sigmoid": (torch.sigmoid, -9, 9), "silu": (F.silu, -9, 9), "gelu": (F.gelu, -4, 4),
    "mish": (F.mish, -9, 9), "hardswish": (F.hardswish, -4, 4), "hardsigmoid": (F.hardsigmoid, -4, 4),
    "logsigmoid": (F.logsigmoid, -9, 9), "softplus": (F.softplus, -9, 30), "elu": (F.elu, -4, 4), "selu": (F.selu, -4, 4),
    "celu": (lambda x: F.celu(x, 1.5), -4, 4), "leaky": (lambda x: F.leaky_relu(x, 0.1), -4, 4),
    "hardshrink": (F.hardshrink, -1, 1), "softshrink": (F.softshrink, -1, 1), "threshold": (lambda x: F.threshold(x, 0.3, 7.0), -1, 1),
    "hardtanh": (lambda x: F.hardtanh(x, -0.5, 2.0), -4, 4), "clamp": (lambda x: x.clamp(-1.5, 2.0), -4, 4),
    "clamp_min": (lambda x: x.clamp(min=0.25), -4, 4), "clamp_max": (lambda x: x.clamp(max=0.25), -4, 4),
    "square": (lambda x: x ** 2, -4, 4), "cube": (lambda x: x ** 3, -4, 4), "pow": (lambda x: x ** 2.5, 0.01, 4),
    "pow_half": (lambda x: x ** 0.5, 0, 4), "pow_m2": (lambda x: x ** -2, 0.3, 4), "scalar_pow": (lambda x: 2.5 ** x, -4, 4),
    "nan_to_num": (lambda x: torch.nan_to_num(x, 2.0, 3.0, -3.0), -4, 4), "logit": (lambda x: torch.logit(x, 0.1), 0.01, 0.99),
    "remainder": (lambda x: torch.remainder(x, 1.5), -4, 4), "fmod": (lambda x: torch.fmod(x, 1.5), -4, 4),
    "rsub": (lambda x: torch.rsub(x, 2.5, alpha=1.5), -4, 4), "adds": (lambda x: x + 2.5, -4, 4), "divs": (lambda x: x / 3, -4, 4),
    "xlogy": (lambda x: torch.xlogy(x, 2.0), -4, 4),
}
# Results that are exact in any type.
FAITHFUL = {"floor", "ceil", "trunc", "round", "frac", "abs", "neg", "sign", "relu", "clamp", "hardtanh"}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    f, low, high = UNARY[name]
    x = values(dtype, low=low, high=high)
    if name in ("erfinv", "atanh", "tan") and dtype in (torch.float16, torch.bfloat16):
        x = x * 0.9
    check(f, x, exact=name in FAITHFUL)
    check(f, x.t(), exact=name in FAITHFUL)
    check(f, x[:, ::3], exact=name in FAITHFUL)
    check(f, x[0, 0], exact=name in FAITHFUL)
    check(f, x[:0], exact=name in FAITHFUL)


@pytest.mark.parametrize("name", [n for n in UNARY if n != "gelu"])  # PyTorch: gelu(inf) is nan
def test_unary_special_values(name):
    x = torch.tensor(SPECIAL)
    got, want = UNARY[name][0](x.npu()).cpu(), UNARY[name][0](x)
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6, equal_nan=True)


INPLACE = ["abs_", "neg_", "sqrt_", "exp_", "sin_", "floor_", "relu_", "sigmoid_", "tanh_", "reciprocal_", "log1p_", "erf_", "logical_not_"]


@pytest.mark.parametrize("name", INPLACE)
def test_inplace_on_a_view(name):
    x = values(torch.float32, (6, 8), low=0.1)
    y = x.npu()
    getattr(x[:, 1::2], name)()
    getattr(y[:, 1::2], name)()
    torch.testing.assert_close(y.cpu(), x, rtol=1e-5, atol=1e-6)


BINARY = {
    "add": torch.add, "sub": torch.sub, "mul": torch.mul, "maximum": torch.maximum, "minimum": torch.minimum,
    "eq": torch.eq, "ne": torch.ne, "lt": torch.lt, "le": torch.le, "gt": torch.gt, "ge": torch.ge,
    "logical_and": torch.logical_and, "logical_or": torch.logical_or, "logical_xor": torch.logical_xor,
    "where": lambda x, y: torch.where(x > 1, x, y),
}
SHAPES = [((3, 37), (3, 37)), ((3, 37), (37,)), ((3, 1), (1, 37)), ((2, 3, 5), (5, 3, 2)), ((), (4,)), ((0, 3), (3,)), ((70, 70), (70, 70))]


@pytest.mark.parametrize("dtype", FLOATS + INTEGERS + [torch.bool], ids=str)
@pytest.mark.parametrize("name", BINARY)
def test_binary_exact(name, dtype):
    if dtype == torch.bool and name == "sub":
        with pytest.raises(RuntimeError):
            torch.sub(values(dtype).npu(), values(dtype).npu())
        return
    for a, b in SHAPES:
        x, y = values(dtype, a, 1), values(dtype, b, 2)
        if a == (2, 3, 5):
            y = y.permute(2, 1, 0)
        if a == (70, 70):
            x = x.t()
        check(BINARY[name], x, y, exact=True)


@pytest.mark.parametrize("a,b", list(itertools.product([torch.float32, torch.bfloat16, torch.int64, torch.uint8, torch.bool], repeat=2)), ids=str)
def test_promotion(a, b):
    for f in (torch.add, torch.mul, torch.div, torch.eq, torch.lt, torch.maximum):
        check(f, values(a, seed=1), values(b, seed=2), exact=True)
        if (a, b, f) != (torch.bfloat16, torch.float32, torch.add):  # there PyTorch rounds the 0-d operand first
            check(f, values(a, seed=1), values(b, (), seed=2), exact=True)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers(dtype):
    x, y = values(dtype, seed=3), values(dtype, seed=4)
    y[y == 0] = 3
    shift = values(dtype, seed=5).abs() % 7
    for f in (torch.floor_divide, torch.remainder, torch.fmod, torch.gcd, torch.bitwise_and, torch.bitwise_or, torch.bitwise_xor,
              lambda a, b: torch.div(a, b, rounding_mode="trunc"), lambda a, b: torch.div(a, b, rounding_mode="floor"), torch.div):
        check(f, x, y, exact=True)
    for f in (lambda a: a + 1, lambda a: a * 3, lambda a: a == 5, lambda a: a > 2.5, lambda a: a + 1.5, lambda a: a // 7, lambda a: a % 7,
              lambda a: a & 6, lambda a: ~a, lambda a: a.abs(), lambda a: a.logical_not(), lambda a: a.clamp(2, 30), lambda a: a ** 2,
              lambda a: a.sign(), lambda a: torch.round(a), lambda a: -a):
        check(f, x, exact=True)
    check(lambda a, b: a << b, x, shift, exact=True)
    check(lambda a, b: a >> b, x, shift, exact=True)
    for f in (torch.sqrt, torch.sin, torch.exp2):
        if dtype == torch.int64:
            check(f, x.abs() % 20, scale=2)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_functions_of_two(dtype):
    x, y = values(dtype, seed=3), values(dtype, seed=4, low=0.3)
    for f in (torch.div, torch.atan2, torch.logaddexp, torch.logaddexp2, torch.xlogy,
              lambda a, b: torch.pow(a.abs(), b), lambda a, b: torch.lerp(a, b, 0.3), lambda a, b: torch.lerp(a, b, b),
              lambda a, b: torch.addcmul(a, b, b, value=0.5), lambda a, b: torch.addcdiv(a, b, b, value=0.5),
              lambda a, b: torch.clamp(a, -b, b), lambda a, b: torch.prelu(a, b[0, :1])):
        check(f, x, y, scale=2)
    for f in (torch.floor_divide, lambda a, b: torch.div(a, b, rounding_mode="trunc")):
        check(f, x, y, exact=True)
    check(torch.remainder, x, y, exact=dtype in (torch.float32, torch.float64))
    check(lambda a, b: torch.isclose(a, b, rtol=0.3), x.float(), y.float(), exact=True)
    assert torch.equal(x.npu(), x.npu()) and not torch.equal(x.npu(), (x + 1).npu())


def test_half_comparison_with_scalar():
    for dtype in (torch.float16, torch.bfloat16):
        x = torch.tensor([0.1, 0.2, 0.3], dtype=dtype)
        for f in (lambda a: a == 0.1, lambda a: a >= 0.1, lambda a: a < 0.2, lambda a: a != 0.3):
            check(f, x, exact=True)


@pytest.mark.parametrize("name", ["exp", "log", "sqrt", "sin", "tanh", "abs", "angle", "reciprocal", "sigmoid", "expm1", "log1p", "log2", "sgn"])
def test_complex(name):
    check(getattr(torch, name), values(torch.complex64), scale=4)


def test_complex_parts():
    x, y = values(torch.float32, seed=1), values(torch.float32, seed=2)
    check(torch.complex, x, y, exact=True)
    check(torch.polar, x, y)
    for f in (torch.add, torch.mul, torch.div, torch.eq):
        check(f, values(torch.complex64, seed=1), values(torch.complex64, seed=2))


BACKWARD = {
    "relu": F.relu, "gelu": F.gelu, "silu": F.silu, "mish": F.mish, "tanh": torch.tanh, "sigmoid": torch.sigmoid,
    "hardswish": F.hardswish, "hardsigmoid": F.hardsigmoid, "hardtanh": F.hardtanh, "leaky": lambda x: F.leaky_relu(x, 0.2),
    "softplus": F.softplus, "elu": F.elu, "celu": lambda x: F.celu(x, 1.5), "hardshrink": F.hardshrink, "softshrink": F.softshrink,
    "logsigmoid": F.logsigmoid, "glu": F.glu, "threshold": lambda x: F.threshold(x, 0.1, 2.0), "logit": lambda x: torch.logit(torch.sigmoid(x), 0.1),
    "prelu": lambda x: F.prelu(x, torch.full((6,), 0.25, dtype=x.dtype, device=x.device)), "pow": lambda x: x ** 3,
    "elu_": lambda x: F.elu_(x * 1.0),
}


KEEP_THE_RESULT = {"tanh", "sigmoid", "elu_", "logit"}
STEPS = {"logit": 2, "elu_": 2, "pow": 3}  # each of which rounds


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", BACKWARD)
def test_backward(name, dtype):
    x = values(dtype, (4, 6, 8))
    a, b = x.npu().requires_grad_(), x.double().requires_grad_()
    ya, yb = BACKWARD[name](a), BACKWARD[name](b)
    seed = values(dtype, tuple(yb.shape), 9)
    ya.backward(seed.npu())
    yb.backward(seed.double())
    rtol, atol = ROUNDED.get(dtype) or [3 * t for t in TOLERANCE[dtype]]
    if name in KEEP_THE_RESULT:  # rounded; its error is multiplied by the gradient, of 4 at most
        atol += 4 * 2 * torch.finfo(dtype).eps
    torch.testing.assert_close(a.grad.cpu().double(), b.grad, rtol=rtol * STEPS.get(name, 1), atol=atol)


def test_prelu_weight_gradient():
    x = values(torch.float32, (3, 5, 700))
    for n in (1, 5):
        w = torch.linspace(0.1, 0.4, n)
        wa, wb = w.npu().requires_grad_(), w.double().requires_grad_()
        F.prelu(x.npu(), wa).backward(torch.ones_like(x).npu())
        F.prelu(x.double(), wb).backward(torch.ones_like(x).double())
        torch.testing.assert_close(wa.grad.cpu().double(), wb.grad, rtol=1e-5, atol=1e-4)


def test_rrelu():
    x = values(torch.float32, (100, 100)).npu()
    y = F.rrelu(x, 0.1, 0.3, training=True).cpu()
    x = x.cpu()
    ratio = (y / x)[x < 0]
    assert torch.equal(y[x >= 0], x[x >= 0]) and float(ratio.min()) >= 0.0999 and float(ratio.max()) <= 0.3001
    assert abs(float(ratio.mean()) - 0.2) < 0.005
    check(lambda a: F.rrelu(a, 0.1, 0.3), values(torch.float32))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.int64, torch.int32, torch.uint8], ids=str)
def test_sequences(dtype):
    for f in (lambda d: torch.arange(17, dtype=dtype, device=d), lambda d: torch.arange(3, 40, 4, dtype=dtype, device=d),
              lambda d: torch.linspace(0, 10, 11, dtype=dtype, device=d), lambda d: torch.eye(4, 6, dtype=dtype, device=d),
              lambda d: torch.arange(0, dtype=dtype, device=d)):
        assert torch.equal(f("npu").cpu(), f("cpu"))
    torch.testing.assert_close(torch.arange(70000, device="npu").cpu(), torch.arange(70000))
    torch.testing.assert_close(torch.arange(0, 3, 0.1, device="npu").cpu(), torch.arange(0, 3, 0.1))
    torch.testing.assert_close(torch.logspace(-1, 2, 7, device="npu").cpu(), torch.logspace(-1, 2, 7))
    for shape, wrap in (((7, 3), True), ((7, 3), False), ((3, 3, 3), False)):
        assert torch.equal(torch.zeros(shape, device="npu").fill_diagonal_(5, wrap).cpu(), torch.zeros(shape).fill_diagonal_(5, wrap))


def test_round_decimals():
    check(lambda x: torch.round(x, decimals=2), values(torch.float32), scale=2)
    check(lambda x: torch.round(x, decimals=-1), values(torch.float32, low=-200, high=200), scale=2)


def test_results_do_not_depend_on_position():
    # The blocks' remainders go through other instructions than their bodies.
    x = values(torch.float32, (5003,), low=-0.99)
    for f in (torch.exp, torch.tanh, torch.erf, torch.sigmoid, F.gelu, torch.log1p):
        y = f(x.npu()).cpu()
        for n in (1, 7, 16, 1025):
            torch.testing.assert_close(f(x[-n:].npu()).cpu(), y[-n:], rtol=3e-7, atol=0)


def test_shape_errors_are_told():
    with pytest.raises(RuntimeError):
        torch.add(torch.ones(3).npu(), torch.ones(4).npu())


def reach(name, out, *arguments):
    call(name, *arguments, out)
    return out.cpu()


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.uint8], ids=str)
def test_forms_by_the_c_abi(dtype):
    """Forms that this release of torch_npu does not choose, but others and C programs do."""
    x, y = values(dtype, (6, 8), 1), values(dtype, (6, 8), 2)
    a, b = x.npu().t(), y.npu().t()
    like, truth = torch.empty(8, 6, dtype=dtype, device="npu"), torch.empty(8, 6, dtype=torch.bool, device="npu")
    assert torch.equal(reach("aclnnClampMax", like, a, 3), x.t().clamp_max(3))
    assert torch.equal(reach("aclnnClampMaxTensor", like, a, b), torch.minimum(x, y).t())
    assert torch.equal(reach("aclnnClampMinTensor", like, a, b), torch.maximum(x, y).t())
    assert torch.equal(reach("aclnnLeScalar", truth, a, 3), x.t() <= 3)
    assert torch.equal(reach("aclnnLessScalar", truth, a, 3), x.t() < 3)
    assert torch.equal(reach("aclnnAddV3", like, 3, a, 2), (2 * x.t() + 3).to(dtype))
    if dtype != torch.uint8:
        assert torch.equal(reach("aclnnRsub", like, a, b, 2), torch.rsub(x, y, alpha=2).t())
        assert torch.equal(reach("aclnnSignbit", truth, a), torch.signbit(x).t())
        assert torch.equal(reach("aclnnRemainderScalarTensor", like, 7, a.abs() + 1), torch.remainder(7, x.abs() + 1).t())
        assert torch.equal(reach("aclnnDivMods", like, a, 4, 2), torch.div(x, 4, rounding_mode="floor").t())
        assert torch.equal(reach("aclnnDivMods", like, a, 4, 1), torch.div(x, 4, rounding_mode="trunc").t())
    if not dtype.is_floating_point:
        for name, f in (("Or", torch.bitwise_or), ("Xor", torch.bitwise_xor), ("And", torch.bitwise_and)):
            assert torch.equal(reach(f"aclnnBitwise{name}Scalar", like, a, 21), f(x, 21).t())
            assert torch.equal(reach(f"aclnnBitwise{name}Tensor", like, a, b), f(x, y).t())
            inplace = x.npu()
            call(f"aclnnInplaceBitwise{name}Scalar", inplace, 21)
            assert torch.equal(inplace.cpu(), f(x, 21))
            inplace = x.npu()
            call(f"aclnnInplaceBitwise{name}Tensor", inplace, y.npu())
            assert torch.equal(inplace.cpu(), f(x, y))
        assert torch.equal(reach("aclnnLeftShifts", like, a, 2), (x << 2).t())
    one = torch.empty((), dtype=torch.bool, device="npu")
    for v in (x[2, 3].item(), 77):
        assert reach("aclnnIsInScalarTensor", one, v, a, False, False).item() == (v in x.flatten().tolist())
        assert reach("aclnnIsInScalarTensor", one, v, a, False, True).item() != (v in x.flatten().tolist())
        assert torch.equal(reach("aclnnIsInTensorScalar", truth, a, v, False, False), torch.isin(x, v).t())
        assert torch.equal(reach("aclnnIsInTensorScalar", truth, a, v, False, True), ~torch.isin(x, v).t())


def test_signs_of_infinity():
    x = torch.tensor(SPECIAL)
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        out = torch.empty(len(SPECIAL), dtype=torch.bool, device="npu")
        for name, f in (("aclnnIsPosInf", torch.isposinf), ("aclnnIsNegInf", torch.isneginf),
                        ("aclnnIsFinite", torch.isfinite), ("aclnnSignbit", torch.signbit)):
            assert torch.equal(reach(name, out, x.to(dtype).npu()), f(x.to(dtype)))


def test_scalars_on_the_left():
    y = values(torch.float32, (40,), low=0.1, high=4)
    got = reach("aclnnXLogYScalarSelf", torch.empty(40, device="npu"), 2.5, y.npu())
    torch.testing.assert_close(got, torch.xlogy(2.5, y), rtol=1e-5, atol=1e-6)
    assert (reach("aclnnXLogYScalarSelf", torch.empty(40, device="npu"), 0.0, y.npu() * 0) == 0).all()


@pytest.mark.parametrize("dtype", [torch.float32, torch.int32], ids=str)
def test_rounding_in_place(dtype):
    x = torch.tensor([0.5, 1.5, -0.5, -2.5, 2.4, -7.6]).mul(1 if dtype.is_floating_point else 10).to(dtype)
    for name, f in (("Round", torch.round), ("Trunc", torch.trunc)):
        y = x.npu()
        call(f"aclnnInplace{name}", y)
        assert torch.equal(y.cpu(), f(x))


def test_ranges_and_masks():
    out = torch.empty(5, device="npu")
    assert torch.equal(reach("aclnnRange", out, 1.0, 3.0, 0.5), torch.tensor([1.0, 1.5, 2.0, 2.5, 3.0]))
    x, mask = values(torch.float32, (5, 40)), values(torch.uint8, (5, 40), 1) % 2
    got = reach("aclnnMaskedScale", torch.empty(5, 40, device="npu"), x.npu(), mask.npu(), 1.5)
    assert torch.equal(got, x * mask * 1.5)


@pytest.mark.parametrize("name", ["add_", "sub_", "mul_"])
@pytest.mark.parametrize("to, other", [(torch.int64, torch.float32), (torch.int32, torch.complex64), (torch.bool, torch.int32),
                                       (torch.float32, torch.complex64)])
def test_results_of_another_kind_are_refused(name, to, other):
    """As PyTorch does; what fits is kept (test_types_of_results and the like)."""
    x, y = torch.ones(4).to(to).npu(), torch.ones(4).to(other).npu()
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type|BOOL"):
        getattr(x, name)(y)
        torch.npu.synchronize()
    assert torch.equal(x.cpu(), torch.ones(4).to(to))


@pytest.mark.parametrize("to, number", [(torch.int32, 1.5), (torch.int64, 2.0), (torch.bool, 1), (torch.float32, 1j)])
def test_numbers_of_another_kind_are_not_added_in_place(to, number):
    x = torch.ones(4).to(to).npu()
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        x.add_(number)
        torch.npu.synchronize()
    assert torch.equal(x.cpu(), torch.ones(4).to(to))


@pytest.mark.parametrize("to, a, b", [(torch.int64, torch.int32, torch.int64), (torch.int32, torch.int64, torch.int64),
                                      (torch.float16, torch.float32, torch.int64), (torch.float32, torch.float16, torch.float64)])
def test_sums_of_mixed_types_go_to_out(to, a, b):
    x, y, out = torch.arange(-6, 6).to(a), torch.arange(12).to(b), torch.empty(12, dtype=to, device="npu")
    torch.add(x.npu(), y.npu(), out=out)
    assert torch.equal(out.cpu(), (x.double() + y.double()).to(to))
    torch.mul(x.npu(), y.npu(), out=out)
    assert torch.equal(out.cpu(), (x.double() * y.double()).to(to))


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_division_of_small_and_large(dtype):
    """Where all numbers of a block are small they are divided as doubles, which must not show."""
    low, high = torch.iinfo(dtype).min, torch.iinfo(dtype).max
    edge = [0, 1, 2, 3, 7, 100, high, high - 1] + ([-1, -2, -3, -7, -100, low, low + 1] if low else [])
    edge += [v for v in (2**30 - 1, 2**30, 2**31 - 1, -2**30, -2**30 - 1, 2**31, 2**53 + 1, 2**62 + 1) if low <= v <= high]
    small = [v for v in edge if abs(v) < 2**30]
    for numbers in (small, edge):
        pairs = [(a, b) for a in numbers for b in numbers if b and not (a == low and b == -1)]
        x, y = (torch.tensor(v, dtype=dtype).repeat(5) for v in zip(*pairs))
        for f in (torch.floor_divide, torch.remainder, torch.fmod, lambda a, b: torch.div(a, b, rounding_mode="trunc")):
            assert torch.equal(f(x.npu(), y.npu()).cpu(), f(x, y)), (dtype, f)
    x = torch.tensor(small, dtype=dtype).npu()
    assert (torch.floor_divide(x, torch.zeros_like(x)) == 0).all()  # no trap, as with large ones


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64, torch.int64, torch.complex64, torch.complex128], ids=str)
@pytest.mark.parametrize("n", [1, 2, 7, 8, 31, 33, 127, 128, 300])
def test_rows_and_columns_of_few_elements_are_broadcast(n, dtype):
    x, row, column = values(dtype, (1500, n)), values(dtype, (n,), 1), values(dtype, (1500, 1), 2)
    for y in (row, column, values(dtype, (n, 1500), 3).t()):
        for f in (torch.add, torch.mul):
            assert torch.allclose(f(x.npu(), y.npu()).cpu(), f(x, y), rtol=2e-3 if dtype == torch.float16 else 1e-6), (n, y.shape)
    assert torch.equal(torch.where(column.npu() == 0, row.npu(), x.npu()).cpu(), torch.where(column == 0, row, x))
    sparse = values(dtype, (1500, 2 * n), 4)[:, ::2]
    assert torch.allclose((x.npu() + sparse.npu()).cpu(), x + sparse, rtol=2e-3 if dtype == torch.float16 else 1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("wide", [torch.float32, torch.float64])
@pytest.mark.parametrize("op", [torch.add, torch.sub, torch.mul, torch.div])
def test_halves_round_before_a_wider_out(op, wide, dtype):
    """The result has the operands' type, whatever out can hold; sums that overflow are infinite."""
    x, y = torch.rand(5, 37).to(dtype), torch.rand(37).to(dtype) + 0.5
    x[0] = 3e38 if dtype is torch.bfloat16 else 6e4
    y[0] = x[0, 0]
    out, ours = torch.empty(5, 37, dtype=wide), torch.empty(5, 37, dtype=wide, device="npu")
    op(x, y, out=out)
    op(x.npu(), y.npu(), out=ours)
    torch.testing.assert_close(ours.cpu(), out, rtol=0, atol=0)
