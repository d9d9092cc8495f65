"""Matrix products on the NPU against PyTorch's CPU results in float64."""

import itertools

import pytest
import torch
from aclnn import call

torch_npu = pytest.importorskip("torch_npu")

FLOATS = [torch.float32, torch.bfloat16, torch.float16, torch.float64]
INTS = [torch.int64, torch.int32, torch.uint8]
COMPLEX = [torch.complex64, torch.complex128]
TOLERANCE = {torch.float32: 3e-5, torch.bfloat16: 1.2e-2, torch.float16: 1.5e-3, torch.float64: 1e-12,
             torch.complex64: 3e-5, torch.complex128: 1e-12}


def make(shape, dtype, layout="plain"):
    """A tensor of the shape whose memory is laid out in one of several ways."""
    def fill(s):
        if dtype.is_floating_point or dtype.is_complex:
            return torch.randn(s, dtype=torch.complex128 if dtype.is_complex else torch.float64).to(dtype)
        return torch.randint(-5 if dtype.is_signed else 0, 6, s).to(dtype)
    shape = list(shape)
    if layout == "transposed" and len(shape) >= 2:
        return fill(shape[:-2] + [shape[-1], shape[-2]]).transpose(-1, -2)
    if layout == "strided":
        return fill(shape[:-1] + [shape[-1] * 2])[..., ::2]
    if layout == "padded" and shape:
        return fill(shape[:-1] + [shape[-1] + 3])[..., 1:1 + shape[-1]]
    if layout == "expanded" and shape:
        return fill([1] + shape[1:]).expand(shape)
    return fill(shape)


def wide(x):
    return x.to(torch.complex128 if x.dtype.is_complex else torch.float64 if x.dtype.is_floating_point else x.dtype)


def on_npu(x):
    """The same strides on the device."""
    if not isinstance(x, torch.Tensor):
        return x
    if x.numel() == 0 or x.is_contiguous():
        return x.npu()
    size = max(0, 1 + sum((n - 1) * s for n, s in zip(x.shape, x.stride()))) + x.storage_offset()
    flat = torch.empty(0, dtype=x.dtype).set_(x.untyped_storage(), 0, (size,), (1,)).npu()
    return flat.as_strided(x.shape, x.stride(), x.storage_offset())


def check(function, *args, dtype=None, **kwargs):
    dtype = dtype or next(a.dtype for a in args if isinstance(a, torch.Tensor))
    expected = function(*[wide(a) if isinstance(a, torch.Tensor) else a for a in args], **kwargs)
    actual = function(*[on_npu(a) for a in args], **kwargs)
    assert actual.dtype == dtype and actual.shape == expected.shape
    actual = actual.cpu()
    if not (dtype.is_floating_point or dtype.is_complex):
        assert torch.equal(actual, expected.to(dtype))
        return
    error = (wide(actual) - expected).abs()
    size = expected.abs().max().item() if expected.numel() else 0
    assert error.numel() == 0 or error.max().item() <= TOLERANCE[dtype] * max(1.0, size), error.max().item()


@pytest.mark.parametrize("dtype", FLOATS + INTS + COMPLEX, ids=str)
@pytest.mark.parametrize("shapes", [((5, 7), (7, 3)), ((1, 64), (64, 33)), ((70, 130), (130, 1)), ((3, 0), (0, 4)),
                                    ((0, 4), (4, 3)), ((65, 257), (257, 129))], ids=str)
def test_mm_layouts(dtype, shapes):
    layouts = ["plain", "transposed", "strided", "padded"]
    for left, right in itertools.product(layouts, layouts) if shapes[0][0] < 65 else [("plain", "transposed"), ("transposed", "plain")]:
        check(torch.mm, make(shapes[0], dtype, left), make(shapes[1], dtype, right))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int64, torch.complex64], ids=str)
