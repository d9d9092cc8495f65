"""Losses on the virtual NPU against PyTorch's CPU in float64."""
import itertools

import pytest
import torch
import torch.nn.functional as F
import torch_npu
from aclnn import call

TOLERANCE = {torch.float32: (1e-5, 1e-5), torch.float16: (2e-3, 2e-3), torch.bfloat16: (2e-2, 2e-2),
             torch.float64: (1e-12, 1e-12)}
DTYPES = list(TOLERANCE)
REDUCTIONS = ["none", "mean", "sum"]
SHAPES = [(5, 7), (3, 1024), (2, 3, 1100), (), (0, 4), (40000,)]


def check(got, want, dtype, scale=1.0):
    rtol, atol = TOLERANCE[dtype]
    torch.testing.assert_close(got.detach().cpu().double(), want.detach().double(), rtol=rtol, atol=atol * scale,
                               equal_nan=True)


def compare(loss, inputs, constants, dtype, **options):
    """loss(*inputs, *constants) and its gradients for the inputs."""
    wanted = [x.to(dtype).double().requires_grad_() for x in inputs]
    given = [x.to(dtype).npu().detach().requires_grad_() for x in inputs]
    want = loss(*wanted, *[c.double() if torch.is_tensor(c) and c.is_floating_point() else c for c in constants], **options)
    got = loss(*given, *[(c.to(dtype) if c.is_floating_point() else c).npu() if torch.is_tensor(c) else c
                         for c in constants], **options)
    assert got.dtype == dtype and got.shape == want.shape
    scale = max(1.0, float(want.detach().abs().nan_to_num(0, 0, 0).max())) if want.numel() else 1.0
    check(got, want, dtype, scale)
    seed = torch.randn(want.shape, dtype=torch.float64).to(dtype)
    want.backward(seed.double())
    got.backward(seed.npu())
    for g, w in zip(given, wanted):
        check(g.grad, w.grad, dtype)


