"""Cases of graph operators that op-plugin's own tests ask for through the aclop interface, in words of their own."""
import math

import numpy as np
import torch
import torch.nn.functional as F

from graph import const
from graph_cases.select import add_cases as add_select_cases


def ctc(logs, targets, blank):
    inputs, lengths = [logs.shape[0]] * logs.shape[1], [3, 2]
    return torch.ops.aten._ctc_loss(logs.double(), targets, inputs, lengths, blank)


def ctc_gradient(by, logs, targets, blank):
    lengths = torch.tensor([logs.shape[0]] * logs.shape[1]), torch.tensor([3, 2])
    v = logs.double().requires_grad_()
    loss = F.ctc_loss(v, targets, *lengths, blank=blank, reduction="none")
    return torch.autograd.grad(loss, v, by.double())[0]


def windows(x, offsets, kernel, stride, padding, dilation, groups):
    """Each position of each window, [N, C, out * kernel, …]: read by grid_sample between the pixels around it, times a factor."""
    (n, channels, height, width), (kh, kw) = x.shape, kernel
    out_h, out_w = offsets.shape[2:]
    along_w, along_h, factor = offsets.reshape(n, 3, groups, kh, kw, out_h, out_w).unbind(1)
    at_h = torch.arange(out_h)[:, None] * stride[0] - padding[0] + (torch.arange(kh) * dilation[0])[:, None, None, None]
    at_w = torch.arange(out_w)[None] * stride[1] - padding[2] + (torch.arange(kw) * dilation[1])[None, :, None, None]
    h, w = along_h + at_h, along_w + at_w
    grid = torch.stack([(2 * w + 1) / width - 1, (2 * h + 1) / height - 1], -1)  # [n, groups, kh, kw, out_h, out_w, 2]
    grid = grid.permute(0, 1, 4, 2, 5, 3, 6).reshape(n * groups, out_h * kh, out_w * kw, 2)
    read = F.grid_sample(x.reshape(n * groups, channels // groups, height, width), grid, align_corners=False)
    scale = factor.permute(0, 1, 4, 2, 5, 3).reshape(n * groups, 1, out_h * kh, out_w * kw)
    return (read * scale).reshape(n, channels, out_h * kh, out_w * kw)


def calibrated(data, low, high, bins, with_offset):
    """The scale and offset, of those that are tried, with which the numbers differ least from the data."""
    data, best = data.double().numpy(), None
    share = np.asarray(bins) / data.size
    top, bottom = ((share < p).sum() / len(share) * (high - low) + low for p in (0.999999, 0.000001))
    for step in np.arange(0.7, 1.3, 0.01):
        if with_offset:
            scale = (max(top, 0) * step - min(bottom, 0)) / 255
            offset = -(np.round(min(bottom, 0) / scale) + 128)
        else:
            scale, offset = max(abs(top), abs(bottom)) * step / 127, 0
        lost = ((np.clip(np.round(data / scale) + offset, -128, 127) - offset) * scale - data) ** 2
        if best is None or lost.sum() < best[0]:
            best = lost.sum(), scale, offset
    return torch.tensor([best[1]]), torch.tensor([float(best[2])])


def pixels_between(size, at):
    """[size]: how much of each pixel the place takes; none when it is more than one pixel outside."""
    take = torch.zeros(size, dtype=torch.float64)
    if -1 <= at <= size:
        at = min(max(at, 0.0), size - 1.0)
        low = math.floor(at)
        take[low] = 1 - (at - low)
        if at > low:
            take[low + 1] = at - low
    return take


def aligned(x, rois, scale, cells, samples, mode):
    """Of each region, cell by cell: the mean of samples between the pixels."""
    shift, more = (0.5 if mode == 3 else 0.0), (1.0 if mode == 1 else 0.0)
    out = []
    for image, *corners in rois.double().tolist():
        left, top = (v * scale - shift for v in corners[:2])
        sizes = [(b + more) * scale - shift - a for a, b in zip((top, left), (corners[3], corners[2]))]
        sizes = sizes if mode == 3 else [max(v, 1.0) for v in sizes]
        along = []
        for start, size, n, pixels in zip((top, left), sizes, cells, x.shape[2:]):
            count = samples or math.ceil(size / n)
            along.append(torch.stack([torch.stack([pixels_between(pixels, start + (i + (k + 0.5) / count) * size / n)
                                                   for k in range(count)]).mean(0) for i in range(n)]))
        out.append(torch.einsum("ih,jw,chw->cij", *along, x[int(image)].double()))
    return torch.stack(out)


def pooled(x, rois, scale, outputs, group):
    """Of each region, cell by cell: the mean of the pixels that the cell touches, in its own channel."""
    out = []
    for image, *corners in rois.permute(0, 2, 1).reshape(-1, 5).double().tolist():
        starts = [round(v) * scale for v in corners[:2]]
        steps = [max(round(e + 1) * scale - s, 0.1) / group for s, e in zip(starts, corners[2:])]
        cells = x.new_zeros(outputs, group, group)
        for row in range(group):
            for column in range(group):
                (w0, w1), (h0, h1) = ([min(max(f(i * d + s), 0), most) for f, i in ((math.floor, k), (math.ceil, k + 1))]
                                      for s, d, k, most in zip(starts, steps, (column, row), (x.shape[3], x.shape[2])))
                if h1 > h0 and w1 > w0:
                    channels = torch.arange(outputs) * group * group + row * group + column
                    cells[:, row, column] = x[int(image), channels, h0:h1, w0:w1].mean((1, 2))
        out.append(cells)
    return torch.stack(out)


def heads_of(rows, heads):
    """[1, heads, length, size] of rows in which the heads lie side by side."""
    return rows.reshape(1, len(rows), heads, -1).transpose(1, 2)


def multi_head_attention(x, weights, mask, biases, kept, heads, keep):
    """What MultiHeadAttention gives but for the mask of dropout: y, the operands, the scores, what is kept of them, the context."""
    q, k, v = (v_ @ w.t() + b for v_, w, b in zip(x, weights, biases))
    q, k, v = heads_of(q * (q.shape[1] // heads) ** -0.5, heads), heads_of(k, heads), heads_of(v, heads)
    scores = (q @ k.mT + mask).softmax(-1)
    left = scores * kept / keep
    context = (left @ v).transpose(1, 2).reshape(x[0].shape)
    return context @ weights[3].t() + biases[3], q, k, v, scores, left, context


def add_attention(case, r):
    heads, size, length, source = 2, 8, 16, 32
    width = heads * size
    x = [r(length, width), r(source, width) / 2, r(source, width, low=-1.0)]
    weights, biases = [r(width, width + i)[:, :width] / 3 for i in range(4)], [r(width + i)[:width] for i in range(4)]
    mask = r(1, heads, length, source)
    how = dict(attn_head_num=heads, attn_dim_per_head=size, src_len=source, tgt_len=length)
    bits = torch.from_numpy(np.random.RandomState(1).randint(0, 256, heads * length * source // 8).astype(np.uint8))
    kept = torch.from_numpy(np.unpackbits(bits.numpy(), bitorder="little")).reshape(1, heads, length, source)
    weights = [w.contiguous() for w in weights]
    biases = [b.contiguous() for b in biases]
    for keep, given, left in ((0.5, bits, kept), (1.0, None, torch.ones_like(kept))):
        def forward(*inputs, keep=keep, left=left, given=given):
            v = [t.double() for t in inputs[:12]]
            y, *others = multi_head_attention(v[:3], [*v[3:6], v[7]], v[6], v[8:12], left, heads, keep)
            return y, given if given is not None else torch.full_like(bits, 255), *others
        for wide in (True, False):
            case("MultiHeadAttention", *x, *weights[:3], mask, weights[3], *biases, given, want=forward, keep_prob=keep,
                 softmax_use_float=wide, **how)
        by = r(length, width)
        done = [t.float().contiguous() for t in multi_head_attention(x, weights, mask, biases, left, heads, keep)[1:]]

        def gradients(*inputs, keep=keep, left=left, by=by):
            on = [t.double().requires_grad_() for t in (*weights, *x, *biases)]
            y = multi_head_attention(on[4:7], on[:4], mask.double(), on[7:], left, heads, keep)[0]
            found = torch.autograd.grad(y, on, by.double())
            return [*found[:7], *(b[None] for b in found[7:])]
        case("MultiHeadAttentionGrad", *x, *weights, *done, by, given, want=gradients, keep_prob=keep, softmax_use_float=True,
             bias_grad_mask=[True] * 4, tolerance=1e-3, **how)


def add_cases(case, r):
    add_attention(case, r)
    add_select_cases(case, r)
    logs = r(8, 2, 5).log_softmax(-1)
    targets = torch.tensor([[1, 2, 2], [3, 1, 0]])
    lengths = [const([8, 8]), const([3, 2])]
    loss, alpha = ctc(logs, targets, 0)
    case("CTCLossV2", logs, targets, *lengths, want=lambda *_: (loss, None))
    # torch_npu adds the longest target's length times the classes to the blank
    case("CTCLossV2", logs, targets, *lengths, want=lambda v, t, *_: (ctc(v, t, 4)[0], None), blank=4 + 3 * 5, zero_infinity=True)
    by = torch.tensor([0.5, 2.0])
    case("CTCLossV2Grad", by, logs, targets, *lengths, loss.float(), alpha.float(),
         want=lambda g, v, t, *_: ctc_gradient(g, v, t, 0))

    kernel, stride, padding, dilation, groups = (3, 2), (2, 1), (1, 2, 1, 0), (1, 2), 2
    image = r(2, 4, 7, 6)
    offsets = r(2, 3 * groups * 6, 4, 5, low=-1.6, high=1.6)
    common = dict(pads=list(padding), ksize=list(kernel), deformable_groups=groups)
    for last in (False, True):
        def move(v, last=last):
            return v.permute(0, 2, 3, 1).contiguous() if last else v

        def want(x, o, last=last, move=move):
            x, o = (v.permute(0, 3, 1, 2) if last else v for v in (x, o))
            return move(windows(x.double(), o.double(), kernel, stride, padding, dilation, groups))

        def gradients(g, x, o, want=want):
            x, o = x.double().requires_grad_(), o.double().requires_grad_()
            return torch.autograd.grad(want(x, o), (x, o), g.double())

        steps = dict(strides=[1, *stride, 1] if last else [1, 1, *stride], dilations=[1, *dilation, 1] if last else [1, 1, *dilation],
                     data_format="NHWC" if last else "NCHW")
        case("DeformableOffsets", move(image), move(offsets), want=want, **steps, **common)
        case("DeformableOffsetsGrad", move(r(2, 4, 12, 10)), move(image), move(offsets), want=gradients, **steps, **common)

    for data, with_offset in ((r(5, 40, low=-0.4, high=1.7), True), (r(5, 40, low=-0.4, high=1.7), False)):
        low, high = data.min(), data.max()
        bins = torch.histc(data, 128, low.item(), high.item()).cumsum(0).int()
        case("IFMR", data, low.reshape(1), high.reshape(1), bins, min_percentile=0.999999, max_percentile=0.999999,
             search_range=[0.7, 1.3], search_step=0.01, with_offset=with_offset,
             want=lambda d, a, b, c, w=with_offset: calibrated(d, a.item(), b.item(), c, w))

    image = r(2, 3, 7, 9)
    rois = torch.tensor([[0, -2.0, 3.1, 17.3, 22.0], [1, 4.0, 2.0, 30.9, 25.4], [1, 8.2, 8.0, 8.4, 8.3], [0, 70.0, 5.0, 90.0, 8.0]])
    for mode in (0, 1, 3):
        for samples in (2, 0):
            sizes = dict(spatial_scale=0.25, pooled_height=3, pooled_width=2, sample_num=samples, roi_end_mode=mode)

            def align(x, v, samples=samples, mode=mode):
                return aligned(x, v, 0.25, (3, 2), samples, mode)

            def align_gradient(g, v, align=align):
                x = image.double().requires_grad_()
                return torch.autograd.grad(align(x, v), x, g.double())[0]

            case("ROIAlign", image, rois, want=align, **sizes)
            case("ROIAlignGrad", r(4, 3, 3, 2), rois, want=align_gradient, xdiff_shape=list(image.shape), **sizes)

    planes, group, outputs = r(2, 2 * 9, 8, 10), 3, 2
    regions = torch.tensor([[0, 1.0, 2.0, 30.0, 20.0], [1, 3.0, 0.0, 12.0, 28.0], [1, -9.0, 5.0, 14.0, 60.0], [0, 90.0, 90.0, 99.0, 99.0]])
    regions = regions.reshape(2, 2, 5).permute(0, 2, 1).contiguous()
    sizes = dict(spatial_scale=0.3, output_dim=outputs, group_size=group)

    def pool_gradient(g, v):
        x = planes.double().requires_grad_()
        return torch.autograd.grad(pooled(x, v, 0.3, outputs, group), x, g.double())[0]

    case("PSROIPoolingV2", planes, regions, want=lambda x, v: pooled(x.double(), v, 0.3, outputs, group), **sizes)
    case("PSROIPooling", planes, regions, want=lambda x, v: pooled(x.double(), v, 0.3, outputs, group), **sizes)
    case("PSROIPoolingGradV2D", r(4, outputs, group, group), regions, want=pool_gradient, input_size=[8, 10], **sizes)
