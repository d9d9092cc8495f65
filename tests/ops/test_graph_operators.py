"""Graph operators through the aclop interface: every row that cases.py of this file has words for is inferred, run and
compared with PyTorch on the CPU."""
import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from graph_cases.adapter import add_cases as add_adapter_cases
from graph_cases.decomposition import add_cases as add_decomposition_cases
from graph_cases.detection import add_cases, best
from graph_cases.fused import add_cases as add_fused_cases
from graph import call, const, operators
from graph_cases.inference import add_cases as add_inference_cases
from graph_cases.language import add_cases as add_language_cases
from graph_cases.mindspore import add_cases as add_mindspore_cases
from graph_cases.part import add_cases as add_part_cases
from graph_cases.pointwise import add_cases as add_pointwise_cases
from graph_cases.recurrent import add_cases as add_recurrent_cases
from graph_cases.layout import add_cases as add_layout_cases
from graph_cases.special import add_cases as add_special_cases
from graph_cases.suite import add_cases as add_suite_cases
from graph_cases.optimizer import add_cases as add_optimizer_cases
from graph_cases.tensorflow import add_cases as add_tensorflow_cases
from graph_cases.training import add_cases as add_training_cases

UNRUN = Path(__file__).with_name("graph_unrun.txt")
CASES = {}


def case(kind, *inputs, want, outputs=None, tolerance=1e-4, counted=False, shapes=None, **attributes):
    how = {"outputs": outputs, "counted": counted, "shapes": shapes}
    CASES.setdefault(kind, []).append((inputs, attributes, want, how, tolerance))


def r(*shape, low=-2.0, high=2.0):
    generator = torch.Generator().manual_seed(sum(shape) * 31 + len(shape))
    return torch.rand(shape, generator=generator) * (high - low) + low


def whole(*shape, low=-5, high=6, dtype=torch.int32):
    return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(3)).to(dtype)


x, y, positive, unit, rows = r(3, 4), r(3, 4, low=-3.0), r(3, 4, low=0.5), r(3, 4, low=-0.9, high=0.9), r(2, 3, 4)
image = r(2, 4, 6, 5)
yes = x > 0

# --- element by element ---
for kind, f in {"Abs": torch.abs, "Ceil": torch.ceil, "Cos": torch.cos, "Cosh": torch.cosh, "Erf": torch.erf,
                "Erfc": torch.erfc, "Expm1": torch.expm1, "Floor": torch.floor, "IsFinite": torch.isfinite,
                "IsNegInf": torch.isneginf, "IsPosInf": torch.isposinf, "IsInf": torch.isinf, "IsNan": torch.isnan,
                "Neg": torch.neg, "Rint": torch.round, "Round": torch.round, "Sign": torch.sign, "Sin": torch.sin,
                "Sinh": torch.sinh, "Tan": torch.tan, "Trunc": torch.trunc, "Square": torch.square, "Exp": torch.exp,
                "Asinh": torch.asinh, "Atan": torch.atan, "Relu": F.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh,
                "Gelu": F.gelu, "HardSwish": F.hardswish, "LogSigmoid": F.logsigmoid, "Mish": F.mish, "Swish": F.silu,
                "Relu6": F.relu6, "Relu6D": F.relu6, "Softplus": F.softplus, "SoftplusV2": F.softplus, "Selu": F.selu,
                "Elu": F.elu, "Celu": F.celu, "CeluV2": F.celu, "Softsign": F.softsign, "HardShrink": F.hardshrink,
                "SoftShrink": F.softshrink, "HardSigmoid": F.hardsigmoid, "OnesLike": torch.ones_like,
                "ZerosLike": torch.zeros_like, "Identity": torch.clone, "TensorMove": torch.clone,
                "StopGradient": torch.clone, "GuaranteeConst": torch.clone, "GeluV2": F.gelu, "LeakyRelu": F.relu,
                "Tril": torch.tril, "Triu": torch.triu}.items():
    case(kind, x, want=f)
for kind, f in {"Acos": torch.acos, "Asin": torch.asin, "Atanh": torch.atanh, "Erfinv": torch.erfinv}.items():
    case(kind, unit, want=f)
for kind, f in {"Acosh": lambda v: torch.acosh(v)}.items():
    case(kind, positive + 1, want=f)
for kind, f in {"Log": torch.log, "Log1p": torch.log1p, "Sqrt": torch.sqrt, "Rsqrt": torch.rsqrt,
                "Reciprocal": torch.reciprocal, "Inv": torch.reciprocal}.items():
    case(kind, positive, want=f)
case("Log", positive, want=lambda v: torch.log(2 * v + 1) / math.log(3), base=3.0, scale=2.0, shift=1.0)
case("Exp", x, want=lambda v: 3 ** (0.5 * v + 1), base=3.0, scale=0.5, shift=1.0)
case("Power", positive, want=lambda v: (2 * v + 1) ** 3, power=3.0, scale=2.0, shift=1.0, tolerance=1e-3)
case("Swish", x, want=lambda v: v * torch.sigmoid(2 * v), scale=2.0)
case("FastGelu", x, want=F.gelu, tolerance=3e-2)
case("FastGeluV2", x, want=F.gelu, tolerance=3e-2)
case("GeluV2", x, want=lambda v: F.gelu(v, approximate="tanh"), approximate="tanh")
case("LogicalNot", yes, want=torch.logical_not)
case("Invert", whole(3, 4), want=torch.bitwise_not)
case("LeakyRelu", x, want=lambda v: F.leaky_relu(v, 0.1), negative_slope=0.1)
case("Muls", x, want=lambda v: v * 1.5, value=1.5)
case("Adds", x, want=lambda v: v + 1.5, value=1.5)
case("Fills", x, want=lambda v: torch.full_like(v, 1.5), value=1.5)
case("Threshold", x, want=lambda v: (v > 0.5).float(), threshold=0.5)
case("ThresholdV2D", x, want=lambda v: F.threshold(v, 0.5, 7.0), threshold=0.5, value=7.0)
case("ThresholdV2", x, torch.tensor([0.5]), torch.tensor([7.0]), want=lambda v, t, o: F.threshold(v, 0.5, 7.0))
case("ThresholdedRelu", x, want=lambda v: F.threshold(v, 1.0, 0.0))
case("NanToNum", torch.tensor([1.0, math.nan, math.inf, -math.inf]), want=lambda v: torch.tensor([1.0, 5, 6, 7]), nan=5.0,
     posinf=6.0, neginf=7.0)
for kind, f in {"Add": torch.add, "AddV2": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Atan2": torch.atan2,
                "Equal": torch.eq, "NotEqual": torch.ne, "Greater": torch.gt, "GreaterEqual": torch.ge, "Less": torch.lt,
                "LessEqual": torch.le, "Maximum": torch.maximum, "Minimum": torch.minimum,
                "SquaredDifference": lambda a, b: (a - b) ** 2, "FloorMod": torch.remainder, "Mod": torch.fmod,
                "TruncateMod": torch.fmod, "RealDiv": torch.div, "Div": torch.div, "FloorDiv": torch.floor_divide,
                "Xdivy": torch.div, "DivNoNan": torch.div, "MulNoNan": torch.mul}.items():
    case(kind, x, r(4, low=0.5), want=f)
case("Pow", positive, y, want=torch.pow, tolerance=1e-3)
case("Xlogy", x, positive, want=torch.xlogy)
case("Xdivy", torch.tensor([0.0, 2]), torch.tensor([0.0, 4]), want=lambda a, b: torch.tensor([0, 0.5]))
case("DivNoNan", torch.tensor([1.0, 2]), torch.tensor([0.0, 4]), want=lambda a, b: torch.tensor([0, 0.5]))
case("MulNoNan", torch.tensor([math.inf, 2]), torch.tensor([0.0, 4]), want=lambda a, b: torch.tensor([0.0, 8]))
case("Div", whole(6), whole(6, low=1), want=lambda a, b: torch.div(a, b, rounding_mode="trunc"))
case("TruncateDiv", whole(6), whole(6, low=1), want=lambda a, b: torch.div(a, b, rounding_mode="trunc"))
for kind, f in {"BitwiseAnd": torch.bitwise_and, "BitwiseOr": torch.bitwise_or, "BitwiseXor": torch.bitwise_xor,
                "Gcd": torch.gcd}.items():
    case(kind, whole(6), whole(6, low=1), want=f)
for kind, f in {"LeftShift": torch.bitwise_left_shift, "RightShift": torch.bitwise_right_shift}.items():
    case(kind, whole(6, low=0), whole(6, low=0, high=3), want=f)
case("LogicalAnd", yes, y > 0, want=torch.logical_and)
case("LogicalOr", yes, y > 0, want=torch.logical_or)
case("IsClose", x, x + 1e-7, want=torch.isclose)
case("Axpy", x, y, want=lambda a, b: a + 2 * b, alpha=2.0)
case("AxpyV2", x, y, torch.tensor([2.0]), want=lambda a, b, c: a + 2 * b)
case("Sxpy", x, y, torch.tensor([2.0]), want=lambda a, b, c: a - 2 * b)
case("Sxpy", x, y, None, want=lambda a, b, c: a - b)
case("AddN", x, y, positive, want=lambda *all: sum(all), N=3)
case("AccumulateNV2", x, y, want=lambda *all: sum(all), N=2)
case("Addcmul", x, y, positive, torch.tensor([2.0]), want=lambda a, b, c, v: a + 2 * b * c)
case("Addcdiv", x, y, positive, torch.tensor([2.0]), want=lambda a, b, c, v: a + 2 * b / c)
case("FusedMulAdd", x, y, positive, want=lambda a, b, c: a * b + c)
case("FusedMulAddN", x, y, torch.tensor([3.0]), want=lambda a, b, c: a * 3 + b)
case("Lerp", x, y, positive, want=torch.lerp)
case("ClipByValue", x, torch.tensor(-1.0), torch.tensor(1.0), want=lambda v, a, b: v.clamp(-1, 1))
case("ClipByValueV2", x, torch.tensor(-1.0), torch.tensor(1.0), want=lambda v, a, b: v.clamp(-1, 1))
case("SelectV2", yes, x, y, want=torch.where)
case("Select", yes, x, y, want=torch.where)
case("Select", torch.tensor([True, False, True]), x, y, want=lambda c, a, b: torch.where(c[:, None], a, b))
case("Complex", x, y, want=torch.complex)
case("Real", torch.complex(x, y), want=lambda v: v.real)
case("Imag", torch.complex(x, y), want=lambda v: v.imag)
case("ComplexAbs", torch.complex(x, y), want=torch.abs)


