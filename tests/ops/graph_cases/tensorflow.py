"""Cases of graph operators that are TensorFlow's: what PyTorch has of them in other words, or a few lines of Python. TensorFlow's own kernels are
the reference of tests/tensorflow/raw_cases.py, which reaches them by its frontend."""
import torch
import torch.nn.functional as F

from graph_cases.adapter import gradient
from graph import const


def last(f):
    """f of [N, C, H, W] for [N, H, W, C]."""
    return lambda v, *rest: f(v.permute(0, 3, 1, 2), *rest).permute(0, 2, 3, 1)


def add_resizing(case, r):
    image = r(2, 3, 6, 5)
    # the curve of centres is that of PyTorch's antialiasing where nothing shrinks: what lies outside does not count
    ways = {(False, True): lambda v, size: F.interpolate(v, size, mode="bicubic", antialias=True),
            (True, False): lambda v, size: F.interpolate(v, size, mode="bicubic", align_corners=True)}
    for (corners, centres), f in ways.items():
        how = {"align_corners": corners, "half_pixel_centers": centres}
        for dtype, tolerance in ((torch.float32, 3e-3), (torch.float16, 4e-3), (torch.uint8, 4e-1)):  # the curve is known at 1024 points
            v = (image * 40 + 90).to(dtype) if dtype == torch.uint8 else image.to(dtype)
            case("ResizeBicubic", v, const([9, 10]), want=lambda v, s, f=f: f(v.float(), (9, 10)), tolerance=tolerance, **how)
        for dtype in (torch.float32, torch.float64):
            case("ResizeBicubicGrad", r(2, 3, 9, 10, low=-1.0), image.to(dtype), tolerance=3e-3,
                 want=lambda g, v, f=f: gradient(lambda t: f(t, (9, 10)), v, by=g)[0], **how)
    # every pixel of the oldest rule that is twice as dense lies on one of the image, or in the middle of two
    row = torch.arange(6.0)[None, None, :, None].expand(1, 1, 6, 4)
    case("ResizeBicubic", row, const([12, 4]), want=lambda v, _: torch.tensor(
        [0, 0.40625, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.59375, 5, 5.09375])[None, None, :, None].expand(1, 1, 12, 4))
    photo = r(2, 6, 9, 4)
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 2e-3), (torch.int32, 1e-5)):
        case("ResizeArea", (photo * 9).to(dtype), const([2, 3]), tolerance=tolerance, want=lambda v, _: last(lambda t: F.avg_pool2d(t, 3))(v.float()))
    case("ResizeArea", photo[:, :2, :2], const([3, 3]), align_corners=True, want=lambda v, _: areas(v))
    pair = lambda a, b: torch.tensor([a, b])  # noqa: E731
    for kernel, mode in (("triangle", "bilinear"), ("keyscubic", "bicubic")):
        for size in ((3, 4), (11, 13)):
            f = last(lambda v, size=size, mode=mode: F.interpolate(v, size, mode=mode, antialias=True))
            at = pair(size[0] / 6, size[1] / 9), pair(0.0, 0.0)
            case("ScaleAndTranslate", photo, const(size), *at, want=lambda v, *_, f=f: f(v), kernel_type=kernel)
            case("ScaleAndTranslateGrad", r(2, *size, 4, low=-1.0), photo, *at, want=lambda g, v, *_, f=f: gradient(f, v, by=g)[0], kernel_type=kernel)
    for kernel in ("lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"):
        flat = torch.ones(1, 5, 5, 2)  # weights add up to 1 within the image, and there is nothing outside
        case("ScaleAndTranslate", flat, const([8, 6]), pair(1.0, 1.0), pair(1.5, -2.0), kernel_type=kernel, antialias=False,
             want=lambda *_: moved())


def areas(v):
    """Two pixels on three whose distance is half of one: each takes half a pixel's width, the last one from beyond the edge."""
    rows = torch.stack([v[:, 0], v[:, 0], v[:, 1]], 1)
    return torch.stack([rows[:, :, 0], rows[:, :, 0], rows[:, :, 1]], 2)


