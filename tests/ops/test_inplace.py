"""In-place forms, each on a view of its tensor: npu against cpu in float64 (integers: exactly)."""
import pytest
import torch
import torch.nn.functional as F
import torch_npu  # noqa: F401
from aclnn import call

TOLERANCE = {torch.float32: 5e-6, torch.float16: 2e-3, torch.bfloat16: 2e-2}


def values(shape, dtype, seed=0, low=-4.0, high=4.0):
    g = torch.Generator().manual_seed(seed)
    if dtype == torch.bool:
        return torch.rand(shape, generator=g) > 0.5
    if not dtype.is_floating_point:
        return torch.randint(1, 40, shape, generator=g).to(dtype)
    return (torch.rand(shape, generator=g) * (high - low) + low).to(dtype)


def wide(v):
    return v.double() if torch.is_tensor(v) and v.is_floating_point() else v


def npu(v):
    return v.npu() if torch.is_tensor(v) else v


def check(change, x, *others, exact=False):
    """change(view, ...) writes into every second column of x; the other columns must stay."""
    got, want = x.npu(), x.clone() if exact else wide(x.clone())
    change(got[:, 1::2], *map(npu, others))
    change(want[:, 1::2], *(others if exact else map(wide, others)))
    assert torch.equal(got.cpu()[:, ::2], x[:, ::2])
    if exact:
        torch.testing.assert_close(got.cpu(), want, rtol=0, atol=0)
    else:
        tolerance = TOLERANCE[x.dtype]
        torch.testing.assert_close(got.cpu().double(), want, rtol=tolerance, atol=tolerance, equal_nan=True)


UNARY = {"acos_": (-0.9, 0.9), "acosh_": (1.1, 9), "asin_": (-0.9, 0.9), "asinh_": (-9, 9), "atan_": (-9, 9),
         "atanh_": (-0.9, 0.9), "ceil_": (-4, 4), "cos_": (-9, 9), "cosh_": (-3, 3), "erfc_": (-1.5, 1.5),
         "erfinv_": (-0.9, 0.9), "exp2_": (-4, 4), "expm1_": (-3, 3), "frac_": (-4, 4), "log10_": (0.1, 9),
         "log2_": (0.1, 9), "round_": (-4, 4), "rsqrt_": (0.1, 9), "sinc_": (-3, 3), "sinh_": (-3, 3),
         "tan_": (-1.2, 1.2), "trunc_": (-4, 4), "nan_to_num_": (-4, 4)}


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", UNARY)
def test_unary(name, dtype):
    low, high = UNARY[name]
    if name == "erfinv_" and dtype != torch.float32:
        low, high = -0.7, 0.7
    check(lambda v: getattr(v, name)(), values((6, 8), dtype, low=low, high=high))


ACTIVATIONS = {
    "celu": lambda v: F.celu_(v, 1.5), "hardsigmoid": lambda v: F.hardsigmoid(v, inplace=True),
    "hardswish": lambda v: F.hardswish(v, inplace=True), "hardtanh": lambda v: F.hardtanh_(v, -0.5, 2.0),
    "leaky_relu": lambda v: F.leaky_relu_(v, 0.2), "mish": lambda v: F.mish(v, inplace=True),
    "threshold": lambda v: F.threshold_(v, 0.3, 7.0), "round_decimals": lambda v: v.round_(decimals=1),
    "clamp_max": lambda v: v.clamp_max_(0.5), "clamp_max_tensor": lambda v: v.clamp_max_(torch.full_like(v, 0.5)),
    "clamp_min_tensor": lambda v: v.clamp_min_(torch.full_like(v, 0.5)), "div": lambda v: v.div_(3.0),
    "triu": lambda v: v.triu_(1), "renorm": lambda v: v.renorm_(2, 0, 1.5), "sub": lambda v: v.sub_(1.5, alpha=2),
}


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations_and_limits(name, dtype):
    check(ACTIVATIONS[name], values((6, 8), dtype))


