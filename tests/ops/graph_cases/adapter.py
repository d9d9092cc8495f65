"""Cases of graph operators that MindSpore's adapters for graphs name: diagonals, rows that are reduced, blocks of pixels, volumes, pooling with masks,
equations, and steps of optimizers."""
import numpy as np
import torch
import torch.nn.functional as F

from graph import const


def gradient(f, *inputs, by):
    """Of sum(f(inputs) * by), by PyTorch in float64."""
    leaves = [v.double().requires_grad_() for v in inputs]
    return [g.float() for g in torch.autograd.grad(f(*leaves), leaves, by.double())]


def add_diagonals(case, r):
    x, m = r(3, 4), r(2, 3, 5)
    case("Diag", r(4), want=torch.diag)
    case("Diag", x, want=lambda v: torch.diag(v.flatten()).reshape(3, 4, 3, 4))
    case("DiagPart", r(4, 4), want=torch.diagonal)
    case("DiagPart", r(2, 3, 2, 3), want=lambda v: v.reshape(6, 6).diagonal().reshape(2, 3))
    case("DiagPartD", r(4, 4), torch.eye(4), want=lambda v, _: v.diagonal())
    case("MatrixDiagD", x, torch.eye(4).expand(3, 4, 4).contiguous(), want=lambda v, _: torch.diag_embed(v))
    case("MatrixDiagPartD", m, torch.eye(3, 5).expand(2, 3, 5).contiguous(), want=lambda v, _: v.diagonal(0, 1, 2))
    case("MatrixSetDiagD", m, r(2, 3, low=-1.0), torch.eye(3, 5).expand(2, 3, 5).contiguous(), want=lambda v, d, _: torch.diagonal_scatter(v, d, 0, 1, 2))
    number = lambda v, t=torch.int32: const(v, t)  # noqa: E731
    nine = torch.tensor(9.0)

    def packed(v, low, high, align="RIGHT_LEFT", fill=9.0):
        """MatrixDiagPartV3 by its definition."""
        longest = max(v.diagonal(k, -2, -1).shape[-1] for k in range(low, high + 1))
        rows = []
        for k in range(high, low - 1, -1):
            d = v.diagonal(k, -2, -1)
            above, below = align.split("_")
            left = (k >= 0 and above == "LEFT") or (k <= 0 and below == "LEFT")
            gap = longest - d.shape[-1]
            rows.append(F.pad(d, (0, gap) if left else (gap, 0), value=fill))
        return torch.stack(rows, -2) if low != high else rows[0]

    for align in ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"):
        case("MatrixDiagPartV3", m, number([-1, 2]), nine, align=align, want=lambda v, k, p, a=align: packed(v, -1, 2, a))
    case("MatrixDiagPartV3", m, number([1]), nine, want=lambda v, k, p: v.diagonal(1, 1, 2))
    base = r(2, 3, 5, low=1.0)
    case("MatrixSetDiagV3", base, packed(m, -1, 2), number([-1, 2]),
         want=lambda v, d, k: torch.where((torch.arange(5) - torch.arange(3)[:, None] >= -1) & (torch.arange(5) - torch.arange(3)[:, None] <= 2), m, v))
    case("MatrixSetDiagV3", base, r(2, 3), number([0]), want=lambda v, d, k: torch.diagonal_scatter(v, d, 0, 1, 2))
    case("MatrixDiagV3", packed(m, -1, 1), number([-1, 1]), number([3]), number([5]), nine,
         want=lambda v, *_: torch.where((torch.arange(5) - torch.arange(3)[:, None]).abs() <= 1, m, 9.0))
    case("MatrixDiagV3", x, number([0]), number([-1]), number([-1]), torch.tensor(0.0), want=lambda v, *_: torch.diag_embed(v))
    case("MatrixDiagV3", x, number([1]), number([-1]), number([-1]), torch.tensor(0.0), want=lambda v, *_: torch.diag_embed(v, 1))


