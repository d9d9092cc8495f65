"""Ascend910A and Ascend310P3: torch_npu takes older operators (aclop) there, which give what the CPU gives."""
import pytest

from .subproc import python

CODE = """
import torch, torch_npu
import torch.nn as nn
import torch.nn.functional as F

def trained(device):
    torch.manual_seed(0)
    m = nn.Sequential(nn.Conv2d(1, 6, 3, padding=1, stride=2), nn.BatchNorm2d(6), nn.SiLU(),
                      nn.Conv2d(6, 6, 3, padding=2, dilation=2, groups=6, bias=False),
                      nn.ConvTranspose2d(6, 4, 3, 2, 1, 1, groups=2), nn.Flatten(), nn.Linear(256, 10)).to(device)
    optimizer = torch.optim.SGD(m.parameters(), 0.05)
    for step in range(3):
        x, y = torch.rand(4, 1, 8, 8).to(device), torch.tensor([1, 7, 2, 9]).to(device)
        loss = F.cross_entropy(m(x), y, reduction="sum", label_smoothing=0.1)
        optimizer.zero_grad(); loss.backward(); optimizer.step()
    return [loss, *m.parameters()]

def images(device):
    torch.manual_seed(0)
    x = torch.randn(2, 3, 6, 6).to(device).requires_grad_()
    columns = F.unfold(x, 3, padding=(1, 0), stride=2)
    columns.pow(2).sum().backward()
    return [columns, x.grad]

def losses(device):
    torch.manual_seed(0)
    found = []
    for reduction in ("mean", "sum", "none"):
        x, w = torch.randn(6, 5).to(device).requires_grad_(), torch.rand(5).to(device)
        y = F.nll_loss(x.log_softmax(1), torch.tensor([0, 1, 4, 2, 3, 1]).to(device), w, ignore_index=1, reduction=reduction)
        y.pow(2).sum().backward()
        found += [y, x.grad]
    return found

def small(device):
    torch.manual_seed(0)
    x = torch.randn(3, 4).to(device)
    a = x.clone().requires_grad_()
    y = torch_npu.npu_silu(a) if device == "npu" else F.silu(a)  # Swish
    y.sum().backward()
    return [y, a.grad, F.silu(x), x.sum((0, 1)), x[:, :1].expand(3, 5).contiguous(), x.half().float().int(), torch.ones_like(x)]

def volume(device):
    torch.manual_seed(0)
    x = torch.randn(1, 2, 7, 7, 7).to(device)
    found = []
    for pool in (lambda v: F.max_pool3d(v, 2, 2, ceil_mode=True), lambda v: F.max_pool3d(v, 3, 2, 1),
                 lambda v: F.avg_pool3d(v, 3, 2, 1, count_include_pad=False), lambda v: F.avg_pool3d(v, 2, 2, ceil_mode=True)):
        v = x.clone().requires_grad_()
        y = pool(v)
        y.backward(torch.ones_like(y))
        found += [y, v.grad]
    conv = nn.Sequential(nn.Conv3d(2, 4, 3, padding=1), nn.ConvTranspose3d(4, 2, 2, 2))
    conv = conv.to(device)
    conv(x).pow(2).sum().backward()
    return found + [p.grad for p in conv.parameters()]

def compare(*functions):
    for f in functions:
        for i, (a, e) in enumerate(zip(f("npu"), f("cpu"), strict=True)):
            torch.testing.assert_close(a.detach().cpu(), e.detach(), rtol=1e-3, atol=1e-4, msg=lambda m: f"{f.__name__} {i}: {m}")
compare(trained, images, losses, small)
torch.npu.config.allow_internal_format = False
compare(volume)
print("fine")
"""

# torch_npu asks for the product's own layouts here by default; the operators on such tensors are aclops.
INTERNAL = """
import torch, torch_npu
torch.manual_seed(0)
def close(model, x, form):
    on_npu = model.npu()(x.npu())
    assert torch_npu.get_npu_format(on_npu).name == form, torch_npu.get_npu_format(on_npu)
    expected = model.cpu().double()(x.double())
    torch.testing.assert_close(on_npu.detach().cpu().double(), expected.detach(), rtol=2e-3, atol=4e-3)
x = torch.randn(2, 16, 6, 6).half()
close(torch.nn.Conv2d(16, 33, 3).half(), x, "NC1HWC0")
close(torch.nn.Sequential(torch.nn.Conv2d(16, 33, 3), torch.nn.BatchNorm2d(33)).half(), x, "NC1HWC0")
close(torch.nn.MaxPool3d(2), torch.randn(1, 3, 4, 4, 4), "NDC1HWC0")
print("fine")
"""


@pytest.mark.parametrize("soc", ["Ascend910A", "Ascend310P3"])
def test_results(soc):
    assert "fine" in python(CODE, timeout=300, UPDRAFT_SOC=soc)


def test_internal_formats():
    assert "fine" in python(INTERNAL, timeout=300, UPDRAFT_SOC="Ascend910A")
