"""Functions of libdevice for kernels that Triton interprets, whose own are names for a compiler to link. They compute with PyTorch on the CPU, in
float64, and round to the type of their operand.

Names are those of Triton's triton/language/extra/libdevice.py and of triton-ascend's extra/ascend/libdevice.py.
"""

import functools
import math
import sys

NAMES = """abs acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi cyl_bessel_i0 cyl_bessel_i1 div_rn div_rz erf erfc erfcx erfinv exp exp10
exp2 expm1 fdim finitef floor fma fmod gamma hypot ilogb isfinited isinf isnan j0 j1 ldexp lgamma llrint llround log log10 log1p log2 logb nearbyint
nextafter pow rcbrt reciprocal relu remainder rint round rsqrt saturatef scalbn signbit sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1""".split()


@functools.cache
def _table():
    """Each name and what computes it, on tensors of float64. Triton may be there before PyTorch."""
    import torch

    def away(x):
        return torch.trunc(x + torch.copysign(torch.full_like(x, 0.5), x))

    def gamma(x):
        value = torch.lgamma(x).exp()
        negative = (x < 0) & (torch.floor(x) % 2 != 0)  # between -1 and 0, -3 and -2 and so on
        return torch.where((x < 0) & (x == torch.floor(x)), torch.nan, torch.where(negative, -value, value))

    def exponent(x):
        return torch.frexp(x).exponent - 1

    def scaled(x, n):
        return x * 2.0 ** n

    special = torch.special
    table = {"rint": torch.round, "nearbyint": torch.round, "isfinited": torch.isfinite, "finitef": torch.isfinite, "exp10": lambda x: 10 ** x,
             "cyl_bessel_i0": special.i0, "cyl_bessel_i1": special.i1, "erfcx": special.erfcx, "j0": special.bessel_j0, "j1": special.bessel_j1,
             "y0": special.bessel_y0, "y1": special.bessel_y1, "sinpi": lambda x: torch.sin(math.pi * x), "cospi": lambda x: torch.cos(math.pi * x),
             "cbrt": lambda x: x.sign() * x.abs() ** (1 / 3), "rcbrt": lambda x: x.sign() * x.abs() ** (-1 / 3), "round": away, "gamma": gamma,
             "tgamma": gamma, "saturatef": lambda x: x.nan_to_num(0).clamp(0, 1), "ilogb": exponent, "logb": lambda x: exponent(x).double(),
             "llrint": lambda x: torch.round(x).long(), "llround": lambda x: away(x).long(), "ldexp": scaled, "scalbn": scaled, "div_rn": torch.div,
             "div_rz": torch.div, "fdim": lambda x, y: torch.where(torch.isnan(x) | torch.isnan(y), x + y, (x - y).clamp(min=0)),
             "remainder": lambda x, y: x - y * torch.round(x / y), "fma": lambda x, y, z: x * y + z}
    return {name: table.get(name) or getattr(torch, name) for name in NAMES}


def _numbers(operand):
    """An operand as numbers in float64: a tensor of Triton, one of its constants, or a number of Python."""
    import numpy as np
    import torch

    if not hasattr(operand, "handle"):
        return torch.tensor(float(getattr(operand, "value", operand)), dtype=torch.float64)
    data, dtype = operand.handle.data, operand.dtype.scalar
    if str(dtype) == "bf16":
        data = (data.astype(np.uint32) << 16).view(np.float32)
    return torch.from_numpy(np.ascontiguousarray(data).astype(np.float64)).reshape(data.shape)


def _result(value, operands):
    """A tensor of Triton, in the type of the first operand that is a tensor of floats; bools and integers are of their own."""
    import numpy as np
    import torch

    from updraft import _triton

    like = next(o for o in operands if hasattr(o, "handle") and o.dtype.scalar.is_floating())
    language = sys.modules["triton.language.core"]
    if value.dtype == torch.bool:
        return _triton.tensor_of(value.numpy(), language.int1)
    if not value.is_floating_point():
        return _triton.tensor_of(value.numpy(), language.int64 if value.dtype == torch.int64 else language.int32)
    name = str(like.dtype.scalar)
    if name == "bf16":
        data = value.bfloat16().view(torch.int16).numpy().view(np.uint16)
    else:
        data = value.to({"fp16": torch.float16, "fp32": torch.float32, "fp64": torch.float64}[name]).numpy()
    return _triton.tensor_of(data, like.dtype.scalar)


def _function(name):
    def call(*operands, **_):
        if not any(hasattr(o, "handle") and o.dtype.scalar.is_floating() for o in operands):
            raise TypeError("libdevice.%s wants a tensor of floats" % name)
        return _result(_table()[name](*map(_numbers, operands)), operands)

    call.__name__ = call.__qualname__ = name
    return call


def functions():
    return {name: _function(name) for name in NAMES}
