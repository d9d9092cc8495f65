"""Cases of graph operators that are parts of something larger: layers of attention as torch_npu has them fused, steps of an LSTM, convolutions of
windows, tables of embeddings, and one step of K-Means."""
import torch
import torch.nn.functional as F

from graph_cases.adapter import gradient
from graph import const


def add_attention(case, r):
    x, gamma, beta = r(6, 8), r(8), r(8, low=-1.0)
    kernels, biases = [r(8, 8, low=-1.0) * (i + 1) for i in range(3)], [r(8) + i for i in range(3)]

    def projected(v, q, k, w, g, b, *more):
        norm = F.layer_norm(v.double(), (8,), g.double(), b.double(), 1e-5)
        return [norm, *(norm @ m.double() + (0 if c is None else c.double()) for m, c in zip((q, k, w), more)), v.double().mean(1), v.double().var(1, correction=0)]
    case("AttentionLnQKV", x, *kernels, gamma, beta, *biases, epsilon=1e-5, want=projected)
    case("AttentionLnQKV", x, *kernels, gamma, beta, None, None, None, epsilon=1e-5, want=projected)
    case("AttentionLnQKV", x.half(), *(k.half() for k in kernels), gamma.half(), beta.half(), *(b.half() for b in biases), epsilon=1e-5, tolerance=3e-2, want=projected)
    grads, above = [r(6, 8, low=-1.0) + i for i in range(3)], r(6, 8)
    case("AttentionQKVGradX", above, *grads, *kernels, want=lambda a, q, k, v, *w: a + sum(g @ m.T for g, m in zip((q, k, v), w)))
    case("AttentionQKVGradX", None, *grads, *kernels, want=lambda a, q, k, v, *w: sum(g @ m.T for g, m in zip((q, k, v), w)))
    case("AttentionQKVGradW", x, *grads, want=lambda v, *g: [*(v.T @ m for m in g), *(m.sum(0) for m in g)])
    q, k, v = r(2, 2, 4, 8, low=-1.0), r(2, 2, 4, 8) + 0.1, r(2, 2, 4, 8, low=-1.5)
    hide, scale = torch.where(r(2, 1, 4, 4) > 1, -1000.0, 0.0), torch.tensor([0.3])
    keep = (torch.rand(64, generator=torch.Generator().manual_seed(2)) > 0.3).to(torch.uint8)

    def scores(a, b, c, mask, by, kept):
        weights = (a.double() @ b.double().mT * by.double() + mask.double()).softmax(-1)
        mixed = (weights if kept is None else weights * kept.reshape(weights.shape) / 0.7) @ c.double()
        return [mixed.transpose(1, 2).reshape(8, 16), weights]
    case("AttentionScore", q, k, v, hide, scale, None, want=scores)
    case("AttentionScore", q, k, v, hide, scale, keep, keep_prob=0.7, want=scores)
    weights, dy = scores(q, k, v, hide, scale, None)[1].float(), r(2, 2, 4, 8, low=-1.0)
    for kept in (None, keep):
        def wanted(w, g, c, b, a, by, mask):
            parts = gradient(lambda c, a, b: scores(a, b, c, hide, by, mask)[0], c, a, b, by=g.transpose(1, 2).reshape(8, 16))
            return [p.transpose(1, 2).reshape(8, 16) for p in parts]
        case("AttentionScoreGrad", weights, dy, v, k, q, scale, kept, keep_prob=0.7, want=wanted)  # torch_npu gives value third and query fifth
    shape, mask = (3, 5), torch.tensor([1, 0, 1, 1, 0] * 3 + [1], dtype=torch.uint8)[:15]
    row, g, weight = r(*shape), r(*shape, low=-1.0), r(5)
    layer = lambda t, w, b: F.layer_norm(t, (5,), w, b, 1e-12)  # noqa: E731

    def dropped(g, t, variance, mean, w, m):
        found = gradient(layer, t, w, torch.zeros(5), by=g)
        return [found[0], found[0] * m.reshape(shape) / 0.8, *found[1:]]
    case("LNDropoutGrad", g, row, row.var(1, correction=0, keepdim=True), row.mean(1, keepdim=True), weight, mask, keep_prob=0.8, want=dropped, tolerance=1e-3)


