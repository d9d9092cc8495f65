"""Cases of graph operators that MindSpore asks for: gradients of elementwise functions, shapes, counts, quantisation that is only
computed, and MindSpore's own types (Cust…)."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from graph import const


def gradient(f, *inputs, by):
    """Of sum(f(inputs) * by), by PyTorch in float64."""
    leaves = [v.double().requires_grad_() for v in inputs]
    return [g.float() for g in torch.autograd.grad(f(*leaves), leaves, by.double())]


def add_experts(case, r):
    x, experts = r(3, 4, low=-2.0), torch.tensor([[2, 0], [1, 2], [0, 1]], dtype=torch.int32)
    rows = torch.arange(6, dtype=torch.int32).reshape(2, 3).t().contiguous()
    order = torch.sort(experts.flatten(), stable=True).indices
    places = torch.empty_like(order).scatter(0, rows.flatten()[order].long(), torch.arange(6)).to(torch.int32)
    case("MoeGatingTopKSoftmax", x, None, k=2, want=lambda v, _: [*(t.to(k) for t, k in zip(v.softmax(1).topk(2), (v.dtype, torch.int32))), rows])
    case("MoeInitRouting", x, rows, experts, active_num=3, want=lambda v, *_: [v[order // 2], places, experts.flatten()[order]])
    case("MoeComputeExpertTokens", experts.flatten().sort().values, num_experts=3, want=lambda e: torch.tensor([2, 4, 6], dtype=torch.int32))
    by = r(4, 4, low=-1.0)

    def rotated(v, turn, _):
        v = (v.unflatten(1, (-1, 4)) @ turn).flatten(1)
        return [(v / (v.abs().amax(1, True) / 127)).round().to(torch.int8), v.abs().amax(1) / 127]
    case("RotateQuant", r(3, 8, low=-1.0), by, None, want=rotated)
    case("DynamicQuant", x, None, None, want=lambda v, *_: [
        (v / (v.abs().amax(1, True) / 127)).round().to(torch.int8), v.abs().amax(1) / 127])
    # of two sequences: 4 tokens before 5, 5 and 3 of which count
    q, k, v = r(2, 2, 4, 8, low=-1.0), r(2, 2, 5, 8, low=-1.0), r(2, 2, 5, 8, low=-1.0)
    seen = (torch.arange(5) < torch.tensor([[5], [3]]))[:, None, None]

    def attended(a, b, c, *_):
        return F.scaled_dot_product_attention(a.double(), b.double(), c.double(), seen, scale=0.5).float()
    case("PromptFlashAttention", q, k, v, None, None, None, const([5, 3]), num_heads=2, num_key_value_heads=2, scale_value=0.5, input_layout="BNSD",
         next_tokens=9, want=attended)
    case("IncreFlashAttention", q[:, :, :1].contiguous(), k, v, None, None, const([5, 3]), *[None] * 9, num_heads=2, num_key_value_heads=2,
         scale_value=0.5, input_layout="BNSD", want=attended)
    case("FusedInferAttentionScore", q, k, v, None, None, None, const([5, 3]), *[None] * 24, num_heads=2, scale=0.5, input_layout="BNSD",
         softmax_lse_flag=True, want=lambda a, b, c, *_: [attended(a, b, c), (a.double() @ b.double().mT * 0.5).masked_fill(
             ~seen, -torch.inf).logsumexp(-1, True).float()])
    scales, bias, skip = r(3, 2), r(3, 4), r(3, 4)
    case("MoeFinalizeRouting", r(6, 4), skip, None, bias, scales, places, experts, want=lambda e, s, _, b, w, at, ids: s + (
        w[..., None] * (e[at.long()].reshape(2, 3, 4).transpose(0, 1) + b[ids.long()])).sum(1))


def add_cases(case, r):
    x, y, rows, unit = r(3, 4), r(3, 4, low=-3.0), r(2, 3, 4), r(3, 4, low=-0.9, high=0.9)
    positive = r(3, 4, low=0.5)

    case("AsinGrad", unit, y, want=lambda v, g: gradient(torch.asin, v, by=g)[0])
    case("AcosGrad", unit, y, want=lambda v, g: gradient(torch.acos, v, by=g)[0])
    case("AtanGrad", x, y, want=lambda v, g: gradient(torch.atan, v, by=g)[0])
    case("AsinhGrad", torch.asinh(x), y, want=lambda v, g: gradient(torch.asinh, x, by=g)[0])
    case("AcoshGrad", torch.acosh(positive + 1), y, want=lambda v, g: gradient(torch.acosh, positive + 1, by=g)[0])
    row = r(4, low=-1.0)
    case("AscendQuantV2", 9 * y, row + 2, row, round_mode="Trunc", want=lambda v, s, o: (v * s + o).trunc().clamp(-128, 127).to(torch.int8))
    case("MaximumGrad", y, x, row, want=lambda g, a, b: gradient(torch.maximum, a, b, by=g))
    case("MinimumGrad", y, x, row, want=lambda g, a, b: gradient(torch.minimum, a, b, by=g))
    case("MaximumGrad", y, x, x.clone(), want=lambda g, a, b: [g, torch.zeros_like(g)])
    image = r(2, 3, 4, 5)
    for mode, pads in (("REFLECT", [2, 1, 3, 2]), ("SYMMETRIC", [2, 4, 5, 1])):
        def padded(v, pads=pads, mode=mode):
            if mode == "REFLECT":
                return F.pad(v, pads[2:] + pads[:2], "reflect")
            for d, (a, b) in ((2, pads[:2]), (3, pads[2:])):
                n = v.shape[d]
                v = torch.cat([v.narrow(d, 0, a).flip(d), v, v.narrow(d, n - b, b).flip(d)], d)
            return v
        grad = r(2, 3, 4 + sum(pads[:2]), 5 + sum(pads[2:]))
        case("MirrorPadGrad", grad, const([0, 0, 0, 0] + pads), mode=mode, want=lambda g, p, f=padded: gradient(f, image, by=g)[0])
    case("AscendQuant", 9 * y, scale=3.5, offset=-2.0, want=lambda v: (v * 3.5 - 2).round().clamp(-128, 127).to(torch.int8))
    case("AscendQuant", 9 * y, scale=2.0, offset=0.25, sqrt_mode=True, round_mode="Floor",
         want=lambda v: (v * 4 + 0.25).floor().clamp(-128, 127).to(torch.int8))
    add_experts(case, r)
    case("ConfusionMulGrad", x, y, positive, axes=[0], want=lambda a, b, c: [a * b, (b * c).sum(0)])

    case("FusedMulAddAdd", x, y, positive, unit, want=lambda a, b, c, d: a * b + c + d)
    case("MaxN", x, y, unit, want=lambda *all: torch.stack(all).amax(0))
    case("Eltwise", x, y, N=2, mode=0, want=torch.mul)
    case("Eltwise", x, y, N=2, mode=1, coeff=[2.0, -1.0], want=lambda a, b: 2 * a - b)
    case("Eltwise", x, y, N=2, mode=2, want=torch.maximum)
    case("AddMatMatElements", x, y, unit, torch.tensor(2.0), torch.tensor(3.0), want=lambda c, a, b, beta, alpha: c * 2 + a * b * 3)
    case("ApproximateEqual", x, x + torch.tensor([0, 2e-6, 1e-3, -1.0]),  # the attribute tolerance is 1e-5
         want=lambda a, b: torch.tensor([True, True, False, False]).expand(3, 4))
    case("Xlog1py", x, positive, want=lambda a, b: torch.special.xlog1py(a, b))
    case("Xlog1py", torch.tensor([0.0, 2.0]), torch.tensor([-1.0, 1.0]), want=lambda a, b: torch.tensor([0.0, 2 * math.log(2)]))
    case("Bias", image, r(3), want=lambda v, b: v + b[:, None, None])
    case("Bias", image, r(4, 5), axis=2, want=torch.add)
    zero, one = torch.tensor(0.0), torch.tensor(1.0)
    case("ClipByNormNoDivSum", x, zero, one, torch.tensor(0.5), want=lambda v, *_: torch.where(v > 0, v.clamp(min=0).sqrt(), v).clamp(min=0.5))
    complexes = torch.complex(x, y)
    case("Conj", complexes, want=lambda v: v.conj().resolve_conj())
    case("Conj", x, want=torch.clone)
    case("Angle", complexes, want=torch.angle)
    case("AngleV2", complexes, want=torch.angle)

    case("SquareSumV2", rows, axis=[1], keep_dims=True, want=lambda v: [(v * v).sum(1, True), v])
    case("FusedMulAddNL2loss", x, y, torch.tensor(0.3), want=lambda a, b, c: [a * 0.3 + b, (a * a).sum() / 2])
    case("LpNormReduce", rows, p=3, axes=[1], want=lambda v: (v.abs() ** 3).sum(1))
    case("LpNormUpdate", positive, p=3, want=lambda v: v ** (1 / 3))
    case("AllFinite", x, want=lambda v: torch.tensor(True))
    case("AllFinite", torch.tensor([1.0, math.inf]), want=lambda v: torch.tensor(False))
    case("CosineSimilarity", rows, r(2, 3, 4, low=-3.0), want=lambda a, b: F.cosine_similarity(a, b, 1))
    case("CosineSimilarity", x, row, dim=-1, want=lambda a, b: F.cosine_similarity(a, b, -1))
    values = torch.tensor([-1.0, 0, 1.2, 3.4, 4.99, 5.0, 7.0])
    counts = torch.tensor([2, 1, 0, 1, 3], dtype=torch.int32)
    case("HistogramFixedWidth", values, torch.tensor([0.0, 5.0]), const(5, torch.int32), want=lambda *_: counts)
    case("HistogramFixedWidthD", values, torch.tensor([0.0, 5.0]), nbins=5, want=lambda *_: counts)
    case("HistogramV2", values, torch.tensor([0.0]), torch.tensor([5.0]), bins=4, want=lambda v, *_: v.histc(4, 0, 5).int())
    case("HistogramV2", values, torch.tensor([0.0]), torch.tensor([0.0]), bins=4, want=lambda v, *_: v.histc(4).int())
    numbers = torch.tensor([[1, 4, 1, 9], [0, 0, 2, 1]], dtype=torch.int32)
    weights = r(2, 4)
    case("DenseBincount", numbers, const(5, torch.int32), weights, want=lambda n, s, w: torch.stack(
        [row.bincount(v, 10)[:5].float() for row, v in zip(n, w)]))
    case("DenseBincount", numbers, const(5, torch.int32), torch.empty(0), binary_output=True, want=lambda n, s, w: torch.stack(
        [(row.bincount(minlength=10)[:5] > 0).float() for row in n]))
    case("MatrixBandPart", r(2, 4, 5), const(1), const(2), want=lambda v, a, b: v.tril(2).triu(-1))
    case("MatrixBandPart", r(2, 4, 5), const(-1), const(0), want=lambda v, a, b: v.tril(0))
    ordered = x.sort(-1)[0]
    case("LowerBound", ordered, y, want=lambda s, v: torch.searchsorted(s, v).int())
    case("UpperBound", ordered, y, out_type=torch.int64, want=lambda s, v: torch.searchsorted(s, v, right=True))
    case("HardMax", rows, axis=1, want=lambda v: F.one_hot(v.argmax(1), 3).movedim(-1, 1).float())
    logs, p = F.log_softmax(x, -1), F.softmax(y, -1)
    case("KLDivV2", logs, p, reduction="batchmean", want=lambda a, b: F.kl_div(a, b, reduction="batchmean"))
    case("KLDivV2", logs, p.log(), reduction="sum", log_target=True, want=lambda a, b: F.kl_div(a, b, reduction="sum", log_target=True))

    shape = lambda *sizes: const(list(sizes), torch.int32)  # noqa: E731
    whole = lambda *numbers: torch.tensor(numbers, dtype=torch.int32)  # noqa: E731
    case("BroadcastArgs", shape(2, 1, 4), shape(3, 1), want=lambda a, b: whole(2, 3, 4))
    case("BroadcastGradientArgs", shape(2, 1, 4), shape(3, 1), want=lambda a, b: [whole(1), whole(0, 2)])
    case("ConcatOffset", const(1, torch.int32), shape(2, 3), shape(2, 5), N=2, outputs=2, want=lambda *_: [whole(0, 0), whole(0, 3)])
    case("ConcatOffsetD", shape(2, 3), shape(2, 5), concat_dim=0, N=2, outputs=2, want=lambda *_: [whole(0, 0), whole(2, 0)])
    case("GatherShapes", x, rows, axes=[[1, 2], [0, 0]], want=lambda *_: whole(4, 3))
    for kind in ("Snapshot", "PreventGradient", "ReadVariableOp"):
        case(kind, x, want=torch.clone)
    case("PlaceholderWithDefault", x, shape=[3, 4], want=torch.clone)
    case("Copy", x, N=2, outputs=2, want=lambda v: [v, v])
    case("TransShape", x, outShape=[2, 6], want=lambda v: v.reshape(2, 6))
    case("CheckNumerics", x, message="the loss", want=torch.clone)
    a, b, c = r(2), r(3), r(4)
    for word in ("ij", "xy"):
        case("Meshgrid", a, b, c, indexing=word, outputs=3, want=lambda *v, w=word: [g.contiguous() for g in torch.meshgrid(*v, indexing=w)])
    lengths = torch.tensor([0, 2, 4])
    case("ReverseSequence", r(3, 4, 2), lengths, seq_dim=1, want=lambda v, n: torch.stack([torch.cat([s[:k].flip(0), s[k:]]) for s, k in zip(v, n)]))
    case("ReverseSequence", r(4, 3), lengths, seq_dim=0, batch_dim=1,
         want=lambda v, n: torch.stack([torch.cat([s[:k].flip(0), s[k:]]) for s, k in zip(v.T, n)]).T)
    case("InvertPermutation", whole(2, 0, 3, 1), want=lambda v: torch.argsort(v).int())
    case("UnravelIndex", torch.tensor([0, 7, 11]), const([3, 4]), want=lambda v, d: torch.tensor(np.stack(np.unravel_index(v.numpy(), (3, 4)))))

    def grid(low, high, bits=8, narrow=False):
        """Of TensorFlow's documentation of fake_quant: the range is moved until 0 is one of its numbers."""
        first, last = int(narrow), 2 ** bits - 1
        step = (high - low) / (last - first)
        zero = min(max(math.floor(first - low / step + 0.5), first), last)
        return (first - zero) * step, (last - zero) * step, step

    def on(v, g):
        v = v.double().clamp(g[0], g[1])
        return (torch.floor((v - g[0]) / g[2] + 0.5) * g[2] + g[0]).float()

    wide = r(3, 4, low=-9.0, high=9.0)
    case("FakeQuantWithMinMaxArgs", wide, want=lambda v: on(v, grid(-6, 6)))
    case("FakeQuantWithMinMaxArgs", wide, min=0.0, max=3.0, num_bits=4, narrow_range=True, want=lambda v: on(v, grid(0, 3, 4, True)))
    low, high = torch.tensor([-1.3]), torch.tensor([4.1])
    case("FakeQuantWithMinMaxVars", wide, low, high, num_bits=5, want=lambda v, a, b: on(v, grid(a.item(), b.item(), 5)))
    lows, highs = torch.tensor([-1.0, -2.0, -0.5, -4.0]), torch.tensor([1.0, 5.0, 0.7, 0.1])
    grids = [grid(a.item(), b.item()) for a, b in zip(lows, highs)]
    case("FakeQuantWithMinMaxVarsPerChannel", wide, lows, highs,
         want=lambda v, a, b: torch.stack([on(v[:, i], g) for i, g in enumerate(grids)], 1))

    def through(g, v, least, most):
        below, above = v < least, v > most
        return [g * ~(below | above), (g * below).sum(0), (g * above).sum(0)]
    case("FakeQuantWithMinMaxArgsGradient", y, wide, want=lambda g, v: through(g, v, *grid(-6, 6)[:2])[0])
    one_grid = grid(low.item(), high.item())
    case("FakeQuantWithMinMaxVarsGradient", y, wide, low, high, want=lambda g, v, a, b: [
        t if i == 0 else t.sum().reshape(1) for i, t in enumerate(through(g, v, *one_grid[:2]))])
    case("FakeQuantWithMinMaxVarsPerChannelGradient", y, wide, lows, highs, want=lambda g, v, a, b: through(
        g, v, torch.tensor([k[0] for k in grids]), torch.tensor([k[1] for k in grids])))

    case("Where", x > -9, want=torch.nonzero)
    case("CustGatherDGradV2", x, torch.tensor([[0, 1], [3, 3], [2, 0]]), r(3, 2), dim=1,
         want=lambda v, i, g: torch.zeros(3, 4).scatter_add(1, i, g))

    square = r(2, 4, 5)
    case("CustDiagonal", square, offset=1, dim1=-2, dim2=-1, want=lambda v: v.diagonal(1, -2, -1))
    case("CustDiagonal", square, offset=-2, dim1=2, dim2=0, want=lambda v: v.diagonal(-2, 2, 0))
    case("CustTraceV2", square, const(-1), const(1), const(2), dtype=torch.float32, want=lambda v, *_: v.diagonal(-1, 1, 2).sum(-1))
    case("CustTraceGrad", torch.tensor(2.5), const([3, 4]), want=lambda g, s: torch.eye(3, 4) * 2.5)
    case("CustTrilIndices", row=3, col=4, offset=1, dtype=torch.int64, want=lambda: torch.tril_indices(3, 4, 1))
    case("CustTriuIndices", row=4, col=3, offset=-1, dtype=torch.int32, want=lambda: torch.triu_indices(4, 3, -1).int())
    case("CustExpand", r(3, 1), const([2, -1, 4]), want=lambda v, s: v.expand(2, 3, 4))
    case("CustPadding", r(2, 3, 1), pad_dim_size=4, want=lambda v: F.pad(v, (0, 3)))
    case("CustSliceGrad", r(2, 2), x, const([1, 2]), const([2, 2]), want=lambda g, v, *_: F.pad(g, (2, 0, 1, 0)))
    mask = x > 0
    case("CustMaskedSelectGrad", x, mask, r(int(mask.sum())), want=lambda v, m, g: torch.zeros(3, 4).masked_scatter(m, g))
    case("CustIndexFill", x, const(1), torch.tensor([3, 0]), torch.tensor(7.0), want=lambda v, d, i, f: v.index_fill(1, i, 7.0))
    for more in (0, 1):
        at = torch.tensor([2, 0, 1 + more])
        case("CustIndexPut", x, r(3), at, torch.tensor([1, 1, 1]), accumulate=more,
             want=lambda v, w, a, b, m=bool(more): v.index_put((a, b), w, m))
    case("CustArgMax", rows, const(1), dtype=torch.int32, want=lambda v, d: v.argmax(1).int())
    for periodic in (True, False):
        case("CustBartlettWindow", const(7), periodic=periodic, dtype=torch.float32, want=lambda n, p=periodic: torch.bartlett_window(7, p))
        case("CustBlackmanWindow", const(8), periodic=periodic, dtype=torch.float32, want=lambda n, p=periodic: torch.blackman_window(8, p))
        case("CustHammingWindow", const(6), periodic=periodic, alpha=0.54, beta=0.46, dtype=0, want=lambda n, p=periodic: torch.hamming_window(6, p))
    for n in (7, 8):
        case("CustFFTFreq", const(n), const(0.5, torch.float32), None, want=lambda *_, n=n: torch.fft.fftfreq(n, 0.5))
        case("CustRFFTFreq", const(n), const(0.5, torch.float32), None, want=lambda *_, n=n: torch.fft.rfftfreq(n, 0.5))
    case("CustFFTShift", r(3, 4), None, want=lambda v, d: torch.fft.fftshift(v))
    case("CustFFTShift", r(3, 4), const([0]), want=lambda v, d: torch.fft.fftshift(v, 0))
    case("CustIFFTShift", r(3, 4), None, want=lambda v, d: torch.fft.ifftshift(v))

    for kind in ("Lgamma", "CustLgamma"):
        case(kind, x, want=torch.lgamma)
    case("NextAfter", x, y, want=torch.nextafter, tolerance=0)
    case("CustSinc", x, want=torch.sinc)
    case("CustLogit", r(3, 4, low=0.1, high=0.9), want=torch.logit)
    case("CustLogit", r(3, 4, low=0.0, high=1.0), eps=0.2, want=lambda v: torch.logit(v, 0.2))
    integers = torch.tensor([0, 12, -18, 7, 0], dtype=torch.int32)
    case("CustGcd", integers, torch.tensor([0, 18, 12, 0, 4], dtype=torch.int32), want=torch.gcd)
    case("CustLcm", integers, torch.tensor([0, 18, 12, 0, 4], dtype=torch.int32), want=torch.lcm)
    case("CustPolar", positive, y, want=torch.polar)
    case("CustLogicalXor", x > 0, y > 0, want=torch.logical_xor)
    case("CustHypot", x, row, want=torch.hypot)
    case("CustHeaviside", torch.tensor([-1.0, 0, 2, 0]), torch.tensor([5.0, 0.5, 5, 0.25]), want=torch.heaviside)
    case("CustReal", complexes, want=lambda v: v.real)
    case("CustEps", x, want=lambda v: torch.full_like(v, torch.finfo(torch.float32).eps))
    case("CustEps", x.half(), want=lambda v: torch.full_like(v, torch.finfo(torch.float16).eps))
    case("CustLogSpace", const(1.0, torch.float32), const(3.0, torch.float32), steps=5, base=2, dtype=torch.float32,
         want=lambda *_: torch.logspace(1, 3, 5, base=2))

    volume = r(2, 3, 6, 5, 4)
    case("CustAdaptiveAvgPool3d", volume, output_size=[3, 2, -1], want=lambda v: F.adaptive_avg_pool3d(v, (3, 2, 4)))
    case("CustAdaptiveAvgPool3dGrad", r(2, 3, 3, 2, 2), const([2, 3, 6, 5, 4]),
         want=lambda g, s: gradient(lambda v: F.adaptive_avg_pool3d(v, (3, 2, 2)), volume, by=g)[0])
    largest, places = F.adaptive_max_pool3d(volume, (3, 2, 2), True)
    case("CustAdaptiveMaxPool3d", volume, const([3, 2, 2]), want=lambda v, s: [largest, places.int()])
    case("CustAdaptiveMaxPool3dGrad", r(2, 3, 3, 2, 2), volume, places.int(),
         want=lambda g, v, i: gradient(lambda w: F.adaptive_max_pool3d(w, (3, 2, 2)), v, by=g)[0])
    flat, at = F.adaptive_max_pool2d(image, (3, 3), True)
    case("CustAdaptiveMaxPool2dGrad", r(2, 3, 3, 3), image, at,
         want=lambda g, v, i: gradient(lambda w: F.adaptive_max_pool2d(w, (3, 3)), v, by=g)[0])
    pooled, at = F.max_pool2d(r(2, 3, 4, 6), 2, return_indices=True)
    case("CustMaxUnpool2D", pooled, at, ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2], pads=[1, 1, 0, 0], output_shape=[], data_format="NCHW",
         want=lambda v, i: F.max_unpool2d(v, i, 2))
    case("CustMaxUnpool2DGrad", pooled, r(2, 3, 4, 6), at, ksize=[1, 1, 2, 2], strides=[1, 1, 2, 2], pads=[1, 1, 0, 0], output_shape=[],
         data_format="NCHW", want=lambda v, g, i: gradient(lambda w: F.max_unpool2d(w, i, 2), v, by=g)[0])
    pooled3, at3 = F.max_pool3d(r(1, 2, 4, 4, 6), 2, return_indices=True)
    case("CustMaxUnpool3D", pooled3, at3, ksize=[2], strides=[2], pads=[0], output_shape=[1, 2, 4, 4, 6], data_format="NCDHW",
         want=lambda v, i: F.max_unpool3d(v, i, 2))
    case("CustMaxUnpool3DGrad", pooled3, r(1, 2, 4, 4, 6), at3, ksize=[2], strides=[2], pads=[0], output_shape=[], data_format="NCDHW",
         want=lambda v, g, i: gradient(lambda w: F.max_unpool3d(w, i, 2), v, by=g)[0])
    case("KLDiv", x, y, reduction="none", want=lambda v, t: F.kl_div(v, t.clamp(min=0), reduction="none"))
    case("CustIm2col", r(2, 3, 5, 6), ksizes=[2, 3], pads=[1, 1, 2, 2],
         want=lambda v: F.unfold(v, (2, 3), padding=(1, 2)).reshape(2, 3, 6, -1))
    case("CustIm2col", r(2, 3, 5, 6), ksizes=[2, 3], strides=[2], pads=[1, 0],
         want=lambda v: F.unfold(v, (2, 3), 1, (1, 0), 2).reshape(2, 3, 6, -1))
    theta = r(2, 2, 3)
    case("CustAffineGrid", theta, const([2, 3, 4, 5]), align_corners=False, want=lambda t, s: F.affine_grid(t, (2, 3, 4, 5), False))

    root = torch.linalg.cholesky(torch.eye(4) + r(2, 4, 4) @ r(2, 4, 4).mT).contiguous()
    for upper in (False, True):
        factor = (root.mT if upper else root).contiguous()
        case("CustCholeskySolve", r(2, 4, 3), factor, upper=upper, want=lambda b, a, u=upper: torch.cholesky_solve(b, a, u))
        case("CustCholeskyInverse", factor[0], upper=upper, want=lambda a, u=upper: torch.cholesky_inverse(a, u))
    case("CustSolveTriangular", root, r(2, 4, 3), const(0), const(1), const(0),
         want=lambda a, b, *_: torch.linalg.solve_triangular(a, b, upper=False))
    case("CustSolveTriangular", root[0], r(4), const(1), const(1), const(1),
         want=lambda a, b, *_: torch.linalg.solve_triangular(a.mT, b[:, None], upper=True, unitriangular=True)[:, 0])
    for mode in ("valid", "same", "full"):
        for n, m in ((6, 3), (5, 4), (3, 6), (4, 5), (3, 5), (2, 6)):
            case("CustCorrelate", r(n), r(m, low=-1.0), mode=mode,
                 want=lambda a, b, w=mode: torch.tensor(np.correlate(a.numpy(), b.numpy(), w)))
