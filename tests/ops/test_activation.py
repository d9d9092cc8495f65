"""Gated and fused activations: npu against cpu in float64."""
import pytest
import torch
import torch.nn.functional as F
import torch_npu
from aclnn import call

FLOATS = [(torch.float32, 1e-5), (torch.float16, 4e-3), (torch.bfloat16, 3e-2)]


def sample(*shape, dtype=torch.float32, seed=0):
    return (torch.randn(shape, generator=torch.Generator().manual_seed(seed)) * 2).to(dtype)


def close(got, want, tolerance=1e-5):
    got, want = got.detach().cpu().double(), want.detach().double()
    assert got.shape == want.shape
    assert (got - want).abs().max() <= tolerance * want.abs().max().clamp_min(1.0), (got - want).abs().max()


def compare(on_npu, reference, x, tolerance):
    """Both results and the gradients of x."""
    a, b = x.npu().requires_grad_(), x.double().requires_grad_()
    got, want = on_npu(a), reference(b)
    assert got.dtype == x.dtype
    close(got, want, tolerance)
    g = sample(*want.shape, dtype=x.dtype, seed=9)
    got.backward(g.npu())
    want.backward(g.double())
    close(a.grad, b.grad, 2 * tolerance)


def fast_gelu(x):
    return x * torch.sigmoid(1.702 * x)


@pytest.mark.parametrize("dtype,tolerance", FLOATS)
def test_gelu(dtype, tolerance):
    x = sample(5, 3, 40, dtype=dtype)
    for mode in ("none", "tanh"):
        compare(lambda t: torch_npu.npu_gelu(t, approximate=mode), lambda t: F.gelu(t, approximate=mode), x, tolerance)
        a, b = x.double().chunk(2, -1)
        close(torch_npu.npu_gelu_mul(x.npu(), approximate=mode), F.gelu(a, approximate=mode) * b, tolerance)
    compare(torch_npu.npu_fast_gelu, fast_gelu, x, tolerance)
    view = x.npu().transpose(0, 2)
    close(torch_npu.npu_gelu(view), F.gelu(x.double().transpose(0, 2)), tolerance)


@pytest.mark.parametrize("dtype,tolerance", FLOATS)
@pytest.mark.parametrize("dim", [-1, 0, 1])
def test_gated(dtype, tolerance, dim):
    x = sample(4, 6, 40, dtype=dtype)

    def halves(t):
        return t.chunk(2, dim)

    compare(lambda t: torch_npu.npu_swiglu(t, dim), lambda t: F.silu(halves(t)[0]) * halves(t)[1], x, tolerance)
    for approximate, mode in ((0, "none"), (1, "tanh")):
        for left in (False, True):
            def reference(t):
                gate, other = halves(t) if left else reversed(halves(t))
                return F.gelu(gate, approximate=mode) * other

            compare(lambda t: torch_npu.npu_geglu(t, dim, approximate, left)[0], reference, x, tolerance)
            gate = halves(x.double())[0 if left else 1]
            close(torch_npu.npu_geglu(x.npu(), dim, approximate, left)[1], F.gelu(gate, approximate=mode), tolerance)


@pytest.mark.parametrize("dtype,tolerance", FLOATS)
def test_gradients(dtype, tolerance):
    x = sample(6, 50, dtype=dtype)
    compare(F.hardswish, F.hardswish, x, tolerance)
    compare(F.logsigmoid, F.logsigmoid, x, tolerance)
    g, out = sample(6, 50, dtype=dtype, seed=1), torch.empty_like(x.npu())
    leaf = x.double().requires_grad_()
    F.hardswish(leaf).backward(g.double())
    call("aclnnHardswishBackward", g.npu(), x.npu(), out)
    close(out, leaf.grad, 2 * tolerance)
    g, y = x.npu(), torch.empty_like(x.npu())
    call("aclnnLogSigmoid", g, y)
    close(y, F.logsigmoid(x.double()), tolerance)


