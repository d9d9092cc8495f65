"""What operators compute, in PyTorch's words on the CPU: functions of the parameters that are read, in their order. They give
what is written, in order; None for what is not compared. aclnnInplaceX and, element by element, aclnnForeachX follow aclnnX."""
import torch
from torch.nn import functional as F

from fused_references import FUSED
from routing_references import ROUTING

REFERENCES = {}


def reference(names, function):
    for name in names.split():
        assert name not in REFERENCES, name
        REFERENCES[name] = function


def of_first(function):
    return lambda x, *others: function(x)


def dims(d):
    return tuple(d) if d else None


for names, function in {
        "Abs": torch.abs, "Acos": torch.acos, "Acosh": torch.acosh, "AngleV2": torch.angle, "Asin": torch.asin,
        "Asinh": torch.asinh, "Atan": torch.atan, "Atanh": torch.atanh, "BitwiseNot": torch.bitwise_not, "Ceil": torch.ceil,
        "Cos": torch.cos, "Cosh": torch.cosh, "Erf": torch.erf, "Erfc": torch.erfc, "Erfinv": torch.erfinv, "Exp": torch.exp,
        "Exp2": torch.exp2, "Expm1": torch.expm1, "Floor": torch.floor, "Frac": torch.frac, "IsFinite": torch.isfinite,
        "IsNegInf": torch.isneginf, "IsPosInf": torch.isposinf, "Log": torch.log, "Log10": torch.log10, "Log1p": torch.log1p,
        "Log2": torch.log2, "LogicalNot": torch.logical_not, "Neg": torch.neg, "Reciprocal": torch.reciprocal,
        "Round": torch.round, "Rsqrt": torch.rsqrt, "Sign": torch.sign, "Signbit": torch.signbit, "Sin": torch.sin,
        "Sinc": torch.sinc, "Sinh": torch.sinh, "Sqrt": torch.sqrt, "Tan": torch.tan, "Tanh": torch.tanh, "Trunc": torch.trunc,
        "Relu": torch.relu, "Sigmoid": torch.sigmoid, "Silu": F.silu, "Gelu": F.gelu, "Mish": F.mish,
        "FastGelu": lambda x: x * torch.sigmoid(1.702 * x), "Hardswish": F.hardswish, "Hardsigmoid": F.hardsigmoid,
        "LogSigmoid": F.logsigmoid, "Copy": torch.clone}.items():
    reference(names, of_first(function))

for names, function in {
        "Add AddV3 AddList AddListV2": lambda x, y, alpha: x + alpha * y, "Adds": lambda x, y, alpha: x + alpha * y,
        "Sub SubList SubListV2 Subs": lambda x, y, alpha: x - alpha * y, "Rsub Rsubs": lambda x, y, alpha: y - alpha * x,
        "Mul Muls MulList MulScalar MulScalarV2 MulScalarList": lambda x, y: x * y,
        "Div Divs DivList DivScalar DivScalarV2 DivScalarList": lambda x, y: x / y,
        "AddScalar AddScalarV2 AddScalarList": lambda x, y: x + y, "SubScalar SubScalarV2 SubScalarList": lambda x, y: x - y,
        "Maximum MaximumList": torch.maximum, "Minimum MinimumList": torch.minimum,
        "MaximumScalar MaximumScalarV2 MaximumScalarList": lambda x, s: x.clamp(min=s),
        "MinimumScalar MinimumScalarV2 MinimumScalarList": lambda x, s: x.clamp(max=s),
        "PowTensorTensor PowTensorScalar PowScalarTensor PowList PowScalar PowScalarV2 PowScalarList PowScalarAndTensor": torch.pow,
        "FloorDivide FloorDivides": lambda x, y: torch.floor_divide(x, y), "FmodTensor FmodScalar": torch.fmod,
        "RemainderTensorTensor RemainderTensorScalar RemainderScalarTensor": torch.remainder,
        "DivMod DivMods": lambda x, y, mode: torch.div(x, y, rounding_mode=[None, "trunc", "floor"][mode]),
        "Atan2": torch.atan2, "Complex": torch.complex, "Polar": torch.polar, "Gcd": torch.gcd,
        "LogAddExp": torch.logaddexp, "LogAddExp2": torch.logaddexp2, "LogicalAnd": torch.logical_and,
        "LogicalOr": torch.logical_or, "LogicalXor": torch.logical_xor, "EqTensor EqScalar": torch.eq, "NeTensor NeScalar": torch.ne,
        "GeTensor GeScalar": torch.ge, "GtTensor GtScalar": torch.gt, "LeTensor LeScalar": torch.le,
        "LtTensor LtScalar LessScalar": torch.lt, "BitwiseAndTensor BitwiseAndScalar": torch.bitwise_and,
        "BitwiseOrTensor BitwiseOrScalar": torch.bitwise_or, "BitwiseXorTensor BitwiseXorScalar": torch.bitwise_xor,
        "LeftShift LeftShifts": torch.bitwise_left_shift, "RightShift": torch.bitwise_right_shift,
        "Equal": lambda x, y: torch.tensor([torch.equal(x, y)]), "XLogYTensor XLogYScalarOther XLogYScalarSelf": torch.xlogy,
        "IsClose": lambda x, y, rtol, atol, nan: torch.isclose(x, y, rtol, atol, nan),
        "IsInTensorScalar": lambda x, y, unique, invert: torch.isin(x, y, invert=invert),
        "IsInScalarTensor": lambda x, y, unique, invert: torch.isin(x, y, invert=invert),
        "SWhere": torch.where, "Lerp Lerps LerpList LerpScalar": torch.lerp,
        "Addcmul AddcmulScalar AddcmulScalarV2 AddcmulScalarList": lambda x, y, z, s: x + s * y * z,
        "Addcdiv AddcdivScalar AddcdivScalarV2 AddcdivScalarList": lambda x, y, z, s: x + s * y / z,
        "Clamp ClampTensor Hardtanh": torch.clamp, "ClampMax ClampMaxTensor": lambda x, m: x.clamp(max=m),
        "ClampMin ClampMinTensor": lambda x, m: x.clamp(min=m),
        "HardtanhBackward": lambda g, x, low, high: torch.where((x <= low) | (x >= high), 0.0, g),
        "RoundDecimals": lambda x, n: torch.round(x, decimals=n), "Logit": lambda x, eps: torch.logit(x, eps),
        "LogitGrad": lambda x, g, eps: torch.ops.aten.logit_backward(g, x, eps if eps >= 0 else None), "NanToNum": torch.nan_to_num,
        "RoundOffNumber RoundOffNumberV2": lambda x, mode: {1: torch.round, 2: torch.floor, 3: torch.ceil, 5: torch.trunc,
                                                            7: torch.frac}[int(mode)](x),
        "ZeroInplace": torch.zeros_like, "Norm.foreach": lambda x, p: torch.linalg.vector_norm(x, p)}.items():
    reference(names, function)


