"""Each function of libdevice against Python's math."""
import math

import torch
import torch_npu  # noqa: F401
import triton
import triton.language as tl
from triton.language.extra.cann import libdevice
from updraft import _triton_libdevice

ONE = {**{name: getattr(math, name) for name in
          "acos acosh asin asinh atan atanh cos cosh erf erfc exp expm1 lgamma log log10 log1p log2 sin sinh sqrt tan tanh gamma".split()},
       "abs": abs, "ceil": math.ceil, "floor": math.floor, "trunc": math.trunc, "rint": round, "nearbyint": round, "exp2": lambda x: 2.0 ** x,
       "exp10": lambda x: 10.0 ** x, "rsqrt": lambda x: 1 / math.sqrt(x), "reciprocal": lambda x: 1 / x, "tgamma": math.gamma, "relu": lambda x: max(x, 0),
       "cbrt": lambda x: math.copysign(abs(x) ** (1 / 3), x), "sinpi": lambda x: math.sin(math.pi * x), "cospi": lambda x: math.cos(math.pi * x),
       "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x), "saturatef": lambda x: min(max(x, 0), 1),
       "erfcx": lambda x: math.exp(x * x) * math.erfc(x), "logb": lambda x: math.frexp(x)[1] - 1, "rcbrt": lambda x: math.copysign(abs(x) ** (-1 / 3), x)}
TWO = {"atan2": math.atan2, "copysign": math.copysign, "fmod": math.fmod, "hypot": math.hypot, "pow": lambda x, y: abs(x) ** y, "div_rn": lambda x, y: x / y,
       "div_rz": lambda x, y: x / y, "remainder": math.remainder, "fdim": lambda x, y: max(x - y, 0)}
POINTS = [0.3, -0.4, 0.9, 1.5, 2.5, 7.25, -1.75, -2.5]
SECOND = [1.5, 2.25, -0.5, 3.0, -4.0, 0.75, 1.25, 2.0]


def kernel_of(name, operands):
    if operands == 1:
        @triton.jit
        def kernel(x, y, out):
            at = tl.arange(0, 8)
            tl.store(out + at, FUNCTION(tl.load(x + at)))
    else:
        @triton.jit
        def kernel(x, y, out):
            at = tl.arange(0, 8)
            tl.store(out + at, FUNCTION(tl.load(x + at), tl.load(y + at)))
    return kernel


def value(f, *xs):
    try:
        return f(*xs)
    except (ValueError, OverflowError, ZeroDivisionError):
        return math.nan


assert set(_triton_libdevice.NAMES) == set(_triton_libdevice._table())
for name in [*ONE, *TWO]:
    FUNCTION = getattr(libdevice, name)
    for dtype, tolerance in ((torch.float32, 1e-6), (torch.float16, 1e-3), (torch.bfloat16, 8e-3)):
        x, y = torch.tensor(POINTS, dtype=dtype), torch.tensor(SECOND, dtype=dtype)
        if name == "pow":
            x = x.abs()
        want = [value(ONE[name], a) for a in x.tolist()] if name in ONE else [value(TWO[name], a, b) for a, b in zip(x.tolist(), y.tolist())]
        out = torch.empty(8, dtype=dtype).npu()
        kernel_of(name, 1 if name in ONE else 2)[(1,)](x.npu(), y.npu(), out)
        torch.testing.assert_close(out.cpu(), torch.tensor(want, dtype=torch.float64).to(dtype), rtol=tolerance, atol=tolerance, equal_nan=True,
                                   msg=lambda m: f"{name} {dtype}: {m}")


@triton.jit
def flags(x, nan, infinite, finite, power):
    at = tl.arange(0, 4)
    v = tl.load(x + at)
    tl.store(nan + at, libdevice.isnan(v).to(tl.int32))
    tl.store(infinite + at, libdevice.isinf(v).to(tl.int32))
    tl.store(finite + at, libdevice.finitef(v).to(tl.int32))
    tl.store(power + at, libdevice.ilogb(tl.where(libdevice.finitef(v), v, 8.0)))


outs = [torch.empty(4, dtype=torch.int32).npu() for _ in range(4)]
flags[(1,)](torch.tensor([1.5, math.nan, -math.inf, 40.0]).npu(), *outs)
assert [o.tolist() for o in outs] == [[0, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 1], [0, 3, 3, 5]], outs
