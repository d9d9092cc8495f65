"""Convolutions, pooling, interpolation, padding and sampling: npu against PyTorch's CPU device in double precision
(or in the same type where the result is a choice, such as a maximum)."""

import pytest
import torch
import torch.nn.functional as F
from aclnn import call
from graph import call as graph_call

torch_npu = pytest.importorskip("torch_npu")

TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-11, torch.float16: 4e-3, torch.bfloat16: 2e-2}
TYPES = list(TOLERANCE)


def close(want, got, dtype):
    assert want.shape == got.shape
    want, got = want.detach().double(), got.detach().cpu().double()
    assert torch.equal(want.isnan(), got.isnan())
    finite = want.isfinite()
    assert torch.equal(want[~finite & ~want.isnan()], got[~finite & ~want.isnan()])
    if finite.any():
        error = (want - got)[finite].abs().max() / (want[finite].abs().max() + 1e-9)
        assert error < TOLERANCE[dtype], error


def compare(function, inputs, dtype, exact=False, gradient=None):
    """function(*inputs) and its gradients on both devices."""
    reference = dtype if exact else torch.float64
    values = [t.to(dtype) for t in inputs]
    want_in = [t.to(reference).clone().requires_grad_() for t in values]
    got_in = [t.npu().requires_grad_() for t in values]
    want, got = function(*want_in), function(*got_in)
    close(want, got, dtype)
    if gradient is None:
        gradient = torch.randn(want.shape, dtype=torch.float64)
    gradient = gradient.to(dtype)
    want_grad = torch.autograd.grad(want, want_in, gradient.to(reference))
    got_grad = torch.autograd.grad(got, got_in, gradient.npu())
    for a, b in zip(want_grad, got_grad):
        close(a, b, dtype)