def gradient(function):
    """The gradient for x, of a function of x and what follows it."""
    def backward(g, x, *others):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(function(x, *others), x, g)[0]

    return backward


for names, function in {
        "AddRelu": lambda x, y, alpha: torch.relu(x + alpha * y), "Celu": F.celu, "Hardshrink": F.hardshrink,
        "Elu": lambda x, alpha, scale, inner: torch.where(x > 0, scale * x, scale * alpha * torch.expm1(inner * x)),
        "GeluV2": lambda x, tanh: F.gelu(x, approximate="tanh" if tanh else "none"), "LeakyRelu": F.leaky_relu,
        "Softplus": F.softplus, "Softshrink": F.softshrink, "Threshold": F.threshold, "Prelu": F.prelu,
        "LogSigmoidForward": lambda x: (F.logsigmoid(x), None), "SigmoidBackward": lambda g, y: g * y * (1 - y),
        "TanhBackward": lambda g, y: g * (1 - y * y), "SiluBackward": gradient(F.silu), "GeluBackward": gradient(F.gelu),
        "GeluBackwardV2": lambda g, x, how: gradient(lambda v: F.gelu(v, approximate=how))(g, x),
        "FastGeluBackward": gradient(lambda x: x * torch.sigmoid(1.702 * x)), "MishBackward": gradient(F.mish),
        "HardswishBackward HardswishBackwardV2": gradient(F.hardswish), "HardsigmoidBackward": gradient(F.hardsigmoid),
        "HardshrinkBackward": gradient(F.hardshrink), "SoftshrinkBackward": gradient(F.softshrink),
        "SoftplusBackward": gradient(F.softplus), "LeakyReluBackward": lambda g, x, s, of_result: gradient(F.leaky_relu)(g, x, s),
        "LogSigmoidBackward": lambda g, x, buffer: gradient(F.logsigmoid)(g, x), "ThresholdBackward": lambda g, x, t: torch.where(x <= t, 0.0, g),
        "Selu": F.selu, "SeluBackward": lambda g, y: g * torch.where(y <= 0, y + 1.0507009873554805 * 1.6732632423543772, torch.full_like(y, 1.0507009873554805)),
        "EluBackward": lambda g, alpha, scale, inner, of_result, x: gradient(REFERENCES["Elu"])(g, x, alpha, scale, inner),
        "PreluBackward": lambda g, x, w: torch.autograd.grad(
            F.prelu(a := x.requires_grad_(), b := w.requires_grad_()), (a, b), g)}.items():
    reference(names, function)

REDUCTION = ["none", "mean", "sum"]


def loss(function):
    return lambda x, t, r, *others: function(x, t, REDUCTION[r], *others)


def loss_gradient(function):
    return lambda g, x, t, r, *others: gradient(lambda v: function(v, t, REDUCTION[r], *others))(g, x)


def kl(x, t, r, log_target):
    return F.kl_div(x, t, reduction=r, log_target=log_target)


for name, function in {
        "MseLoss": lambda x, t, r: F.mse_loss(x, t, reduction=r), "L1Loss": lambda x, t, r: F.l1_loss(x, t, reduction=r),
        "SmoothL1Loss": lambda x, t, r, beta: F.smooth_l1_loss(x, t, reduction=r, beta=beta),
        "SoftMarginLoss": lambda x, t, r: F.soft_margin_loss(x, t, reduction=r), "KlDiv": kl}.items():
    reference(name, loss(function))
    reference(name + "Backward", loss_gradient(function))
reference("KlDivTargetBackward", lambda g, x, t, r, log: gradient(lambda v: kl(x, v, REDUCTION[r], log))(g, t))
reference("BinaryCrossEntropy", lambda x, t, w, r: F.binary_cross_entropy(x, t, w, reduction=REDUCTION[r]))
reference("BinaryCrossEntropyBackward", lambda g, x, t, w, r: gradient(
    lambda v: F.binary_cross_entropy(v, t, w, reduction=REDUCTION[r]))(g, x))
reference("BinaryCrossEntropyWithLogits", lambda x, t, w, p, r: F.binary_cross_entropy_with_logits(
    x, t, w, None, None, REDUCTION[r], p))
reference("BinaryCrossEntropyWithLogitsBackward", lambda g, x, t, w, p, r: gradient(
    lambda v: F.binary_cross_entropy_with_logits(v, t, w, None, None, REDUCTION[r], p))(g, x))