def gradient(f, *variables, by):
    """Gradients of f for its variables, from the gradient of its result."""
    leaves = [v.double().requires_grad_() for v in variables]
    return torch.autograd.grad(f(*leaves), leaves, by.double())


dy = r(3, 4, low=-1.0)
case("SigmoidGrad", torch.sigmoid(x), dy, want=lambda v, g: gradient(torch.sigmoid, x, by=g))
case("TanhGrad", torch.tanh(x), dy, want=lambda v, g: gradient(torch.tanh, x, by=g))
case("SqrtGrad", torch.sqrt(positive), dy, want=lambda v, g: gradient(torch.sqrt, positive, by=g))
case("RsqrtGrad", torch.rsqrt(positive), dy, want=lambda v, g: gradient(torch.rsqrt, positive, by=g))
case("ReciprocalGrad", 1 / positive, dy, want=lambda v, g: gradient(torch.reciprocal, positive, by=g))
case("InvGrad", 1 / positive, dy, want=lambda v, g: gradient(torch.reciprocal, positive, by=g))
case("AbsGrad", x, dy, want=lambda v, g: g * v.sign())
for kind, f in {"ReluGrad": F.relu, "Relu6Grad": F.relu6, "SoftplusGrad": F.softplus, "SoftplusV2Grad": F.softplus,
                "HardShrinkGrad": F.hardshrink, "SoftShrinkGrad": F.softshrink, "HardSigmoidGrad": F.hardsigmoid,
                "HardSwishGrad": F.hardswish, "LogSigmoidGrad": F.logsigmoid, "GeluGradV2": F.gelu,
                "SoftsignGrad": F.softsign, "EluGradV2": F.elu}.items():
    case(kind, dy, x, want=lambda g, v, f=f: gradient(f, v, by=g))
case("LeakyReluGrad", dy, x, want=lambda g, v: gradient(lambda a: F.leaky_relu(a, 0.1), v, by=g), negative_slope=0.1)
case("ThresholdGradV2D", dy, x, want=lambda g, v: g * (v > 0.5), threshold=0.5)
case("HardtanhGrad", x, dy, want=lambda v, g: gradient(F.hardtanh, v, by=g))
case("GeluGrad", dy, x, F.gelu(x), want=lambda g, v, o: gradient(F.gelu, v, by=g))
case("FastGeluGrad", dy, x, want=lambda g, v: gradient(F.gelu, v, by=g), tolerance=5e-2)
case("SwishGrad", dy, x, F.silu(x), want=lambda g, v, o: gradient(F.silu, v, by=g))
case("MishGrad", dy, x, None, want=lambda g, v, o: gradient(F.mish, v, by=g))
case("EluGrad", dy, F.elu(x), want=lambda g, o: gradient(F.elu, x, by=g))
case("SeluGrad", dy, F.selu(x), want=lambda g, o: gradient(F.selu, x, by=g))
case("PRelu", image, r(4), want=F.prelu)
case("PReluGrad", image * 0.5, image, r(4), want=lambda g, v, w: gradient(F.prelu, v, w, by=g))
case("GLU", x, want=F.glu)
case("GLUGrad", r(3, 2), x, want=lambda g, v: gradient(F.glu, v, by=g))
swiglu = lambda v: F.silu(v[..., :2]) * v[..., 2:]  # noqa: E731
case("SwiGlu", x, want=swiglu)
case("SwiGluGrad", r(3, 2), x, want=lambda g, v: gradient(swiglu, v, by=g))

# --- reductions, orders, running sums ---
for kind, f in {"ReduceSum": torch.sum, "ReduceMax": torch.amax, "ReduceMin": torch.amin, "ReduceMean": torch.mean}.items():
    case(kind, rows, const([0, -1]), want=lambda v, a, f=f: f(v, (0, 2), keepdim=True), keep_dims=True)
    case(kind + "D", rows, want=lambda v, f=f: f(v, (1,)), axes=[1])
case("ReduceSum", rows, const([], torch.int64), want=lambda v, a: v)
case("ReduceMean", rows, const([], torch.int64), want=lambda v, a: v.mean(), noop_with_empty_axes=False)
case("ReduceMeanWithCast", rows, const([1]), want=lambda v, a: v.double().mean(1), dtype=torch.float64)
case("ReduceProd", rows, const([0, 2]), want=lambda v, a: v.prod(2).prod(0))
case("ReduceProdD", rows, want=lambda v: v.prod(2, keepdim=True).prod(0, keepdim=True), axes=[0, 2], keep_dims=True)
for kind, f in {"ReduceAll": torch.all, "ReduceAny": torch.any}.items():
    case(kind, rows > 1, const([1]), want=lambda v, a, f=f: f(v, 1))
    case(kind + "D", rows > 1, want=lambda v, f=f: f(v, 1), axes=[1])
case("ReduceLogSumExp", rows, const([1]), want=lambda v, a: v.logsumexp(1))
case("ReduceLogSum", positive, const([1]), want=lambda v, a: v.sum(1).log())
case("EuclideanNorm", rows, const([1]), want=lambda v, a: v.norm(dim=1))
case("EuclideanNormD", rows, want=lambda v: v.norm(), axes=[])
case("LpNorm", rows, want=lambda v: v.norm(p=1, dim=2), p=1, axes=[2])
case("LpNormV2", rows, want=lambda v: v.norm(p=3, dim=2), p=3.0, axes=[2])
case("L2Loss", x, want=lambda v: (v ** 2).sum() / 2)
l2 = lambda v: v / (v ** 2).sum(1, keepdim=True).clamp_min(1e-4).sqrt()  # noqa: E731
case("L2Normalize", x, want=l2, axis=[1])
case("L2NormalizeGrad", x, l2(x), dy, want=lambda v, o, g: gradient(l2, v, by=g), dim=[1])
case("SquareSumAll", x, y, want=lambda a, b: [(a ** 2).sum(), (b ** 2).sum()])
case("SquareSumV1", x, want=lambda v: (v ** 2).sum(1), axis=[1])
case("ReduceStd", rows, want=lambda v: [v.std(1), v.mean(1)], dim=[1])
case("ReduceStdV2", rows, want=lambda v: [v.std(1, correction=0), v.mean(1)], dim=[1], correction=0)
case("ReduceMeanVariance", rows, want=lambda v: [v.mean(1, keepdim=True), v.var(1, correction=0, keepdim=True)], axes=[1])
case("ReduceStdWithMean", rows, rows.mean(1, keepdim=True), want=lambda v, m: v.std(1), dim=[1])
case("ReduceStdWithMean", rows, rows.mean(1, keepdim=True), want=lambda v, m: 1 / (v.var(1) + 0.001).sqrt(), dim=[1],
     invert=True)
case("ArgMaxV2", x, const([1]), want=lambda v, d: v.argmax(1))
case("ArgMaxD", x, want=lambda v: v.argmax(1).int(), dimension=1, dtype=torch.int32)
case("ArgMin", x, const([0]), want=lambda v, d: v.argmin(0))
case("ArgMinD", x, want=lambda v: v.argmin(1), dimension=-1)
case("ArgMaxWithValue", x, want=lambda v: [v.max(1).indices.int(), v.max(1).values], dimension=1)
case("ArgMinWithValue", x, want=lambda v: [v.min(1, True).indices.int(), v.min(1, True).values], dimension=1, keep_dims=True)
case("Sort", x, want=lambda v: [v.sort().values, v.sort().indices.int()])
case("SortV2", x, want=lambda v: v.sort(descending=True).values, descending=True)
for kind in ("TopK", "TopKV2"):
    case(kind, x, const([2], torch.int32), want=lambda v, k: [v.topk(2).values, v.topk(2).indices.int()])
case("SearchSorted", torch.arange(5.0), torch.tensor([0.5, 3.0]), None, want=lambda s, v, o: torch.searchsorted(s, v))
case("Cumsum", rows, const([1]), want=lambda v, a: v.cumsum(1))
case("Cumsum", rows, const([1]), want=lambda v, a: v.cumsum(1) - v, exclusive=True)
case("Cumsum", rows, const([1]), want=lambda v, a: v.flip(1).cumsum(1).flip(1) - v, exclusive=True, reverse=True)
case("CumsumD", rows, want=lambda v: v.flip(2).cumsum(2).flip(2), axis=2, reverse=True)
case("Cumprod", rows, const([1]), want=lambda v, a: v.cumprod(1))
case("CumprodD", rows, want=lambda v: torch.cat([torch.ones(1, 3, 4), v[:1]]), axis=0, exclusive=True)
case("Cummax", x, want=lambda v: [v.cummax(1).values, v.cummax(1).indices.int()], dim=1)
case("Cummin", x, want=lambda v: [v.cummin(1).values, v.cummin(1).indices.int()], axis=1)

# --- products ---
case("MatMul", x, r(4, 2), None, want=lambda a, b, c: a @ b)
case("MatMul", x.T.contiguous(), r(2, 4), r(2), want=lambda a, b, c: a.T @ b.T + c, transpose_x1=True, transpose_x2=True)
case("MatMulV2", x, r(4, 2), r(2), None, want=lambda a, b, c, d: a @ b + c)
case("BatchMatMul", rows, r(2, 5, 4), want=lambda a, b: a @ b.mT, adj_x2=True)
case("BatchMatMulV2", rows, r(2, 4, 5), r(5), None, want=lambda a, b, c, d: a @ b + c)
case("GEMM", x, r(4, 2), r(3, 2), torch.tensor([2.0]), torch.tensor([0.5]), want=lambda a, b, c, p, q: 2 * a @ b + 0.5 * c)
case("TransposeBatchMatMul", rows, r(3, 4, 5), None, None,
     want=lambda a, b, c, d: (a.permute(1, 0, 2) @ b).permute(1, 0, 2), perm_x1=[1, 0, 2], perm_x2=[0, 1, 2], perm_y=[1, 0, 2])