# dimensions, batch, channels, outputs, kernel, stride, padding, dilation, groups, transposed, output padding, size
CONVOLUTIONS = [
    (2, 2, 16, 32, 3, 1, 1, 1, 1, False, 0, 9),
    (2, 1, 3, 64, 7, 2, 3, 1, 1, False, 0, 32),
    (2, 2, 32, 48, 1, 1, 0, 1, 1, False, 0, 24),
    (2, 2, 64, 64, 1, 1, 0, 1, 1, False, 0, 7),
    (2, 2, 16, 32, 1, 2, 0, 1, 1, False, 0, 15),
    (2, 2, 24, 10, 1, 3, 0, 1, 1, False, 0, 64),
    (1, 3, 16, 12, 1, 2, 0, 1, 1, False, 0, 10),
    (3, 2, 9, 16, 1, 2, 0, 1, 1, False, 0, 6),
    (2, 2, 10, 12, 1, 2, 0, 1, 2, False, 0, 9),
    (2, 2, 12, 10, 1, 2, 0, 1, 1, True, 1, 7),
    (2, 2, 12, 10, 1, 3, 1, 1, 1, True, 0, 7),
    (1, 3, 8, 8, 3, 1, 1, 1, 1, False, 0, 6),
    (3, 2, 6, 9, 3, 2, 0, 1, 1, False, 0, 11),
    (2, 2, 8, 8, 3, 1, 2, 2, 4, False, 0, 10),
    (2, 2, 8, 16, 3, 1, 1, 1, 8, False, 0, 10),
    (2, 2, 6, 4, 3, 2, 1, 1, 1, True, 1, 7),
    (2, 1, 6, 4, 5, 3, 1, 2, 2, True, 2, 7),
    (1, 2, 4, 4, 3, 1, 0, 3, 1, True, 2, 5),
    (3, 1, 4, 6, 2, 2, 0, 1, 2, True, 1, 4),
    (2, 0, 4, 4, 3, 1, 1, 1, 1, False, 0, 5),
]


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("case", CONVOLUTIONS, ids=str)
@pytest.mark.parametrize("bias", [False, True])
def test_convolution(case, bias, dtype):
    torch.manual_seed(0)
    dims, n, c, o, k, s, p, d, g, transposed, extra, size = case
    x = torch.randn(n, c, *[size] * dims)
    w = torch.randn(*((c, o // g) if transposed else (o, c // g)), *[k] * dims)

    def run(x, w, b=None):
        return torch.ops.aten.convolution(x, w, b, [s] * dims, [p] * dims, [d] * dims, transposed, [extra] * dims, g)

    compare(run, [x, w] + ([torch.randn(o)] if bias else []), dtype)


# 3x3 filters with stride 1 go by Winograd's algorithm where hf32 is allowed, which is torch_npu's default.
# batch, channels, outputs, padding, height, width: tiles cut at the edges, one row, more than one block of tiles
WINOGRAD = [(2, 32, 32, 1, 24, 24), (1, 40, 33, (0, 2), 31, 45), (3, 64, 48, 2, 14, 14), (64, 33, 35, 1, 1, 3),
            (1, 32, 160, (1, 0), 3, 300), (2, 64, 64, 1, 130, 131)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("case", WINOGRAD, ids=str)
def test_winograd(case, transposed, dtype):
    torch.manual_seed(0)
    n, c, o, padding, *size = case
    x, w, b = torch.randn(n, c, *size), torch.randn(*((c, o) if transposed else (o, c)), 3, 3), torch.randn(o)
    function = F.conv_transpose2d if transposed else F.conv2d
    compare(lambda x, w: function(x, w, padding=padding), [x, w], dtype)
    compare(lambda x, w, b: function(x, w, b, padding=padding), [x, w, b], dtype)


def test_winograd_is_as_exact_as_said_and_only_with_leave():
    """Error of the result and of both gradients, relative in the 2-norm, against float64."""
    torch.manual_seed(0)
    x, w, g = torch.randn(4, 128, 28, 28).relu(), torch.randn(128, 128, 3, 3), torch.randn(4, 128, 28, 28)

    def run(device, dtype):
        with torch.enable_grad():
            a, b = (t.to(device, dtype).requires_grad_() for t in (x, w))
            y = F.conv2d(a, b, padding=1)
            return [t.cpu().double() for t in (y, *torch.autograd.grad(y, [a, b], g.to(device, dtype)))]

    before = torch.npu.conv.allow_hf32
    found = {}
    try:
        for allowed in (True, False):
            torch.npu.conv.allow_hf32 = allowed
            found[allowed] = run("npu", torch.float32)
    finally:
        torch.npu.conv.allow_hf32 = before
    for fast, direct, want in zip(found[True], found[False], run("cpu", torch.float64)):
        assert not torch.equal(fast, direct)
        assert (direct - want).norm() / want.norm() < 1e-6
        assert (fast - want).norm() / want.norm() < 3e-6


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan")])
def test_one_infinity_does_not_spoil_its_neighbours(value):
    torch.manual_seed(0)
    x, w = torch.randn(2, 32, 24, 24), torch.randn(32, 32, 3, 3)
    x[1, 3, 10, 13] = value
    compare(lambda x, w: F.conv2d(x, w, padding=1), [x, w], torch.float32)
    x[1, 3, 10, 13], w[4, 5, 1, 1] = 0, value
    compare(lambda x, w: F.conv2d(x, w, padding=1), [x, w], torch.float32)


@pytest.mark.parametrize("size", [9, 24])
@pytest.mark.parametrize("kernel", [1, 3])
def test_convolution_views(size, kernel):
    """Channels last, every second column, and a gradient that is one expanded number."""
    torch.manual_seed(0)
    x = torch.randn(2, size, size, 8)
    w = torch.randn(kernel, kernel, 8, 6)
    compare(lambda x, w: F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)), [x, w], torch.float32)
    compare(lambda x, w: F.conv2d(x[..., ::2].permute(0, 3, 1, 2), w[:, :, ::2].permute(3, 2, 0, 1)), [x, w], torch.float32)
    y = F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1))
    one = torch.ones(1).expand(y.shape)
    compare(lambda x, w: F.conv2d(x.permute(0, 3, 1, 2), w.permute(3, 2, 0, 1)), [x, w], torch.float32, gradient=one)


def test_convolution_repeats():
    torch.manual_seed(0)
    x, w = torch.randn(4, 32, 20, 20).npu(), torch.randn(32, 32, 3, 3).npu().requires_grad_()
    g = torch.randn(4, 32, 20, 20).npu()
    first = None
    for _ in range(3):
        (grad,) = torch.autograd.grad(F.conv2d(x, w, padding=1), w, g)
        first = grad if first is None else first
        assert torch.equal(first.cpu(), grad.cpu())