for names, function in {
        "Softmax": lambda x, d: torch.softmax(x, d), "LogSoftmax": lambda x, d: torch.log_softmax(x, d),
        "SoftmaxBackward": lambda g, y, d: y * (g - (g * y).sum(d, keepdim=True)),
        "LogSoftmaxBackward": lambda g, y, d: g - y.exp() * g.sum(d, keepdim=True),
        "All": lambda x, d, keep: torch.all(x, dims(d), keep), "Any": lambda x, d, keep: torch.any(x, dims(d), keep),
        "Amax": lambda x, d, keep: torch.amax(x, dims(d), keep), "Amin": lambda x, d, keep: torch.amin(x, dims(d), keep),
        "Aminmax": lambda x, d, keep: (torch.amin(x, dims(d), keep), torch.amax(x, dims(d), keep)),
        "AminmaxDim": lambda x, d, keep: (torch.amin(x, d, keep), torch.amax(x, d, keep)), "AminmaxAll": lambda x: (x.min(), x.max()),
        "ArgMax": torch.argmax, "ArgMin": torch.argmin, "Max": torch.max, "Min": torch.min,
        "MaxDim": lambda x, d, keep: tuple(torch.max(x, d, keep)), "MinDim": lambda x, d, keep: tuple(torch.min(x, d, keep)),
        "Cummax": lambda x, d: tuple(torch.cummax(x, d)), "Cummin": lambda x, d: tuple(torch.cummin(x, d)),
        "Cumprod": lambda x, d, dtype: torch.cumprod(x, int(d)), "Cumsum": lambda x, d, dtype: torch.cumsum(x, d),
        "Kthvalue": lambda x, k, d, keep: tuple(torch.kthvalue(x, k, d, keep)),
        "LinalgVectorNorm": lambda x, p, d, keep, dtype: torch.linalg.vector_norm(x, p, dims(d), keep),
        "Norm": lambda x, p, d, keep: torch.linalg.vector_norm(x, p or 2, dims(d), keep),
        "LogSumExp": lambda x, d, keep: torch.logsumexp(x, dims(d), keep), "Mean": lambda x, d, keep, dtype: torch.mean(x, dims(d), keep),
        "Median": torch.median, "NanMedian": torch.nanmedian, "MedianDim": lambda x, d, keep: tuple(torch.median(x, d, keep)),
        "NanMedianDim": lambda x, d, keep: tuple(torch.nanmedian(x, d, keep)), "Prod": lambda x, dtype: torch.prod(x),
        "ProdDim": lambda x, d, keep, dtype: torch.prod(x, d, keep), "ReduceSum": lambda x, d, keep, dtype: torch.sum(x, dims(d), keep),
        "ReduceNansum": lambda x, d, keep, dtype: torch.nansum(x, dims(d), keep),
        "Std": lambda x, d, c, keep: torch.std(x, dims(d), correction=c, keepdim=keep),
        "VarCorrection": lambda x, d, c, keep: torch.var(x, dims(d), correction=c, keepdim=keep),
        "StdMeanCorrection": lambda x, d, c, keep: torch.std_mean(x, dims(d), correction=c, keepdim=keep),
        "VarMean": lambda x, d, c, keep: torch.var_mean(x, dims(d), correction=c, keepdim=keep),
        "Bincount": lambda x, w, least: torch.bincount(x, w, least), "Histc": torch.histc}.items():
    reference(names, function)



def rows(x, gamma, beta, eps):
    """Normalised rows and what they were normalised by."""
    mean, var = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    rstd = (var + eps).rsqrt()
    return (x - mean) * rstd * gamma + beta, mean, rstd


def rms(x, gamma, eps):
    rstd = (x * x).mean(-1, keepdim=True).add(eps).rsqrt()
    return x * rstd * gamma, rstd


def layer_norm(x, shape, weight, bias, eps):
    return rows(x, weight, bias, eps)


def normalised_gradient(centred):
    """Gradients for x and gamma of (x - mean) * rstd * gamma (centred) or x * rstd * gamma, from the kept mean and rstd."""
    def backward(dy, x, mean, rstd, gamma):
        hat = (x - mean) * rstd
        g = dy * gamma
        dx = g - hat * (g * hat).mean(-1, keepdim=True)
        if centred:
            dx = dx - g.mean(-1, keepdim=True)
        return dx * rstd, (dy * hat).reshape(-1, x.shape[-1]).sum(0)

    return backward


def layer_norm_backward(dy, x, shape, mean, rstd, gamma, beta, mask):
    return *normalised_gradient(True)(dy, x, mean, rstd, gamma), dy.sum(0)


def batch_norm(x, w, b, mean, var, training, momentum, eps):
    """running mean, running variance, y, saved mean, saved 1 / standard deviation."""
    m, v = x.mean((0, 2, 3)), x.var((0, 2, 3), correction=0)
    y = F.batch_norm(x, mean, var, w, b, training, momentum, eps)  # updates mean and var
    return mean, var, y, m if training else None, (v + eps).rsqrt() if training else None


def channels(v):
    return v[None, :, None, None]


def group_norm(x, gamma, beta, groups, eps):
    n, parts = x.shape[0], x.reshape(x.shape[0], groups, -1)
    return (F.group_norm(x, groups, gamma, beta, eps), parts.mean(-1),
            (parts.var(-1, correction=0) + eps).rsqrt().reshape(n, groups))


def attention(q, k, v, *others):
    scale = others[others.index(65536) - 2]
    return None, None, torch.softmax(q @ k.transpose(-1, -2) * scale, -1) @ v


def glu_backward(function):
    def backward(g, x, *others):
        x = x.clone().requires_grad_()
        return torch.autograd.grad(function(x, *others), x, g)[0]

    return backward


def swiglu(x, d):
    a, b = x.chunk(2, d)
    return F.silu(a) * b


def scattered(x, d, index, source, how):
    return x.scatter(d, index, source) if how == 0 else x.scatter(d, index, source, reduce=["", "add", "multiply"][how])


def filled(x, d, index, value):
    return x.index_fill(d, index if isinstance(index, torch.Tensor) else torch.tensor(index), value)


def resized(mode, align=False):
    """Forward functions of (x, size, …)."""
    return lambda x, size, *others: F.interpolate(x, tuple(size), mode=mode, align_corners=False if align else None)


def resized_gradient(mode, align=False):
    def backward(g, size, shape, *others):
        x = torch.zeros(tuple(shape), dtype=g.dtype, requires_grad=True)
        return torch.autograd.grad(resized(mode, align)(x, size), x, g)[0]

    return backward