case("Dot", r(5), r(5), want=torch.dot)


# --- attention ---
def attention(q, k, v, bias, mask, *, scale=1.0, turned=False, fill=-math.inf, keeps=False, first=False, zeros=False):
    """In double; heads of keys that are fewer serve several of the queries."""
    q, k, v = q.double(), (k.mT if turned else k).double(), v.double()
    if k.dim() == 4 and k.shape[1] not in (1, q.shape[1]):
        k, v = (t.repeat_interleave(q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.mT * scale
    hide = lambda s: s if mask is None else torch.where(mask if keeps else ~mask, s, fill)  # noqa: E731
    if first:
        scores = hide(scores)
    if bias is not None:
        scores = scores + bias
    weights = torch.softmax(scores if first else hide(scores), -1)
    return (torch.nan_to_num(weights) if zeros else weights) @ v


queries, keys, values, seen = r(2, 4, 5, 6), r(2, 2, 7, 6), r(2, 2, 7, 3), r(2, 1, 5, 7) > -1
blind = seen.clone()
blind[1, 0, 2] = False
case("FusedAttention", queries, keys, values, None, None, want=lambda *all: attention(*all, scale=0.5), scale=0.5)
case("FusedAttention", queries, keys.mT.contiguous(), values, r(1, 4, 1, 7), None, turned_key=True, perm_y=[0, 2, 1, 3],
     want=lambda *all: attention(*all, turned=True).transpose(1, 2))
case("FusedAttention", queries, keys[:1], values[:1], r(5, 1), seen, mask_keeps=True, masked=-3.0,
     want=lambda *all: attention(*all, keeps=True, fill=-3.0))
case("FusedAttention", queries, keys, values, r(2, 1, 1, 7), seen, mask_first=True, masked=-2.0,
     want=lambda *all: attention(*all, first=True, fill=-2.0))
case("FusedAttention", queries, keys, values, None, blind, mask_keeps=True, masked=-math.inf, nan_as_zero=True,
     want=lambda *all: attention(*all, keeps=True, zeros=True))
case("FusedAttention", r(4, 5, 6), r(1, 7, 6), r(4, 7, 3), r(4, 1, 7), None, want=attention)
case("FusedAttention", r(5, 6), r(7, 6), r(7, 3), r(7), None, perm_y=[1, 0], want=lambda *all: attention(*all).T)
case("FusedAttention", r(2, 3, 200, 40), r(2, 3, 300, 40), r(2, 3, 300, 24), r(200, 300), None, scale=0.2, tolerance=2e-4,
     want=lambda *all: attention(*all, scale=0.2))  # several tiles
# steps of generation: few queries against many keys, which are read where they lie
case("FusedAttention", r(2, 4, 3, 16), r(2, 2, 300, 16), r(2, 2, 300, 16), r(2, 1, 1, 300), None, want=attention)
case("FusedAttention", r(2, 4, 1, 24).half(), r(2, 4, 150, 24).half(), r(2, 4, 150, 16).half(), None, None, want=attention, tolerance=5e-3)
case("FusedAttention", *(r(2, 4, n, 24).bfloat16() for n in (2, 150, 150)), None, None, want=attention, tolerance=4e-2)
case("BiasAdd", image, r(4), want=lambda v, b: v + b[:, None, None], data_format="NCHW")
case("BiasAdd", image, r(5), want=lambda v, b: v + b)
case("BiasAddGrad", image, want=lambda v: v.sum((0, 2, 3)), data_format="NCHW")

# --- convolutions: gradients have the sizes of what they are for ---
kernel, kernel3, volume = r(3, 4, 3, 2), r(2, 3, 2, 2, 2), r(1, 3, 4, 5, 4)
plane = {"strides": [1, 1, 2, 1], "pads": [1, 1, 0, 0], "data_format": "NCHW"}
conv = lambda v, w: F.conv2d(v, w, stride=(2, 1), padding=(1, 0))  # noqa: E731
by = conv(image, kernel)
case("Conv2D", image, kernel, r(3), None, want=lambda v, w, b, o: conv(v, w) + b[:, None, None], **plane)
case("Conv2D", image, r(4, 1, 3, 3), None, None, strides=[1, 1, 1, 1], pads=[0, 2, 1, 1], groups=4, data_format="NCHW",
     want=lambda v, w, b, o: F.conv2d(F.pad(v, (1, 1, 0, 2)), w, groups=4))
fused = {k: v for k, v in plane.items() if k != "data_format"}
add_fused_cases(case, r, whole, image, kernel, by, conv, fused)
case("Conv2DBackpropInput", const([2, 4, 6, 5]), kernel, by, want=lambda s, w, g: gradient(lambda v: conv(v, w.double()), image, by=g), **plane)
case("Conv2DBackpropInputD", kernel, by, want=lambda w, g: gradient(lambda v: conv(v, w.double()), image, by=g), input_size=[2, 4, 6, 5], **plane)
case("Conv2DBackpropFilter", image, const([3, 4, 3, 2]), by, want=lambda v, s, g: gradient(lambda w: conv(v.double(), w), kernel, by=g), tolerance=1e-3, **plane)
case("Conv2DBackpropFilterD", image, by, want=lambda v, g: gradient(lambda w: conv(v.double(), w), kernel, by=g), filter_size=[3, 4, 3, 2], tolerance=1e-3, **plane)
case("Conv2DTranspose", const([2, 4, 6, 5]), by, kernel, None, None, want=lambda s, v, w, b, o: gradient(lambda a: conv(a, w.double()), image, by=v), **plane)
solid = {"strides": [1, 1, 2, 1, 1], "pads": [1, 1, 0, 0, 1, 1], "data_format": "NCDHW"}
conv3 = lambda v, w: F.conv3d(v, w, stride=(2, 1, 1), padding=(1, 0, 1))  # noqa: E731
by3 = conv3(volume, kernel3)
case("Conv3D", volume, kernel3, None, None, want=lambda v, w, b, o: conv3(v, w), **solid)
case("Conv3DBackpropInput", const([1, 3, 4, 5, 4]), kernel3, by3, want=lambda s, w, g: gradient(lambda v: conv3(v, w.double()), volume, by=g), **solid)
case("Conv3DBackpropInputD", kernel3, by3, want=lambda w, g: gradient(lambda v: conv3(v, w.double()), volume, by=g), input_size=[1, 3, 4, 5, 4], **solid)
case("Conv3DBackpropFilter", volume, const([2, 3, 2, 2, 2]), by3, want=lambda v, s, g: gradient(lambda w: conv3(v.double(), w), kernel3, by=g), tolerance=1e-3, **solid)
case("Conv3DBackpropFilterD", volume, by3, want=lambda v, g: gradient(lambda w: conv3(v.double(), w), kernel3, by=g), filter_size=[2, 3, 2, 2, 2], tolerance=1e-3, **solid)
case("Conv3DTranspose", const([1, 3, 4, 5, 4]), by3, kernel3, None, None, want=lambda s, v, w, b, o: gradient(lambda a: conv3(a, w.double()), volume, by=v), **solid)

# with the channels last, as TensorFlow has them, filters lie as HWCN and DHWCN; padding may be uneven in all
to_last = lambda v: v.movedim(1, -1).contiguous()  # noqa: E731
to_filter = lambda w: w.permute(*range(2, w.dim()), 1, 0).contiguous()  # noqa: E731
last_plane = {"strides": [1, 2, 1, 1], "pads": [1, 0, 0, 2], "data_format": "NHWC"}
uneven = lambda v, w: F.conv2d(F.pad(v, (0, 2, 1, 0)), w, stride=(2, 1))  # noqa: E731
by_uneven = uneven(image, kernel)
case("Conv2D", to_last(image), to_filter(kernel), r(3), None, want=lambda v, w, b, o: to_last(uneven(image.double(), kernel.double())) + b, **last_plane)
case("Conv2D", to_last(image), to_filter(r(4, 1, 3, 3)), None, None, strides=[1, 1, 1, 1], pads=[1, 1, 1, 1], groups=4,
     want=lambda v, w, b, o: to_last(F.conv2d(v.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1), padding=1, groups=4)))
case("Conv2DBackpropInput", const([2, 6, 5, 4]), to_filter(kernel), to_last(by_uneven),
     want=lambda s, w, g: to_last(gradient(lambda v: uneven(v, kernel.double()), image, by=by_uneven)[0]), **last_plane)
case("Conv2DBackpropFilter", to_last(image), const([3, 2, 4, 3]), to_last(by_uneven), tolerance=1e-3,
     want=lambda v, s, g: to_filter(gradient(lambda w: uneven(image.double(), w), kernel, by=by_uneven)[0]), **last_plane)
case("Conv2DTranspose", const([2, 6, 5, 4]), to_last(by_uneven), to_filter(kernel), None, None,
     want=lambda s, v, w, b, o: to_last(gradient(lambda a: uneven(a, kernel.double()), image, by=by_uneven)[0]), **last_plane)
last_solid = {"strides": [1, 1, 2, 1, 1], "pads": [1, 0, 0, 1, 1, 1], "data_format": "NDHWC"}
uneven3 = lambda v, w: F.conv3d(F.pad(v, (1, 1, 0, 1, 1, 0)), w, stride=(1, 2, 1))  # noqa: E731
by_uneven3 = uneven3(volume, kernel3)
case("Conv3D", to_last(volume), to_filter(kernel3), None, None, want=lambda v, w, b, o: to_last(uneven3(volume.double(), kernel3.double())), **last_solid)
case("Conv3DBackpropInput", const([1, 4, 5, 4, 3]), to_filter(kernel3), to_last(by_uneven3),
     want=lambda s, w, g: to_last(gradient(lambda v: uneven3(v, kernel3.double()), volume, by=by_uneven3)[0]), **last_solid)
case("Conv3DBackpropFilter", to_last(volume), const([2, 2, 2, 3, 2]), to_last(by_uneven3), tolerance=1e-3,
     want=lambda v, s, g: to_filter(gradient(lambda w: uneven3(volume.double(), w), kernel3, by=by_uneven3)[0]), **last_solid)

# --- pooling ---
window = {"ksize": [1, 1, 3, 2], "strides": [1, 1, 2, 2], "data_format": "NCHW"}
last = image.permute(0, 2, 3, 1).contiguous()
valid = lambda v: F.max_pool2d(v, (3, 2), 2)  # noqa: E731
case("MaxPool", image, want=valid, padding="VALID", **window)
case("MaxPool", last, want=lambda v: valid(v.permute(0, 3, 1, 2)).permute(0, 2, 3, 1), ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1],
     padding="VALID")