def normal(shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_pointwise(dtype, reduction):
    for shape in SHAPES:
        if dtype != torch.float32 and shape == (40000,) and reduction == "sum" and dtype == torch.float16:
            continue  # beyond fp16's range
        x, y = normal(shape), normal(shape, 1)
        t = torch.sigmoid(y)
        compare(F.mse_loss, [x], [y.to(dtype)], dtype, reduction=reduction)
        compare(F.l1_loss, [x], [y.to(dtype)], dtype, reduction=reduction)
        for beta in (1.0, 0.25):
            compare(F.smooth_l1_loss, [x], [y.to(dtype)], dtype, reduction=reduction, beta=beta)
        compare(F.binary_cross_entropy_with_logits, [x], [t.to(dtype)], dtype, reduction=reduction)
        compare(F.kl_div, [x], [t.to(dtype)], dtype, reduction=reduction)
        compare(F.kl_div, [x], [y.to(dtype)], dtype, reduction=reduction, log_target=True)
        compare(F.soft_margin_loss, [x], [torch.sign(y).to(dtype)], dtype, reduction=reduction)
        if dtype in (torch.float32, torch.float64):
            compare(F.binary_cross_entropy, [torch.sigmoid(x)], [t], dtype, reduction=reduction)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_weights_and_layouts(reduction):
    x, t = normal((6, 40)), torch.rand(6, 40)
    w, q = torch.rand(6, 40), torch.rand(40) * 3
    compare(lambda a, b, c, d: F.binary_cross_entropy_with_logits(a, b, c, pos_weight=d, reduction=reduction),
            [x], [t, w, q], torch.float32)
    compare(lambda a, b, c: F.binary_cross_entropy(a, b, c, reduction=reduction), [x.sigmoid()], [t, w], torch.float32)
    compare(lambda a, b: F.mse_loss(a.t(), b[:, ::2], reduction=reduction), [x], [normal((40, 12))], torch.float32)
    compare(lambda a, b: F.l1_loss(a.t(), b[:, :1].expand(40, 6), reduction=reduction), [x], [normal((40, 12))],
            torch.float32)


def test_extremes():
    inf, nan = float("inf"), float("nan")
    x = torch.tensor([inf, -inf, nan, 100.0, -100.0, 0.0])
    y = torch.tensor([0.0, 1.0, 0.5, 0.0, 1.0, 0.0])
    for loss in (F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.binary_cross_entropy_with_logits, F.kl_div):
        torch.testing.assert_close(loss(x.npu(), y.npu(), reduction="none").cpu(), loss(x, y, reduction="none"),
                                   equal_nan=True)
    p = torch.tensor([0.0, 1.0, 0.5, 0.0, 1.0, 1e-30])
    torch.testing.assert_close(F.binary_cross_entropy(p.npu(), y.npu(), reduction="none").cpu(),
                               F.binary_cross_entropy(p, y, reduction="none"))
    i = torch.randint(-9, 9, (30,))
    j = torch.randint(-9, 9, (30,))
    assert F.l1_loss(i.npu(), j.npu(), reduction="sum").item() == F.l1_loss(i, j, reduction="sum").item()


def test_sum_is_independent_of_layout():
    x, y = normal((300, 700)), normal((300, 700), 1)
    a = F.mse_loss(x.npu(), y.npu())
    b = F.mse_loss(x.t().contiguous().npu().t(), y.npu())
    assert a.item() == b.item()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_nll(dtype, reduction):
    for (n, c), ignore, weighted in itertools.product([(9, 5), (1, 3), (2100, 11), (3, 5000)], [-100, 2], [False, True]):
        x = normal((n, c)).log_softmax(1)
        t = torch.randint(0, c, (n,), generator=torch.Generator().manual_seed(1))
        t[0] = ignore if n > 1 else 0
        w = torch.rand(c) + 0.5 if weighted else None
        compare(F.nll_loss, [x], [t, w.to(dtype) if weighted else None], dtype, reduction=reduction, ignore_index=ignore)
    x, t = normal((7,)), torch.tensor(3)
    compare(F.nll_loss, [x], [t], dtype, reduction=reduction)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_nll_2d(reduction):
    def channels_last(a, b):
        a = a.permute(0, 3, 1, 2)
        return F.nll_loss(a if a.device.type == "npu" else a.contiguous(), b, reduction=reduction)

    for dtype in (torch.float32, torch.bfloat16):
        x = normal((2, 5, 6, 7))
        t = torch.randint(0, 5, (2, 6, 7))
        t[0, 0] = -100
        w = torch.rand(5) + 0.5
        compare(F.nll_loss, [x], [t, w.to(dtype)], dtype, reduction=reduction)
        compare(channels_last, [normal((2, 6, 7, 5))], [t], dtype)
    compare(F.nll_loss, [normal((2, 5, 40, 60))], [torch.randint(0, 5, (2, 40, 60))], torch.float32, reduction=reduction)


def test_ctc_of_labels_that_are_the_blank():
    x = torch.randn(20, 3, 6, generator=torch.Generator().manual_seed(1)).log_softmax(-1)
    t = torch.randint(0, 6, (3, 8), generator=torch.Generator().manual_seed(2))
    for blank in (0, 3):
        compare(lambda a: F.ctc_loss(a, t.to(a.device), [20, 17, 20], [8, 5, 8], blank=blank), [x], [], torch.float32)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy(reduction, smoothing):
    x, t = normal((6, 1500)) * 4, torch.randint(0, 1500, (6,))
    t[1] = -100
    w = torch.rand(1500) + 0.5
    for dtype in (torch.float32, torch.bfloat16):
        compare(F.cross_entropy, [x], [t], dtype, reduction=reduction, label_smoothing=smoothing)
        fused = x.to(dtype).npu().detach().requires_grad_()
        wide = x.to(dtype).double().requires_grad_()
        loss, log_prob, _, _ = torch_npu.npu_cross_entropy_loss(fused, t.npu(), w.npu(), reduction=reduction,
                                                                ignore_index=-100, label_smoothing=smoothing)
        want = F.cross_entropy(wide, t, w.double(), reduction=reduction, label_smoothing=smoothing)
        check(loss.reshape(want.shape), want, dtype, 100.0)
        check(log_prob, wide.log_softmax(1), dtype, 10.0)
        loss.sum().backward()
        want.sum().backward()
        check(fused.grad, wide.grad, dtype)


def test_targets():
    x = normal((4, 6)).log_softmax(1)
    t = torch.tensor([0, 5, 3, 3])
    want = F.nll_loss(x, t)
    for dtype in (torch.int64, torch.uint8):
        torch.testing.assert_close(F.nll_loss(x.npu(), t.to(dtype).npu()).cpu(), want)
    assert torch.isnan(F.nll_loss(torch.empty(0, 3).npu(), torch.empty(0, dtype=torch.long).npu()))
    assert torch.isnan(F.nll_loss(x.npu(), torch.full((4,), -100).npu()))


def test_multilabel_margin():
    x = normal((3, 6))
    t = torch.tensor([[3, 0, -1, 1, 2, 2], [-1, 1, 1, 1, 1, 1], [5, 4, 3, 2, 1, 0]])
    for reduction in REDUCTIONS:
        torch.testing.assert_close(F.multilabel_margin_loss(x.npu(), t.npu(), reduction=reduction).cpu(),
                                   F.multilabel_margin_loss(x, t, reduction=reduction))


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_ctc(reduction):
    x = normal((20, 3, 6)).log_softmax(2)
    for t, lengths in ((torch.randint(1, 6, (3, 8)), [8, 5, 0]), (torch.randint(1, 6, (13,)), [8, 5, 0])):
        compare(lambda a: F.ctc_loss(a, t.to(a.device), [20, 17, 20], lengths, reduction=reduction), [x], [], torch.float32)
    short = torch.randint(1, 6, (3, 8))
    compare(lambda a: F.ctc_loss(a, short.to(a.device), [20, 4, 20], [8, 8, 3], reduction=reduction, zero_infinity=True),
            [x], [], torch.float32)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_cross_entropy_with_z_loss(reduction, smoothing):
    """loss + scale * lse ** 2, whose second part is an output of its own; ignored rows have neither."""
    scale, t = 0.05, torch.randint(0, 300, (6,))
    t[1] = -100
    w = torch.rand(300) + 0.5
    for dtype in (torch.float32, torch.bfloat16):
        x = (normal((6, 300)) * 3).to(dtype)
        fused, wide = x.npu().requires_grad_(), x.double().requires_grad_()
        loss, _, z, lse = torch_npu.npu_cross_entropy_loss(fused, t.npu(), w.npu(), reduction=reduction,
                                                           label_smoothing=smoothing, lse_square_scale_for_zloss=scale,
                                                           return_zloss=True)
        want_lse = wide.logsumexp(1)
        want_z = (scale * want_lse ** 2).masked_fill(t == -100, 0)
        if reduction != "none":
            want_z = want_z.sum() / (5 if reduction == "mean" else 1)
        want = F.cross_entropy(wide, t, w.double(), reduction=reduction, label_smoothing=smoothing) + want_z
        check(loss.reshape(want.shape), want, dtype, 10.0)
        check(z.reshape(want_z.shape), want_z, dtype, 10.0)
        counted = t != -100
        check(lse.cpu()[counted], want_lse[counted], dtype, 10.0)
        seeds = normal(want.shape, 3), normal(want.shape, 4)
        (loss.reshape(want.shape) * seeds[0].npu()).sum().backward()
        (want * seeds[0].double()).sum().backward()
        check(fused.grad, wide.grad, dtype)
        for dz in (None, seeds[1]):
            again = x.double().requires_grad_()
            lse_again = again.logsumexp(1)
            part = (scale * lse_again ** 2).masked_fill(t == -100, 0)
            if reduction != "none":
                part = part.sum() / (5 if reduction == "mean" else 1)
            total = F.cross_entropy(again, t, w.double(), reduction=reduction, label_smoothing=smoothing) + part
            value = (total * seeds[0].double()).sum() + (0 if dz is None else (part * dz.double()).sum())
            value.backward()
            got = torch_npu.npu_cross_entropy_loss_backward(
                seeds[0].npu().reshape(loss.shape), x.float().log_softmax(1).to(dtype).npu(), t.npu(), w.npu(),
                None if dz is None else dz.npu().reshape(loss.shape), lse.detach(), reduction, -100, smoothing, scale)
            check(got, again.grad, dtype, 3.0)


@pytest.mark.parametrize("reduction", [0, 1, 2])
@pytest.mark.parametrize("log_target", [False, True])
def test_kl_div_gradient_of_the_target(reduction, log_target):
    x, t = normal((5, 7)), normal((5, 7), 1) if log_target else torch.rand(5, 7) + 0.1
    name = ("none", "mean", "sum")[reduction]
    wide = t.double().requires_grad_()
    want = F.kl_div(x.double(), wide, reduction=name, log_target=log_target)
    g = normal(want.shape, 2)
    want.backward(g.double())
    out = torch.empty(5, 7).npu()
    call("aclnnKlDivTargetBackward", g.npu(), x.npu(), t.npu(), reduction, log_target, out)
    check(out, wide.grad, torch.float32)