def antialiased(mode):
    return lambda x, size, *others: F.interpolate(x, tuple(size), mode=mode, align_corners=False, antialias=True)


def antialiased_gradient(mode):
    def backward(g, size, shape, *others):
        x = torch.zeros(tuple(shape), dtype=g.dtype, requires_grad=True)
        return torch.autograd.grad(antialiased(mode)(x, size), x, g)[0]

    return backward


for size in "1d 2d 3d".split():
    for name, mode in (("ReflectionPad", "reflect"), ("ReplicationPad", "replicate")):
        reference(name + size, lambda x, pad, mode=mode: F.pad(x, tuple(pad), mode))
        reference(name + size + "Backward", lambda g, x, pad, mode=mode: gradient(lambda v: F.pad(v, tuple(pad), mode))(g, x))
    reference(f"UpsampleNearest{size}", resized("nearest"))
    reference(f"UpsampleNearestExact{size}", resized("nearest-exact"))
    reference(f"UpsampleNearest{size}Backward", resized_gradient("nearest"))
    reference(f"UpsampleNearestExact{size}Backward", resized_gradient("nearest-exact"))
reference("UpsampleNearest1dV2 UpsampleNearest2dV2", resized("nearest"))
for name, mode in (("Linear1d", "linear"), ("Bilinear2d", "bilinear"), ("Bicubic2d", "bicubic"), ("Trilinear3d", "trilinear")):
    reference("Upsample" + name, resized(mode, True))
    reference(f"Upsample{name}Backward", resized_gradient(mode, True))
reference("UpsampleBilinear2dBackwardV2", resized_gradient("bilinear", True))
reference("UpsampleBilinear2dAA", antialiased("bilinear"))
reference("UpsampleBicubic2dAA", antialiased("bicubic"))
reference("UpsampleBilinear2dAABackward", antialiased_gradient("bilinear"))
reference("UpsampleBicubic2dAAGrad", antialiased_gradient("bicubic"))