def moved():
    """Ones of five pixels that begin at 1.5 and at -2: pixels count whose centre lies within them."""
    want = torch.zeros(1, 8, 6, 2)
    want[:, 1:7, :3] = 1
    return want


def windows(v, size, step, rate=(1, 1)):
    """[N, H, W, C] as [N, oh, ow, kh, kw, C]."""
    reach = [(k - 1) * d + 1 for k, d in zip(size, rate)]
    for d in (0, 1):
        v = v.unfold(1 + d, reach[d], step[d])
    return v[..., ::rate[0], ::rate[1]].permute(0, 1, 2, 4, 5, 3)


def same(v, size, step, rate=(1, 1), value=0.0):
    """v with as much around it as padding SAME has."""
    pads = []
    for k, s, d, n in zip(size[::-1], step[::-1], rate[::-1], (v.shape[2], v.shape[1])):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        pads += [total // 2, total - total // 2]
    return F.pad(v, (0, 0, *pads), value=value)


def add_windows(case, r):
    image = r(2, 7, 6, 3)
    for size, step, rate in (((3, 2), (2, 1), (1, 1)), ((2, 2), (1, 3), (2, 1))):
        patches = lambda v, a=size, b=step, c=rate: windows(v, a, b, c).flatten(3)  # noqa: E731
        how = {"ksizes": [1, *size, 1], "strides": [1, *step, 1], "rates": [1, *rate, 1]}
        for dtype in (torch.float32, torch.int8, torch.float64, torch.bfloat16):
            v = (image * 30).to(dtype)
            case("ExtractImagePatches", v, want=patches, padding="VALID", **how)
            case("ExtractImagePatches", v, want=lambda v, f=patches, a=size, b=step, c=rate: f(same(v, a, b, c)), padding="SAME", **how)
        by = r(*size, 3, low=-1.0)
        how = {"strides": [1, *step, 1], "rates": [1, *rate, 1]}
        dilated = lambda v, f, a=size, b=step, c=rate: (windows(v, a, b, c) + f).flatten(3, 4).amax(3)  # noqa: E731
        padded = lambda v, f, a=size, b=step, c=rate, g=dilated: g(same(v, a, b, c, -torch.inf), f)  # noqa: E731
        for padding, f in (("VALID", dilated), ("SAME", padded)):
            for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 4e-3), (torch.float64, 1e-7)):
                v, k = image.to(dtype), by.to(dtype)
                case("Dilation2D", v, k, want=lambda v, k, f=f: f(v.double(), k.double()), padding_mode=padding, tolerance=tolerance, **how)
                dy = r(*f(image, by).shape, low=-1.0).to(dtype)
                for i, name in enumerate(("Input", "Filter")):
                    case("Dilation2DBackprop" + name, v, k, dy, padding_mode=padding, tolerance=tolerance * 10, **how,
                         want=lambda v, k, g, f=f, i=i: gradient(f, v, k, by=g)[i])
    case("Dilation2D", image.permute(0, 3, 1, 2).contiguous(), r(3, 2, 2), strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding_mode="CALCULATED", pads=[1, 0, 0, 1],
         data_format="NCHW", want=lambda v, f: (windows(F.pad(v, (0, 1, 1, 0), value=-torch.inf).permute(0, 2, 3, 1), (2, 2), (1, 1)) + f.permute(1, 2, 0)).flatten(
             3, 4).amax(3).permute(0, 3, 1, 2))
    case("Dilation2D", (image * 9).int(), (r(2, 2, 3) * 9).int(), strides=[1, 1, 1, 1], rates=[1, 1, 1, 1], padding_mode="VALID",
         want=lambda v, f: (windows(v, (2, 2), (1, 1)) + f).flatten(3, 4).amax(3))
    volume = r(2, 4, 5, 6, 3)
    case("ExtractVolumePatches", volume, ksizes=[1, 2, 3, 2, 1], strides=[1, 1, 2, 3, 1], padding="VALID",
         want=lambda v: v.unfold(1, 2, 1).unfold(2, 3, 2).unfold(3, 2, 3).permute(0, 1, 2, 3, 5, 6, 7, 4).flatten(4))
    case("ExtractVolumePatches", volume.int(), ksizes=[1, 1, 3, 1, 1], strides=[1, 2, 1, 1, 1], padding="SAME",
         want=lambda v: F.pad(v, (0, 0, 0, 0, 1, 1))[:, ::2].unfold(2, 3, 1).permute(0, 1, 2, 3, 5, 4).flatten(4))
    at = torch.tensor([[0.0, 0.0], [0.5, -1.0]])

    def glimpse(v, _, at):
        parts = []
        for n, (y, x) in enumerate(at.tolist()):
            top, left = int(y * 7 / 2 + 3.5 - 1.5), int(x * 6 / 2 + 3 - 2)
            parts.append(F.pad(v[n], (0, 0, 9, 9, 9, 9))[top + 9:top + 12, left + 9:left + 13])
        return torch.stack(parts)
    case("ExtractGlimpse", image, const([3, 4]), at, want=glimpse, uniform_noise=False, noise="zero")
    case("ExtractGlimpse", image, const([3, 4]), at[:1].repeat(2, 1), want=glimpse)  # all inside: no noise


