"""Cases of graph operators that language models ask for by TorchAir or by MindSpore's GE: attention of training, rotary embeddings, quantised and
grouped products, and what else MindSpore's adapters name beside them. Wanted is what PyTorch gives of real numbers."""
import torch
import torch.nn.functional as F

from graph_cases.adapter import gradient
from graph import const


def add_attention(case, r):
    q, k, v, dy = r(2, 2, 4, 8, low=-1.0), r(2, 2, 6, 8, low=-1.0), r(2, 2, 6, 8, low=-1.0), r(2, 2, 4, 8, low=-1.0)
    mask = torch.triu(torch.ones(4, 6), 2).bool()

    def attended(a, b, c):
        return F.scaled_dot_product_attention(a, b, c, ~mask, scale=0.5)

    def statistics(a, b):
        scores = (a.double() @ b.double().mT * 0.5).masked_fill(mask, -torch.inf)
        most = scores.amax(-1, True)
        return [s.float().expand(*s.shape[:-1], 8) for s in (most, (scores - most).exp().sum(-1, True))]
    how = {"head_num": 2, "input_layout": "BNSD", "scale_value": 0.5}
    case("FlashAttentionScore", q, k, v, None, None, None, mask, *[None] * 5, **how, want=lambda a, b, c, *_: [
        *statistics(a, b), torch.empty(0), attended(a.double(), b.double(), c.double()).float()])
    most, sums = statistics(q, k)
    case("FlashAttentionScoreGrad", q, k, v, dy, None, None, None, mask, most.contiguous(), sums.contiguous(), None, attended(q, k, v), *[None] * 5, **how,
         want=lambda a, b, c, d, *_: gradient(attended, a, b, c, by=d))
    # two sequences of 1 and 3 queries, one behind the other
    rows = r(4, 2, 8, low=-1.0)

    def sequences(a, b, c):
        parts = [slice(0, 1), slice(1, 4)]
        return torch.cat([F.scaled_dot_product_attention(*(t[p].transpose(0, 1) for t in (a, b, c)), scale=0.5).transpose(0, 1) for p in parts])
    ends = const([1, 4])
    case("FlashAttentionScore", rows, rows + 1, rows - 1, *[None] * 5, ends, ends, None, None, head_num=2, input_layout="TND", scale_value=0.5,
         want=lambda a, b, c, *_: [None, None, None, sequences(a.double(), b.double(), c.double()).float()])
    angles = r(2, 4, 1, 8)

    def turned(t):
        halves = torch.cat([-t[..., 4:], t[..., :4]], -1)
        return t * angles.cos() + halves * angles.sin()
    case("ApplyRotaryPosEmb", r(2, 4, 2, 8), r(2, 4, 1, 8), angles.cos(), angles.sin(), want=lambda a, b, *_: [turned(a), turned(b)])


    scores, places = r(2, 3, 4, 5, 5), r(3, 5, 5).reshape(1, 1, 3, 5, 5)
    case("MaskedSoftmaxWithRelPosBias", scores.permute(0, 2, 1, 3, 4).contiguous(), None, places, scale_value=0.5,
         want=lambda v, _, b: (v * 0.5 + b).softmax(-1))
    kv, gamma, cache = r(2, 1, 1, 12), r(8), r(2, 1, 6, 4)
    angle, at = r(2, 1, 1, 4), torch.tensor([3, 5])

    def cached(v, g, c, s, i, k_cache, c_cache, *_):
        latent, rope = v.double().split([8, 4], -1)
        latent = latent * (latent.pow(2).mean(-1, True) + 1e-5).rsqrt() * g.double()
        rope = torch.cat([rope[..., ::2], rope[..., 1::2]], -1)  # pairs of neighbours are turned
        rope = rope * c.double() + torch.cat([-rope[..., 2:], rope[..., :2]], -1) * s.double()
        for n in range(2):
            k_cache, c_cache = k_cache.clone(), c_cache.clone()
            k_cache[n, :, at[n]], c_cache[n, :, at[n]] = rope[n, :, 0].float(), latent[n, :, 0].float()
        return [k_cache, c_cache, rope.float(), latent.float()]
    case("KvRmsNormRopeCache", kv, gamma, angle.cos(), angle.sin(), at[:, None], cache, r(2, 1, 6, 8), *[None] * 5, is_output_kv=True, want=cached)

    def quantised(v, c, s, keys, values, first, by_key, by_value, *_):
        heads = v.double().reshape(2, 1, 4, 4)
        turned = heads * c + torch.cat([-heads[..., 2:], heads[..., :2]], -1) * s
        keys, values = keys.clone(), values.clone()
        for n in range(2):
            keys[n, first[n]], values[n, first[n]] = (turned[n, :, 2] * by_key).round().to(torch.int8), (heads[n, :, 3] * by_value).round().to(torch.int8)
        return [keys, values, turned[:, :, :2].float(), turned[:, :, 2:3].float(), heads[:, :, 3:].float()]
    whole = torch.zeros(2, 6, 1, 4, dtype=torch.int8)
    case("DequantRopeQuantKvcache", r(2, 1, 16), angle.cos(), angle.sin(), whole, whole + 1, at, 20 + r(4), 30 + r(4), *[None] * 5, size_splits=[8, 4, 4],
         kv_output=True, want=quantised)

    key, value, slots = r(3, 2, 4), r(3, 2, 8), torch.tensor([5, 0, 2], dtype=torch.int32)

    def paged(k, keys, at, v, values, *_):
        keys, values = keys.clone(), values.clone()
        for place, one, other in zip(at.tolist(), k, v):
            keys[place // 3, place % 3], values[place // 3, place % 3] = one, other
        return [keys, values]
    case("ScatterPaKvCache", key, r(2, 3, 2, 4), slots, value, r(2, 3, 2, 8), *[None] * 3, want=paged)


def add_quantised(case, r):
    def bytes_(*shape, low=-100, high=100, dtype=torch.int8):
        return torch.randint(low, high, shape, generator=torch.Generator().manual_seed(7)).to(dtype)
    many, weights = bytes_(3, 4, 16), bytes_(3, 16, 5)
    case("QuantMatmulReduceSum", many, weights, const([0]), None, r(3, 4), r(5).bfloat16(), *[None] * 5, dtype=27, tolerance=1e-2,
         want=lambda x, y, d, b, rows, columns, *_: ((x.double() @ y.double()) * rows[..., None] * columns).sum(0))
    a, w = bytes_(3, 16), bytes_(16, 5)
    scale, per_token = r(5, low=0.01, high=0.02), r(3, low=0.5, high=2.0)
    bias = bytes_(5, dtype=torch.int32)

    def product(x, y, factor, *more, add=0):
        return (((x.double() @ y.double()) + add) * factor.double()).float()
    case("QuantBatchMatmulV3", a, w, scale, None, bias, per_token, dtype=1, tolerance=2e-3,
         want=lambda x, y, s, o, b, t: product(x, y, s, add=b) * t[:, None])
    case("QuantBatchMatmulV3", a.T.contiguous(), w.T.contiguous(), scale.bfloat16(), None, None, None, dtype=27, transpose_x1=True, transpose_x2=True, tolerance=1e-2,
         want=lambda x, y, s, *_: product(x.T, y.T, s))
    case("TransQuantParamV2", torch.tensor([1.0, -2.5]), None, want=lambda s, _: [
        (s.view(torch.int32).long() & 0xFFFFE000) | (1 << 46)])
    case("AscendAntiQuant", a, scale=0.5, offset=3.0, want=lambda x: (x.float() + 3) * 0.5)
    case("AscendAntiQuant", a, scale=0.5, offset=3.0, sqrt_mode=True, dtype=1, want=lambda x: (x.float() + 3) * 0.25)
    row = r(16, low=0.1)
    case("AscendAntiQuantV2", a, row, row + 1, dst_type=27, tolerance=1e-2, want=lambda x, s, o: (x.float() + o) * s)
    case("AscendAntiQuantV2", a, row, None, tolerance=2e-3, want=lambda x, s, o: x.float() * s)
    x, offset = r(3, 16).half(), r(5).half()
    case("WeightQuantBatchMatmulV2", x, w, scale.half(), offset, None, None, r(5).half(), tolerance=2e-2,
         want=lambda v, m, s, o, q, p, b: (v.float() @ ((m.float() + o.float()) * s.float()) + b.float()))
    case("WeightQuantBatchMatmulV2", x, w.T.contiguous(), scale.half(), None, None, None, None, transpose_weight=True, tolerance=2e-2,
         want=lambda v, m, s, *_: v.float() @ (m.float().T * s.float()))
    tokens, up, down, low, high = r(5, 8), r(2, 8, 12), r(2, 12, 8), r(2, 12), r(2, 8)

    def experts(v, u, d, _, b, c, *rest):
        parts = []
        for rows, i in ((v[:2], 0), (v[2:], 1)):
            parts.append(F.relu(rows.double() @ u[i].double() + b[i].double()) @ d[i].double() + c[i].double())
        return torch.cat(parts).float()
    case("FFN", tokens, up, down, const([2, 3]), low, high, *[None] * 8, activation="relu", want=experts)
    case("FFN", tokens, up, down, const([2, 5]), low, high, *[None] * 8, activation="relu", tokens_index_flag=True, want=experts)


def add_rest(case, r):
    x, skip, gamma, beta = r(3, 4, 5), r(3, 4, 5, low=-1.0), r(5), r(5, low=-1.0)

    def normal(a, b, g, c, *_):
        total = (a + b).double()
        mean, variance = total.mean(-1, True), total.var(-1, False, True)
        return [F.layer_norm(total, (5,), g.double(), c.double(), 1e-5).float(), mean.float(), (variance + 1e-5).rsqrt().float(), total.float()]
    case("AddLayerNorm", x, skip, gamma, beta, None, additional_output=True, want=normal)
    image = r(2, 7, 3, 4)

    def response(v, radius=2, bias=1.5, alpha=0.3, power=0.75):
        sums = F.pad(v.pow(2), (0, 0, 0, 0, radius, radius)).unfold(1, 2 * radius + 1, 1).sum(-1)
        return v / (bias + alpha * sums) ** power
    how = {"depth_radius": 2, "bias": 1.5, "alpha": 0.3, "beta": 0.75}
    case("LRN", image, **how, want=response)
    case("LRNGrad", r(2, 7, 3, 4, low=-1.0), image, response(image), **how, want=lambda g, v, _: gradient(response, v, by=g)[0])
    case("MVNV2", image, eps=1e-3, want=lambda v: (v - v.mean((0, 2, 3), keepdim=True)) / (v.var((0, 2, 3), correction=0, keepdim=True).sqrt() + 1e-3))
    labels = torch.tensor([[1, 3, -1, 0], [0, -1, 2, 1], [2, 1, 0, 3]])
    marks = torch.tensor([[0, 1, 0, 1], [1, 0, 0, 0], [1, 1, 1, 1]])
    for reduction in ("mean", "sum", "none"):
        case("MultilabelMarginLoss", r(3, 4), labels, reduction=reduction, want=lambda v, t, how=reduction: [
            F.multilabel_margin_loss(v, t, reduction=how), marks])
    case("Conv2DTransposeD", r(2, 4, 5, 6), r(4, 3, 3, 2), None, None, input_size=[2, 3, 11, 12], strides=[1, 1, 2, 2], pads=[0, 0, 0, 0], data_format="NCHW",
         want=lambda v, w, b, o: F.conv_transpose2d(v, w, stride=2))
    case("Conv3DTransposeD", r(1, 2, 3, 4, 5), r(2, 3, 2, 2, 2), None, None, input_size=[0, 0, 0, 0, 0], strides=[1, 1, 1, 1, 1], pads=[0, 0, 0, 0, 0, 0],
         data_format="NCDHW", want=lambda v, w, b, o: F.conv_transpose3d(v, w))
    case("AvgPool3DD", r(1, 2, 4, 4, 6), None, None, ksize=[1, 1, 2, 2, 3], strides=[1, 1, 2, 2, 3], pads=[0] * 6, data_format="NCDHW",
         want=lambda v, *_: F.avg_pool3d(v, (2, 2, 3)))
    case("FullyConnection", image, r(5, 84), r(5), None, num_output=5, want=lambda v, w, b, _: F.linear(v.flatten(1), w, b))
    case("FullyConnection", x, r(5, 6), None, None, num_output=6, transpose=True, axis=2, want=lambda v, w, *_: v @ w)
    runs = torch.tensor([3, 3, 1, 1, 1, 3, 2])
    case("UniqueConsecutive", runs, counted=True, return_idx=True, return_counts=True, want=lambda v: [t for t in torch.unique_consecutive(v, True, True)])
    case("UniqueConsecutive", torch.tensor([[1, 2], [1, 2], [3, 4]]), counted=True, return_counts=True, axis=0, want=lambda v: [torch.tensor([[1, 2], [3, 4]]), None, torch.tensor([2, 1])])
    ids = torch.tensor([7, 2, 7, -1, 2, 2**40])
    case("UniqueWithPad", ids, torch.tensor([0]), want=lambda v, p: [torch.tensor([7, 2, -1, 2**40, 0, 0]), torch.tensor([0, 1, 0, 2, 1, 3])])
    case("UniqueWithPad", ids[:5].int(), torch.tensor([9], dtype=torch.int32), want=lambda v, p: [
        torch.tensor([7, 2, -1, 9, 9], dtype=torch.int32), torch.tensor([0, 1, 0, 2, 1], dtype=torch.int32)])
    case("ListDiff", ids, torch.tensor([2, 5]), counted=True, want=lambda a, b: [torch.tensor([7, 7, -1, 2**40]), torch.tensor([0, 2, 3, 5], dtype=torch.int32)])
    case("ListDiff", torch.tensor([0.0, 1.5, 2.5]), torch.tensor([-0.0, 2.5]), out_idx=torch.int64, counted=True, want=lambda a, b: [torch.tensor([1.5]), torch.tensor([1])])
    case("ListDiff", ids[:2], torch.tensor([2, 7]), counted=True, want=lambda a, b: [torch.empty(0, dtype=torch.int64), torch.empty(0, dtype=torch.int32)])
    photo = r(2, 3, 4, 5)
    case("SyncResizeBilinearV2", photo, const([8, 7]), half_pixel_centers=True, want=lambda v, _: F.interpolate(v, (8, 7), mode="bilinear"))
    case("SyncResizeBilinearV2Grad", r(2, 3, 8, 7, low=-1.0), photo, align_corners=True,
         want=lambda g, v: gradient(lambda t: F.interpolate(t, (8, 7), mode="bilinear", align_corners=True), v, by=g)[0])

    def by_corners(v, height, width):
        """TensorFlow's oldest rule: pixel i lies at i * from / to."""
        for d, n in ((2, height), (3, width)):
            at = torch.arange(n).double() * v.shape[d] / n
            low = at.floor().long()
            high, share = (low + 1).clamp(max=v.shape[d] - 1), (at - low).reshape([-1 if k == d else 1 for k in range(4)]).to(v.dtype)
            v = v.index_select(d, low) * (1 - share) + v.index_select(d, high) * share
        return v
    for height, width in ((8, 7), (3, 2), (4, 9)):
        case("ResizeBilinearV2", photo, const([height, width]), want=lambda v, _, h=height, w=width: by_corners(v, h, w))
        case("ResizeBilinearV2Grad", r(2, 3, height, width, low=-1.0), photo,
             want=lambda g, v, h=height, w=width: gradient(lambda t: by_corners(t, h, w), v, by=g)[0])
    case("ResizeBilinearV2", photo.half(), const([6, 9]), tolerance=2e-3, want=lambda v, _: by_corners(v.float(), 6, 9))
    boxes = torch.tensor([[0., 0, 2, 2], [2, 2, 0.1, 0], [5, 5, 6, 6], [0, 1, 2, 3]])
    case("NonMaxSuppressionV3", boxes, torch.tensor([0.5, 0.9, 0.2, 0.4]), *(const(v, torch.float32) for v in ([9], [0.5], [0.3])), counted=True,
         want=lambda *_: torch.tensor([1, 3], dtype=torch.int32))


def add_routers(case, r):
    number = lambda v, t=torch.int64: const(v, t)  # noqa: E731
    x = torch.tensor([[[0, 1], [1, 3], [3, 2], [2, 2], [2, 0]], [[1, 1], [1, 1], [0, 3], [0, 0], [1, 3]]], dtype=torch.int32)
    chances = torch.tensor([0.25, 0.25, 0.5, 0.125, 0.25, 0.25, 0.125, 0.25, 0.625, 0.25]).repeat(2).reshape(2, 5, 2)

    def routed(v, capacity, experts, choices_first, threshold=None, probability=None):
        dispatch, combine = torch.zeros(2, 4, 2, dtype=torch.int32), torch.zeros_like(v)
        for b in range(2):
            counts = [0] * 4
            order = [(t, k) for k in range(2) for t in range(5)] if choices_first else [(t, k) for t in range(5) for k in range(2)]
            for t, k in order:
                e = int(v[b, t, k])
                fits = counts[e] < 2 and (threshold is None or float(probability[b, t, :k + 1].sum()) < threshold)
                if fits:
                    dispatch[b, e, counts[e]] = t + 1
                    counts[e] += 1
                combine[b, t, k] = 3 * e + (counts[e] if fits else 0)
        return [dispatch, combine]
    for first in (0, 1):
        case("CustTopKRouter", x, number(2), number(4), number(first), want=lambda v, c, e, d, f=first: routed(v, 2, 4, f))
        case("CustTopPRouter", x, number(2), number(4), number(first), number(0.5, torch.float32), chances,
             want=lambda v, c, e, d, t, p, f=first: routed(v, 2, 4, f, 0.5, p))


def add_sparse(case, r):
    at, values = torch.tensor([[3, 1, 3, 2, 1], [2, 4, 2, 0, 1]]), torch.tensor([1.0, 2.0, 4.0, 8.0, 16.0])
    for kind in (torch.float32, torch.float16, torch.float64):
        case("CustCoalesce", at, values.to(kind), torch.tensor([5, 5]), counted=True, want=lambda i, v, s: [
            torch.tensor([[1, 1, 2, 3], [1, 4, 0, 2]]), torch.tensor([16.0, 2.0, 8.0, 5.0], dtype=v.dtype), s])
    boxes = torch.tensor([[0.0, 0.0, 5.0, 3.0], [1.0, -1.0, 2.0, 2.0], [0.0, 0.0, 5.5, 3.0], [1.0, 1.0, 2.0, 3.5]])
    case("CheckValid", boxes, torch.tensor([2.0, 3.0, 2.0]), want=lambda *_: torch.tensor([True, False, False, False]))


def add_images(case, r):
    photo = r(2, 4, 5, 3)
    boxes = torch.tensor([[0.0, 0.0, 1.0, 1.0], [0.2, 0.1, 0.7, 0.9]])

    def crops(v, b, i):
        grid = []
        for y1, x1, y2, x2 in b.tolist():
            rows, columns = (torch.linspace(2 * low - 1, 2 * high - 1, n) for low, high, n in ((y1, y2, 3), (x1, x2, 2)))
            grid.append(torch.stack(torch.meshgrid(rows, columns, indexing="ij")[::-1], -1))
        return F.grid_sample(v.permute(0, 3, 1, 2)[i.long()], torch.stack(grid), align_corners=True).permute(0, 2, 3, 1)
    case("CropAndResizeD", photo, boxes, torch.tensor([1, 0], dtype=torch.int32), crop_size=[3, 2], want=crops)
    case("ParallelConcat", r(1, 4), r(1, 4) + 1, shape=[2, 4], N=2, want=lambda a, b: torch.cat([a, b]))
    signal, window = r(2, 64), torch.hann_window(16)
    case("STFT", signal, window, n_fft=16, want=lambda v, w: torch.stft(v, 16, window=w, center=False, return_complex=True))
    case("STFT", signal[0], None, n_fft=16, hop_length=8, onesided=False, return_complex=False, normalized=True, want=lambda v, _: torch.view_as_real(torch.stft(
        v, 16, 8, window=torch.ones(16), center=False, normalized=True, onesided=False, return_complex=True)))
    line, image = r(2, 3, 5), r(2, 3, 5, 4)
    case("ResizeD", line, sizes=[9], mode="linear", want=lambda v: F.interpolate(v, 9, mode="linear"))
    case("ResizeD", image, sizes=[7, 9], mode="cubic", coordinate_transformation_mode="align_corners",
         want=lambda v: F.interpolate(v, (7, 9), mode="bicubic", align_corners=True))
    case("ResizeGradD", r(2, 3, 9), original_size=[2, 3, 5], mode="linear",
         want=lambda g: gradient(lambda v: F.interpolate(v, 9, mode="linear"), line, by=g)[0])
    case("ResizeGradD", r(2, 3, 7, 9), original_size=[2, 3, 5, 4], mode="cubic",
         want=lambda g: gradient(lambda v: F.interpolate(v, (7, 9), mode="bicubic"), image, by=g)[0])
    certain = torch.tensor([[0.0, 50.0, 0.0], [80.0, 1.0, 2.0]])  # what is drawn is known
    case("Multinomial", certain, const([4]), seed=3, want=lambda v, _: torch.tensor([[1] * 4, [0] * 4]))
    case("Multinomial", certain.half(), const([2]), seed=3, dtype=torch.int32, want=lambda v, _: torch.tensor([[1] * 2, [0] * 2], dtype=torch.int32))


def add_experts(case, r):
    heads, angle = r(2, 3, 4, 8, low=-1.0), r(2, 1, 4, 8, low=-1.0)

    def turned(x, c, s):
        x = torch.cat([x[..., ::2], x[..., 1::2]], -1).double()
        return (x * c.double() + torch.cat([-x[..., 4:], x[..., :4]], -1) * s.double()).float()
    case("InterleaveRope", heads, angle.cos(), angle.sin(), want=turned)
    case("InterleaveRope", heads.half(), angle.cos()[:, :, :1].half(), angle.sin()[:, :, :1].half(), tolerance=3e-3, want=turned)

    def clipped(a, b, limit=7.0, alpha=1.702, bias=1.0):
        a, b = a.double().clamp(max=limit), b.double().clamp(-limit, limit)
        return a * torch.sigmoid(alpha * a) * (b + bias)
    wide = r(5, 16, low=-9.0, high=9.0)
    case("ClippedSwiglu", wide, None, want=lambda v, _: clipped(v[:, ::2], v[:, 1::2]).float())
    case("ClippedSwiglu", wide, torch.tensor([1, 2]), interleaved=False, limit=2.0, alpha=1.0, bias=0.5, want=lambda v, _: torch.cat(
        [clipped(v[:3, :8], v[:3, 8:], 2.0, 1.0, 0.5), torch.zeros(2, 8)]).float())
    case("ClippedSwiglu", r(2, 6, 3, low=-9.0, high=9.0), None, dim=1, want=lambda v, _: clipped(
        v.reshape(2, 18)[:, ::2], v.reshape(2, 18)[:, 1::2]).reshape(2, 3, 3).float())
    sums = torch.randint(-900, 900, (5, 16), generator=torch.Generator().manual_seed(4), dtype=torch.int32)
    columns, rows, smooth = r(2, 16, low=0.01, high=0.02), r(5, 1, low=0.5, high=1.5), r(2, 8, low=0.5, high=1.5)

    def quantised(v, *, mode, groups=None, left=False, how=0, weight=None, row=None, bias=None, factor=None, offset=None):
        v = v.double()
        number = torch.zeros(5, dtype=torch.long) if groups is None else torch.repeat_interleave(torch.arange(2), groups)
        if bias is not None:
            v = v + bias
        if weight is not None:
            v = v * weight.double()[number]
        if row is not None:
            v = v * row.double()
        a, b = (v[:, ::2], v[:, 1::2]) if how == 1 else v.chunk(2, -1) if left else v.chunk(2, -1)[::-1]
        v = F.silu(a) * b if how == 0 else clipped(a, b)
        if mode == "dynamic":
            v = v if factor is None else v * factor.double()[number]
            scale = v.abs().amax(-1) / 127
            return [(v / scale[:, None]).round().to(torch.int8), scale.float()]
        v = v / factor.double()[number] + (0 if offset is None else offset.double())
        return [v.round().clamp(-128, 127).to(torch.int8), torch.zeros(5)]
    by = torch.tensor([2, 3])
    case("DequantSwigluQuant", sums, columns, rows, None, smooth, None, by, quant_mode="dynamic",
         want=lambda v, w, a, b, f, o, g: quantised(v, mode="dynamic", groups=g, weight=w, row=a, factor=f))
    case("DequantSwigluQuant", sums, columns[:1], rows, sums[0].contiguous(), None, None, None, quant_mode="dynamic", activate_left=True,
         want=lambda v, w, a, b, *_: quantised(v, mode="dynamic", left=True, weight=w, row=a, bias=b))
    case("DequantSwigluQuant", sums, columns[:1], rows, None, smooth[:1], r(1, 8), None, swiglu_mode=1,
         want=lambda v, w, a, b, f, o, _: quantised(v, mode="static", how=1, weight=w, row=a, factor=f, offset=o))
    case("DequantSwigluQuant", wide.half(), None, None, None, None, None, None, quant_mode="dynamic", swiglu_mode=2, activate_left=True,
         want=lambda v, *_: quantised(v, mode="dynamic", how=2, left=True))
    signal = torch.complex(r(2, 3, 15, low=-1.0), r(2, 3, 15, low=-1.0))
    case("FFT", signal, want=torch.fft.fft)
    case("FFT2D", signal, want=torch.fft.fft2)
    case("FFT", signal.to(torch.complex128), want=torch.fft.fft)
    case("Permute", r(2, 3, 4), order=[1, 0], want=lambda v: v.permute(1, 0, 2))


def add_cases(case, r):
    for part in (add_attention, add_quantised, add_rest, add_experts, add_routers, add_sparse, add_images):
        part(case, r)