def test_convolution_refuses_shapes():
    with pytest.raises(RuntimeError):
        F.conv2d(torch.randn(1, 3, 8, 8).npu(), torch.randn(4, 2, 3, 3).npu())
        torch.npu.synchronize()


MAXIMA = {
    "3 2 1": lambda t: F.max_pool2d(t, 3, 2, 1),
    "2": lambda t: F.max_pool2d(t, 2),
    "1 stride 2": lambda t: F.max_pool2d(t, 1, 2),
    "dilated": lambda t: F.max_pool2d(t, 3, 1, 1, 2),
    "ceiling": lambda t: F.max_pool2d(t, (3, 2), (2, 3), (1, 1), 1, ceil_mode=True),
    "adaptive": lambda t: F.adaptive_max_pool2d(t, (5, 7)),
}
MEANS = {
    "3 2 1": lambda t: F.avg_pool2d(t, 3, 2, 1),
    "ceiling": lambda t: F.avg_pool2d(t, (3, 2), (2, 2), (1, 0), True, False),
    "divisor": lambda t: F.avg_pool2d(t, 2, 1, 1, divisor_override=3),
    "adaptive": lambda t: F.adaptive_avg_pool2d(t, (5, 7)),
    "adaptive up": lambda t: F.adaptive_avg_pool2d(t, (20, 20)),
}


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("shape", [(2, 3, 12, 17), (3, 9, 8)], ids=str)
def test_pools(shape, dtype):
    torch.manual_seed(0)
    x = torch.randn(shape)
    for function in MAXIMA.values():
        compare(function, [x], dtype, exact=True)
    for function in MEANS.values():
        compare(function, [x], dtype)
    strided = x.transpose(-1, -2).contiguous()
    compare(lambda t: F.max_pool2d(t.transpose(-1, -2), 3, 2, 1), [strided], dtype, exact=True)
    compare(lambda t: F.avg_pool2d(t.transpose(-1, -2), 3, 2, 1), [strided], dtype)