def add_steps(case, r):
    x, h, c, w, b = r(3, 4), r(3, 5), r(3, 5, low=-1.0), r(9, 20, low=-1.0), r(20)

    def cell(x, h, c, w, b):
        i, j, f, o = (torch.cat([x, h], 1) @ w + b).split(5, 1)
        i, j, f, o = i.sigmoid(), j.tanh(), (f + 0.5).sigmoid(), o.sigmoid()
        new = c * f + i * j
        return new, new.tanh() * o, i, j, f, o, new.tanh()
    case("BasicLSTMCell", x, h, c, w, b, None, forget_bias=0.5, want=lambda *a: list(cell(*(v.double() for v in a[:5]))))
    dh, dc = r(3, 5, low=-1.0), r(3, 5, low=-0.5)
    parts = [v.float() for v in cell(*(v.double() for v in (x, h, c, w, b)))]
    leaves = [v.double().requires_grad_() for v in (x, h, c, w, b)]
    out = cell(*leaves)
    wanted = torch.autograd.grad([out[0], out[1]], leaves, [dc.double(), dh.double()])
    gates = torch.zeros(3, 20).double().requires_grad_()  # what is added to the gates has their gradient
    out = cell(x.double(), h.double(), c.double(), w.double(), b.double() + gates)
    dgate = torch.autograd.grad([out[0], out[1]], gates, [dc.double(), dh.double()])[0]
    case("BasicLSTMCellCStateGrad", c, dh, dc, *parts[2:], forget_bias=0.5, want=lambda *_: [dgate, wanted[2]])
    case("BasicLSTMCellInputGrad", dgate.float(), w, None, want=lambda *_: [wanted[0], wanted[1]])
    case("BasicLSTMCellWeightGrad", x, h, dgate.float(), want=lambda *_: [wanted[3], wanted[4]])
    var, sums, squares, grad = r(3, 4), r(3, 4, low=-1.0), r(3, 4, low=0.5), r(3, 4, low=-1.5)
    number = lambda v, t=torch.float32: torch.tensor([v], dtype=t)  # noqa: E731
    for l1 in (0.0, 0.3):
        def step(v, s, q, g, *_, l1=l1):
            s, q = s + g, q + g * g
            left = s.sign() * (s.abs() - l1 * 3).clamp_min(0) if l1 else s
            return [-0.1 * left / (0.2 * 3 * 0.1 + q.sqrt()), s, q]
        case("ApplyAdagradDA", var, sums, squares, grad, number(0.1), number(l1), number(0.2), number(3, torch.int64), want=step)


def add_rows(case, r):
    table = r(5, 3)
    for dtype in (torch.float32, torch.int8, torch.float64):
        case("EmbeddingLookup", (table * 9).to(dtype), torch.tensor([[6, 2], [9, 4]]), torch.tensor([4]), want=lambda t, *_: torch.stack([
            torch.stack([t[2], t[0] * 0]), torch.stack([t[0] * 0, t[0]])]))
    case("EmbeddingLookup", r(7), torch.tensor([3, 9], dtype=torch.int32), torch.tensor(3, dtype=torch.int32), want=lambda t, *_: torch.stack([t[0], t[6]]))
    x = torch.tensor([[1.6279, 0.1226], [0.9041, 1.0980]])  # the example of torch_npu.npu_scatter
    case("ArgMaxGrad", x, torch.tensor([0, 1], dtype=torch.int32), torch.tensor([-1.1993, -1.5247]), dimension=0,
         want=lambda *_: torch.tensor([[-1.1993, 0.1226], [0.9041, -1.5247]]))
    case("ArgMaxGrad", r(2, 3, 4), torch.tensor([[[2], [0], [3]], [[1], [1], [0]]], dtype=torch.int32), r(2, 3, 1), dimension=-1,
         want=lambda v, i, u: v.scatter(-1, i.long(), u))
    past, cur = r(2, 3, 5, 4), r(2, 3, 1, 4)
    case("KVCacheMgr", past, cur, torch.tensor([4, 1]), want=lambda p, c, i: torch.stack([p[n].index_copy(1, i[n:n + 1], c[n]) for n in range(2)]))
    points, centres = r(40, 3), r(4, 3, low=-1.0)
    for whole in (True, False):
        def clusters(p, c, s, q, whole=whole):
            nearest = torch.cdist(p.double(), c.double()).argmin(1)
            sums = torch.zeros(4, 3).index_add(0, nearest, p)
            distance = ((p - c[nearest]) ** 2).sum(1) - (0 if whole else (p * p).sum(1))
            return [sums, torch.bincount(nearest, minlength=4)[:, None], distance.sum()[None]]
        case("KMeansCentroids", points, centres, (centres ** 2).sum(1)[None], (points ** 2).sum(1, keepdim=True) if whole else None, use_actual_distance=whole, want=clusters)
    case("GetShape", r(3, 2, 1), want=lambda v: torch.tensor([3, 2, 1]))
    square = r(2, 4, 4) / 4 + torch.eye(4) * 2
    factor = torch.linalg.cholesky(square @ square.mT).contiguous()
    for dtype, tolerance in ((torch.float32, 1e-4), (torch.float64, 1e-7)):
        case("CholeskyGrad", factor.to(dtype), r(2, 4, 4, low=-1.0).to(dtype), tolerance=tolerance, want=lambda f, g: gradient(
            lambda m: torch.linalg.cholesky((m + m.mT) / 2), (f.double() @ f.double().mT), by=g)[0])
    a, b, sign = r(4, 6), r(4, 6, low=-1.0), torch.tensor([1, -1, 1, -1])
    for how in ("none", "mean", "sum"):
        for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 2e-3), (torch.float64, 1e-6)):
            case("CosineEmbeddingLoss", a.to(dtype), b.to(dtype), sign.int(), margin=0.1, reduction=how, tolerance=tolerance,
                 want=lambda v, w, t, how=how: F.cosine_embedding_loss(v.double(), w.double(), t, 0.1, reduction=how))