same = lambda v: F.max_pool2d(F.pad(v, (0, 1, 0, 1), value=-math.inf), (3, 2), 2)  # noqa: E731
case("MaxPool", image, want=same, padding="SAME", **window)
for dtype in (torch.float32, torch.float16, torch.bfloat16):  # rows of channels: whole vectors of all sizes, and what is left over
    wide = (r(2, 6, 5, 93, low=-9.0) * 1.5).to(dtype)
    wide[0, 2, 3, ::7], wide[1, 4, 4, 3::11], wide[0, 5, :, 40:60] = math.nan, -math.inf, math.inf
    case("MaxPool", wide, want=lambda v: same(v.permute(0, 3, 1, 2).double()).permute(0, 2, 3, 1).to(v.dtype), ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1],
         padding="SAME", tolerance=0)
case("MaxPoolV2", image, const([1, 1, 3, 2]), const([1, 1, 2, 2]), want=lambda v, k, s: valid(v), padding="VALID", data_format="NCHW")
case("MaxPoolV3", image, want=lambda v: F.max_pool2d(v, (3, 2), 2, (1, 1)), pads=[1, 1, 1, 1], **window)
case("MaxPoolV3", image, want=lambda v: v.amax((2, 3), keepdim=True), global_pooling=True, **window)
case("MaxPoolGrad", image, valid(image), valid(image), want=lambda v, o, g: gradient(valid, v, by=g), padding="VALID", **window)
case("MaxPoolGrad", image, same(image), same(image), want=lambda v, o, g: gradient(same, v, by=g), padding="SAME", **window)
case("MaxPoolV3Grad", image, valid(image), valid(image), want=lambda v, o, g: gradient(valid, v, by=g), **window)
case("AvgPool", image, want=lambda v: F.avg_pool2d(v, (3, 2), 2), padding="VALID", **window)
case("AvgPoolGrad", const([2, 4, 6, 5]), valid(image), want=lambda s, g: gradient(lambda v: F.avg_pool2d(v, (3, 2), 2), image, by=g), padding="VALID", **window)
averaged = lambda v: F.avg_pool2d(v, (3, 2), 2, (1, 1), count_include_pad=False)  # noqa: E731
case("AvgPoolV2", image, want=averaged, pads=[1, 1, 1, 1], **window)
case("AvgPoolV2Grad", const([2, 4, 6, 5]), averaged(image), want=lambda s, g: gradient(averaged, image, by=g), pads=[1, 1, 1, 1], **window)
def mean_of_same(v):
    """SAME: what lies outside does not count, and there is more of it behind."""
    pad = lambda a: F.pad(a, (0, 1, 0, 1))  # noqa: E731
    return F.avg_pool2d(pad(v), (3, 2), 2) / F.avg_pool2d(pad(torch.ones_like(v)), (3, 2), 2)


case("AvgPool", image, want=mean_of_same, padding="SAME", **window)
case("AvgPoolGrad", const([2, 4, 6, 5]), mean_of_same(image), want=lambda s, g: gradient(mean_of_same, image, by=g), padding="SAME", **window)
cube = {"ksize": [1, 1, 2, 2, 2], "strides": [1, 1, 2, 2, 2], "data_format": "NCDHW"}
case("AvgPool3D", volume, want=lambda v: F.avg_pool3d(v, 2, 2, ceil_mode=True), pads=[0] * 6, ceil_mode=True, **cube)
case("AvgPool3DGrad", const([1, 3, 4, 5, 4]), F.avg_pool3d(volume, 2, 2), want=lambda s, g: gradient(lambda v: F.avg_pool3d(v, 2, 2), volume, by=g), pads=[0] * 6, **cube)
case("MaxPool3D", volume, want=lambda v: F.max_pool3d(v, 2, 2), padding="VALID", **cube)
case("MaxPool3DGrad", volume, F.max_pool3d(volume, 2, 2), F.max_pool3d(volume, 2, 2), padding="CALCULATED", pads=[0] * 6,
     want=lambda v, o, g: gradient(lambda a: F.max_pool3d(a, 2, 2), v, by=g), **cube)
found = F.max_pool2d(image, 2, 2, return_indices=True)
case("MaxPoolWithArgmaxV3", image, want=lambda v: [found[0], found[1].int()], ksize=[2, 2], strides=[2, 2], pads=[0, 0])
case("MaxPoolGradWithArgmaxV3", image, found[0], found[1].int(), want=lambda v, g, a: gradient(lambda t: F.max_pool2d(t, 2, 2), v, by=g), ksize=[2, 2], strides=[2, 2], pads=[0, 0])
case("MaxPoolWithArgmaxV1", image, want=lambda v: [found[0], None], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], pads=[1, 0, 0, 1])
found3 = F.max_pool3d(volume, 2, 2, return_indices=True)
case("MaxPool3DWithArgmaxV2", volume, want=lambda v: [found3[0], found3[1].int()], ksize=[2, 2, 2], strides=[2, 2, 2], pads=[0, 0, 0])
case("AdaptiveAvgPool2d", image, want=lambda v: F.adaptive_avg_pool2d(v, (2, 3)), output_size=[2, 3])
case("CustAdaptiveAvgPool2D", image, want=lambda v: F.adaptive_avg_pool2d(v, (2, 3)), output_size=[2, 3])
case("CustAdaptiveAvgPool2DGrad", r(2, 4, 2, 3), const(list(image.shape)), want=lambda g, s: gradient(lambda v: F.adaptive_avg_pool2d(v, (2, 3)), image, by=g))
case("AdaptiveAvgPool2dGrad", r(2, 4, 2, 3), want=lambda g: gradient(lambda v: F.adaptive_avg_pool2d(v, (2, 3)), image, by=g), orig_input_shape=[2, 4, 6, 5])
case("AdaptiveMaxPool2d", image, want=lambda v: [o.to(t) for o, t in zip(F.adaptive_max_pool2d(v, (2, 3), True), (torch.float32, torch.int32))], output_size=[2, 3])
case("GlobalAveragePool", image, want=lambda v: v.mean((2, 3), keepdim=True))

# --- normalisation ---
scale, offset, mean, variance = r(4, low=0.5), r(4), r(4), r(4, low=0.5)
sums = [image.sum((0, 2, 3)), (image ** 2).sum((0, 2, 3))]
batch_mean, batch_variance = image.mean((0, 2, 3)), image.var((0, 2, 3), correction=0)
inferred = lambda v, s, o, m, q: F.batch_norm(v, m, q, s, o, eps=1e-3)  # noqa: E731
case("BNInfer", image, scale, offset, mean, variance, want=inferred, epsilon=1e-3)
case("BatchNorm", image, scale, offset, mean, variance, epsilon=1e-3, data_format="NCHW", is_training=False,
     want=lambda *a: [inferred(*a), mean, variance, mean, variance], outputs=5)
for prefix in ("BN", "BN3D"):
    case(prefix + "TrainingReduce", image, want=lambda v: sums, tolerance=1e-3)
    case(prefix + "TrainingUpdate", image, *sums, scale, offset, mean, variance, factor=0.1, epsilon=1e-3, tolerance=1e-3,
         want=lambda *a: [F.batch_norm(image, None, None, scale, offset, True, eps=1e-3), 0.9 * mean + 0.1 * batch_mean,
                          0.9 * variance + 0.1 * image.var((0, 2, 3)), batch_mean, batch_variance])
    trained = lambda v, s, o: F.batch_norm(v, None, None, s, o, True, eps=1e-4)  # noqa: E731
    grads = gradient(trained, image, scale, offset, by=image * 0.3 + 1)
    case(prefix + "TrainingUpdateGrad", image * 0.3 + 1, image, batch_mean, batch_variance, want=lambda *a: grads[1:], tolerance=1e-3)
    case(prefix + "TrainingReduceGrad", image * 0.3 + 1, image, grads[1].float(), grads[2].float(), scale, batch_mean, batch_variance,
         want=lambda *a: grads[:1], tolerance=1e-3)
layer = lambda v, g, b: F.layer_norm(v, (4,), g, b, 1e-5)  # noqa: E731
case("LayerNorm", rows, scale, offset, begin_norm_axis=2, begin_params_axis=2, epsilon=1e-5,
     want=lambda v, g, b: [layer(v, g, b), v.mean(2, keepdim=True), v.var(2, correction=0, keepdim=True)])
case("LayerNorm", rows, scale, offset, begin_norm_axis=1, begin_params_axis=-1, epsilon=1e-5,
     want=lambda v, g, b: [F.layer_norm(v, (3, 4), eps=1e-5) * g + b, v.mean((1, 2), keepdim=True),
                           v.var((1, 2), correction=0, keepdim=True)])
rstd = 1 / (rows.var(2, correction=0, keepdim=True) + 1e-5).sqrt()
case("LayerNormV3", rows, scale, offset, want=lambda v, g, b: [layer(v, g, b), v.mean(2, keepdim=True), rstd],
     begin_norm_axis=-1, begin_params_axis=-1)
