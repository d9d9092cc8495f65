"""Quantisation: types, axes, offsets, rounding and refusals, against PyTorch's CPU in float64."""
import math

import pytest
import torch
import torch_npu
from aclnn import call

RANGE = {torch.int8: (-128, 127), torch.uint8: (0, 255), torch.int32: (-2**31, 2**31 - 1)}


def places(v, x, axis):
    return v.double() if v.numel() == 1 else v.double().reshape([-1 if d == axis % x.dim() else 1 for d in range(x.dim())])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("kind", list(RANGE))
@pytest.mark.parametrize("shape, axis", [((5,), 0), ((4, 6), 0), ((4, 6), -1), ((2, 3, 4, 5), 1), ((0, 3), 1)])
@pytest.mark.parametrize("single", [True, False])
def test_quantize(dtype, kind, shape, axis, single):
    g = torch.Generator().manual_seed(1)
    x = (torch.randn(shape, generator=g) * 30).to(dtype)
    n = 1 if single else shape[axis]
    scale, zero = torch.tensor([0.25, 0.5, 2.0, 1.0, 4.0, 0.125])[:n], torch.tensor([3, 0, 1, 7, 2, 5], dtype=torch.int32)[:n]
    out = torch.empty(shape, dtype=kind, device="npu")
    call("aclnnQuantize", x.npu(), scale.npu(), zero.npu(), kind, axis, out)
    want = ((x.double() / places(scale, x, axis)).round() + places(zero, x, axis)).clamp(*RANGE[kind])
    assert torch.equal(out.cpu().double(), want)


def test_clients_quantize():
    x = torch.randn(6, 7) * 40
    scale, zero = torch.rand(7) + 0.5, torch.randint(-5, 5, (7,), dtype=torch.int32)
    got = torch_npu.npu_quantize(x.npu(), scale.npu(), zero.npu(), torch.qint8, 1).cpu()
    want = torch.quantize_per_channel(x, scale, zero, 1, torch.qint8).int_repr()
    assert (got.int() - want.int()).abs().max() <= 1 and (got != want).float().mean() < 0.05  # PyTorch multiplies by 1 / scale
    got = torch_npu.npu_quantize(x.half().npu(), scale.half().npu(), zero.half().npu(), torch.qint8, -1, div_mode=False).cpu()
    want = (x.half().float() * scale.half().float() + zero.half().float()).round().clamp(-128, 127).to(torch.int8)
    assert torch.equal(got, want)


@pytest.mark.parametrize("mode", ["round", "floor", "ceil", "trunc"])
@pytest.mark.parametrize("square", [True, False])
def test_ascend_quant(mode, square):
    x, scale, offset = torch.linspace(-90, 90, 48).reshape(6, 8), torch.full((1,), 1.5), torch.full((1,), 0.25)
    out = torch.empty(6, 8, dtype=torch.int8, device="npu")
    call("aclnnAscendQuantV3", x.npu(), scale.npu(), offset.npu(), square, mode, 2, -1, out)
    want = getattr(torch, mode)(x.double() * 1.5 ** (2 if square else 1) + 0.25).clamp(-128, 127)
    assert torch.equal(out.cpu().double(), want)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
@pytest.mark.parametrize("shape, flat", [((16,), True), ((3, 5, 48), True), ((7, 64), False)])
def test_norms_in_whole_numbers(dtype, shape, flat):
    g = torch.Generator().manual_seed(3)
    x, n = torch.randn(shape, generator=g).to(dtype), shape[-1]
    gamma, beta = (torch.randn([n] if flat else [1, n], generator=g).to(dtype) for _ in range(2))
    scale, offset = torch.tensor([19.0]).to(dtype), torch.tensor([-3], dtype=torch.int8)
    root = (x.double().square().mean(-1, keepdim=True) + 1e-6).sqrt()
    want = x.double() / root * gamma.double() + beta.double()
    got = torch_npu.npu_rms_norm_quant(*(t.npu() for t in (x, gamma, beta, scale, offset)), 1e-6)
    assert got.dtype == torch.int8 and got.shape == x.shape
    assert ((got.cpu().double() - (want * 19 - 3).clamp(-128, 127)).abs() <= 0.501).all()
    columns, points = torch.rand(n, generator=g) / 20 + 0.02, torch.randint(-9, 9, (n,), generator=g).to(torch.int8)
    for divided, by in ((True, columns), (False, 1 / columns)):
        y, rstd = torch.empty_like(got), torch.empty(*shape[:-1], 1).npu()
        call("aclnnRmsNormQuantV3", x.npu(), gamma.npu(), by.npu(), points.npu(), beta.npu(), 1e-6, divided, True, y, rstd)
        exact = (want / by.double() if divided else want * by.double()) + points.double()
        assert ((y.cpu().double() - exact.clamp(-128, 127)).abs() <= 0.501).all()
        torch.testing.assert_close(rstd.cpu().double(), 1 / root, check_dtype=False, rtol=1e-5, atol=1e-5)
    with pytest.raises(RuntimeError, match="scale is .* want 1 value or"):
        torch_npu.npu_rms_norm_quant(*(t.npu() for t in (x, gamma, beta, columns[:2], offset)), 1e-6)


def test_four_bits_lie_eight_in_an_int32():
    x = torch.tensor([[-8.0, 7, 0, 1, -1, 3, -20, 20]] * 2)
    out = torch.empty(2, 1, dtype=torch.int32, device="npu")
    call("aclnnAscendQuant", x.npu(), torch.ones(1).npu(), None, False, "round", 3, out)
    words = out.cpu().flatten().tolist()
    four = [[(w & 0xffffffff) >> 4 * i & 15 for i in range(8)] for w in words]
    assert four == [[8, 7, 0, 1, 15, 3, 8, 7]] * 2