def test_max_pool_of_nan_and_infinity():
    x = torch.randn(2, 3, 9, 10)
    x[0, 0, 0, 0], x[0, 1], x[1, 1, 2, 3] = float("nan"), -float("inf"), float("inf")
    compare(lambda t: F.max_pool2d(t, 3, 2, 1), [x], torch.float32, exact=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_pools_of_volumes(dtype):
    x = torch.randn(2, 3, 6, 7, 8)
    compare(lambda t: F.max_pool3d(t, 3, 2, 1), [x], dtype, exact=True)
    compare(lambda t: F.avg_pool3d(t, 3, 2, 1), [x], dtype)
    compare(lambda t: F.adaptive_avg_pool3d(t, (2, 3, 4)), [x], dtype)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
@pytest.mark.parametrize("mode", ["reflect", "replicate"])
def test_padding(mode, dtype):
    for padding, shape in [((1, 2), (2, 3, 9)), ((1, 2), (3, 9)), ((2, 1, 3, 0), (2, 3, 6, 7)), ((-1, 2, 1, -1), (2, 3, 6, 7)),
                           ((1, 1, 2, 0, 1, 2), (2, 3, 4, 5, 6))]:
        compare(lambda t: F.pad(t, padding, mode=mode), [torch.randn(shape)], dtype)


SIZES = [((2, 3, 9), {"size": 20}), ((2, 3, 9), {"scale_factor": 1.7}), ((2, 3, 6, 7), {"size": (13, 11)}),
         ((2, 3, 6, 7), {"scale_factor": 2}), ((2, 3, 6, 7), {"scale_factor": (0.6, 1.3)}),
         ((1, 2, 3, 4, 5), {"scale_factor": 2}), ((1, 2, 3, 4, 5), {"size": (7, 3, 9)})]


@pytest.mark.parametrize("kernel", [(1, 1), (1, 2), (2, 2), (3, 3), (4, 4), (5, 3)], ids=str)
def test_max_pool_whose_mask_has_a_bit_for_each_element(kernel):
    """As torch_npu allocates it for tensors of internal formats: 16 bits for 16 results and each element of the window."""
    torch.manual_seed(5)
    x = torch.randn(2, 3, 9, 11, requires_grad=True)
    y = F.max_pool2d(x, kernel, 1)
    g = torch.randn(y.shape)
    mask = [2, 3, kernel[0] * kernel[1], y.shape[2] * y.shape[3] // 16 + 1]
    window = dict(ksize=[1, *kernel, 1], strides=[1, 1, 1, 1], pads=[1, 0, 0, 1])
    got, where = graph_call("MaxPoolWithArgmaxV1", x.detach(), shapes=[(list(y.shape), torch.float32), (mask, torch.int16)], **window)
    assert torch.equal(got, y)
    got, = graph_call("MaxPoolGradWithArgmaxV1", x.detach(), g, where, **window)
    close(torch.autograd.grad(y, x, g)[0], got, torch.float32)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape,size", SIZES, ids=str)
def test_interpolation(shape, size, dtype):
    torch.manual_seed(0)
    x = torch.randn(shape)
    linear = {3: "linear", 4: "bilinear", 5: "trilinear"}[len(shape)]
    for mode, corners in [("nearest", None), ("nearest-exact", None), (linear, False), (linear, True)] + (
            [("bicubic", False), ("bicubic", True)] if len(shape) == 4 else []):
        compare(lambda t: F.interpolate(t, mode=mode, align_corners=corners, **size), [x], dtype, exact=True)
    if len(shape) == 4 and dtype is torch.float32:
        for mode in ("bilinear", "bicubic"):
            compare(lambda t: F.interpolate(t, mode=mode, antialias=True, **size), [x], dtype, exact=True)


@pytest.mark.parametrize("dtype", TYPES, ids=str)
def test_unfold_and_fold(dtype):
    for options in [{"kernel_size": 3, "padding": 1}, {"kernel_size": (2, 3), "stride": 2, "dilation": 2, "padding": 1}]:
        x = torch.randn(2, 3, 9, 10)
        compare(lambda t: F.unfold(t, **options), [x], dtype)
        compare(lambda t: F.fold(t, (9, 10), **options), [F.unfold(x, **options)], dtype)
    compare(lambda t: t.unfold(1, 3, 2).clone(), [torch.randn(4, 9, 3)], dtype)


@pytest.mark.parametrize("corners", [False, True])
@pytest.mark.parametrize("border", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample(mode, border, corners):
    torch.manual_seed(3)
    grid = torch.rand(2, 5, 6, 2) * 2.6 - 1.3
    compare(lambda x, g: F.grid_sample(x, g, mode, border, corners), [torch.randn(2, 3, 7, 8), grid], torch.float32, exact=True)
    if mode != "bicubic":
        grid = torch.rand(2, 3, 4, 5, 3) * 2.6 - 1.3
        compare(lambda x, g: F.grid_sample(x, g, mode, border, corners), [torch.randn(2, 3, 4, 7, 8), grid], torch.float32,
                exact=True)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16, torch.float64], ids=str)
@pytest.mark.parametrize("mode", ["bilinear", "nearest", "bicubic"])
def test_grid_sample_at_many_positions(mode, dtype):
    """More positions than are done at a time, some far outside, and planes whose channels lie side by side."""
    torch.manual_seed(4)
    grid = torch.rand(2, 23, 29, 2) * 2.4 - 1.2
    grid[0, 0, :4, 0] = torch.tensor([3e4, -3e4, 7.0, -7.0])
    if dtype in (torch.float32, torch.float64):
        grid[1, 22, 27:, 1] = torch.tensor([3e9, -1e30])
    x = torch.randn(2, 11, 13, 5).permute(0, 3, 1, 2)
    x[:, :, 0, 0] = 9.0  # what positions outside would read if they were not left out
    for border in ("zeros", "border"):
        compare(lambda x, g: F.grid_sample(x, g, mode, border, False), [x, grid], dtype, exact=dtype.itemsize > 2)


def test_grid_sample_of_planes_that_are_not_finite():
    x = torch.full((1, 2, 3, 4), torch.inf)
    x[0, 1] = torch.nan
    grid = torch.tensor([[-5.0, 0.0], [5.0, 5.0], [torch.nan, 0.0], [torch.inf, 0.0]]).reshape(1, 2, 2, 2)
    for mode in ("bilinear", "nearest", "bicubic"):
        assert not F.grid_sample(x.npu(), grid.npu(), mode, "zeros", False).cpu().any()


@pytest.mark.parametrize("dtype", TYPES[:1] + TYPES[2:], ids=str)
def test_sequences_by_channels_last(dtype):
    """conv_tbc: [time, batch, channels]."""
    x, w, b = torch.randn(9, 2, 5).to(dtype), torch.randn(3, 5, 4).to(dtype), torch.randn(4).to(dtype)
    leaves = [t.double().requires_grad_() for t in (x, w, b)]
    for pad in (0, 1, 2):
        want = torch.conv_tbc(*leaves, pad)
        out = torch.empty(want.shape, dtype=dtype, device="npu")
        call("aclnnConvTbc", x.npu(), w.npu(), b.npu(), pad, out, 0)
        close(want, out, dtype)
        g = torch.randn(want.shape).to(dtype)
        grads = torch.autograd.grad(want, leaves, g.double())
        got = [torch.empty_like(t.npu()) for t in (x, w, b)]
        call("aclnnConvTbcBackward", g.npu(), x.npu(), w.npu(), b.npu(), pad, 0, *got)
        for a, e in zip(got, grads):
            close(e, a, dtype)


@pytest.mark.parametrize("dtype", TYPES[:1] + TYPES[2:], ids=str)
@pytest.mark.parametrize("multiplier", [1, 2])
def test_depthwise(dtype, multiplier):
    x, w, b = torch.randn(2, 6, 9, 8).to(dtype), torch.randn(6 * multiplier, 1, 3, 3).to(dtype), torch.randn(6 * multiplier).to(dtype)
    want = F.conv2d(x.double(), w.double(), b.double(), 2, 1, 1, 6)
    out = torch.empty(want.shape, dtype=dtype, device="npu")
    call("aclnnConvDepthwise2d", x.npu(), w.npu(), [3, 3], b.npu(), [2, 2], [1, 1], [1, 1], out, 0)
    close(want, out, dtype)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_largest_with_its_place(dtype):
    x = torch.randn(2, 3, 9, 8).to(dtype)
    want, where = F.max_pool2d(x, 3, 2, 1, return_indices=True)
    out, indices = torch.empty(want.shape, dtype=dtype, device="npu"), torch.empty(want.shape, dtype=torch.int32, device="npu")
    call("aclnnMaxPool2dWithIndices", x.npu(), [3, 3], [2, 2], [1, 1], [1, 1], False, out, indices)
    assert torch.equal(out.cpu(), want) and torch.equal(indices.cpu().long(), where)
    leaf, g = x.double().requires_grad_(), torch.randn(want.shape).to(dtype)
    F.max_pool2d(leaf, 3, 2, 1).backward(g.double())
    grad = torch.empty_like(x.npu())
    call("aclnnMaxPool2dWithIndicesBackward", g.npu(), x.npu(), indices, [3, 3], [2, 2], [1, 1], [1, 1], False, grad)
    close(leaf.grad, grad, dtype)
    volume = torch.randn(2, 3, 7, 6, 5).to(dtype)
    compare(lambda t: F.adaptive_max_pool3d(t, (3, 2, 4)), [volume.double()], dtype, exact=dtype == torch.float32)


@pytest.mark.parametrize("dtype", [torch.float32], ids=str)
def test_unpool_in_three_dimensions(dtype):
    x = torch.randn(2, 3, 4, 6, 8)
    y, where = F.max_pool3d(x, 2, return_indices=True)
    want = F.max_unpool3d(y, where, 2)
    out = torch.empty(want.shape, device="npu")
    call("aclnnMaxUnpool3d", y.npu(), where.npu(), [4, 6, 8], [2, 2, 2], [0, 0, 0], out)
    assert torch.equal(out.cpu(), want)


@pytest.mark.parametrize("align", [False, True])
def test_affine_grids(align):
    for size in ((2, 3, 5, 7), (2, 3, 4, 5, 6)):
        theta = torch.randn(2, len(size) - 2, len(size) - 1)
        want = F.affine_grid(theta.double(), size, align)
        out = torch.empty(want.shape, device="npu")
        call("aclnnAffineGrid", theta.npu(), list(size), align, out)
        close(want, out, torch.float32)


@pytest.mark.parametrize("dtype", TYPES[:1] + TYPES[2:], ids=str)
def test_resize_forms(dtype):
    x = torch.randn(2, 3, 6, 7).to(dtype)
    out = torch.empty(2, 3, 9, 4, dtype=dtype, device="npu")
    call("aclnnUpsampleNearest2d", x.npu(), [9, 4], out)
    assert torch.equal(out.cpu(), F.interpolate(x, (9, 4)))
    out = torch.empty(2, 3, 11, dtype=dtype, device="npu")
    call("aclnnUpsampleNearest1d", x[:, :, 0].npu(), [11], out)
    assert torch.equal(out.cpu(), F.interpolate(x[:, :, 0], 11))
    for align in (False, True):
        leaf, g = x.double().requires_grad_(), torch.randn(2, 3, 9, 4).to(dtype)
        F.interpolate(leaf, (9, 4), mode="bilinear", align_corners=align).backward(g.double())
        grad = torch.empty_like(x.npu())
        call("aclnnUpsampleBilinear2dBackward", g.npu(), [9, 4], [2, 3, 6, 7], align, 0.0, 0.0, grad)
        close(leaf.grad, grad, dtype)


# kernel, stride, padding (top, bottom, left, right), groups, size
UNEVEN = [(3, 1, (1, 0, 0, 2), 1, 24), (1, 1, (0, 1, 0, 3), 1, 24), (3, 2, (0, 1, 2, 1), 2, 9), (5, 1, (0, 4, 3, 0), 1, 9)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
@pytest.mark.parametrize("kernel, stride, padding, groups, size", UNEVEN)
def test_padding_in_front_and_behind_differ(kernel, stride, padding, groups, size, dtype):
    x, weight = torch.randn(2, 16, size, size).to(dtype), torch.randn(32, 16 // groups, kernel, kernel).to(dtype)
    bias = torch.randn(32).to(dtype)
    top, bottom, left, right = padding
    wide = [t.double().requires_grad_() for t in (x, weight, bias)]
    want = F.conv2d(F.pad(wide[0], (left, right, top, bottom)), wide[1], wide[2], stride=stride, groups=groups)
    out = torch.empty(want.shape, dtype=dtype).npu()
    common = [stride, stride], list(padding), [1, 1], False, [0, 0], groups
    call("aclnnConvolution", x.npu(), weight.npu(), bias.npu(), *common, out, 1)
    close(want, out, dtype)
    gradient = torch.randn(want.shape).to(dtype)
    got = [torch.empty_like(t, device="npu") for t in (x, weight, bias)]
    call("aclnnConvolutionBackward", gradient.npu(), x.npu(), weight.npu(), [32], *common, [True, True, True], 1, *got)
    for a, b in zip(torch.autograd.grad(want, wide, gradient.double()), got):
        close(a, b, dtype)


def test_transposed_convolution_takes_off_in_front_and_behind():
    x, weight = torch.randn(2, 6, 7, 7), torch.randn(6, 4, 5, 5)
    want = F.conv_transpose2d(x.double(), weight.double(), stride=2)[:, :, 1:-2, 3:]
    out = torch.empty(want.shape).npu()
    call("aclnnConvolution", x.npu(), weight.npu(), None, [2, 2], [1, 2, 3, 0], [1, 1], True, [0, 0], 1, out, 0)
    close(want, out, torch.float32)


def test_paddings_of_another_number_are_refused():
    x, weight, out = torch.randn(1, 2, 5, 5).npu(), torch.randn(2, 2, 3, 3).npu(), torch.empty(1, 2, 3, 3).npu()
    with pytest.raises(Exception, match="padding has 3 values, want 1, 2 or 4"):
        call("aclnnConvolution", x, weight, None, [1, 1], [0, 0, 0], [1, 1], False, [0, 0], 1, out, 0)


@pytest.mark.parametrize("kernel", [(0, 1, 1), (1, 0, 1), (1, 1, 0)])
def test_filters_without_elements_are_refused(kernel):
    x, weight = torch.ones(1, 1, 1, 1, 1).half().npu(), torch.ones(1, 1, *kernel).half().npu()
    for function in (F.conv3d, F.conv_transpose3d):
        with pytest.raises(RuntimeError):
            function(x, weight)
            torch.npu.synchronize()