def add_rows(case, r):
    var, updates, rows = r(5, 4, low=0.5), r(3, 4, low=0.5, high=3.0), torch.tensor([1, 3, 1])
    at = rows[:, None].expand(3, 4)
    for name, how in (("Max", "amax"), ("Min", "amin"), ("Mul", "prod")):
        by_rows = lambda v, i, u, h=how: v.scatter_reduce(0, at, u, h)  # noqa: E731
        case("Scatter" + name, var, rows.int(), updates, want=by_rows)
        if name != "Mul":
            case("ScatterNd" + name, var, rows[:, None], updates, want=by_rows)
            case("TensorScatter" + name, var, rows[:, None], updates, want=by_rows)
            pairs = torch.tensor([[1, 2], [4, 0]])
            extreme = torch.maximum if name == "Max" else torch.minimum

            def by_pairs(v, i, u, f=extreme):
                v = v.clone()
                v[1, 2], v[4, 0] = f(v[1, 2], u[0]), f(v[4, 0], u[1])
                return v
            case("TensorScatter" + name, var, pairs, r(2, low=0.0, high=4.0), want=by_pairs)
    case("ScatterDiv", var, rows, updates, want=lambda v, i, u: v / torch.ones(5, 4).scatter_reduce(0, at, u, "prod"))
    case("ScatterDiv", var.half(), torch.tensor([1] * 8), torch.full((8, 4), 30.0).half(),
         want=lambda v, i, u: v.double().index_fill(0, torch.tensor([1]), 0.0).half(), tolerance=1e-3)
    case("ScatterDiv", torch.tensor([[-7, 9], [5, 20]], dtype=torch.int32), torch.tensor([0], dtype=torch.int32), torch.tensor([[2, 2]], dtype=torch.int32),
         want=lambda *_: torch.tensor([[-3, 4], [5, 20]], dtype=torch.int32))
    x, ids = r(4, 3), torch.tensor([2, 0, -1, 2], dtype=torch.int32)

    def by_segment(v, f, empty):
        return torch.stack([f(v[1]), torch.full((3,), empty), f(torch.stack([v[0], v[3]])), torch.full((3,), empty)])
    largest = float(np.finfo(np.float32).max)
    for name, f, empty in (("Max", lambda p: p.reshape(-1, 3).amax(0), -largest), ("Min", lambda p: p.reshape(-1, 3).amin(0), largest),
                           ("Prod", lambda p: p.reshape(-1, 3).prod(0), 1.0)):
        case("UnsortedSegment" + name, x, ids, const([4], torch.int32), want=lambda v, i, n, f=f, e=empty: by_segment(v, f, e))
    case("SegmentSum", x, const([0, 0, 2, 3], torch.int32), want=lambda v, i: torch.stack([v[0] + v[1], torch.zeros(3), v[2], v[3]]))
    v = r(2, 4, low=-1.0)
    for name, f in (("Update", lambda a, i, b: a.index_copy(0, i, b)), ("Add", lambda a, i, b: a.index_add(0, i, b)),
                    ("Sub", lambda a, i, b: a.index_add(0, i, b, alpha=-1))):
        case("Inplace" + name, var, torch.tensor([4, 1], dtype=torch.int32), v, want=lambda a, i, b, f=f: f(a, i.long(), b))
        case("Inplace" + name + "D", var, v, indices=[4, 1], want=lambda a, b, f=f: f(a, torch.tensor([4, 1]), b))
    case("IndexAdd", var, torch.tensor([2, 0], dtype=torch.int32), r(5, 2), axis=1, want=lambda a, i, b: a.index_add(1, i.long(), b))
    labels, guesses = torch.tensor([0, 2, 2, 1], dtype=torch.int32), torch.tensor([0, 1, 1, 1], dtype=torch.int32)
    counted = torch.tensor([[1, 0, 0], [0, 1, 0], [0, 2, 0]])
    case("ConfusionMatrix", labels, guesses, None, num_classes=3, dtype="int32", want=lambda *_: counted.int())
    case("ConfusionMatrix", labels, guesses, torch.tensor([0.5, 1.0, 2.0, 4.0]), num_classes=3, dtype="float32",
         want=lambda *_: torch.tensor([[0.5, 0, 0], [0, 4, 0], [0, 3, 0]]))
    places, dense = torch.tensor([[0, 1], [2, 3], [2, 0]]), torch.zeros(3, 4)
    values = r(3)
    dense[0, 1], dense[2, 3], dense[2, 0] = values
    for a, b in ((False, False), (True, False), (False, True), (True, True)):
        other = r(*((4, 2) if not a else (3, 2)))
        case("SparseTensorDenseMatMul", places, values, const([3, 4]), other.T.contiguous() if b else other, adjoint_a=a, adjoint_b=b,
             want=lambda i, v, s, o, a=a, b=b: (dense.T if a else dense) @ (o.T if b else o))
    case("NthElement", r(3, 6), const([2], torch.int32), want=lambda v, n: v.sort(-1).values[:, 2])
    case("NthElement", r(3, 6), const([2], torch.int32), reverse=True, want=lambda v, n: v.sort(-1, descending=True).values[:, 2])
    case("InTopKD", torch.tensor([[1.0, 5, 3], [2, 2, 9]]), torch.tensor([2, 0], dtype=torch.int32), k=2, want=lambda *_: torch.tensor([True, True]))
    case("InTopKD", torch.tensor([[1.0, 5, 3], [float("inf"), 2, 9]]), torch.tensor([0, 0], dtype=torch.int32), k=2, want=lambda *_: torch.tensor([False, False]))
    for right in (True, False):
        case("Bucketize", torch.tensor([-1.0, 0.0, 0.5, 1.0, 7.0]), boundaries=[0.0, 1.0, 5.0], right=right,
             want=lambda v, s=right: torch.bucketize(v, torch.tensor([0.0, 1.0, 5.0]), right=s).int())
    case("CumulativeLogsumexp", r(3, 4), const([1], torch.int32), want=lambda v, d: torch.logcumsumexp(v, 1))
    case("CumulativeLogsumexp", r(3, 4), const([0], torch.int32), reverse=True, want=lambda v, d: torch.logcumsumexp(v.flip(0), 0).flip(0))
    case("CumulativeLogsumexp", r(3, 4), const([1], torch.int32), exclusive=True,
         want=lambda v, d: torch.cat([torch.full((3, 1), -float("inf")), torch.logcumsumexp(v, 1)[:, :-1]], 1))