def test_special_values_and_refusals():
    x, one, out = torch.tensor([math.nan, math.inf, -math.inf, 0.5, 1.5, 2.5]), torch.ones(1), torch.empty(6, dtype=torch.int8)
    out = out.npu()
    call("aclnnQuantize", x.npu(), one.npu(), None, torch.int8, 0, out)
    assert out.tolist() == [0, 127, -128, 0, 2, 2]
    with pytest.raises(RuntimeError, match="scale is"):
        call("aclnnAscendQuant", x.npu(), torch.ones(4).npu(), None, False, "round", 2, out)
    with pytest.raises(RuntimeError, match="roundMode"):
        call("aclnnAscendQuant", x.npu(), one.npu(), None, False, "up", 2, out)
    with pytest.raises(RuntimeError, match="INT8, UINT8 or INT32"):
        call("aclnnQuantize", x.npu(), one.npu(), None, torch.int16, 0, torch.empty(6, dtype=torch.int16, device="npu"))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_fake_quantization(dtype):
    """Training for quantization: values and mask, infinite ones and NaN, switched off, by channel, strided. torch_npu computes these on the CPU."""
    x = (torch.randn(5, 7, 3) * 4).to(dtype)
    x[0, 0] = torch.tensor([math.inf, -math.inf, math.nan])
    scale, zero = torch.tensor([0.1]), torch.tensor([3], dtype=torch.int32)
    close = dict(rtol=1e-3 if dtype == torch.float16 else 1e-6, atol=1e-7, equal_nan=True)
    for y in (x, x.transpose(0, 2)):
        out, mask = torch.empty(y.shape, dtype=dtype).npu(), torch.empty(y.shape, dtype=torch.bool).npu()
        for enabled in (1, 0):
            call("aclnnFakeQuantPerTensorAffineCachemask", x.npu() if y is x else x.npu().transpose(0, 2), scale.npu(), zero.npu(), float(enabled), -8, 7, out, mask)
            want, inside = torch._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(y.float(), scale, zero, torch.tensor([enabled]), -8, 7)
            torch.testing.assert_close(out.cpu(), want.to(dtype), **close)
            assert torch.equal(mask.cpu(), inside)
        y = y.nan_to_num(1, 2, -2)  # by channel the CPU converts infinite numbers to integers, which means nothing
        for d in range(3):
            scales, zeros = torch.rand(y.shape[d]) + 0.1, torch.randint(-3, 3, (y.shape[d],), dtype=torch.int32)
            for points in (zeros, zeros + 0.25):
                call("aclnnFakeQuantPerChannelAffineCachemask", y.npu(), scales.npu(), points.npu(), d, -8, 7, out, mask)
                want, inside = torch.ops.aten.fake_quantize_per_channel_affine_cachemask(y.float(), scales, points, d, -8, 7)
                torch.testing.assert_close(out.cpu(), want.to(dtype), **close)
                assert torch.equal(mask.cpu(), inside)
    with pytest.raises(RuntimeError, match="scale"):
        call("aclnnFakeQuantPerChannelAffineCachemask", y.npu(), torch.ones(2).npu(), zero.npu(), 0, -8, 7, out, mask)


def fours(words):
    """Numbers of four bits, eight in each word."""
    return torch.stack([(words.cpu() << 28 - 4 * i) >> 28 for i in range(8)], -1).flatten(-2)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("shape, k", [((7, 64), 16), ((5, 128), 128), ((3, 24), 8), ((0, 16), 16)])
def test_rotate_quant(shape, k, dtype):
    g = torch.Generator().manual_seed(3)
    x, by = torch.randn(shape, generator=g).to(dtype), (torch.randn(k, k, generator=g) / k**0.5).to(dtype)
    turned = (x.double().unflatten(1, (-1, k)) @ by.double()).flatten(1)
    for kind, most in (torch.int8, 127), (torch.quint4x2, 7):
        for rows, matrix in (x.npu(), by.npu()), (x.T.contiguous().npu().T, by.T.contiguous().npu().T):
            y, scale = torch_npu.npu_rotate_quant(rows, matrix, dst_dtype=kind)
            got = y.cpu() if kind == torch.int8 else fours(y)
            assert got.shape == shape and scale.shape == shape[:1]
            torch.testing.assert_close(scale.cpu().double(), turned.abs().amax(1) / most if shape[0] else scale.cpu().double(), rtol=1e-2, atol=0)
            want = turned / scale.cpu().double()[:, None]
            # The product is rounded to the operands' type before it is divided.
            assert ((got - want).abs() <= 0.5 + most * 2.0**-8).all()


def test_what_rotate_quant_refuses():
    x, by = torch.ones(2, 16).half().npu(), torch.eye(16).half().npu()
    for said, more in ("alpha is given", {"alpha": torch.ones(1).npu()}), ("axis is 0, want -1 or 1", {"axis": 0}), ("roundMode is \"floor\"", {"round_mode": "floor"}):
        with pytest.raises(RuntimeError, match=said):
            torch_npu.npu_rotate_quant(x, by, dst_dtype=torch.int8, **more)
    with pytest.raises(RuntimeError, match="K divides x's 16 columns"):
        torch_npu.npu_rotate_quant(x, torch.eye(5).half().npu(), dst_dtype=torch.int8)