case("LayerNormV4", rows, const([4]), scale, offset, want=lambda v, n, g, b: [layer(v, g, b), v.mean(2, keepdim=True), rstd])
case("LayerNormGradV3", rows * 0.2, rows, rstd, rows.mean(2, keepdim=True), scale, tolerance=1e-3,
     want=lambda g, v, q, m, s: gradient(layer, v, s, offset, by=g))
case("LayerNormGrad", rows * 0.2, rows, rows.var(2, correction=0, keepdim=True), rows.mean(2, keepdim=True), scale, tolerance=1e-3,
     want=lambda g, v, q, m, s: gradient(layer, v, s, offset, by=g))
groups = lambda v, eps: [F.group_norm(v, 2, scale, offset, eps), v.reshape(4, -1).mean(1), v.reshape(4, -1).var(1, correction=0)]  # noqa: E731
case("GroupNorm", image, scale, offset, num_groups=2,
     want=lambda v, g, b: [groups(v, 1e-4)[0], *(s.reshape(2, 2) for s in groups(v, 0)[1:])])
case("GroupNormV2", image, scale, offset, num_groups=2,
     want=lambda v, g, b: [groups(v, 1e-5)[0], groups(v, 0)[1].reshape(2, 2), (1 / (groups(v, 0)[2] + 1e-5).sqrt()).reshape(2, 2)])
case("InstanceNorm", image, scale, offset, data_format="NCHW",
     want=lambda v, g, b: [F.instance_norm(v, weight=g, bias=b, eps=1e-6), v.mean((2, 3), True), v.var((2, 3), correction=0, keepdim=True)])
