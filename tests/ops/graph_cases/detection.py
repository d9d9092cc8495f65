"""Cases of graph operators for detectors of images and of the small ones that clients of the aclop interface ask for: what they
compute in words of their own, in float64, box by box."""
import math

import numpy as np
import torch

from graph_cases import image as image_cases


def corners(v, centred):
    return [v[0] - v[2] / 2, v[1] - v[3] / 2, v[0] + v[2] / 2, v[1] + v[3] / 2] if centred else list(v)


def overlap(kind, a, b, centred, eps=1e-9):
    """Of one pair of boxes, [4] each, in torch: its gradients are autograd's."""
    a, b = corners(a, centred), corners(b, centred)
    eps = 0.0 if kind == "GIoU" else eps
    low, high, zero = torch.minimum, torch.maximum, a[0] * 0
    common = high(low(a[2], b[2]) - high(a[0], b[0]), zero) * high(low(a[3], b[3]) - high(a[1], b[1]), zero)
    sides = [(x[2] - x[0], x[3] - x[1] + eps) for x in (a, b)]
    union = sides[0][0] * sides[0][1] + sides[1][0] * sides[1][1] - common + eps
    wide, tall = high(a[2], b[2]) - low(a[0], b[0]), high(a[3], b[3]) - low(a[1], b[1])
    if kind == "GIoU":
        return common / union - (wide * tall - union) / (wide * tall)
    distance = ((b[0] + b[2] - a[0] - a[2]) ** 2 + (b[1] + b[3] - a[1] - a[3]) ** 2) / 4
    value = common / union - distance / (wide ** 2 + tall ** 2 + eps)
    if kind == "DIoU":
        return value
    v = 4 / math.pi ** 2 * (torch.atan(sides[1][0] / sides[1][1]) - torch.atan(sides[0][0] / sides[0][1])) ** 2
    return value - v * (v / (1 + eps - common / union + v)).detach()


def overlaps(kind, cross, centred):
    def f(a, b):
        a, b = a.double(), b.double()
        rows = b.shape[1] if cross else 1
        return torch.stack([torch.stack([overlap(kind, a[:, j], b[:, i if cross else j], centred)
                                         for j in range(a.shape[1])]) for i in range(rows)])
    return f


def gradients(kind, cross, centred):
    def f(dy, a, b, *angles):
        a, b = (v.double().requires_grad_() for v in (a, b))
        (overlaps(kind, cross, centred)(a, b) * dy.double().reshape(-1, a.shape[1])).sum().backward()
        return [a.grad, b.grad]
    return f


def iou(a, b):
    a, b = np.sort(a.reshape(2, 2), 0), np.sort(b.reshape(2, 2), 0)
    common = np.clip(np.minimum(a[1], b[1]) - np.maximum(a[0], b[0]), 0, None).prod()
    return common / max((a[1] - a[0]).prod() + (b[1] - b[0]).prod() - common, 1e-30)


def best(boxes, scores, limit, least, most):
    """Indices of the best boxes of which none overlaps with a better one."""
    kept = []
    for i in np.argsort(-scores, kind="stable"):
        if scores[i] > least and len(kept) < most and all(iou(boxes[i], boxes[k]) <= limit for k in kept):
            kept.append(int(i))
    return kept


def turned_overlap(a, b, n=400):
    """Area that two turned rectangles have in common, by counting the points of a grid in them."""
    def inside(r, x, y):
        t = math.radians(r[4])
        dx, dy = x - r[0], y - r[1]
        return (abs(dx * math.cos(t) + dy * math.sin(t)) <= r[2] / 2) & (abs(-dx * math.sin(t) + dy * math.cos(t)) <= r[3] / 2)
    reach = math.hypot(a[2], a[3]) / 2
    xs, ys = (np.linspace(c - reach, c + reach, n) for c in (a[0], a[1]))
    x, y = np.meshgrid(xs, ys)
    return (inside(a, x, y) & inside(b, x, y)).mean() * (2 * reach * n / (n - 1)) ** 2 * ((n - 1) / n) ** 2


