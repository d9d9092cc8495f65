"""Cases of memory formats, and of the convolution of whole numbers, whose attributes name such formats."""
import itertools

import torch
import torch.nn.functional as F

CUBE = 16


def c0(v):
    return 32 if v.element_size() == 1 else CUBE


def rounded(v, dim, to):
    """With zeros behind the last elements of a dimension."""
    more = -v.shape[dim] % to
    return torch.cat([v, v.new_zeros([more if d == dim % v.dim() else n for d, n in enumerate(v.shape)])], dim)


def split(v, dim, to):
    return rounded(v, dim, to).unflatten(dim, (-1, to))


def blocks_of_images(v):  # NCHW
    return split(v, 1, c0(v)).permute(0, 1, 3, 4, 2)


def blocks_of_volumes(v):  # NCDHW
    return split(v, 1, c0(v)).permute(0, 3, 1, 4, 5, 2)


def fractals(v):  # NCHW
    return split(split(v, 1, c0(v)), 0, CUBE).permute(2, 4, 5, 0, 1, 3).flatten(0, 2)


def fractals_of_volumes(v):  # NCDHW
    return split(split(v, 1, c0(v)), 0, CUBE).permute(4, 2, 5, 6, 0, 1, 3).flatten(0, 3)


def zigzag(v):  # [..., M, N]
    return split(split(v, -1, c0(v)), -3, CUBE).transpose(-2, -3).transpose(-3, -4)


def turned(v, own, want):
    return v.permute(*(own.index(letter) for letter in want)).contiguous()


def add_cases(case, r):
    plain = {"NCHW": (3, 19, 2, 4), "NCDHW": (2, 17, 3, 2, 4)}
    orders = {"NCHW": ("NCHW", "NHWC", "HWCN", "CHWN"), "NCDHW": ("NCDHW", "NDHWC", "DHWCN")}
    for letters, shape in plain.items():
        v = r(*shape)
        for own, want in itertools.product(orders[letters], repeat=2):
            case("TransData", turned(v, letters, own), src_format=own, dst_format=want, want=lambda x, o=own, w=want: turned(x, o, w), tolerance=0)
    kinds = (("NC1HWC0", "NCHW", blocks_of_images), ("FRACTAL_Z", "NCHW", fractals), ("NDC1HWC0", "NCDHW", blocks_of_volumes), ("FRACTAL_Z_3D", "NCDHW", fractals_of_volumes))
    for name, letters, made in kinds:
        big = (2, 33, 3, 2) if letters == "NCHW" else (18, 32, 2, 1, 3)
        for shape, dtype in ((plain[letters], torch.float32), (big, torch.float16), (big, torch.int8), ((1,) * len(letters), torch.int64), ((2, 3) + plain[letters][2:-1] + (0,), torch.float32)):
            v = (r(*shape) * 30).to(dtype)
            for own in orders[letters]:
                there = turned(v, letters, own)
                case("TransData", there, src_format=own, dst_format=name, want=lambda x, o=own, le=letters, m=made: m(turned(x, o, le)), tolerance=0)
                case("TransData", made(v).contiguous(), src_format=name, dst_format=own, want=lambda x, t=there: t, shapes=[(list(there.shape), dtype)], tolerance=0)
    for shape, dtype in (((5, 7), torch.float32), ((2, 3, 16, 32), torch.float16), ((2, 40, 33), torch.int8), ((1, 1), torch.bfloat16), ((0, 5, 7), torch.float32)):
        v = (r(*shape) * 30).to(dtype)
        case("TransData", v, src_format="ND", dst_format="FRACTAL_NZ", want=zigzag, tolerance=0)
        case("TransData", zigzag(v).contiguous(), src_format="FRACTAL_NZ", dst_format="ND", want=lambda x, v=v: v, shapes=[(list(shape), dtype)], tolerance=0)
    case("TransData", r(2, 3), src_format="ND", dst_format="ND", want=lambda v: v, tolerance=0)
    quantised_convolutions(case, r)


def quantised_convolutions(case, r):
    def numbers(*shape):
        return (r(*shape) * 63).round().to(torch.int8)

    def words(values):
        return values.float().view(torch.int32).to(torch.int64) & 0xFFFFFFFF

    def want(x, w, scale, bias, _, *, last, stride, pads, dilation, groups, offset):
        if last:
            x, w = x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)
        top, bottom, left, right = pads
        x = F.pad(x.double(), (left, right, top, bottom), value=float(offset))
        y = F.conv2d(x, w.double(), None if bias is None else bias.double(), stride, 0, dilation, groups)
        y = y * (scale.to(torch.int32).view(torch.float32).double()).reshape(1, -1, 1, 1)
        return y.permute(0, 2, 3, 1) if last else y

    for last, groups, stride, pads, dilation, offset, by_channel, biased in (
            (False, 1, (1, 1), (0, 0, 0, 0), (1, 1), 0, True, True), (True, 1, (2, 1), (1, 0, 2, 1), (1, 1), 0, False, False),
            (False, 2, (1, 2), (1, 1, 1, 1), (2, 1), 5, True, True), (True, 2, (1, 1), (0, 1, 1, 0), (1, 2), -128, True, False)):
        x, w = numbers(2, 6, 9, 8), numbers(4, 6 // groups, 3, 2)
        scale = words(r(4 if by_channel else 1).abs() * 1e-3)
        bias = (r(4) * 5000).round().int() if biased else None
        a = {"last": last, "stride": stride, "pads": pads, "dilation": dilation, "groups": groups, "offset": offset}
        if last:
            x, w = x.permute(0, 2, 3, 1).contiguous(), w.permute(2, 3, 1, 0).contiguous()
        spread = (lambda p: [1, *p, 1]) if last else (lambda p: [1, 1, *p])
        case("QuantConv2D", x, w, scale, bias, None, dtype=1, strides=spread(stride), pads=list(pads), dilations=spread(dilation), groups=groups,
             data_format="NHWC" if last else "NCHW", offset_x=offset, tolerance=1e-3, want=lambda *v, a=a: want(*v, **a))