def test_matmul_ranks(dtype):
    for a, b in [((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((2, 3, 4), (4,)), ((2, 3, 4), (4, 5)), ((4,), (2, 4, 5)),
                 ((3, 4), (2, 4, 5)), ((2, 1, 3, 4), (5, 4, 6)), ((2, 5, 3, 4), (2, 5, 4, 6)), ((2, 0, 4), (2, 4, 3)),
                 ((2, 3, 0), (2, 0, 3))]:
        for layout in ("plain", "strided", "transposed"):
            check(torch.matmul, make(a, dtype, layout), make(b, dtype, layout))


@pytest.mark.parametrize("dtype", FLOATS + [torch.int64, torch.complex64], ids=str)
def test_vectors(dtype):
    check(torch.dot, make((37,), dtype), make((37,), dtype, "strided"))
    check(torch.dot, make((0,), dtype), make((0,), dtype))
    check(torch.mv, make((9, 37), dtype, "transposed"), make((37,), dtype, "strided"))
    check(torch.mv, make((900, 370), dtype), make((370,), dtype))
    check(torch.mv, make((900, 370), dtype, "transposed"), make((370,), dtype))
    for self in [(9,), (1,), ()]:
        check(torch.addmv, make(self, dtype), make((9, 37), dtype), make((37,), dtype), alpha=2, beta=3)
    check(torch.addr, make((3, 4), dtype), make((3,), dtype, "strided"), make((4,), dtype), alpha=2, beta=3)
    check(torch.addr, make((4,), dtype), make((3,), dtype), make((4,), dtype))
    check(torch.addr, make((4,), dtype), make((3,), dtype), make((4,), dtype), beta=0, alpha=3)


@pytest.mark.parametrize("dtype", FLOATS + [torch.int64, torch.complex64], ids=str)
@pytest.mark.parametrize("numbers", [(1, 1), (0, 1), (2, 3), (0, 2), (1, 0)], ids=str)
def test_addmm(dtype, numbers):
    beta, alpha = numbers
    for self in [(6,), (5, 6), (5, 1), (1,), ()]:
        for layout in ("plain", "transposed", "strided"):
            check(torch.addmm, make(self, dtype), make((5, 8), dtype, layout), make((8, 6), dtype, layout), beta=beta, alpha=alpha)
    check(torch.addmm, make((6,), dtype), make((5, 0), dtype), make((0, 6), dtype), beta=beta, alpha=alpha)
    check(torch.baddbmm, make((3, 5, 6), dtype), make((3, 5, 8), dtype), make((3, 8, 6), dtype, "transposed"), beta=beta, alpha=alpha)
    check(torch.baddbmm, make((6,), dtype), make((3, 5, 8), dtype, "expanded"), make((3, 8, 6), dtype), beta=beta, alpha=alpha)
    check(torch.addbmm, make((5, 6), dtype), make((3, 5, 8), dtype), make((3, 8, 6), dtype, "strided"), beta=beta, alpha=alpha)
    check(torch.addbmm, make((6,), dtype), make((0, 5, 8), dtype), make((0, 8, 6), dtype), beta=beta, alpha=alpha)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_one_row_or_column(dtype):
    bias = make((210,), dtype)
    for layout in ("plain", "transposed", "strided"):
        check(torch.addmm, bias, make((1, 300), dtype, layout), make((300, 210), dtype, layout), beta=2, alpha=0.5)
        check(torch.addmm, bias, make((1, 300), dtype), make((300, 210), dtype, layout))
        check(torch.addmm, make((3, 1), dtype), make((3, 300), dtype, layout), make((300, 1), dtype))
        check(torch.mm, make((210, 300), dtype, layout), make((300, 1), dtype, layout))


def test_beta_zero_ignores_nan():
    nan = torch.full((5, 6), float("nan"))
    check(torch.addmm, nan, torch.randn(5, 8), torch.randn(8, 6), beta=0)
    check(torch.baddbmm, nan.expand(2, 5, 6), torch.randn(2, 5, 8), torch.randn(2, 8, 6), beta=0)
    check(torch.addr, nan, torch.randn(5), torch.randn(6), beta=0)


def test_non_finite():
    a = torch.tensor([[1.0, float("inf")], [float("nan"), 2.0]])
    b = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    assert torch.equal(torch.mm(a, b).nan_to_num(7, 8, 9), torch.mm(a.npu(), b.npu()).cpu().nan_to_num(7, 8, 9))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64], ids=str)
def test_in_place(dtype):
    for layout in ("plain", "transposed", "strided"):
        self, a, b = make((5, 6), dtype, layout), make((5, 8), dtype), make((8, 6), dtype)
        expected = wide(self).addmm(wide(a), wide(b), beta=0.5, alpha=2)
        actual = on_npu(self)
        actual.addmm_(a.npu(), b.npu(), beta=0.5, alpha=2)
        assert (wide(actual.cpu()) - expected).abs().max() <= TOLERANCE[dtype] * 20
    self, a, b = make((2, 5, 6), dtype), make((2, 5, 8), dtype), make((2, 8, 6), dtype)
    expected = wide(self).baddbmm(wide(a), wide(b))
    assert (wide(self.npu().baddbmm_(a.npu(), b.npu()).cpu()) - expected).abs().max() <= TOLERANCE[dtype] * 20


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
def test_linear_gradients(dtype):
    x, w, weight = (torch.randn(s, dtype=dtype) for s in ((3, 40, 64), (48, 64), (3, 40, 48)))
    def run(x, w, weight):
        leaves = [t.detach().requires_grad_() for t in (x, w)]
        y = torch.nn.functional.linear(*leaves)
        y.backward(weight)
        return [y, *[t.grad for t in leaves]]
    for actual, expected in zip(run(*[t.npu() for t in (x, w, weight)]), run(*[t.double() for t in (x, w, weight)])):
        assert (actual.cpu().double() - expected).abs().max() <= TOLERANCE[dtype] * max(1, expected.abs().max())