def turned(boxes, query, measure):
    a, b = boxes.double().numpy(), query.double().numpy()
    out = np.zeros((a.shape[0], a.shape[2], b.shape[2]))
    for at in np.ndindex(out.shape):
        p, q = a[at[0], :, at[1]], b[at[0], :, at[2]]
        common = turned_overlap(p, q)
        out[at] = common if measure == "area" else common / (p[2] * p[3] + (q[2] * q[3] - common if measure == "iou" else 0))
    return torch.from_numpy(out)


def add_cases(case, const):
    image_cases.add_cases(case, const)
    g = torch.Generator().manual_seed(11)

    def rand(*shape, low=0.0, high=1.0):
        return torch.rand(shape, generator=g) * (high - low) + low

    # Boxes: centre and sides, or two corners.
    a, b = rand(4, 6, low=1, high=4), rand(4, 6, low=1, high=4)
    first = rand(2, 6, high=3)
    corner_a = torch.cat([first, first + rand(2, 6, low=0.5, high=2)])
    corner_b = torch.cat([first + 0.3, first + rand(2, 6, low=0.6, high=2)])
    for kind in ("GIoU", "DIoU", "CIoU"):
        for cross, centred, x, y in ((False, True, a, b), (True, True, a, b[:, :4]), (False, False, corner_a, corner_b)):
            given = {"trans": centred, "is_cross": cross}
            more = (torch.zeros(4 if cross else 1, 6),) if kind == "CIoU" else ()
            dy = rand(*((4, 6) if cross else (6,)))
            f = overlaps(kind, cross, centred)
            case(kind, x, y, want=(lambda p, q, f=f: [f(p, q), None]) if kind == "CIoU" else f, **given)
            case(kind + "Grad", dy, x, y, *more, want=gradients(kind, cross, centred), tolerance=1e-3, **given)
    boxes, truth = corner_a.t().contiguous(), corner_b.t()[:4].contiguous()

    def plain_iou(foreground, eps):
        def f(x, y):
            size = lambda v: (v[2] - v[0] + eps) * (v[3] - v[1] + eps)  # noqa: E731
            rows = []
            for q in y.double():
                common = [((torch.minimum(p[2:], q[2:]) - torch.maximum(p[:2], q[:2])).clamp(0)).prod() for p in x.double()]
                rows.append(torch.stack([c / (size(q) if foreground else size(p) + size(q) - c)
                                         for c, p in zip(common, x.double())]))
            return torch.stack(rows)
        return f
    case("Iou", boxes, truth, want=plain_iou(False, 0.01), eps=0.01)
    case("Iou", boxes, truth, want=plain_iou(True, 1.0), mode="iof")

    def decode(rois, deltas):
        x0, y0, x1, y1 = rois.double().t()
        d = deltas.double() * torch.tensor([0.1, 0.1, 0.2, 0.2]) + 0.01
        w, h, limit = x1 - x0 + 1, y1 - y0 + 1, abs(math.log(0.016))
        cx, cy = (x0 + x1) / 2 + w * d[:, 0], (y0 + y1) / 2 + h * d[:, 1]
        w, h = (side * d[:, i].clamp(-limit, limit).exp() for side, i in ((w, 2), (h, 3)))
        return torch.stack([(cx - w / 2 + 0.5).clamp(0, 7), (cy - h / 2 + 0.5).clamp(0, 5), (cx + w / 2 - 0.5).clamp(0, 7),
                            (cy + h / 2 - 0.5).clamp(0, 5)], 1)

    def encode(anchor, box):
        sides = [(v[:, 2:] - v[:, :2] + 1) for v in (anchor.double(), box.double())]
        centres = [(v[:, 2:] + v[:, :2]) / 2 for v in (anchor.double(), box.double())]
        d = torch.cat([(centres[1] - centres[0]) / sides[0], (sides[1] / sides[0]).log()], 1)
        return (d - 0.01) / torch.tensor([0.1, 0.1, 0.2, 0.2])
    scales = {"means": [0.01] * 4, "stds": [0.1, 0.1, 0.2, 0.2]}
    case("BoundingBoxDecode", boxes, rand(6, 4, low=-3, high=3), want=decode, max_shape=[6, 8], **scales)
    case("BoundingBoxEncode", boxes, corner_b.t().contiguous(), want=encode, tolerance=1e-3, **scales)

    # Suppression.
    many = rand(40, 2, high=3)
    many = torch.cat([many, many + rand(40, 2, low=0.3, high=1.5)], 1)
    scores = rand(40)
    order = torch.argsort(-scores)

    def marked(x):
        kept = best(x[:, :4].double().numpy(), -np.arange(len(x)), 0.4, -1e9, 99)
        mask = torch.zeros(len(x), dtype=torch.uint8)
        mask[kept] = 1
        return [x, torch.arange(len(x), dtype=torch.int32), mask]
    case("NMSWithMask", torch.cat([many, scores[:, None]], 1)[order], want=marked, iou_threshold=0.4)

    def chosen(x, s, most, limit, least):
        kept = best(x.double().numpy(), s.double().numpy(), limit.item(), least.item(), int(most[0]))
        return [torch.tensor(kept + [0] * (int(most[0]) - len(kept)), dtype=torch.int32), torch.tensor(len(kept)).int()]
    for most, least in ((5, 0.1), (30, 0.6)):
        case("NonMaxSuppressionV4", many, scores, const([most], torch.int32), torch.tensor(0.3), torch.tensor(least), want=chosen)

    def of_classes(x, s, *absent):
        total = 6
        out = [torch.zeros(x.shape[0], total, 4), torch.zeros(x.shape[0], total), torch.zeros(x.shape[0], total), []]
        for image in range(x.shape[0]):
            found = []
            for c in range(s.shape[2]):
                each = x[image, :, c if x.shape[2] > 1 else 0]
                found += [(-s[image, i, c].item(), c, each[i]) for i in
                          best(each.double().numpy(), s[image, :, c].double().numpy(), 0.4, 0.2, 3)]
            found = sorted(found, key=lambda f: f[0])[:total]
            for i, (score, c, box) in enumerate(found):
                out[0][image, i], out[1][image, i], out[2][image, i] = box, -score, c
            out[3].append(len(found))
        return out[:3] + [torch.tensor(out[3], dtype=torch.int32)]
    limits = {"score_threshold": 0.2, "iou_threshold": 0.4, "max_size_per_class": 3, "max_total_size": 6}
    for classes in (1, 3):
        case("BatchMultiClassNonMaxSuppression", torch.stack([many, many.flip(0)])[:, :, None].repeat(1, 1, classes, 1),
             rand(2, 40, 3), None, None, want=of_classes, **limits)

    # Anchors.
    def flags(x):
        out = torch.zeros(4 * 5, 3, dtype=torch.uint8)
        for x0, y0, x1, y1 in x.double().tolist():
            out[math.floor((y0 + y1) / 2 / 2) * 5 + math.floor((x0 + x1) / 2 / 3)] = 1
        return out.flatten()
    case("AnchorResponseFlags", rand(7, 4, high=7), want=flags, featmap_size=[4, 5], strides=[3, 2], num_base_anchors=3)
    table = rand(3, 8)
    table[1, 2] = table[1, 5] = 0.97
    flag = torch.tensor([1, 1, 1, 0, 1, 1, 0, 1], dtype=torch.uint8)
    for everywhere in (True, False):
        def assigned(start, o, f, best_, at, top, top_at, number, everywhere=everywhere):
            out = start.clone()
            for i in range(8):
                if best_[i] > 0.8 and f[i]:
                    out[i] = at[i] + 1
            for k in range(3):
                for i in range(8) if everywhere else [int(top_at[k])]:
                    if top[k] > 0.2 and f[i] and (not everywhere or o[k, i] == top[k]):
                        out[i] = k + 1
            return out
        columns, rows = table.max(0), table.max(1)
        case("GridAssignPositive", torch.full((8,), -1.0), table, flag, columns.values, columns.indices.int(), rows.values,
             rows.indices.int(), torch.tensor(3).int(), want=assigned, pos_iou_thr=0.8, min_pos_iou=0.2,
             gt_max_assign_all=everywhere)

    def yolo(x, y, stride):
        x, y = x.double(), y.double()
        shift = ((y[:, :2] + y[:, 2:]) - (x[:, :2] + x[:, 2:])) / 2 / stride[:, None] + 0.5
        return torch.cat([shift.clamp(1e-6, 1 - 1e-6), ((y[:, 2:] - y[:, :2]) / (x[:, 2:] - x[:, :2])).clamp(1e-6).log()], 1)
    case("YoloBoxesEncode", boxes, corner_b.t().contiguous(), torch.full((6,), 2, dtype=torch.int32), want=yolo)

    # Turned rectangles.
    def tilted(batches, n):
        return torch.cat([rand(batches, 2, n, high=4), rand(batches, 2, n, low=1, high=4), rand(batches, 1, n, low=-180, high=180)], 1)
    p, q = tilted(2, 3), tilted(2, 4)
    case("RotatedOverlaps", p, q, want=lambda x, y: turned(x, y, "area"), tolerance=0.06)
    case("RotatedIou", p, q, want=lambda x, y: turned(x, y, "iou"), tolerance=0.02)
    case("RotatedIou", p, q, want=lambda x, y: turned(x, y, "iof"), tolerance=0.03, mode="iof")

    # Of one label the second overlaps the first, turned by a right angle; of two labels nothing does. The last has too low a score.
    pile = torch.tensor([[0., 0, 4, 2, 30], [0.1, 0, 2, 4, 120], [9, 9, 2, 2, 45], [0, 0, 4, 2, 30]])
    picked = torch.tensor([0.9, 0.8, 0.95, 0.05])
    for labels, kept in ((torch.zeros(1), [2, 0]), (torch.tensor([0, 1, 0, 1]), [2, 0, 1])):
        def rest(b, s, at, kept=kept):
            rows = torch.zeros(4, 5), torch.zeros(4, dtype=torch.int32)
            rows[0][:len(kept)], rows[1][:len(kept)] = b[kept], torch.tensor(kept, dtype=torch.int32)
            return rows
        case("RotatedNMS", pile, picked, labels.int(), want=rest, iou_threshold=0.5, score_threshold=0.1)
    case("RotatedNMS", pile[:, [0, 1, 0, 1, 4]] + torch.tensor([-2., -1, 2, 1, 0]), picked, torch.zeros(1).int(), iou_threshold=0.5,
         mode=1, max_output_size=1, want=lambda b, s, at: (torch.cat([b[2:3], torch.zeros(3, 5)]), torch.tensor([2, 0, 0, 0]).int()))

    def with_tangent(v):
        v = v.double()
        return [(v[:, 0] + v[:, 2]) / 2, (v[:, 1] + v[:, 3]) / 2, v[:, 2] - v[:, 0], v[:, 3] - v[:, 1],
                torch.tan(torch.deg2rad(v[:, 4]))]

    def rotated_encode(x, y):
        m, n = with_tangent(x), with_tangent(y)
        return torch.stack([(n[0] - m[0]) / m[2] * 2, (n[1] - m[1]) / m[3], (n[2] / m[2]).log(), (n[3] / m[3]).log(),
                            (n[4] - m[4]) * 0.5], 1)

    def rotated_decode(x, d):
        m, d = with_tangent(x), d.double()
        cx, cy = m[0] + d[:, 0] / 2 * m[2], m[1] + d[:, 1] * m[3]
        w, h = m[2] * d[:, 2].exp(), m[3] * d[:, 3].exp()
        return torch.stack([cx - w / 2, cy - h / 2, cx + w / 2, cy + h / 2, torch.rad2deg(torch.atan(m[4] + d[:, 4] / 0.5))], 1)
    upright = torch.stack([torch.cat([corner_a, rand(1, 6, low=-60, high=60)])])
    other = torch.stack([torch.cat([corner_b, rand(1, 6, low=-60, high=60)])])
    case("RotatedBoxEncode", upright, other, want=rotated_encode, tolerance=1e-3, weight=[2, 1, 1, 1, 0.5])
    case("RotatedBoxDecode", upright, rand(1, 5, 6, low=-1), want=rotated_decode, tolerance=1e-3, weight=[2, 1, 1, 1, 0.5])

    # Others.
    signs = rand(20, low=-1)
    case("SignBitsPack", signs, size=1, want=lambda v: torch.from_numpy(np.packbits(v.numpy() >= 0, bitorder="little"))[None])
    case("SignBitsUnpack", torch.arange(6, dtype=torch.uint8) * 37, size=3, dtype=1,
         want=lambda v: torch.from_numpy(np.unpackbits(v.numpy(), bitorder="little") * 2.0 - 1).reshape(3, 16).half())

    def strided(x, y):
        out = torch.zeros(2, 32, 3)
        out[:, :min(32, x.shape[1] - 16)] += x[:, 16:48]
        out[:, :y.shape[1]] += y[:, :32]
        return out
    case("StrideAdd", rand(2, 40, 3), rand(2, 20, 3), x1_c1_offset=1, x2_c1_offset=0, c1_len=2, want=strided)

    def ranges(axis):
        def f(x, start, end, value):
            out = x.clone()
            for i in range(start.shape[0]):
                for j in range(start.shape[1]):
                    for k in range(int(start[i, j]), min(int(end[i, j]), x.shape[axis])):
                        if axis == x.dim() - 1:
                            out[j, ..., k] = value[i]
                        else:
                            out.select(axis, k).fill_(value[i])
            return out
        return f
    numbers = torch.tensor([[0, 1, 2], [4, 5, 3]], dtype=torch.int32)
    case("MaskedFillRange", rand(3, 2, 6), numbers, numbers + 2, torch.tensor([7.0, 8.0]), axis=2, want=ranges(2))
    case("MaskedFillRange", rand(4, 5), numbers[:1, :1], numbers[1:, :1], torch.tensor([7.0]), axis=0, want=ranges(0))

    def normalised(each):
        def f(x, length):
            out = x.double().clone()
            for i, n in enumerate(length.tolist()):
                for rows in ([[r] for r in range(x.shape[1])] if each else [list(range(x.shape[1]))]):
                    part = x[i, rows, :n].double()
                    out[i, rows] = (x[i, rows].double() - part.mean()) / (part.std() + 1e-5)
            return out
        return f
    for each in (True, False):
        case("NormalizeBatch", rand(3, 2, 6), torch.tensor([3, 6, 4], dtype=torch.int32), want=normalised(each),
             normalize_type="per_feature" if each else "all_features")
    wanted = torch.tensor([[True, False, True], [False, False, True]])
    case("RandomChoiceWithMask", wanted, want=lambda v: [torch.cat([v.nonzero(), torch.zeros(1, 2)]).int(),
                                                         torch.tensor([True] * 3 + [False])], count=4, seed=3)

    # Dropout with a byte an element.
    mask = (rand(128) < 0.6).to(torch.uint8)
    x, y = rand(3, 4, 5, low=-1), rand(3, 4, 5, low=-1)
    kept = mask[:60].reshape(3, 4, 5)
    case("DropOutDoMaskV3", x, mask, const([0.6], torch.float32), want=lambda v, m, p: v * kept / 0.6)
    case("AxpyWithSoftmaxAndDropOutDoMask", x, y, mask, alpha=0.5, input_keep_prob=0.6,
         want=lambda u, v, m: [torch.softmax(u + 0.5 * v, -1), torch.softmax(u + 0.5 * v, -1) * kept / 0.6])

    def softmax_grad(dy, m, s):
        g = dy * kept / 0.6
        return (g - (g * s).sum(-1, keepdim=True)) * s * 0.5
    case("DropoutWithMulsAndSoftmaxGrad", y, mask, torch.softmax(x, -1), alpha=0.5, input_keep_prob=0.6, want=softmax_grad)

    # BERT's step.
    def adam(var, m, v, lr, beta1, beta2, eps, grad, most, norm, decay, step=None):
        g = grad.double() * (most / norm if most is not None and most > 0 and norm > most else 1)
        m, v = m * beta1 + (1 - beta1) * g, v * beta2 + (1 - beta2) * g * g
        rate = lr if step is None else step
        return [var - rate * m / (v.sqrt() + eps) - lr * decay * var, m, v]
    state = rand(2, 7), rand(2, 7), rand(2, 7)
    rates = [torch.tensor([v]) for v in (0.1, 0.9, 0.99, 1e-6)]
    for most, norm, decay, step in ((-1.0, 0.0, 0.0, None), (1.0, 4.0, 0.1, None), (None, 2.0, 0.1, 0.03)):
        optional = [None if v is None else torch.tensor([v]) for v in (most, norm, decay, step)]
        more = {} if step is None else {"adam_mode": "mbart_adam"}
        case("ApplyAdamV2", *state, *rates, rand(2, 7, low=-1), *optional, want=adam, **more)