FLOATING = {
    "atan2": lambda v, a, b: v.atan2_(a), "addcdiv": lambda v, a, b: v.addcdiv_(a, b, value=0.5),
    "addcmul": lambda v, a, b: v.addcmul_(a, b, value=0.5), "addr": lambda v, a, b: v.addr_(a[:, 0], b[0], beta=0.5, alpha=2),
    "lerp": lambda v, a, b: v.lerp_(a, b), "lerps": lambda v, a, b: v.lerp_(a, 0.3), "mul": lambda v, a, b: v.mul_(a),
    "div": lambda v, a, b: v.div_(a), "sub": lambda v, a, b: v.sub_(a, alpha=0.5), "pow": lambda v, a, b: v.pow_(a.clamp(-1, 2)),
    "div_floor": lambda v, a, b: v.div_(a, rounding_mode="floor"), "div_trunc": lambda v, a, b: v.div_(a, rounding_mode="trunc"),
    "divs_floor": lambda v, a, b: v.div_(1.7, rounding_mode="floor"), "fmod": lambda v, a, b: v.fmod_(a),
    "fmods": lambda v, a, b: v.fmod_(1.7), "remainder": lambda v, a, b: v.remainder_(a), "remainders": lambda v, a, b: v.remainder_(1.7),
    "floor_divide": lambda v, a, b: v.floor_divide_(a), "floor_divides": lambda v, a, b: v.floor_divide_(1.7),
    "pows": lambda v, a, b: v.pow_(1.5), "xlogy": lambda v, a, b: v.xlogy_(2.5), "logical_and": lambda v, a, b: v.logical_and_(a > 1),
    "logical_or": lambda v, a, b: v.logical_or_(a > 1), "fill": lambda v, a, b: v.fill_(a[0, 0]),
    "masked_fill": lambda v, a, b: v.masked_fill_(a > 1, b[0, 0]),
}


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@pytest.mark.parametrize("name", FLOATING)
def test_floating(name, dtype):
    # Multiples of 1/16 and divisors far from them: rounding modes agree in every type.
    grid = [(values((6, n), torch.float32, seed, 0.5, 4).mul(16).round() / 16).to(dtype) for seed, n in ((0, 8), (1, 4), (2, 4))]
    if name in ("div_floor", "div_trunc", "fmod", "remainder", "floor_divide"):
        grid[1] = torch.full_like(grid[1], 0.375)
    check(FLOATING[name], *grid)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.uint8, torch.bool], ids=str)
@pytest.mark.parametrize("name", ["bitwise_and_", "bitwise_or_", "bitwise_xor_"])
def test_bitwise(name, dtype):
    x, y = values((6, 8), dtype), values((6, 4), dtype, 1)
    check(lambda v, a: getattr(v, name)(a), x, y, exact=True)
    check(lambda v: getattr(v, name)(True if dtype == torch.bool else 21), x, exact=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("name", ["eq_", "ne_", "lt_", "le_", "gt_", "ge_"])
def test_compare(name, dtype):
    x, y = values((6, 8), dtype), values((6, 4), dtype, 1)
    y[:, 2] = x[:, 5]
    check(lambda v, a: getattr(v, name)(a), x, y, exact=True)
    check(lambda v: getattr(v, name)(x[0, 1].item()), x, exact=True)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64], ids=str)
@pytest.mark.parametrize("name", ["floor_divide_", "remainder_", "fmod_"])
def test_integer_division(name, dtype):
    x, y = values((6, 8), dtype) - 20, values((6, 4), dtype, 1)
    y[::2] *= -1
    check(lambda v, a: getattr(v, name)(a), x, y, exact=True)
    check(lambda v: getattr(v, name)(-7), x, exact=True)


def test_rows():
    i = torch.tensor([4, 1, 2])
    x, source = values((6, 8), torch.float32), values((3, 4), torch.float32, 1)
    check(lambda v, i, s: v.index_copy_(0, i, s), x, i, source)
    check(lambda v, i: v.index_fill_(0, i, 2.5), x, i)
    check(lambda v, i, s: v.index_fill_(0, i, s[0, 0]), x, i, source)
    check(lambda v, i, s: v.put_(i, s[0, :3], accumulate=True), x, i, source)
    j = torch.tensor([[0, 5, 2, 1], [3, 1, 0, 4]])
    check(lambda v, j, s: v.scatter_(0, j, s), x, j, source)
    check(lambda v, j: v.scatter_(0, j, 1.5), x, j)
    check(lambda v, j, s: v.scatter_(0, j, s, reduce="add"), x, j, source)
    check(lambda v, j, s: v.scatter_(0, j, s, reduce="multiply"), x, j, source)
    for reduce in ("sum", "prod", "mean", "amax", "amin"):
        for own in (True, False):
            check(lambda v, j, s: v.scatter_reduce_(0, j, s, reduce, include_self=own), x, j, source)


def test_nan_to_num():
    x = torch.tensor([[1.0, float("nan"), float("inf"), float("-inf")]] * 2)
    check(lambda v: v.nan_to_num_(1.5, 7.0, -8.0), x)