def add_images(case, r):
    image, kernel = r(2, 4, 5, 6), r(4, 3, 3, 2)
    for bias in (None, r(6)):
        case("Deconvolution", image, kernel, bias, None, strides=[2, 1], pads=[1, 0, 0, 1], groups=2,
             want=lambda v, w, b, _: F.conv_transpose2d(v, w, b, (2, 1), groups=2)[:, :, 1:, :-1])
    x, filters, bias = r(1, 4, 5, 6), r(3, 4, 2, 3), r(3)
    offsets = r(1, 3 * 2 * 6, 4, 4, low=-0.8, high=0.8)  # two groups of six points: along the width, along the height, and factors

    def deformed(v, w, o, b):
        want = torch.zeros(1, 3, 4, 4).double()
        o = o[0].reshape(3, 2, 2, 3, 4, 4).double()
        padded = F.pad(v.double(), (3, 3, 3, 3))[0]
        for oy in range(4):
            for ox in range(4):
                for c in range(4):
                    for ky in range(2):
                        for kx in range(3):
                            dx, dy, factor = o[:, c // 2, ky, kx, oy, ox]
                            y, at = oy + ky + dy + 3, ox + kx + dx + 3
                            y0, x0 = int(y.floor()), int(at.floor())
                            fy, fx = y - y0, at - x0
                            p = padded[c, y0:y0 + 2, x0:x0 + 2]
                            value = (p[0, 0] * (1 - fx) + p[0, 1] * fx) * (1 - fy) + (p[1, 0] * (1 - fx) + p[1, 1] * fx) * fy
                            want[0, :, oy, ox] += w[:, c, ky, kx].double() * value * factor
        return want if b is None else want + b.double()[:, None, None]
    for of in (None, bias):
        case("DeformableConv2D", x, filters, offsets, of, strides=[1, 1, 1, 1], pads=[0, 0, 0, 0], data_format="NCHW", deformable_groups=2, want=deformed)
    rows = r(2, 3, 1, 8, low=-1.0)
    for dtype in (torch.float32, torch.float64):
        case("ResizeGrad", rows.to(dtype), None, None, const([2, 3, 1, 5]), mode="nearest", nearest_mode="floor", coordinate_transformation_mode="pytorch_half_pixel",
             want=lambda g, *_: gradient(lambda v: F.interpolate(v, (1, 8)), torch.zeros(2, 3, 1, 5), by=g)[0])
    case("ResizeGrad", r(2, 3, 7, 8, low=-1.0), None, None, const([2, 3, 4, 5]), mode="cubic", want=lambda g, *_: gradient(
        lambda v: F.interpolate(v, (7, 8), mode="bicubic"), torch.zeros(2, 3, 4, 5), by=g)[0])
    photo = r(2, 4, 5, 3)
    boxes, at = torch.tensor([[0.0, 0.0, 1.0, 1.0], [0.2, 0.1, 0.7, 0.9]]), torch.tensor([1, 0], dtype=torch.int32)

    def crops(v, b, i, _):
        grids = []
        for y1, x1, y2, x2 in b.tolist():
            ys, xs = (torch.linspace(2 * low - 1, 2 * high - 1, n) for low, high, n in ((y1, y2, 3), (x1, x2, 2)))
            grids.append(torch.stack(torch.meshgrid(ys, xs, indexing="ij")[::-1], -1))
        return F.grid_sample(v.float().permute(0, 3, 1, 2)[i.long()], torch.stack(grids), align_corners=True).permute(0, 2, 3, 1)
    case("CropAndResizeV2", photo, boxes, at, const([3, 2]), want=crops)
    case("CropAndResizeV2", photo.half(), boxes, at, const([3, 2]), dtype=torch.float16, want=crops, tolerance=2e-3)


def add_cases(case, r):
    add_attention(case, r)
    add_steps(case, r)
    add_rows(case, r)
    add_images(case, r)
