"""Large fp16 products are computed in panels of their longest dimension."""
import pytest
import torch
import torch_npu  # noqa: F401

SHAPES = [(40, 96, 90001), (90001, 96, 40), (40, 220003, 24)]


@pytest.mark.parametrize("m, k, n", SHAPES)
@pytest.mark.parametrize("transposed", [False, True])
def test_panels(m, k, n, transposed):
    torch.manual_seed(m + n)
    a, b = torch.randn(m, k).half(), torch.randn(k, n).half()
    x, y = a.npu(), b.npu()
    if transposed:
        x, y = a.t().contiguous().npu().t(), b.t().contiguous().npu().t()
    want = a.double() @ b.double()
    got = (x @ y).cpu().double()
    # fp32 sums, rounded once to fp16
    bound = want.abs() * 2**-10 + (a.double().abs() @ b.double().abs()) * 2**-22 + 2**-24
    assert ((got - want).abs() <= bound).all(), (got - want).abs().max()