def test_refusals():
    with pytest.raises(RuntimeError):
        torch.mm(torch.ones(2, 3).npu(), torch.ones(2, 3).npu())
        torch.npu.synchronize()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
def test_forms_by_the_c_abi(dtype):
    """BatchMatMul, and products whose right side another library would hold in its own layout."""
    def close(out, want):
        assert (out.cpu().double() - want).abs().max() <= TOLERANCE[dtype] * 20

    a, b, c = make((3, 5, 8), dtype), make((3, 8, 6), dtype), make((5, 6), dtype)
    for name in ("aclnnBatchMatMul", "aclnnBatchMatMulWeightNz"):
        out = torch.empty(3, 5, 6, dtype=dtype, device="npu")
        call(name, a.npu(), b.npu(), out, 1)
        close(out, wide(a) @ wide(b))
    out = torch.empty(5, 6, dtype=dtype, device="npu")
    call("aclnnMatmulWeightNz", a[0].npu(), b[0].npu(), out, 1)
    close(out, wide(a[0]) @ wide(b[0]))
    call("aclnnAddmmWeightNz", c.npu(), a[0].npu(), b[0].npu(), 0.5, 2.0, out, 1)
    close(out, 0.5 * wide(c) + 2 * wide(a[0]) @ wide(b[0]))


@pytest.mark.parametrize("first", [True, False])
def test_transpose_and_reshape(first):
    x = torch.randn(4, 6, 5)
    perm, shape = [1, 0, 2], [6, 20] if first else [4, 3, 10]
    want = x.permute(perm).reshape(shape) if first else x.reshape(shape).permute(perm)
    assert torch.equal(torch_npu.npu_confusion_transpose(x.npu(), perm, shape, first).cpu(), want)
    out = torch.empty(want.shape, device="npu")
    call("aclnnConfusionTranspose", x.npu(), perm, shape, first, out)
    assert torch.equal(out.cpu(), want)


def expanded(shape, kind, dtype):
    """[b, m, k] whose elements are the same along the dimensions that `kind` names."""
    g = torch.Generator().manual_seed(len(kind) + sum(shape))
    return torch.randn([1 if c in kind else n for c, n in zip("bmk", shape)], generator=g).to(dtype)


@pytest.mark.parametrize("b, m, k, n", [(3, 4, 5, 6), (2, 1, 5, 6), (2, 4, 1, 6), (2, 4, 5, 1), (2, 1, 1, 6), (2, 1, 1, 1)])
@pytest.mark.parametrize("dtype, tolerance", [(torch.float32, 1e-5), (torch.float16, 4e-3)])
def test_batches_of_expanded_operands(b, m, k, n, dtype, tolerance):
    kinds = ["", "b", "m", "k", "bm", "bk", "mk", "bmk"]
    for left in kinds:
        for right in kinds:
            x, y = expanded((b, m, k), left, dtype), expanded((b, k, n), right, dtype)
            got = torch.bmm(x.npu().expand(b, m, k), y.npu().expand(b, k, n)).cpu()
            want = torch.bmm(x.double().expand(b, m, k), y.double().expand(b, k, n))
            torch.testing.assert_close(got.double(), want, rtol=tolerance, atol=tolerance * 4,
                                       msg=lambda text, at=(left, right): f"{at}: {text}")


@pytest.mark.parametrize("n", [2049, 3072, 3100, 5001])
@pytest.mark.parametrize("transposed", [False, True])
def test_wide_products(n, transposed):
    """Products that go in panels of columns: the last panel is narrower than the others."""
    torch.manual_seed(n)
    a, b = torch.randn(70, 48), torch.randn(48, n)
    x = a.t().contiguous().npu().t() if transposed else a.npu()
    want = a.double() @ b.double()
    bound = a.double().abs() @ b.double().abs() * 1e-6
    for got in (x @ b.npu(), torch.addmm(torch.zeros(n).npu(), x, b.npu()), torch.mm(x, b.npu(), out=torch.empty(70, n + 9).npu()[:, :n])):
        assert ((got.cpu().double() - want).abs() <= bound).all()