@pytest.mark.parametrize("dtype,tolerance", FLOATS + [(torch.int32, 0)])
def test_add_relu(dtype, tolerance):
    x, y = sample(6, 50).mul(8).round().to(dtype), sample(6, 50, seed=1).mul(8).round().to(dtype)
    out, self = torch.empty_like(x.npu()), x.npu()
    want = torch.relu(x.double() + 2 * y.double())
    call("aclnnAddRelu", self, y.npu(), 2, out)
    close(out, want, tolerance)
    call("aclnnInplaceAddRelu", self, y.npu(), 2)
    close(self, want, tolerance)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_randomised_leaky_relu(dtype):
    x = sample(100, 300, dtype=dtype)
    y, noise = x.npu(), torch.zeros_like(x.npu())
    call("aclnnInplaceRReluWithNoise", y, noise, 0.1, 0.4, True, 7, 0)
    slope = noise.cpu().float()
    negative = x <= 0
    assert (slope[~negative] == 1).all()
    assert slope[negative].min() >= 0.1 - 1e-3 and slope[negative].max() <= 0.4 + 1e-3
    assert abs(slope[negative].mean() - 0.25) < 0.003
    close(y, x.double() * slope.double(), 1e-3)
    again, other = x.npu(), torch.zeros_like(x.npu())
    call("aclnnInplaceRReluWithNoise", again, other, 0.1, 0.4, True, 7, 0)
    assert torch.equal(other.cpu(), noise.cpu())
    still = x.npu()
    call("aclnnInplaceRReluWithNoise", still, other, 0.1, 0.4, False, 7, 0)
    close(still, F.leaky_relu(x.double(), 0.25), 1e-3)


@pytest.mark.parametrize("dtype,tolerance", FLOATS[:2] + [(torch.bfloat16, 2e-2)])
def test_scaled_masked_softmax(dtype, tolerance):
    x = sample(2, 3, 32, 64, dtype=dtype)
    mask = torch.rand(2, 1, 32, 64, generator=torch.Generator().manual_seed(1)) > 0.6
    compare(lambda t: torch_npu.npu_scaled_masked_softmax(t, mask.npu(), 0.5, False),
            lambda t: torch.softmax((t * 0.5).masked_fill(mask, -10000.0), -1), x, tolerance)
    y = torch.softmax((x.double() * 0.5).masked_fill(mask, -10000.0), -1)
    g = sample(2, 3, 32, 64, dtype=dtype, seed=1)
    out = torch.empty_like(x.npu())
    want = (0.5 * y * (g.double() - (y * g.double()).sum(-1, keepdim=True))).masked_fill(mask, 0)
    call("aclnnScaledMaskedSoftmaxBackward", g.npu(), y.to(dtype).npu(), mask.npu(), 0.5, False, out)
    close(out, want, 2 * tolerance)
    square = x[..., :32].contiguous().npu()
    call("aclnnScaledMaskedSoftmax", square, None, 0.5, True, other := torch.empty_like(square))
    above = torch.ones(32, 32, dtype=torch.bool).triu(1)
    close(other, torch.softmax((x[..., :32].double() * 0.5).masked_fill(above, -10000.0), -1), tolerance)


def test_softshrink_wants_no_negative_lambd():
    x = torch.randn(5)
    with pytest.raises(RuntimeError, match="lambd is -1"):
        call("aclnnSoftshrink", x.npu(), -1.0, torch.empty(5, device="npu"))
    out = torch.empty(5, device="npu")
    call("aclnnSoftshrink", x.npu(), 0.0, out)
    close(out, F.softshrink(x, 0.0))


@pytest.mark.parametrize("f", [F.softmax, F.log_softmax])
@pytest.mark.parametrize("n", [1, 2, 3, 8, 9, 16, 17, 31, 49, 63, 64, 65])
def test_softmax_of_short_rows(f, n):
    for dtype, tolerance in FLOATS:
        compare(lambda t: f(t, -1), lambda t: f(t, -1), sample(3, 67, n, dtype=dtype), tolerance)
    x = sample(131, n)
    close(f(x.npu().t().contiguous().t(), -1), f(x.double(), -1))  # the rows are columns
    wide = sample(131, n + 3)
    close(f(wide.npu()[:, 1:n + 1], -1), f(wide[:, 1:n + 1].double(), -1))
    x[5], x[7, 0], x[9, n // 2], x[11, 0] = -float("inf"), float("nan"), float("inf"), -float("inf")
    got, want = f(x.npu(), -1).cpu(), f(x, -1)
    assert torch.allclose(got, want, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("n", [2, 8, 24, 63, 200])
def test_a_row_of_softmax_has_the_same_bits_among_others(n):
    x = sample(301, n).npu()
    for f in (F.softmax, F.log_softmax):
        whole = f(x, -1).cpu()
        for rows in (1, 7, 64, 100):
            assert torch.equal(torch.cat([f(x[i:i + rows], -1) for i in range(0, 301, rows)]).cpu(), whole), rows