def add_places(case, r):
    image = torch.randperm(2 * 7 * 6 * 3, generator=torch.Generator().manual_seed(5)).reshape(2, 7, 6, 3).float()
    size, step = (3, 2), (2, 2)
    places = torch.arange(7 * 6 * 3).reshape(1, 7, 6, 3).expand(2, -1, -1, -1)
    for padding in ("VALID", "SAME"):
        how = {"ksize": [1, *size, 1], "strides": [1, *step, 1], "padding": padding}
        around = lambda v, value=0.0, p=padding: same(v, size, step, value=value) if p == "SAME" else v  # noqa: E731
        seen = windows(around(image, -torch.inf), size, step).flatten(3, 4)
        most, inside = seen.max(3)
        where = windows(around(places.float()), size, step).flatten(3, 4).gather(3, inside[:, :, :, None])[:, :, :, 0].long()
        dy, ddx = r(*most.shape), r(*image.shape)
        for number, dtype in ((3, torch.int32), (9, torch.int64), (7, torch.uint16)):
            stored = (inside if dtype == torch.uint16 else where).to(dtype)
            case("MaxPoolWithArgmax", image, want=lambda v, m=most, s=stored: [m, s], Targmax=number, **how)
            case("MaxPoolWithArgmax", image.half(), want=lambda v, m=most, s=stored: [m, s], Targmax=number, **how)
            case("MaxPoolGradWithArgmax", image, dy, stored, want=lambda v, g, a, w=where: torch.zeros(2, 7 * 6 * 3).scatter_add(
                1, w.flatten(1), g.flatten(1)).reshape(2, 7, 6, 3), **how)
            case("MaxPoolGradGradWithArgmax", image, ddx, stored, want=lambda v, g, a, w=where: g.flatten(1).gather(1, w.flatten(1)).reshape(w.shape), **how)
    volume, of = r(1, 2, 4, 5, 6), r(1, 2, 4, 5, 6, low=-1.0)
    y, at = F.max_pool3d(volume, (2, 2, 3), (2, 1, 3), return_indices=True)
    cube = {"ksize": [1, 1, 2, 2, 3], "strides": [1, 1, 2, 1, 3], "pads": [0] * 6}
    second = of.flatten(2).gather(2, at.flatten(2)).reshape(at.shape)
    case("MaxPool3DGradGrad", volume, y, of, want=lambda *_: second, data_format="NCDHW", **cube)
    last3 = lambda v: v.movedim(1, -1).contiguous()  # noqa: E731
    case("MaxPool3DGradGrad", last3(volume), last3(y), last3(of), want=lambda *_: last3(second), ksize=[1, 2, 2, 3, 1], strides=[1, 2, 1, 3, 1], pads=[0] * 6)