def image_of(r):
    return r(2, 4, 6, 4)


def add_images(case, r):
    last, first = r(2, 4, 6, 8), r(2, 8, 4, 6)
    deep = lambda v, b=2: F.pixel_unshuffle(v, b)  # noqa: E731

    def to_depth(v, b=2):
        n, c, h, w = v.shape
        return v.reshape(n, c, h // b, b, w // b, b).permute(0, 3, 5, 1, 2, 4).reshape(n, c * b * b, h // b, w // b)

    def from_depth(v, b=2):
        n, c, h, w = v.shape
        return v.reshape(n, b, b, c // (b * b), h, w).permute(0, 3, 4, 1, 5, 2).reshape(n, c // (b * b), h * b, w * b)
    case("SpaceToDepth", first, block_size=2, data_format="NCHW", want=to_depth)
    case("SpaceToDepth", last, block_size=2, want=lambda v: to_depth(v.permute(0, 3, 1, 2)).permute(0, 2, 3, 1).contiguous())
    case("DepthToSpace", first, block_size=2, data_format="NCHW", want=from_depth)
    case("DepthToSpace", first, block_size=2, mode="CRD", data_format="NCHW", want=lambda v: F.pixel_shuffle(v, 2))
    case("DepthToSpace", last, block_size=2, want=lambda v: from_depth(v.permute(0, 3, 1, 2)).permute(0, 2, 3, 1).contiguous())

    def to_batch(v, pads=(1, 0, 0, 2), b=2):
        v = F.pad(v, (0, 0, pads[2], pads[3], pads[0], pads[1]))
        n, h, w, c = v.shape
        return v.reshape(n, h // b, b, w // b, b, c).permute(2, 4, 0, 1, 3, 5).reshape(n * b * b, h // b, w // b, c)
    image = r(2, 3, 4, 5)
    case("SpaceToBatchND", image, const([2, 2]), const([[1, 0], [0, 2]]), want=lambda v, *_: to_batch(v))
    case("SpaceToBatch", image, const([[1, 0], [0, 2]]), block_size=2, want=lambda v, *_: to_batch(v))
    case("SpaceToBatchD", image, block_size=2, paddings=[1, 0, 0, 2], want=to_batch)
    whole = r(2, 4, 6, 5)
    blocks = to_batch(whole, (0, 0, 0, 0))
    case("BatchToSpaceND", blocks, const([2, 2]), const([[1, 0], [0, 2]]), want=lambda *_: whole[:, 1:, :4])
    case("BatchToSpace", blocks, const([[1, 0], [0, 2]]), block_size=2, want=lambda *_: whole[:, 1:, :4])
    case("BatchToSpaceD", blocks, block_size=2, crops=[0, 0, 0, 0], want=lambda *_: whole)
    case("ShuffleChannel", first, group=2, want=lambda v: F.channel_shuffle(v, 2))
    sizes = torch.tensor([2, 5, 6, 3], dtype=torch.int32)
    case("DataFormatVecPermute", sizes, want=lambda v: v[[0, 3, 1, 2]])
    case("DataFormatVecPermute", sizes, src_format="NCHW", dst_format="NHWC", want=lambda v: v[[0, 2, 3, 1]])
    case("DataFormatDimMap", torch.tensor([[0, 1, -1], [2, 3, -4]], dtype=torch.int32), want=lambda v: torch.tensor([[0, 2, 1], [3, 1, 0]], dtype=torch.int32))
    volume = r(1, 2, 3, 4, 5)
    for name, mode, corners in (("UpsampleNearest3d", "nearest", None), ("UpsampleTrilinear3d", "trilinear", False), ("UpsampleTrilinear3d", "trilinear", True)):
        more = {} if corners is None else {"align_corners": corners}
        resized = lambda v, mode=mode, more=more: F.interpolate(v, (6, 5, 7), mode=mode, **more)  # noqa: E731
        case(name, volume, output_size=[6, 5, 7], want=resized, **more)
        case(name + "Grad", r(1, 2, 6, 5, 7), input_size=[1, 2, 3, 4, 5], output_size=[6, 5, 7], want=lambda g, f=resized: gradient(f, volume, by=g)[0], **more)
    case("Upsample", first, stride_h=2, stride_w=3, scale=0.5, want=lambda v: v.repeat_interleave(2, 2).repeat_interleave(3, 3) * 0.5)
    grid, at = r(1, 2, 3, 2, 3, low=-1.2, high=1.2), r(1, 2, 2, 3, 2)
    case("GridSampler3DGrad", at, volume, grid, want=lambda g, v, w: gradient(lambda a, b: F.grid_sample(a, b, align_corners=False), v, w, by=g))
    pooled = lambda v: F.max_pool2d(v.permute(0, 3, 1, 2), 3, 2).permute(0, 2, 3, 1).contiguous()  # noqa: E731

    def second(v, _, g):
        places = F.max_pool2d(v.permute(0, 3, 1, 2), 3, 2, return_indices=True)[1]
        return g.permute(0, 3, 1, 2).flatten(2).gather(2, places.flatten(2)).reshape(places.shape).permute(0, 2, 3, 1).contiguous()
    square = r(2, 7, 7, 3)
    case("MaxPoolWithArgmaxV2", image_of(r), want=lambda v: [F.max_pool2d(v, 2, 2), None], ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], pads=[1, 0, 0, 1])
    case("MaxPoolGradGrad", square, pooled(square), r(2, 7, 7, 3, low=-1.0), ksize=[1, 3, 3, 1], strides=[1, 2, 2, 1], padding="VALID", want=second)
    for dtype in (torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):  # the padding is below every value of the type
        least = torch.iinfo(dtype).min
        pixels = (r(2, 6, 5, 3).abs() * 4 + 1).to(dtype) * (-1 if least else 1)
        case("MaxPool", pixels, ksize=[1, 3, 2, 1], strides=[1, 2, 2, 1], padding="SAME", want=lambda v, least=least: F.max_pool2d(
            F.pad(v.permute(0, 3, 1, 2).double(), (0, 1, 0, 1), value=least), (3, 2), 2).permute(0, 2, 3, 1).to(v.dtype))


def add_layers(case, r):
    x, y, rows = r(3, 4), r(3, 4, low=-3.0), r(2, 3, 4)
    case("ConfusionSoftmaxGrad", x, y, want=lambda g, v: g - (g * v).sum(-1, keepdim=True))
    case("SoftmaxGradExt", rows, r(2, 3, 4, low=-1.0), r(2, 3, 4, low=0.5), axes=1, want=lambda g, a, b: (g - (g * a).sum(1, keepdim=True)) * a * b)
    case("Centralization", rows, axes=[0, -1], want=lambda v: v - v.mean((0, 2), keepdim=True))
    image, by, scale = r(2, 3, 4, 5), r(2, 3, 4, 5, low=-1.0), r(3, low=0.5)
    mean, variance = image.mean((0, 2, 3)), image.var((0, 2, 3), correction=0)
    normal = lambda v, s, b: F.batch_norm(v, None, None, s, b, True, 0, 1e-4)  # noqa: E731
    # reserve_space_4 and 5 have no elements
    case("BatchNormGrad", by, image, scale, mean, variance, None, data_format="NCHW",
         want=lambda g, v, s, *_: [*gradient(normal, v, s, torch.zeros(3), by=g), torch.zeros(0), torch.zeros(0)])
    given = lambda v, s, b: F.batch_norm(v, mean.double(), variance.double(), s, b, False, 0, 1e-4)  # noqa: E731
    case("BatchNormGrad", by, image, scale, mean, variance, None, data_format="NCHW", is_training=False,
         want=lambda g, v, s, *_: [*gradient(given, v, s, torch.zeros(3), by=g), torch.zeros(0), torch.zeros(0)])
    gamma, centre, spread = r(4, low=0.5), rows.mean(-1, keepdim=True), rows.var(-1, keepdim=True, correction=0)
    layer = lambda v, g: F.layer_norm(v, (4,), g, None, 1e-12)  # noqa: E731
    normalised = (rows - centre) / spread.sqrt()
    case("LayerNormXBackpropV2", r(2, 3, 4, low=-1.0), rows, spread, centre, gamma, tolerance=1e-3,
         want=lambda g, v, s, m, w: [gradient(layer, v, w, by=g)[0], normalised])
    case("LayerNormBetaGammaBackpropV2", r(2, 3, 4, low=-1.0), normalised, shape_gamma=[4], want=lambda g, n: [(g * n).sum((0, 1)), g.sum((0, 1))])
    case("Shrink", x, lambd=0.7, bias=0.2, want=lambda v: torch.where(v > 0.7, v - 0.2, torch.where(v < -0.7, v + 0.2, torch.zeros(()))))
    case("PopulationCount", torch.tensor([-1, 0, 5, 300], dtype=torch.int16), want=lambda v: torch.tensor([16, 0, 2, 4], dtype=torch.uint8))
    case("PopulationCount", torch.tensor([-1, 7, -128], dtype=torch.int8), want=lambda v: torch.tensor([8, 3, 1], dtype=torch.uint8))
    case("Ger", r(3), r(5), want=torch.outer)
    case("Scale", image, scale, None, want=lambda v, s, _: v * s[:, None, None])
    case("Scale", image, r(3, 4), r(3, 4, low=-1.0), num_axes=2, want=lambda v, s, b: v * s[..., None] + b[..., None])
    mask = torch.tensor([[1, 0, 1, 1]] * 3, dtype=torch.uint8)
    case("DropOutDoMaskV3D", x, F.pad(mask.flatten(), (0, 116)), keep_prob=0.5, want=lambda v, m: v * mask * 2)
    bytes_ = lambda *shape: r(*shape, low=-50.0, high=50.0).to(torch.int8)  # noqa: E731
    for kind in ("BatchMatMul", "BatchMatMulV2"):
        case(kind, bytes_(2, 3, 40), bytes_(2, 40, 5), *([None, None] if kind.endswith("V2") else []), want=lambda a, b, *_: a.int() @ b.int())
    # equations
    a, b = r(2, 4, 4) + 4 * torch.eye(4), r(2, 4, 3)
    case("MatrixSolve", a, b, want=torch.linalg.solve)
    case("MatrixSolve", a, b, adjoint=True, want=lambda m, v: torch.linalg.solve(m.mT, v))
    for lower in (True, False):
        triangle = (torch.tril if lower else torch.triu)(a).contiguous()
        for adjoint in (False, True):
            case("MatrixTriangularSolve", triangle, b, lower=lower, adjoint=adjoint,
                 want=lambda m, v, u=not lower, t=adjoint: torch.linalg.solve_triangular(m.mT if t else m, v, upper=u != t))
    # signs of u and v are free
    case("Svd", r(2, 5, 3), want=lambda v: [torch.linalg.svdvals(v), None, None])
    case("Qr", r(2, 5, 3), want=lambda v: list(torch.linalg.qr(v)))
    case("Qr", r(2, 5, 3), full_matrices=True, want=lambda v: list(torch.linalg.qr(v, "complete")))


def add_steps(case, r):
    var, m, g = r(3, 4), r(3, 4, low=-1.0), r(3, 4, low=-1.5, high=1.0)
    accum, one = r(3, 4, low=0.1), lambda v: torch.tensor(v)
    lr, beta, decay, l1, l2 = one(0.1), one(0.9), one(0.8), one(0.3), one(0.2)
    kept = 0.9 * m + 0.1 * g
    agree = 0.8 * g.sign() * kept.sign()
    case("ApplyAddSignD", var, m, lr, one(1.5), decay, beta, g, want=lambda *_: [var - 0.1 * (1.5 + agree) * g, kept])
    case("ApplyPowerSignD", var, m, lr, one(0.7), decay, beta, g, want=lambda *_: [var - 0.1 * torch.exp(0.7 * agree) * g, kept])

    def shrunk(p, rate):
        return p.sign() * (p.abs() - rate * 0.3).clamp(min=0) / (1 + rate * 0.2)
    case("ApplyProximalGradientDescent", var, lr, l1, l2, g, want=lambda *_: shrunk(var - 0.1 * g, 0.1))
    squares = accum + g * g
    rate = 0.1 / squares.sqrt()
    for kind in ("ApplyProximalAdagrad", "ApplyProximalAdagradD"):
        case(kind, var, accum, lr, l1, l2, g, want=lambda *_: [shrunk(var - g * rate, rate), squares])
    step = m * 0.9 - 0.1 * g
    case("ApplyKerasMomentumD", var, m, lr, g, beta, want=lambda *_: [var + step, step])
    case("ApplyKerasMomentumD", var, m, lr, g, beta, use_nesterov=True, want=lambda *_: [var + step * 0.9 - 0.1 * g, step])
    v2, most = 0.95 * accum + 0.05 * g * g, r(3, 4, low=0.05)
    largest = torch.maximum(most, v2)
    moved = var - 0.1 * (1 - 0.6) ** 0.5 / (1 - 0.7) * kept / (largest.sqrt() + 1e-3)
    case("ApplyAdamWithAmsgradD", var, m, accum, most, one(0.7), one(0.6), lr, g, beta1=0.9, beta2=0.95, epsilon=1e-3, want=lambda *_: [moved, kept, v2, largest])
    case("ApplyAdamWithAmsgradV2", var, m, accum, most, one(0.7), one(0.6), lr, beta, one(0.95), one(1e-3), g, want=lambda *_: [moved, kept, v2, largest])
    case("ApplyAdagradV2D", var, accum, lr, g, epsilon=0.01, want=lambda *_: [var - 0.1 * g / (squares.sqrt() + 0.01), squares])
    case("ApplyAdagradV2D", var, accum, lr, g, epsilon=0.01, update_slots=False, want=lambda *_: [var - 0.1 * g / (accum.sqrt() + 0.01), accum])
    ms = 0.9 * accum + 0.1 * g * g
    mom = 0.5 * m + 0.1 * g / (ms + 0.01).sqrt()
    case("ApplyRMSPropD", var, accum, m, lr, g, rho=0.9, momentum=0.5, epsilon=0.01, want=lambda *_: [var - mom, ms, mom])


def add_depthwise(case, r):
    image, weight = r(2, 4, 6, 5), r(4, 1, 3, 2)
    how = {"strides": [1, 1, 2, 1], "pads": [1, 1, 0, 1], "dilations": [1, 1, 1, 1]}

    def depthwise(v, w):
        return F.conv2d(F.pad(v, (0, 1, 1, 1)), w, stride=(2, 1), groups=v.shape[1])
    dy = depthwise(image, weight) + 1
    turned = weight.transpose(0, 1).contiguous()
    case("DepthwiseConv2D", image, turned, r(4), None, data_format="NCHW", **how, want=lambda v, w, b, _: depthwise(v, w.transpose(0, 1)) + b[:, None, None])
    last = {"strides": [1, 2, 1, 1], "pads": [1, 1, 0, 1]}
    many = r(3, 2, 4, 2)  # [h, w, channels, multiplier]
    first = lambda w: w.permute(2, 3, 0, 1).reshape(8, 1, 3, 2)  # noqa: E731
    case("DepthwiseConv2D", image.permute(0, 2, 3, 1).contiguous(), many, None, None, **last,
         want=lambda v, w, *_: depthwise(v.permute(0, 3, 1, 2), first(w)).permute(0, 2, 3, 1))
    case("DepthwiseConv2DBackpropInput", const([2, 4, 6, 5]), turned, dy, data_format="NCHW", **how,
         want=lambda s, w, g: gradient(lambda v: depthwise(v, w.transpose(0, 1).double()), image, by=g)[0])
    case("DepthwiseConv2DBackpropInputD", turned, dy, input_size=[2, 4, 6, 5], data_format="NCHW", **how,
         want=lambda w, g: gradient(lambda v: depthwise(v, w.transpose(0, 1).double()), image, by=g)[0])
    case("DepthwiseConv2DBackpropFilter", image, const([1, 4, 3, 2]), dy, data_format="NCHW", **how,
         want=lambda v, s, g: gradient(lambda w: depthwise(v.double(), w), weight, by=g)[0].transpose(0, 1))
    wide = depthwise(image, first(many)).permute(0, 2, 3, 1).contiguous()
    case("DepthwiseConv2DBackpropFilterD", image.permute(0, 2, 3, 1).contiguous(), wide, filter_size=[3, 2, 4, 2], **last,
         want=lambda v, g: gradient(lambda w: depthwise(v.permute(0, 3, 1, 2).double(), first(w)).permute(0, 2, 3, 1), many, by=g)[0])


def add_norms_of_torch_npu(case, r):
    x, g, gamma, beta, dy = r(3, 4, 8), r(3, 4, 8, low=-1.0), r(8), r(8, low=-1.0), r(3, 4, 8, low=-0.5)

    def deep(a, b, c, d):
        return F.layer_norm(0.5 * a + b, (8,), d, c, 1e-6)

    def statistics(total, eps):
        return [total.mean(-1, True), (total.var(-1, correction=0, keepdim=True) + eps).rsqrt()]
    case("DeepNorm", x, g, beta, gamma, alpha=0.5, want=lambda a, b, c, d: [*statistics(0.5 * a + b, 1e-6), deep(a, b, c, d)])
    mean, rstd = statistics(0.5 * x + g, 1e-6)
    case("DeepNormGrad", dy, x, g, gamma, mean, rstd, alpha=0.5, tolerance=1e-3, want=lambda d, a, b, c, *_: gradient(deep, a, b, beta, c, by=d))
    mean, rstd = statistics(x + g, 1e-5)

    def added(a, b, c):
        return F.layer_norm(a + b, (8,), c, beta.double(), 1e-5)
    case("AddLayerNormGrad", dy, x, g, rstd, mean, gamma, None, tolerance=1e-3, want=lambda d, a, b, r_, m, c, _: [
        *[gradient(added, a, b, c, by=d)[i] for i in (0, 2)], d.sum((0, 1))])
    # two ranks with 3 and 5 samples of 4 channels
    samples, counts = r(8, 4), torch.tensor([[3.0], [5.0]]).expand(2, 4).contiguous()
    parts = samples[:3], samples[3:]
    means, inverse = torch.stack([p.mean(0) for p in parts]), torch.stack([(p.var(0, correction=0) + 1e-3).rsqrt() for p in parts])
    case("ReduceMeanWithCount", means, counts, torch.full((2, 4), 8.0), axes=[0], keep_dims=True, want=lambda *_: samples.mean(0, True))
    case("SyncBatchNormGatherStatsWithCounts", means, inverse, counts, samples.mean(0, True).expand(2, 4).contiguous(), torch.full((1, 4), 8.0), r(1, 4).abs(),
         momentum=0.2, tolerance=1e-3, want=lambda m, i, c, b, s, v: [(samples.var(0, correction=0) + 1e-3).rsqrt()[None], v * 0.8 + 0.2 * samples.var(0)[None]])
    case("SyncBNTrainingUpdate", r(1, 4), r(1, 4) + 1, momentum=0.2, want=lambda m, v: v * 0.8 + m * 0.2)
    case("RangeD", torch.arange(5.0), start=1.5, limit=4.0, delta=0.5, want=lambda _: 1.5 + 0.5 * torch.arange(5))
    case("RangeD", torch.arange(4, dtype=torch.int32), start=3.0, limit=11.0, delta=2.0, want=lambda _: torch.tensor([3, 5, 7, 9], dtype=torch.int32))
    case("LogSpaceD", torch.arange(5.0), start=0.0, end=2.0, steps=5, base=2.0, want=lambda _: torch.logspace(0, 2, 5, 2.0))
    for base, f in ((2.0, torch.logaddexp2), (-1.0, torch.logaddexp)):
        case("LogAddExp", x, gamma, base=base, want=f)


def add_cases(case, r):
    for part in (add_depthwise, add_norms_of_torch_npu, add_diagonals, add_rows, add_images, add_layers, add_steps):
        part(case, r)