rms = lambda v, g: v / (v.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt() * g  # noqa: E731
root = 1 / (rows.pow(2).mean(-1, keepdim=True) + 1e-6).sqrt()
case("RmsNorm", rows, scale, want=lambda v, g: [rms(v, g), root])
case("RmsNormGrad", rows * 0.2, rows, root, scale, want=lambda g, v, q, s: gradient(rms, v, s, by=g))
case("AddRmsNorm", rows / 2, rows / 2, scale, want=lambda a, b, g: [rms(rows, g), root, rows])
case("Renorm", x, want=lambda v: torch.renorm(v, 2, 0, 1.0)[:, :1] / v[:, :1], p=2.0, dim=0, maxnorm=1.0)

# --- softmax and losses ---
case("SoftmaxV2", rows, want=lambda v: v.softmax(1), axes=[1])
case("LogSoftmaxV2", rows, want=lambda v: v.log_softmax(-1))
case("SoftmaxGrad", rows.softmax(-1), rows, want=lambda o, g: gradient(lambda v: v.softmax(-1), rows, by=g))
case("LogSoftmaxGrad", rows * 0.5, rows.log_softmax(-1), want=lambda g, o: gradient(lambda v: v.log_softmax(-1), rows, by=g))
hot = F.one_hot(torch.tensor([1, 0, 3]), 4).float()
entropy = lambda v: [-(hot * v.log_softmax(1)).sum(1), v.softmax(1) - hot]  # noqa: E731
case("SoftmaxCrossEntropyWithLogits", x, hot, want=lambda v, t: entropy(v))
case("SparseSoftmaxCrossEntropyWithLogits", x, torch.tensor([1, 0, 3]), want=lambda v, t: entropy(v))
target = r(3, 4, low=0.1, high=0.9)
logits = F.binary_cross_entropy_with_logits
case("SigmoidCrossEntropyWithLogits", x, target, want=lambda v, t: logits(v, t, reduction="none"))
case("SigmoidCrossEntropyWithLogitsGrad", x, target, dy, want=lambda v, t, g: (v.sigmoid() - t) * g)
case("SigmoidCrossEntropyWithLogitsV2", x, target, None, None, want=lambda v, t, a, b: logits(v, t))
case("SigmoidCrossEntropyWithLogitsGradV2", x, target, torch.tensor(2.0), None, None, want=lambda v, t, g, a, b: (v.sigmoid() - t) / 6)
for kind, f in {"BinaryCrossEntropy": F.binary_cross_entropy}.items():
    case(kind, target, r(3, 4, low=0.0, high=1.0), None, want=lambda v, t, w, f=f: f(v, t, reduction="sum"), reduction="sum", tolerance=1e-3)
case("BinaryCrossEntropyGrad", target, yes.float(), dy, None, reduction="none",
     want=lambda v, t, g, w: gradient(lambda a: F.binary_cross_entropy(a, t.double(), reduction="none"), v, by=g), tolerance=1e-3)
for kind, f in {"MseLoss": F.mse_loss, "SmoothL1LossV2": F.smooth_l1_loss}.items():
    for how in ("none", "mean", "sum"):
        case(kind, x, y, want=lambda v, t, f=f, how=how: f(v, t, reduction=how), reduction=how)
case("MseLossGrad", x, y, dy, want=lambda v, t, g: 2 * (v - t) * g, reduction="none")
case("LpLoss", x, y, want=F.l1_loss, p=1)
case("L1LossGrad", dy, x, y, want=lambda g, v, t: (v - t).sign() * g, reduction="none")
case("SmoothL1Loss", x, y, want=lambda v, t: F.smooth_l1_loss(v, t, reduction="none"))
smooth = lambda v: F.smooth_l1_loss(v, y.double(), reduction="none")  # noqa: E731
case("SmoothL1LossGrad", x, y, dy, want=lambda v, t, g: gradient(smooth, v, by=g))
case("SmoothL1LossGradV2", x, y, dy, want=lambda v, t, g: gradient(smooth, v, by=g), reduction="none")
for how in ("batchmean", "sum"):
    case("KLDiv", x.log_softmax(1), target, want=lambda v, t, how=how: F.kl_div(v, t, reduction=how), reduction=how)
case("KlDivLossGrad", torch.tensor(2.0), x, target, want=lambda g, v, t: -2 * t / 3, reduction="batchmean")
classes = torch.tensor([1, 0, 3])
weight = r(4, low=0.5)
case("NLLLoss", x.log_softmax(1), classes, weight, want=lambda v, t, w: [F.nll_loss(v, t, w), w[t].sum()])
case("NLLLoss", x.log_softmax(1), classes, weight, want=lambda v, t, w: [F.nll_loss(v, t, w, reduction="none"), None], reduction="none")
case("NLLLossGrad", x, torch.tensor(1.0), classes, weight, weight[classes].sum(),
     want=lambda v, g, t, w, s: gradient(lambda a: F.nll_loss(a, t, w.double()), v, by=g))
case("SoftMarginLoss", x, y.sign(), want=F.soft_margin_loss)
case("SoftMarginLossGrad", x, y.sign(), dy, want=lambda v, t, g: gradient(lambda a: F.soft_margin_loss(a, t.double(), reduction="none"), v, by=g), reduction="none")

# --- shapes and types ---
case("Reshape", rows, const([0, -1]), want=lambda v, s: v.reshape(2, 12))
case("Squeeze", r(2, 1, 3, 1), want=lambda v: v.squeeze(1), axis=[1])
case("SqueezeV2", r(2, 1, 3, 1), want=torch.squeeze)
case("SqueezeV3", r(2, 1, 3, 1), const([-1]), want=lambda v, a: v.squeeze(-1))
case("Unsqueeze", x, want=lambda v: v[:, None, :, None], axes=[1, -1])
case("UnsqueezeV2", x, want=lambda v: v[None], axis=[0])
case("UnsqueezeV3", x, const([0]), want=lambda v, a: v[None])
case("ExpandDims", x, const([1]), want=lambda v, a: v[:, None])
case("Flatten", image, want=lambda v: v.flatten(1))
case("FlattenV2", image, want=lambda v: v.flatten(1, 2), end_axis=2)
case("BroadcastTo", r(3, 1), const([2, 3, 4]), want=lambda v, s: v.expand(2, 3, 4))
case("BroadcastToD", r(3, 1), want=lambda v: v.expand(3, 4), shape=[3, 4])
case("Expand", r(3, 1), const([1, 4]), want=lambda v, s: v.expand(3, 4))
case("ExpandD", r(3, 4), want=lambda v: v, shape=[1, 1])
case("EnsureShape", x, want=torch.clone, shape=[-1, 4])
case("IdentityN", x, y, want=lambda *v: list(v), outputs=2)
case("Cast", x * 10, want=lambda v: v.int(), dst_type=torch.int32)
case("CastLike", x * 10, whole(1), want=lambda v, t: v.int())
case("Bitcast", x, want=lambda v: v.view(torch.int32), type=torch.int32)
case("Bitcast", x, want=lambda v: v.contiguous().view(torch.int8).reshape(*v.shape, 4), type=torch.int8)
case("Bitcast", whole(2, 3, 4).to(torch.int8), want=lambda v: v.contiguous().view(torch.int32)[..., 0], type=torch.int32)
case("Bitcast", whole(2, 8).to(torch.int8), want=lambda v: v.contiguous().view(torch.int16), type=torch.int16, keep_dim=True)
case("Bitcast", x, want=lambda v: v.contiguous().view(torch.int16), type=torch.int16, keep_dim=True)
case("Shape", rows, want=lambda v: torch.tensor([2, 3, 4], dtype=torch.int32))
case("ShapeN", rows, x, want=lambda *v: [torch.tensor([2, 3, 4]), torch.tensor([3, 4])], outputs=2, dtype=torch.int64)
case("Size", rows, want=lambda v: torch.tensor(24, dtype=torch.int32))
case("Rank", rows, want=lambda v: torch.tensor(3, dtype=torch.int32))
case("Slice", rows, const([0, 1, 0]), const([2, -1, 2]), want=lambda v, o, s: v[:, 1:, :2])
case("SliceD", rows, want=lambda v: v[:, 1:, :2], offsets=[0, 1, 0], size=[2, 2, 2])
case("SliceDV2", rows, const([0, 1, 0]), want=lambda v, o: v[:, 1:, :2], size=[2, 2, 2])
case("StridedSlice", rows, const([0, -1]), const([2, -4]), const([1, -2]), want=lambda v, b, e, s: v.flip(1)[:, ::2])
case("StridedSliceD", rows, want=lambda v: v[1, :, None, 1:], begin=[1, 0, 0, 1], end=[2, 0, 0, 0], strides=[1, 1, 1, 1],
     shrink_axis_mask=1, begin_mask=2, end_mask=10, new_axis_mask=4)
case("StridedSliceV2", rows, const([1]), const([9]), const([-1]), const([2]), want=lambda v, b, e, a, s: v[..., 1::2])
case("StridedSliceV3", rows, const([1]), const([9]), const([1]), None, want=lambda v, b, e, a, s: v[:, 1:])
case("StridedSliceGrad", const([3, 4]), const([0, 1]), const([3, 4]), const([1, 2]), r(3, 2),
     want=lambda s, b, e, t, g: gradient(lambda v: v[:, 1::2], x, by=g))
case("StridedSliceGradD", r(3, 2), want=lambda g: gradient(lambda v: v[:, 1::2], x, by=g), shape=[3, 4], begin=[0, 1], end=[3, 4], strides=[1, 2])
case("StridedSliceAssign", x, const([0, 1]), const([3, 4]), const([1, 2]), r(3, 2),
     want=lambda v, b, e, s, g: v.index_copy(1, torch.tensor([1, 3]), g))
case("Transpose", rows, const([2, 0, 1]), want=lambda v, p: v.permute(2, 0, 1))
case("TransposeD", rows, want=lambda v: v.permute(1, 0, 2), perm=[1, 0, 2])
case("Permute", rows, want=lambda v: v.permute(1, 2, 0), order=[1, 2, 0])
case("AsStrided", x, const([2, 2]), const([4, 2]), const([1]), want=lambda v, a, b, c: v.as_strided((2, 2), (4, 2), 1))
case("ViewCopy", x, const([2]), const([3]), const([1]), y, const([2]), const([1]), const([0]),
     want=lambda v, a, b, c, s, d, e, f: v.as_strided_scatter(s.flatten()[:2], (2,), (3,), 1))
case("Scatter", torch.zeros(2, 4, 3), torch.tensor([1, 3]), torch.ones(2, 1, 3), reduce="update", axis=-2,
     want=lambda v, i, u: torch.stack([w.index_copy(0, n[None], p) for w, n, p in zip(v, i, u)]))
case("Split", const([1]), rows, want=lambda d, v: list(v.split(1, 1)), outputs=3, num_split=3)
case("SplitD", rows, want=lambda v: list(v.split(2, 2)), outputs=2, split_dim=-1, num_split=2)
case("SplitV", rows, const([1, -1]), const([2]), want=lambda v, s, d: [v[..., :1], v[..., 1:]], outputs=2, num_split=2)
case("SplitVD", rows, want=lambda v: [v[..., :1], v[..., 1:]], outputs=2, num_split=2, size_splits=[1, 3], split_dim=2)
case("Unpack", rows, want=lambda v: list(v.unbind(1)), outputs=3, num=3, axis=1)
case("Pack", x, y, want=lambda a, b: torch.stack([a, b], 2), N=2, axis=-1)
case("Concat", const([1]), x, y, want=lambda d, a, b: torch.cat([a, b], 1), N=2)
case("ConcatD", x, y, want=lambda a, b: torch.cat([a, b]), N=2, concat_dim=0)
case("ConcatV2", x, y, const([1]), want=lambda a, b, d: torch.cat([a, b], 1), N=2)
case("ConcatV2", torch.zeros(0), x, torch.zeros(0), const([-2]), want=lambda a, b, c, d: b, N=3)
case("ConcatV2D", x, y, want=lambda a, b: torch.cat([a, b], 1), N=2, concat_dim=-1)
case("Tile", x, const([2, 1]), want=lambda v, m: v.repeat(2, 1))
case("Tile", x, const([3, 2, 1]), want=lambda v, m: v.repeat(3, 2, 1))
case("Tile", torch.tensor(2.5), const([4]), want=lambda v, m: v.repeat(4))
case("TileD", x, want=lambda v: v.repeat(2, 3), multiples=[2, 3])
case("TileWithAxis", x, want=lambda v: v.repeat(1, 2), tiles=2)
case("ReverseV2", rows, const([0, 2]), want=lambda v, a: v.flip(0, 2))
case("ReverseV2D", rows, want=lambda v: v.flip(1), axis=[1])
case("Roll", x, want=lambda v: v.roll(1, 1), shifts=[1], dims=[1])
case("RollV2", x, const([1]), const([0]), want=lambda v, s, a: v.roll(1, 0))
case("Pad", x, const([[1, 0], [0, 2]]), want=lambda v, p: F.pad(v, (0, 2, 1, 0)))
case("PadD", x, want=lambda v: F.pad(v, (0, 2, 1, 0)), paddings=[[1, 0], [0, 2]])
case("PadV2", x, const([[1, 0], [0, 2]]), torch.tensor([5.0]), want=lambda v, p, c: F.pad(v, (0, 2, 1, 0), value=5))
case("PadV3", x, const([1, 0, 0, 2]), None, want=lambda v, p, c: F.pad(v, (0, 2, 1, 0)))
case("PadV3", image, const([0, 0, 1, 2, 0, 0, 2, 1]), None, paddings_contiguous=False, mode="reflect",
     want=lambda v, p, c: reflected(v))
case("PadV3", image, const([0, 0, 0, 0, 1, 1, 2, 0]), None, want=lambda v, p, c: F.pad(v, (2, 0, 1, 1), mode="replicate"), mode="edge")
case("PadV3D", x, want=lambda v: F.pad(v, (0, 2, 1, 0), value=3), paddings=[[1, 0], [0, 2]], constant_values=3)
case("PadV3Grad", r(2, 4, 8, 7), const([0, 0, 0, 0, 1, 1, 2, 0]), want=lambda g, p: gradient(lambda v: F.pad(v, (2, 0, 1, 1), mode="reflect"), image, by=g))
case("MirrorPad", image, const([[1, 0], [0, 2], [6, 3], [0, 5]]), mode="SYMMETRIC",
     want=lambda v, p: torch.tensor(np.pad(v.numpy(), ((1, 0), (0, 2), (6, 3), (0, 5)), "symmetric")))
case("MirrorPad", image, const([[0, 0], [0, 0], [1, 1], [2, 0]]), want=lambda v, p: F.pad(v, (2, 0, 1, 1), mode="reflect"), mode="REFLECT")


def reflected(v):
    """Paddings [0, 0, 1, 2] in front and [0, 0, 2, 1] behind."""
    return F.pad(v, (2, 1, 1, 2), mode="reflect")


# --- creation, places ---
case("Fill", const([2, 3]), torch.tensor([1.5]), want=lambda d, v: torch.full((2, 3), 1.5))
case("FillD", torch.tensor([1.5]), want=lambda v: torch.full((2, 3), 1.5), dims=[2, 3])
case("FillV2", const([2, 3]), want=lambda d: torch.full((2, 3), 1.5), value=1.5)
case("FillV2D", want=lambda: torch.full((2, 3), 1.5), value=1.5, dims=[2, 3])
case("Empty", const([2, 3]), want=lambda s: torch.zeros(2, 3), dtype=torch.float32, init=True)
case("Range", const([1]), const([9]), const([3]), want=lambda a, b, c: torch.arange(1, 9, 3))
case("LinSpace", const([0.0], torch.float32), const([1.0], torch.float32), const([5]), want=lambda a, b, n: torch.linspace(0, 1, 5))
case("Eye", want=lambda: torch.eye(3, 4), num_rows=3, num_columns=4)
case("FillDiagonal", x, want=lambda v: v.clone().fill_diagonal_(7), fill_value=7.0)
case("Trace", r(3, 3), want=torch.trace)
for kind, depth in {"OneHot": (const([5]),), "OneHotD": ()}.items():
    case(kind, classes, *depth, torch.tensor([2.0]), torch.tensor([-1.0]), want=lambda *a: F.one_hot(classes, 5).float() * 3 - 1,
         **({} if depth else {"depth": 5}))
picks = torch.tensor([[2, 0], [1, 1]])
case("Gather", x, picks, want=lambda v, i: v[i])
case("GatherV2", rows, picks, const([1]), want=lambda v, i, a: v[:, i])
case("GatherV2", rows, picks, const([1]), want=lambda v, i, a: torch.stack([v[b, i[b]] for b in range(2)]), batch_dims=1)
case("GatherV2", x, torch.tensor([-1, 0]), const([0]), want=lambda v, i, a: v[i], negative_index_support=True)
case("GatherV2D", x, picks, want=lambda v, i: v[:, i], axis=1)
case("GatherElements", x, torch.tensor([[0, 1], [2, 3], [1, 1]]), want=lambda v, i: v.gather(1, i), dim=1)
case("GatherNd", rows, torch.tensor([[0, 2], [1, 0]]), want=lambda v, i: v[i[:, 0], i[:, 1]])
case("IndexByTensor", rows, torch.tensor([2, 0]), want=lambda v, i: v[:, i], indices_mask=[0, 1])
spots, news = torch.tensor([[2], [0]]), r(2, 4)
case("ScatterNd", spots, news, const([3, 4]), want=lambda i, v, s: torch.zeros(3, 4).index_add(0, i[:, 0], v))
case("ScatterNdD", spots, news, want=lambda i, v: torch.zeros(3, 4).index_add(0, i[:, 0], v), shape=[3, 4])
twice = torch.tensor([2, 2])
for name, f in {"Update": lambda v, i, u: v.index_copy(0, i, u), "Add": lambda v, i, u: v.index_add(0, i, u),
                "Sub": lambda v, i, u: v.index_add(0, i, -u)}.items():
    at = torch.tensor([2, 0]) if name == "Update" else twice
    case("Scatter" + name, x, at, news, want=f)
    case("ScatterNd" + name, x, at[:, None], news, want=lambda v, i, u, f=f: f(v, i[:, 0], u))
    case("TensorScatter" + name, x, at[:, None], news, want=lambda v, i, u, f=f: f(v, i[:, 0], u))
case("ScatterNonAliasingAdd", x, twice[:, None], news, want=lambda v, i, u: v.index_add(0, i[:, 0], u))
for kind in ("ScatterElements", "ScatterElementsV2"):
    case(kind, x, torch.tensor([[3, 1]]), r(1, 2), want=lambda v, i, u: v.scatter(1, i, u), axis=1)
    case(kind, x, torch.tensor([[3, 3]]), r(1, 2), want=lambda v, i, u: v.scatter_add(1, i, u), axis=1, reduction="add")
case("InplaceIndexAdd", x, torch.tensor([2, 0]), news, torch.tensor([2.0]), want=lambda v, i, u, a: v.index_add(0, i, 2 * u), axis=0)
segments = torch.tensor([1, -1, 1])
case("UnsortedSegmentSum", x, segments, const([3]), want=lambda v, s, n: torch.stack([torch.zeros(4), v[0] + v[2], torch.zeros(4)]))
case("UnsortedSegmentSumD", x, segments, want=lambda v, s: torch.stack([torch.zeros(4), v[0] + v[2]]), num_segments=2)
case("MaskedFill", x, yes, torch.tensor([9.0]), want=lambda v, m, f: v.masked_fill(m, 9))
case("MaskedScale", x, yes.byte(), want=lambda v, m: v * m * 2, value=2.0)
case("EmbeddingDenseGrad", rows, torch.tensor([[0, 2, 2], [1, 0, 2]]), num_weights=4, padding_idx=1,
     want=lambda g, i: torch.ops.aten.embedding_dense_backward(g, i, 4, 1, False))

# --- images ---
case("Im2col", image, want=lambda v: F.unfold(v, (3, 2), padding=(1, 0), stride=2), ksizes=[3, 2], strides=[2, 2], pads=[1, 1, 0, 0])
case("Col2im", r(2, 24, 6), const([5, 4]), want=lambda v, s: F.fold(v, (5, 4), (3, 2), stride=(2, 1)), kernel_size=[3, 2], dilation=[1, 1], padding=[0, 0], stride=[2, 1])
case("Col2im", r(2, 4, 6, 6), const([5, 4]), want=lambda v, s: F.fold(v.flatten(1, 2), (5, 4), (3, 2), stride=(2, 1)), kernel_size=[3, 2], dilation=[1, 1], padding=[0, 0], stride=[2, 1])
case("ResizeNearestNeighborV2", image, const([9, 4]), want=lambda v, s: F.interpolate(v, (9, 4)))
case("ResizeNearestNeighborV2", image, const([9, 4]), want=lambda v, s: F.interpolate(v, (9, 4), mode="nearest-exact"), half_pixel_centers=True)
for mode, how, like in (("nearest", {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}, {}),
                        ("linear", {}, {"align_corners": False}),
                        ("linear", {"coordinate_transformation_mode": "align_corners"}, {"align_corners": True}),
                        ("linear", {"antialias": True, "exclude_outside": 1}, {"align_corners": False, "antialias": True}),
                        ("cubic", {}, {"align_corners": False})):
    kind = {"linear": "bilinear", "cubic": "bicubic"}.get(mode, mode)
    case("Resize", image, None, None, const([2, 4, 9, 3]), mode=mode, **how,
         want=lambda v, a, b, s, kind=kind, like=like: F.interpolate(v, (9, 3), mode=kind, **like))
case("NonZero", positive, want=lambda v: v.nonzero())
case("NonZero", positive, want=lambda v: v.nonzero().T.contiguous(), transpose=True)
apart = torch.tensor([[[0., 0, 1, 1], [3, 3, 2, 2], [4, 4, 5, 5]]])
case("NonMaxSuppressionV6", apart, torch.tensor([[[0.2, 0.9, 0.5]]]), torch.tensor([5]), torch.tensor([0.5]), None,
     want=lambda b, s, m, i, t: torch.tensor([[0, 0, 1], [0, 0, 2], [0, 0, 0]]))
for reduction, like in (("max", "amax"), ("min", "amin"), ("mul", "prod")):
    case("ScatterElements", x, const([[-1, 0, 1, -3]]), y[:1], axis=0,
     want=lambda a, i, b: a.scatter(0, torch.tensor([[2, 0, 1, 0]]), b))
case("ScatterElements", x, torch.tensor([[0, 0, 2, 1], [0, 1, 1, 1]]), y[:2], reduction=reduction, axis=0,
         want=lambda v, at, u, like=like: v.scatter_reduce(0, at, u, like))
case("Resize", image, None, const([1.5, 2.0], torch.float32), None, mode="linear", axes=[2, 3],
     want=lambda v, a, s, b: F.interpolate(v, scale_factor=(1.5, 2.0), mode="bilinear", align_corners=False))
case("ResizeNearestNeighborV2Grad", r(2, 4, 9, 4), const([6, 5]), want=lambda g, s: gradient(lambda v: F.interpolate(v, (9, 4)), image, by=g))
for corners in (False, True):
    how = {"align_corners": corners, "half_pixel_centers": not corners}
    bilinear = lambda v, c=corners: F.interpolate(v, (9, 4), mode="bilinear", align_corners=c)  # noqa: E731
    case("ResizeBilinearV2", image, const([9, 4]), want=lambda v, s, f=bilinear: f(v), **how)
    case("ResizeBilinearV2Grad", r(2, 4, 9, 4), image, want=lambda g, v, f=bilinear: gradient(f, v, by=g), **how)
grid = r(2, 3, 4, 2, low=-1.0, high=1.0)
sampled = lambda v, g: F.grid_sample(v, g, align_corners=False)  # noqa: E731
case("GridSampler2D", image, grid, want=sampled)
case("GridSampler2DGrad", r(2, 4, 3, 4), image, grid, want=lambda g, v, at: gradient(sampled, v, at, by=g), tolerance=1e-3)
case("GridSampler3D", volume, r(1, 2, 3, 2, 3, low=-1.0, high=1.0), want=sampled)
case("AffineGrid", r(2, 2, 3), const([2, 4, 3, 5]), want=lambda t, s: F.affine_grid(t, (2, 4, 3, 5), align_corners=False))

# --- attention, linear algebra ---
heads = r(2, 2, 3, 4)
case("ScaledMaskedSoftmax", heads, heads[:, :1] > 1, want=lambda v, m: (0.5 * v).masked_fill(m, -10000).softmax(-1), scale=0.5)
case("ScaledMaskedSoftmaxGrad", heads * 0.3, (0.5 * heads).softmax(-1), torch.zeros(2, 1, 3, 4, dtype=torch.bool), scale=0.5,
     want=lambda g, o, m: gradient(lambda v: (0.5 * v).softmax(-1), heads, by=g))
case("ConfusionTransposeD", x, want=lambda v: v.reshape(2, 6).T, perm=[1, 0], shape=[2, 6], transpose_first=False)
case("ConfusionTranspose", x, const([2, 6]), want=lambda v, s: v.T.reshape(2, 6), perm=[1, 0], transpose_first=True)
turned = lambda v, c, s: v * c + torch.cat([-v[..., 2:], v[..., :2]], -1) * s  # noqa: E731
angles = r(1, 1, 3, 4), r(1, 1, 3, 4, low=-1.0)
case("RotaryMul", heads, *angles, want=turned)
case("RotaryPositionEmbedding", heads, *angles, None, want=lambda v, c, s, t: turned(v, c, s))
swap = torch.eye(4).roll(1, 0)
case("RotaryPositionEmbedding", heads, *angles, swap, want=lambda v, c, s, t: v * c + (v @ t) * s)
case("RotaryMulGrad", heads, *angles, heads * 0.3, want=lambda v, c, s, g: gradient(turned, v, c, s, by=g))
case("Pdist", x, want=F.pdist)
square = r(2, 3, 3) + 4 * torch.eye(3)
case("MatrixInverse", square, want=torch.inverse)
case("MatrixDeterminant", square, want=torch.det, tolerance=1e-3)
case("Cholesky", square @ square.mT, want=torch.linalg.cholesky)
for kind in ("Slogdet", "LogMatrixDeterminant"):
    case(kind, square, want=lambda v: list(torch.linalg.slogdet(v)))
points, others = r(3, 2), r(4, 2)
case("CdistGrad", *(t.contiguous() for t in torch.broadcast_tensors(r(3, 4, 1), points[:, None], others[None], torch.cdist(points, others)[..., None])),
     want=lambda g, a, b, d: gradient(lambda v: torch.cdist(v, others.double()), points, by=r(3, 4, 1)[..., 0]))

# --- optimizers: what is updated, in the order of the outputs ---
one = lambda v: torch.tensor([v])  # noqa: E731
case("Assign", x, y, want=lambda v, u: u)
case("AssignAdd", x, y, want=lambda v, u: v + u)
case("AssignSub", x, y, want=lambda v, u: v - u)
case("ApplyGradientDescent", x, one(0.1), y, want=lambda v, a, d: v - 0.1 * d)
descended = y * 0.9 - 0.1 * dy
for nesterov in (False, True):
    case("KerasMomentumStep", x, y, one(0.1), dy, one(0.9), use_nesterov=nesterov,
         want=lambda *a, n=nesterov: [x + (descended * 0.9 - 0.1 * dy if n else descended), descended])
    long = [r(3, 9000, low=-1) + k for k in range(3)]
    case("KerasMomentumStep", *long[:2], one(0.1), long[2], one(0.9), use_nesterov=nesterov,
         want=lambda v, m, a, g, b, n=nesterov: [v + ((m * 0.9 - 0.1 * g) * 0.9 - 0.1 * g if n else m * 0.9 - 0.1 * g), m * 0.9 - 0.1 * g])
    case("ApplyMomentum", *long[:2], one(0.1), long[2], one(0.9), use_nesterov=nesterov, outputs=2,
         want=lambda v, m, a, g, b, n=nesterov: [v - 0.1 * (g + 0.9 * (m * 0.9 + g) if n else m * 0.9 + g), m * 0.9 + g])
    case("ApplyKerasMomentum", *[t.half() for t in (x, y)], one(0.1).half(), dy.half(), one(0.9).half(), use_nesterov=nesterov, tolerance=1e-2, outputs=2,
         want=lambda *a, n=nesterov: [t.half() for t in (x + (descended * 0.9 - 0.1 * dy if n else descended), descended)])
moved = y * 0.9 + dy
case("ApplyMomentum", x, y, one(0.1), dy, one(0.9), want=lambda *a: [x - 0.1 * moved], outputs=1)
case("ApplyMomentumD", x, y, one(0.1), dy, one(0.9), use_nesterov=True, want=lambda *a: [x - 0.1 * (dy + 0.9 * moved), moved])
case("ApplyKerasMomentum", x, y, one(0.1), dy, one(0.9), want=lambda *a: [x + 0.9 * y - 0.1 * dy], outputs=1)
case("FusedMulApplyMomentum", x, y, one(0.1), dy, one(0.9), one(1.0), want=lambda *a: [x - 0.1 * moved, moved])
add_optimizer_cases(case, x, y, dy, positive)
mean_square = 0.9 * positive + 0.1 * dy ** 2
case("ApplyRMSProp", x, positive, y, one(0.1), one(0.9), one(0.5), one(1e-3), dy, outputs=1,
     want=lambda *a: [x - (0.5 * y + 0.1 * dy / (mean_square + 1e-3).sqrt())])
for kind, ref in {"AdamApplyOneWithDecay": False, "AdamApplyOneWithDecayAssign": True}.items():
    v2, m2 = 0.99 * positive + 0.01 * dy ** 2, 0.9 * y + 0.1 * dy
    case(kind, dy, positive, y, x, one(0.1), one(0.9), one(0.1), one(0.99), one(0.01), one(0.02), one(1e-3),
         want=lambda *a: [v2, m2, x - 0.1 * (m2 / (v2.sqrt() + 1e-3) + 0.02 * x)])
case("AdamApplyOne", dy, positive, y, x, one(0.1), one(0.9), one(0.1), one(0.99), one(0.01), one(1e-3),
     want=lambda *a: [v2, m2, x - 0.1 * m2 / (v2.sqrt() + 1e-3)])


add_cases(case, const)
add_training_cases(case, r, to_last)
add_pointwise_cases(case, const, r, to_last, to_filter)
add_adapter_cases(case, r)
add_language_cases(case, r)
add_inference_cases(case, r)
add_mindspore_cases(case, r)
add_suite_cases(case, r)
add_special_cases(case, r)
add_recurrent_cases(case, r)
add_layout_cases(case, r)
add_decomposition_cases(case, r)
add_part_cases(case, r)
add_tensorflow_cases(case, r)


@pytest.mark.parametrize("kind", sorted(CASES))
def test_results(kind):
    for inputs, attributes, want, how, tolerance in CASES[kind]:
        got = call(kind, *inputs, **how, **attributes)
        wanted = want(*(v.tensor if isinstance(v, const) else v for v in inputs))
        wanted = [wanted] if isinstance(wanted, torch.Tensor) else list(wanted)
        assert len(got) >= len(wanted)
        for i, (g, w) in enumerate(zip(got, wanted)):
            if w is None:
                continue
            if callable(w):  # a check, where several results are right
                w(g)
                continue
            assert list(g.shape) == list(w.shape), f"output {i} is {list(g.shape)}, want {list(w.shape)}"
            torch.testing.assert_close(g, w.to(g.dtype), rtol=tolerance, atol=tolerance, equal_nan=True,
                                       msg=lambda m: f"{kind} {attributes} output {i}: {m}")


def test_byte_masks_of_dropout():
    mask, = call("DropOutGenMaskV3", const([30, 40]), const([0.75], torch.float32), seed=5)
    assert mask.dtype == torch.uint8 and mask.numel() == 1280 and set(mask.tolist()) == {0, 1}
    assert 820 < mask[:1200].sum() < 980
    assert torch.equal(mask, call("DropOutGenMaskV3", const([30, 40]), const([0.75], torch.float32), seed=5)[0])


def test_truth_values_of_dropout():
    mask, = call("DropOutGenMaskV4", const([30, 40]), const([0.75], torch.float32), seed=5)
    assert mask.dtype == torch.bool and list(mask.shape) == [30, 40] and 820 < mask.sum() < 980
    assert torch.equal(mask, call("DropOutGenMaskV4", const([30, 40]), const([0.75], torch.float32), seed=5)[0])


def test_dropout_keeps_what_its_mask_says():
    ones = torch.ones(1000)
    mask, = call("DropOutGenMask", const([1000]), const([0.75], torch.float32), seed=5)
    kept, = call("DropOutDoMask", ones, mask, const([0.75], torch.float32))
    assert set(kept.tolist()) <= {0.0, kept.max().item()} and abs(kept.max().item() - 1 / 0.75) < 1e-5
    assert 650 < (kept > 0).sum() < 850
    again, = call("DropOutGenMask", const([1000]), const([0.75], torch.float32), seed=5)
    assert torch.equal(mask, again)
    fresh = [call("DropOutGenMask", const([1000]), const([0.75], torch.float32))[0] for _ in range(2)]
    assert not torch.equal(*fresh)


def test_sizes_that_values_decide_are_written_back():
    """What the V2 functions of aclop do: torch_npu reads the descriptions and makes its tensors shorter."""
    import torch_npu
    boxes = torch.tensor([[0., 0, 4, 2, 30], [0.1, 0, 2, 4, 120], [9, 9, 2, 2, 45]])
    for scores, want in (([0.9, 0.8, 0.95], [2, 0]), ([0.5, 0.8, 0.05], [1])):
        kept, count = torch_npu.npu_nms_rotated(boxes.npu(), torch.tensor(scores).npu(), 0.5, 0.1)
        assert kept.tolist() == want and count.tolist() == [len(want)]


def test_refusals_name_the_attribute():
    with pytest.raises(RuntimeError, match="data_format"):
        call("Conv2D", image, kernel, None, None, strides=[1, 1, 1, 1], pads=[0, 0, 0, 0], data_format="NC1HWC0")
    with pytest.raises(RuntimeError, match="no operator|not implemented"):
        from graph import acl, check, library
        check(library().aclopCompileAndExecute(b"NoSuchOperator", 0, None, None, 0, None, None, None, 0, 0, None, None))


# Run by several ranks (tests/unit/graph/collective_nodes_test.cpp, tests/graph/test_collectives.py), by torch.compile
# (tests/graph/torchair_programs.py, attention grouped_products and training_of_attention), in offline models (tests/graph/test_aipp.py), and by
# data sets of MindSpore (tests/mindspore/test_graph_engine.py), and by torch.unique (tests/ops/test_index.py).
ELSEWHERE = {"Assert", "AddRmsNormDynamicQuant", "AllGatherMatmul", "AllGatherMatmulV2", "AlltoAllMatmul", "AlltoAllvGroupedMatMul", "GroupedMatMulAlltoAllv", "MatmulAlltoAll", "MatmulAllReduce", "MatmulReduceScatter", "MatmulReduceScatterV2", "HcomAllGatherV", "HcomReduceScatterV",
             "AttentionUpdate", "AttentionWorkerCombine", "Cmo", "FfnWorkerBatching", "GroupedMatmulFinalizeRouting", "GroupedMatmulSwigluQuantV2", "MlaProlog", "MlaPrologV2", "MlaPrologV3", "Aipp", "DynamicQuantV2", "ForeachACos", "ForeachASin", "ForeachATan", "GetNext", "GroupQuant", "GroupedMatmul", "HcomAllGather", "HcomAllReduce", "HcomAllToAll", "HcomAllToAllV", "HcomBroadcast", "HcomReceive", "HcomReduce", "HcomReduceScatter",
             "HcomSend", "InitData", "MoeFinalizeRoutingV2", "DistributeBarrier", "MoeDistributeCombine", "MoeDistributeCombineAddRmsNorm",
             "MoeDistributeCombineV2", "MoeDistributeDispatch", "MoeDistributeDispatchV2",
             "MoeGatingTopK", "MoeInitRoutingV3", "MoeReRouting", "NpuFusionAttentionGradV3", "NpuFusionAttentionV3", "OutfeedEnqueueOpV2", "QuantUpdateScatter", "Unique", "UniqueWithCountsExt2"}


def test_every_row_is_run_or_listed():
    unrun = set(UNRUN.read_text().split()) if UNRUN.exists() else set()
    rows_ = set(operators())
    assert not set(CASES) - rows_, f"no such rows: {set(CASES) - rows_}"
    # the draws are of test_graph_random.py
    here = {"CustCauchy", "CustDropout2D", "CustDropout3D", "CustGamma", "CustMultinomial", "CustPoisson", "CustRandomCategorical", "CustRandomChoiceWithMask",
            "CustLogNormalReverse", "CustRandomPoisson", "CustRandomShuffle", "CustRandperm", "CustStandardLaplace", "CustLogUniformCandidateSampler",
            "TruncatedNormal", "UniformCandidateSampler", "LogUniformCandidateSampler", "FractionalAvgPool", "FractionalMaxPool", "DropOutGenMask", "DropOutDoMask", "DropOutGenMaskV3", "DropOutGenMaskV4"}
    missing = rows_ - set(CASES) - unrun - here - ELSEWHERE
    assert not missing, f"add a case, or a line to {UNRUN.name}: {sorted(missing)}"
    assert not unrun & (set(CASES) | here), f"these run: take them from {UNRUN.name}: {sorted(unrun & set(CASES))}"
    assert not unrun - rows_, f"no such rows: {sorted(unrun - rows_)}"


def test_assertions():
    data = torch.tensor([[-1.0, 0.5], [2.0, 3.0]]), torch.tensor([7, 8], dtype=torch.int32)
    for holds in (torch.tensor(True), torch.tensor([True, True]), torch.empty(0, dtype=torch.bool)):
        assert call("Assert", holds, *data) == []
    with pytest.raises(RuntimeError, match=r"(?s)the condition is false.*input data: \[-1 0\.5 2\].*input data: \[7 8\]"):
        call("Assert", torch.tensor([True, False]), *data)