def add_fractions(case, r):
    image, dy = r(2, 6, 5, 3), r(2, 4, 3, 3, low=-1.0)
    rows, columns = torch.tensor([0, 2, 3, 5, 6]), torch.tensor([0, 1, 3, 5])
    for overlapping in (False, True):
        def pooled(v, f, more=int(overlapping)):
            return torch.stack([torch.stack([f(v[:, a:b + more, c:d + more].flatten(1, 2)) for c, d in zip(columns, columns[1:])], 1)
                                for a, b in zip(rows, rows[1:])], 1)
        largest, mean = lambda v: v.amax(1), lambda v: v.mean(1)  # noqa: E731
        for dtype in (torch.float32, torch.float64):
            v = image.to(dtype)
            case("FractionalMaxPoolGrad", v, pooled(v, largest), dy.to(dtype), rows, columns, overlapping=overlapping,
                 want=lambda v, y, g, *_, f=pooled: gradient(lambda t: f(t, largest), v, by=g)[0])
            case("FractionalAvgPoolGrad", const([2, 6, 5, 3]), dy.to(dtype), rows, columns, overlapping=overlapping,
                 want=lambda s, g, *_, f=pooled: gradient(lambda t: f(t, mean), image, by=g)[0])


def sparse(rows):
    """Rows of numbers as places, values and the shape of a sparse tensor."""
    at = [[i, j] for i, row in enumerate(rows) for j in range(len(row))]
    return torch.tensor(at).reshape(-1, 2), torch.tensor([v for row in rows for v in row]), [len(rows), max(len(row) for row in rows)]


def edits(a, b):
    if not a or not b:
        return len(a) + len(b)
    return min(edits(a[1:], b) + 1, edits(a, b[1:]) + 1, edits(a[1:], b[1:]) + (a[0] != b[0]))


def add_sequences(case, r):
    said, meant = [[1, 2, 3], [4], [], [5, 6, 7, 8], []], [[1, 3], [], [2, 2], [6, 7, 9, 8, 8], []]
    (at, values, size), (to, truths, other) = sparse(said), sparse(meant)
    for dtype in (torch.int64, torch.int32, torch.uint8, torch.float32):
        for normalize in (True, False):
            want = [0.0 if not a and not b else edits(a, b) / (len(b) if normalize else 1) if b or not normalize else torch.inf for a, b in zip(said, meant)]
            case("EditDistance", at, values.to(dtype), const(size), to, truths.to(dtype), const(other), normalize=normalize, want=lambda *_, w=want: torch.tensor(w))
    x = r(7, 3, 5)
    labels, time = [[1, 2, 2], [0], [3, 1]], torch.tensor([7, 5, 6], dtype=torch.int32)
    at, values, _ = sparse(labels)
    loss = lambda v: F.ctc_loss(v.roll(1, -1).log_softmax(-1), values + 1, time.long(), torch.tensor([3, 1, 2]), reduction="none")  # noqa: E731
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-6), (torch.float16, 4e-3)):
        case("CTCLoss", x.to(dtype), at, values.int(), time, tolerance=tolerance,
             want=lambda v, *_: [loss(v.double()), gradient(loss, v, by=torch.ones(3))[0]])

    def decoded(v, lengths, merged):
        found = []
        for n, steps in enumerate(lengths.tolist()):
            best = v[:steps, n].argmax(-1).tolist()
            found.append([k for t, k in enumerate(best) if k != v.shape[2] - 1 and not (merged and t and best[t - 1] == k)])
        at, values, size = sparse(found)
        sums = torch.stack([-v[:steps, n].amax(-1).sum() for n, steps in enumerate(lengths.tolist())])
        return [at, values, torch.tensor(size), sums[:, None]]
    again = torch.cat([x, x[-1:], x[-1:]])
    for merged in (True, False):
        case("CTCGreedyDecoder", again, torch.tensor([9, 4, 9], dtype=torch.int32), counted=True, merge_repeated=merged, want=lambda v, n, m=merged: decoded(v, n, m))
    for dtype in (torch.int32, torch.int64, torch.float32):
        ends = [const(v, dtype) for v in ([0, 5, 8, 9], [3, 5, 12, 2], [1, 1, 2, -3])]
        rows = torch.tensor([0, 1, 2, 8, 10, 9, 6, 3]).to(dtype)
        for number in (torch.int32, torch.int64):
            case("RaggedRange", *ends, want=lambda *_, rows=rows: [torch.tensor([0, 3, 3, 5, 8]), rows], Tsplits=number)
    case("RaggedRange", const(0.5, torch.float32), const([1.0, 2.0], torch.float32), const(0.4, torch.float32), Tsplits=torch.int64,
         want=lambda *_: [torch.tensor([0, 2, 6]), torch.tensor([0.5, 0.9, 0.5, 0.9, 1.3, 1.7])])
    first, second = r(2, 3), r(2, 2, 3)
    for kind in ("DynamicStitch", "ParallelDynamicStitch"):
        for dtype in (torch.float32, torch.int8, torch.float64):
            a, b = (first * 9).to(dtype), (second * 9).to(dtype)
            case(kind, const([4, 1], torch.int32), const([[0, 2], [3, 6]], torch.int32), a, b, N=2,
                 want=lambda i, j, a, b: torch.stack([b[0, 0], a[1], b[0, 1], b[1, 0], a[0], torch.zeros(3, dtype=a.dtype), b[1, 1]]))
    case("DynamicStitch", const([1, 0], torch.int32), const([1], torch.int32), first, second[0, :1], N=2, want=lambda i, j, a, b: torch.stack([a[1], b[0]]))