for names, function in {
        "LayerNorm FastLayerNorm": layer_norm, "LayerNormBackward": layer_norm_backward, "RmsNorm": rms,
        "GemmaRmsNorm": lambda x, g, eps: rms(x, 1 + g, eps), "AddLayerNorm": lambda a, b, g, beta, bias, eps, more: (
            *rows(x := a + b + bias, g, beta, eps), x),
        "AddRmsNorm": lambda a, b, g, eps: (*rms(x := a + b, g, eps), x),
        "AddRmsNormCast": lambda a, b, g, eps: ((r := rms(x := a + b, g, eps))[0], r[0], r[1], x),
        "InplaceAddRmsNorm": lambda a, b, g, eps: ((r := rms(a + b, g, eps))[0], a + b, r[1]),
        "RmsNormGrad": lambda dy, x, rstd, g: normalised_gradient(False)(dy, x, 0, rstd, g),
        "DeepNorm": lambda x, gx, beta, g, alpha, eps: (*(r := rows(x * alpha + gx, g, beta, eps))[1:], r[0]),
        "BatchNorm": batch_norm, "BatchNormElemt": lambda x, w, b, m, s, eps: (
            x - channels(m)) * channels(s) * channels(w) + channels(b),
        "BatchNormReduce": lambda x: (x.sum((0, 2, 3)), (x * x).sum((0, 2, 3))),
        "BatchNormStats": lambda x, eps: (x.mean((0, 2, 3)), (x.var((0, 2, 3), correction=0) + eps).rsqrt()),
        "GroupNorm": lambda x, g, b, n, c, s, groups, eps: group_norm(x, g, b, groups, eps),
        "GroupNormSilu": lambda x, g, b, groups, eps: (F.silu((r := group_norm(x, g, b, groups, eps))[0]), *r[1:]),
        "GroupNormSwish": lambda x, g, b, groups, how, eps, activate, scale: (
            (r := group_norm(x, g, b, groups, eps))[0] * torch.sigmoid(scale * r[0]), *r[1:]),
        "Mm MatMul Matmul MatmulWeightNz BatchMatMul BatchMatMulWeightNz": lambda a, b, how: a @ b,
        "Mv": lambda a, b, how: a @ b, "Dot": torch.dot, "Addmm AddmmWeightNz": lambda x, a, b, beta, alpha, how: beta * x + alpha * (a @ b),
        "Addbmm": lambda x, a, b, beta, alpha, how: beta * x + alpha * (a @ b).sum(0),
        "Baddbmm": lambda x, a, b, beta, alpha, how: beta * x + alpha * (a @ b),
        "Addmv": lambda x, a, b, alpha, beta, how: beta * x + alpha * (a @ b),
        "Addr": lambda x, a, b, beta, alpha: beta * x + alpha * torch.outer(a, b),
        "ConfusionTranspose": lambda x, perm, shape, first: x.reshape(shape).permute(perm).contiguous(),
        "Convolution": lambda x, w, b, s, p, d, t, o, g, how: F.conv2d(x, w, b, s, p, d, g),
        "ConvDepthwise2d": lambda x, w, k, b, s, p, d, how: F.conv2d(x, w, b, s, p, d, x.shape[1]),
        "ConvTbc": lambda x, w, b, pad, how: torch.conv_tbc(x, w, b, pad),
        "ConvolutionBackward": lambda g, x, w, bias, s, p, d, t, o, groups, mask, how: torch.ops.aten.convolution_backward(
            g, x, w, bias, s, p, d, t, o, groups, mask),
        "FlashAttentionScore": attention,
        "ScaledMaskedSoftmax": lambda x, m, scale, triangle: torch.softmax((x * scale).masked_fill(m, -10000.0), -1),
        "Glu": lambda x, d: F.glu(x, d), "GluBackward": glu_backward(F.glu), "SwiGlu": swiglu, "SwiGluGrad": glu_backward(swiglu),
        "GeluMul": lambda x, how: F.gelu((c := x.chunk(2, -1))[0], approximate=how) * c[1],
        "NLLLoss NLLLoss2d": lambda x, t, w, r, ignore: (F.nll_loss(x, t, w, ignore_index=ignore, reduction=REDUCTION[r]), None),
        "NLLLossBackward NLLLoss2dBackward": lambda g, x, t, w, r, ignore, total: gradient(
            lambda v: F.nll_loss(v, t, w, ignore_index=ignore, reduction=REDUCTION[r]))(g, x),
        "CrossEntropyLoss": lambda x, t, w, r, *others: (F.cross_entropy(x, t, w, reduction=r), torch.log_softmax(x, -1)),
        "CtcLoss": lambda x, t, a, b, blank, zero: (F.ctc_loss(x, t, a, b, blank, "none", zero), None),
        "Embedding": lambda w, i: F.embedding(i, w), "Gather": lambda x, d, i: torch.gather(x, d, i),
        "GatherV3": lambda x, d, i, batch, mode: x.index_select(d, i), "Index": lambda x, i: x[tuple(i)],
        "CoalesceSparse": lambda n, i, at, v: (None, torch.zeros(len(n), *v.shape[1:], dtype=v.dtype).index_add(0, i.long(), v)),
        "IndexAdd": lambda x, d, i, s, alpha: x.index_add(d, i, s, alpha=alpha),
        "IndexAddV2": lambda x, d, i, s, alpha, mode: x.index_add(d, i, s, alpha=alpha),
        "IndexCopy": lambda x, d, i, s: x.index_copy(d, i, s), "IndexFill IndexFillTensor": filled,
        "IndexSelect": lambda x, d, i: x.index_select(d, i), "IndexPutImpl": lambda x, i, v, add, unsafe: x.index_put(tuple(i), v, add),
        "InplaceMaskedFillScalar": lambda x, m, v: x.masked_fill(m, v), "InplaceMaskedFillTensor": lambda x, m, v: x.masked_fill(m, v),
        "InplaceMaskedScatter": lambda x, m, s: x.masked_scatter(m, s), "InplacePut": lambda x, i, s, add: x.put(i, s, add),
        "Scatter ScatterValue": scattered, "ScatterAdd": lambda x, d, i, s: x.scatter_add(d, i, s),
        "ScatterNdUpdate": lambda x, i, u: x.index_copy(0, i[:, 0], u), "TfScatterAdd": lambda x, i, u: x.index_add(0, i[:, 0], u), "MaskedScale": lambda x, m, s: x * m * s,
        "Cat": lambda t, d: torch.cat(t, d), "Stack": lambda t, d: torch.stack(t, d),
        "SplitWithSize": lambda x, s, d: (list(x.split(s, d)),), "ConstantPadNd": lambda x, p, v: F.pad(x, tuple(p), value=v),
        "Permute": lambda x, d: x.permute(d), "Expand": lambda x, s: x.expand(s), "Diag": torch.diag,
        "Slice": lambda x, d, start, end, step: x.movedim(d, 0)[start:end:step].movedim(0, d),
        "SplitTensor": lambda x, s, d: (list(x.split(s, d)),), "Dropout": lambda x, p, train, seed, offset: (x, None),
        "AllFinite": lambda g, found: found | (not bool(g.isfinite().all())), "IsInf": torch.isinf,
        "Flip": lambda x, d: x.flip(d), "Roll": lambda x, s, d: x.roll(s, d), "Repeat": lambda x, r: x.repeat(r),
        "OneHot": lambda x, n, on, off, axis: torch.where(F.one_hot(x, n).bool(), on, off),
        "RepeatInterleave": lambda x, r, n: x.repeat_interleave(r), "RepeatInterleaveInt": lambda x, r, n: x.repeat_interleave(r),
        "RepeatInterleaveWithDim RepeatInterleaveIntWithDim": lambda x, r, d, n: x.repeat_interleave(r, d),
        "RepeatInterleaveTensor": lambda r, n: torch.repeat_interleave(r),
        "RepeatInterleaveGrad": lambda g, r, d: torch.stack([p.sum(d) for p in g.split(r.tolist(), d)], d),
        "StridedSlice": lambda x, begin, end, step, *masks: x[tuple(slice(*s) for s in zip(begin, end, step))],
        "Take": torch.take, "Topk": lambda x, k, d, largest, order: tuple(torch.topk(x, k, d, largest, order)),
        "Sort": lambda x, stable, d, down: tuple(torch.sort(x, stable=True, dim=d, descending=down)),
        "Bucketize": lambda x, b, short, right: torch.bucketize(x, b, right=right),
        "SearchSorted": lambda s, x, short, right, sorter: torch.searchsorted(s, x, right=right),
        "SearchSorteds": lambda s, x, short, right, sorter: torch.searchsorted(s, x, right=right), "Tril": torch.tril, "Triu": torch.triu,
        "Cdist": lambda a, b, p, how: torch.cdist(a, b, p), "Pdist": F.pdist,
        "ChannelShuffle": F.channel_shuffle, "LinalgCross": lambda a, b, d: torch.linalg.cross(a, b, dim=d), "Inverse": torch.linalg.inv,
        "Slogdet": lambda x: tuple(torch.linalg.slogdet(x)), "LinalgCholesky": lambda x, upper: torch.linalg.cholesky(x, upper=upper),
        "Trace": torch.trace, "Renorm": torch.renorm, "Arange": lambda a, b, s: torch.arange(a, b, s, dtype=torch.float64),
        "Range": lambda a, b, s: torch.arange(a, b + s, s, dtype=torch.float64), "Eye": lambda n, m: torch.eye(n, m, dtype=torch.float64),
        "Linspace": lambda a, b, n: torch.linspace(a, b, n, dtype=torch.float64),
        "LogSpace": lambda a, b, n, base: torch.logspace(a, b, n, base, dtype=torch.float64), "Cast": lambda x, dtype: x,
        "InplaceCopy": lambda x, source: source, "InplaceOne": torch.ones_like, "InplaceZero": torch.zeros_like,
        "InplaceFillScalar InplaceFillTensor": lambda x, v: torch.full_like(x, float(v)),
        "InplaceFillDiagonal": lambda x, v, wrap: x.fill_diagonal_(v, wrap),
        "AvgPool2d": lambda x, k, s, p, ceil, count, by, how: F.avg_pool2d(x, k, s, p, ceil, count, by or None),
        "AvgPool3d": lambda x, k, s, p, ceil, count, by: F.avg_pool3d(x, k, s, p, ceil, count, by or None),
        "AvgPool2dBackward": lambda g, x, k, s, p, ceil, count, by, how: gradient(lambda v: F.avg_pool2d(v, k, s, p, ceil, count))(g, x),
        "AvgPool3dBackward": lambda g, x, k, s, p, ceil, count, by: gradient(lambda v: F.avg_pool3d(v, k, s, p, ceil, count))(g, x),
        "AdaptiveAvgPool2d": F.adaptive_avg_pool2d, "AdaptiveAvgPool3d": F.adaptive_avg_pool3d,
        "AdaptiveAvgPool2dBackward": lambda g, x: gradient(lambda v: F.adaptive_avg_pool2d(v, g.shape[-2:]))(g, x),
        "AdaptiveAvgPool3dBackward": lambda g, x: gradient(lambda v: F.adaptive_avg_pool3d(v, g.shape[-3:]))(g, x),
        "AdaptiveMaxPool2d": lambda x, s: F.adaptive_max_pool2d(x, s, True), "AdaptiveMaxPool3d": lambda x, s: F.adaptive_max_pool3d(x, s, True),
        "MaxPool2dWithIndices": lambda x, k, s, p, d, ceil: F.max_pool2d(x, k, s, p, d, ceil, True),
        "MaxPool3dWithArgmax": lambda x, k, s, p, d, ceil: F.max_pool3d(x, k, s, p, d, ceil, True),
        "Im2col": lambda x, k, d, p, s: F.unfold(x, k, d, p, s),
        "Im2colBackward": lambda x, size, k, d, p, s: F.fold(x, size, k, d, p, s),
        "GridSampler2D GridSampler3D": lambda x, g, how, pad, align: F.grid_sample(x, g, ["bilinear", "nearest", "bicubic"][how], [
            "zeros", "border", "reflection"][pad], align), "AffineGrid": F.affine_grid}.items():
    reference(names, function)


def placed(values, indices, like, space):
    """values at the places that indices give in the last `space` dimensions; places that occur twice hold the sum."""
    flat = torch.zeros(*like[:-space], torch.Size(like[-space:]).numel(), dtype=values.dtype)
    return flat.scatter_add(-1, indices.long().flatten(-space), values.flatten(-space)).reshape(like)


def pool_gradient(space):
    return lambda g, x, indices, *others: placed(g, indices, x.shape, space)


def bits(mask, count):
    return (mask[:, None] >> torch.arange(8)).bitwise_and(1).flatten()[:count]


def batch_norm_backward(g, x, w, running_mean, running_var, mean, invstd, training, eps, mask):
    hat, axes = (x - channels(mean)) * channels(invstd), (0, 2, 3)
    means = (channels(v.mean(axes)) for v in (g, g * hat))
    return channels(w * invstd) * (g - next(means) - hat * next(means)), (g * hat).sum(axes), g.sum(axes)


def group_norm_backward(g, x, mean, rstd, gamma, n, c, size, groups, mask):
    def parts(v):
        return v.reshape(n, groups, -1)

    hat = (parts(x) - mean[..., None]) * rstd[..., None]
    inner = parts(g * gamma[None, :, None])
    dx = (inner - inner.mean(-1, keepdim=True) - hat * (inner * hat).mean(-1, keepdim=True)) * rstd[..., None]
    return dx.reshape(x.shape), (g * hat.reshape(x.shape)).sum((0, 2)), g.sum((0, 2))


def add_layer_norm_backward(dy, a, b, rstd, mean, gamma, dsum):
    return *normalised_gradient(True)(dy, a + b, mean, rstd, gamma), dy.sum(0)


def deep_norm_backward(dy, x, gx, gamma, mean, rstd, alpha):
    dx, dgamma = normalised_gradient(True)(dy, x * alpha + gx, mean, rstd, gamma)
    return dx * alpha, dx, dy.sum(0), dgamma