def add_suppression(case, r):
    corner, size = r(2, 9, 2, 2, low=-0.2, high=0.9), r(2, 9, 2, 2, low=0.1, high=0.5)
    boxes, scores = torch.cat([corner, corner + size], -1), r(2, 9, 2, low=0.0, high=1.0)

    def overlap(a, b):
        common = (torch.minimum(a[2:], b[2:]) - torch.maximum(a[:2], b[:2])).clamp_min(0).prod()
        return common / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - common)

    def best(score, apart, most, least):
        found = []
        for i in score.argsort(descending=True).tolist():
            if score[i] > least and len(found) < most and all(apart(i, k) for k in found):
                found.append(i)
        return found

    def combined(b, s, *_, padded, clip):
        rows = [[], [], [], []]
        for n in range(2):
            found = []
            for k in range(2):
                of = b[n, :, min(k, b.shape[2] - 1)]
                found += [(float(s[n, i, k]), k, of[i]) for i in best(s[n, :, k], lambda i, j, of=of: overlap(of[i], of[j]) <= 0.2, 3, 0.15)]
            found.sort(key=lambda f: -f[0])
            length = 6 if padded else 8
            found = found[:length]
            rest = length - len(found)
            rows[0].append(torch.cat([torch.stack([f[2].clamp(0, 1) if clip else f[2] for f in found]), torch.zeros(rest, 4)]))
            rows[1].append(torch.tensor([f[0] for f in found] + [0.0] * rest))
            rows[2].append(torch.tensor([float(f[1]) for f in found] + [0.0] * rest))
            rows[3].append(torch.tensor(len(found)))
        return [torch.stack(v) for v in rows]
    limits = const(3, torch.int32), const(8, torch.int32), torch.tensor(0.2), torch.tensor(0.15)
    for padded, clip in ((False, True), (True, False)):
        for b in (boxes, boxes[:, :, :1]):
            case("CombinedNonMaxSuppression", b, scores, *limits, want=lambda *a, p=padded, c=clip: combined(*a, padded=p, clip=c), pad_per_class=padded, clip_boxes=clip)
    shared, score = r(8, 8, low=0.0, high=1.0), r(8, low=0.0, high=1.0)
    for most, limit, least in ((8, 0.5, 0.0), (2, 0.9, 0.0), (8, 0.6, 0.5)):
        case("NonMaxSuppressionWithOverlaps", shared, score, const(most, torch.int32), torch.tensor(limit), torch.tensor(least), counted=True,
             want=lambda o, s, *_, m=most, h=limit, low=least: torch.tensor(best(s, lambda i, k: o[i, k] <= h, m, low)))


def add_cases(case, r):
    add_sequences(case, r)
    add_suppression(case, r)
    add_windows(case, r)
    add_places(case, r)
    add_fractions(case, r)
    add_resizing(case, r)