def lstm_cell(gates, more, c, *bias):
    i, f, g, o = (gates + more + sum(bias)).chunk(4, 1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
    return torch.sigmoid(o) * torch.tanh(c), c, None


def sgd(params, grads, buffers, scale, decay, momentum, lr, dampening, nesterov, maximize, first):
    buffers = [momentum * m + (1 - dampening) * (g + decay * p) for p, g, m in zip(params, grads, buffers)]
    return [p - lr * m for p, m in zip(params, buffers)], buffers


def geglu(x, d, tanh, left):
    a, b = x.chunk(2, d)
    gelu = F.gelu(b, approximate="tanh" if tanh else "none")
    return a * gelu, gelu


def packed_attention(q, k, v, *others):
    """Sequences that end at 2 and 6 of the queries and at 3 and 6 of the keys, as the sample has them."""
    scale, out = others[others.index(65536) - 2], []
    for rows, columns in ((slice(0, 2), slice(0, 3)), (slice(2, 6), slice(3, 6))):
        a, b, c = (t.transpose(0, 1) for t in (q[rows], k[columns], v[columns]))
        out.append((torch.softmax(a @ b.transpose(-1, -2) * scale, -1) @ c).transpose(0, 1))
    return None, None, torch.cat(out)


def grid_gradient(g, x, grid, how, pad, align, mask):
    x, grid = x.clone().requires_grad_(), grid.clone().requires_grad_()
    return torch.autograd.grad(F.grid_sample(x, grid, "bilinear", "zeros", align), (x, grid), g)


def qkv(x, bias, heads):
    q, k, v = (x + bias).unflatten(-1, (3, heads, -1)).permute(2, 0, 3, 1, 4)
    return q / q.shape[-1] ** 0.5, k, v


for names, function in {
        "FlashAttentionScoreV2 FlashAttentionScoreV3": attention,
        "FlashAttentionVarLenScore FlashAttentionVarLenScoreV2 FlashAttentionVarLenScoreV4": packed_attention,
        "MaxPool2dWithIndicesBackward AdaptiveMaxPool2dBackward": pool_gradient(2),
        "MaxPool3dWithArgmaxBackward AdaptiveMaxPool3dBackward": pool_gradient(3),
        "MaxUnpool2d": lambda x, i, size: placed(x, i, [*x.shape[:-2], *size], 2),
        "MaxUnpool3d": lambda x, i, size, *others: placed(x, i, [*x.shape[:-3], *size], 3),
        "BatchNormBackward": batch_norm_backward, "GroupNormBackward": group_norm_backward,
        "AddLayerNormGrad": add_layer_norm_backward, "DeepNormGrad": deep_norm_backward,
        "DropoutDoMask": lambda x, mask, p: x * bits(mask, x.numel()) / (1 - p),
        "EmbeddingDenseBackward": lambda g, i, n, padding, scale: torch.zeros(n, g.shape[1], dtype=g.dtype).index_add(
            0, i, g * (i != padding)[:, None]),
        "EmbeddingRenorm": lambda w, i, most, p: torch.embedding_renorm_(w, i, most, p),
        "CrossEntropyLossGrad": lambda g, lp, t, *others: g[:, None] * (lp.exp() - F.one_hot(t, lp.shape[1])),
        "AmpUpdateScale": lambda scale, tracker, found, *others: (scale, tracker + 1), "FusedSgd": sgd,
        "RotaryPositionEmbedding": lambda x, cos, sin, mode: x * cos + torch.cat([-(h := x.chunk(2, -1))[1], h[0]], -1) * sin,
        "ThnnFusedLstmCell": lstm_cell, "GeGluV3": geglu, "TransformBiasRescaleQkv": qkv,
        "UnfoldGrad": lambda g, sizes, d, size, step: g.reshape(sizes),
        "TriangularSolve": lambda b, a, upper, transpose, unit: (torch.linalg.solve_triangular(a.tril(), b, upper=False), None),
        "ConvTbcBackward": lambda g, x, w, b, pad, how: torch.ops.aten.conv_tbc_backward(g, x, w, b, pad),
        "GridSampler2DBackward GridSampler3DBackward": grid_gradient,
        "MultilabelMarginLoss": lambda x, t, r: (F.multilabel_margin_loss(x, t, reduction=REDUCTION[r]), None),
        "InplaceScatterUpdate": lambda x, i, u, axis: x.index_copy(axis, i[:1], u),
        "InplaceQuantScatter": lambda x, i, u, scale, zero, axis, along, how: x.index_copy(
            axis, i[:1].long(), (u / scale).round().clamp(-128, 127).to(x.dtype))}.items():
    reference(names, function)


def adamw(p, m, v, largest, g, step, lr, beta1, beta2, decay, eps, amsgrad, maximize):
    t = step.item() + 1
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    return p * (1 - lr * decay) - lr / (1 - beta1**t) * m / (v.sqrt() / (1 - beta2**t) ** 0.5 + eps), m, v


def adam(p, m, v, power1, power2, lr, beta1, beta2, eps, g, locking, nesterov):
    """TensorFlow's ApplyAdam: the powers are those of this step."""
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    return p - lr * (1 - power2).sqrt() / (1 - power1) * m / (v.sqrt() + eps), m, v


def adamw_of_powers(p, m, v, power1, power2, lr, decay, beta1, beta2, eps, g, *others):
    """The powers are those of the steps before."""
    m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
    step = lr / (1 - power1 * beta1) * m / (v.sqrt() / (1 - power2 * beta2).sqrt() + eps)
    return p * (1 - lr * decay) - step, m, v


def group_norm_swish_backward(g, mean, rstd, x, gamma, beta, groups, layout, scale, *others):
    wide = lambda t: t[..., None].expand(*t.shape, x[0].numel() // groups).reshape(x.shape)
    y = (x - wide(mean)) * wide(rstd) * gamma[None, :, None] + beta[None, :, None]
    s = torch.sigmoid(scale * y)
    n, c, size = x.shape
    return group_norm_backward(g * (s + scale * y * s * (1 - s)), x, mean, rstd, gamma, n, c, size, groups, [True] * 3)


def attention_backward(q, k, v, g, *others):
    largest, total, out = others[4][..., :1], others[5][..., :1], others[7]
    scale = next(x for x in others if isinstance(x, float))
    p = torch.exp(q @ k.transpose(-1, -2) * scale - largest) / total
    s = p * (g @ v.transpose(-1, -2) - (g * out).sum(-1, keepdim=True)) * scale
    return s @ k, s.transpose(-1, -2) @ q, p.transpose(-1, -2) @ g


def lstm_cell_backward(gh, gc, before, after, gates, bias):
    i, f, c, o = gates.chunk(4, 1)
    t = torch.tanh(after)
    gc = gc + gh * o * (1 - t * t)
    g = torch.cat([gc * c * i * (1 - i), gc * before * f * (1 - f), gc * i * (1 - c * c), gh * t * o * (1 - o)], 1)
    return g, gc * f, g.sum(0)


def batch_norm_elements_backward(g, x, mean, invstd, w, sum_dy, sum_dy_xmu, count):
    n = count.sum()
    inner = g - channels(sum_dy) / n - (x - channels(mean)) * channels(invstd**2 * sum_dy_xmu) / n
    return inner * channels(w * invstd)


def batch_norm_reduce_backward(g, x, mean, invstd, *others):
    sum_dy, product = g.sum((0, 2, 3)), (g * (x - channels(mean))).sum((0, 2, 3))
    return sum_dy, product, product * invstd, sum_dy


def together(counts, means, variances, eps, momentum, running_mean, running_var):
    """Running and common statistics of parts of a batch."""
    n = counts.sum()
    mean = (counts[:, None] * means).sum(0) / n
    var = (counts[:, None] * (variances + means**2)).sum(0) / n - mean**2
    return ((1 - momentum) * running_mean + momentum * mean, (1 - momentum) * running_var + momentum * var * n / (n - 1), mean,
            (var + eps).rsqrt())


def gathered(totals, squares, counts, running_mean, running_var, momentum, eps):
    counts = counts.double()
    means = totals / counts[:, None]
    return together(counts, means, squares / counts[:, None] - means**2, eps, momentum, running_mean, running_var)


def geglu_backward(g, x, gelu, d, tanh, left):
    a, b = x.chunk(2, d)
    return torch.cat([g * gelu, gradient(lambda v: F.gelu(v, approximate="tanh" if tanh else "none"))(g * a, b)], d)


def halves_turned(x):
    a, b = x.chunk(2, -1)
    return torch.cat([-b, a], -1)


def rotary_backward(dy, cos, sin, x, mode):
    def shrink(t):
        return t.sum_to_size(cos.shape)

    return dy * cos - halves_turned(dy * sin), shrink(dy * x), shrink(dy * halves_turned(x))


for names, function in {
        "ApplyAdam": adam, "ApplyAdamW": adamw_of_powers, "GroupNormSwishGrad": group_norm_swish_backward,
        "FlashAttentionScoreGrad FlashAttentionScoreGradV2 FlashAttentionScoreGradV3": attention_backward,
        "FlashAttentionVarLenScoreV5": lambda q, q_rope, k, k_rope, v, *others: packed_attention(q, k, v, *others),
        "ThnnFusedLstmCellBackward": lstm_cell_backward,
        "MaxPool2dWithMask": lambda x, k, s, p, d, up: (F.max_pool2d(x, k, s, p, d, up), None),
        "ScaledMaskedSoftmaxBackward": lambda g, y, m, scale, triangle: (scale * y * (g - (g * y).sum(-1, keepdim=True))).masked_fill(m, 0.0),
        "ScatterReduce": lambda x, d, i, s, how, own: x.scatter(d, i, s) if how == 0 else x.scatter_reduce(
            d, i, s, ["", "sum", "prod", "amax", "amin", "mean"][how], include_self=own),
        "aclStft": lambda x, w, n, hop, length, normalized, half, is_complex: torch.stft(
            x, n, hop, length, w, False, "reflect", normalized, half, is_complex),
        "ApplyAdamWV2": adamw, "BatchNormElemtBackward": batch_norm_elements_backward,
        "BatchNormReduceBackward": batch_norm_reduce_backward, "SyncBatchNormGatherStats": gathered,
        "BatchNormGatherStatsWithCounts": lambda x, mean, invstd, rm, rv, momentum, eps, counts: together(
            counts, mean, invstd**-2 - eps, eps, momentum, rm, rv),
        "GeGluV3Backward": geglu_backward, "RotaryPositionEmbeddingGrad": rotary_backward,
        "LSTM": lambda x, w, hx, sizes, *others: torch.lstm(x, hx, w, True, 1, 0.0, False, False, False),
        "GRU": lambda x, w, hx, sizes, *others: torch.gru(x, hx, w, True, 1, 0.0, False, False, False),
        "CdistBackward": lambda g, a, b, d, p: (torch.where(d == 0, 0.0, g / d)[..., None] * (a[:, None] - b[None])).sum(1),
        "ForeachNonFiniteCheckAndUnscale": lambda grads, found, inverse: ([g * inverse for g in grads], None)}.items():
    reference(names, function)


def quantized(x, scale, offset, square=False, mode="round", kind=torch.int8, *axis):
    """Along the last dimension."""
    y = x.double() * scale.double() ** (2 if square else 1) + (0 if offset is None else offset.double())
    return getattr(torch, mode)(y).clamp(-128, 127).to(torch.int8)


reference("AscendQuant AscendQuantV3", quantized)


def group_quantized(x, scale, ends, offset, kind):
    groups = torch.searchsorted(ends.long(), torch.arange(len(x)), right=True)
    return (x * scale[groups] + offset).round().clamp(-128, 127).to(torch.int8)


reference("GroupQuant", group_quantized)
reference("FakeQuantPerTensorAffineCachemask", lambda x, scale, zero, enabled, low, high: torch._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(
    x.float(), scale.float(), zero.int(), torch.tensor([enabled]), low, high))
reference("FakeQuantPerChannelAffineCachemask", lambda x, scale, zero, axis, low, high: torch.ops.aten.fake_quantize_per_channel_affine_cachemask(
    x.float(), scale.float(), zero.int(), axis, low, high))
reference("Quantize", lambda x, scale, zero, kind, axis: ((x / scale).round() + zero).clamp(-128, 127).to(torch.int8))

for name, function in (ROUTING | FUSED).items():
    reference(name, function)


def find(name):
    """The function that answers for an aclnn operator, or None."""
    short = name.removeprefix("aclnn")
    if short.startswith("Foreach") and short not in REFERENCES:
        short = short.removeprefix("Foreach")
        function = REFERENCES.get(short + ".foreach") or REFERENCES.get(short)
        return function and (lambda *values: [list(lists) for lists in zip(*_each(function, values))])
    function = REFERENCES.get(short) or REFERENCES.get(short.removeprefix("Inplace"))
    return function and (lambda *values: _tuple(function(*values)))


def _tuple(result):
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)


def _each(function, values):
    """Results for each element of the lists; what is no list goes to every call."""
    count = max(len(v) for v in values if isinstance(v, list))
    return [_tuple(function(*(v[i] if isinstance(v, list) else v for v in values))) for i in range(count)]
