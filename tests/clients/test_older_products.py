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

# Where every operator is compiled by itself, which older products do from the start.
COMPILED = """
import torch, torch_npu
import torch.nn.functional as F
torch.npu.set_compile_mode(jit_compile=True)
torch.manual_seed(0)
x, y, numbers, places = torch.randn(6, 8), torch.randn(6, 8), torch.randint(-5, 9, (6, 8)), torch.tensor([4, 0, 5])
group = torch.randn(2, 6, 4)

def put(v, at, what, add=False):
    v = v.clone()
    v.index_put_(at, what, accumulate=add)
    return v

def silu_gradient(v):
    v = v.clone().requires_grad_()
    return torch.autograd.grad(F.silu(v).sum(), v)[0]

CASES = {
    "equal": lambda d: torch.tensor([torch.equal(x.to(d), x.to(d).clone()), torch.equal(x.to(d), y.to(d))]),
    "masked_select": lambda d: x.to(d).masked_select(x.to(d) > 0),
    "masked_scatter": lambda d: x.to(d).masked_scatter(x.to(d) > 0, y.to(d)),
    "index": lambda d: x.to(d)[places.to(d)],
    "index of columns": lambda d: x.to(d)[:, places.to(d)],
    "index of both": lambda d: x.to(d)[places.to(d), places.to(d)],
    "index by mask": lambda d: x.to(d)[x.to(d) > 0],
    "index_put": lambda d: put(x.to(d), (places.to(d),), y[:3].to(d)),
    "index_put of halves": lambda d: put(x.to(d).half(), (places.to(d), places.to(d)), y[0, :3].to(d).half()).float(),
    "index_put, accumulated": lambda d: put(x.to(d), (torch.tensor([1, 1, 2]).to(d),), y[:3].to(d), True),
    "index_fill": lambda d: x.to(d).index_fill(1, places.to(d), 7.0),
    "repeat_interleave": lambda d: x.to(d).repeat_interleave(2, 1),
    "repeat_interleave by tensor": lambda d: x.to(d)[:3].repeat_interleave(torch.tensor([2, 0, 3]).to(d), 0),
    "unique": lambda d: numbers.to(d).unique(),
    "unique, with places": lambda d: numbers.to(d).unique(return_inverse=True)[1],
    "bincount": lambda d: places.to(d).bincount(minlength=9),
    "histc": lambda d: x.to(d).histc(10, -2, 2),
    "min": lambda d: x.to(d).amin(),
    "var": lambda d: x.to(d).var(1, correction=1),
    "var of all": lambda d: x.to(d).var(),
    "norm": lambda d: x.to(d).norm(),
    "norm of order 3": lambda d: x.to(d).norm(3, 1),
    "largest": lambda d: torch.linalg.vector_norm(x.to(d), float("inf"), 1),
    "dist": lambda d: torch.dist(x.to(d), y.to(d)),
    "cdist": lambda d: torch.cdist(x.to(d), y.to(d)),
    "cross": lambda d: torch.linalg.cross(x.to(d)[:, :3], y.to(d)[:, :3], dim=1),
    "renorm": lambda d: x.to(d).renorm(2, 0, 1.0),
    "group_norm": lambda d: F.group_norm(group.to(d), 3),
    "embedding_bag": lambda d: F.embedding_bag(places.to(d)[None], x.to(d)),
    "silu's gradient": lambda d: silu_gradient(x.to(d)),
}
for name, f in CASES.items():
    got, want = f("npu").cpu(), f("cpu")
    torch.testing.assert_close(got, want, rtol=1e-3, atol=1e-3, msg=lambda m: f"{name}: {m}")
print(x.npu())
print("fine")
"""


@pytest.mark.parametrize("soc", ["Ascend910A", "Ascend310P3"])
def test_results(soc):
    assert "fine" in python(CODE, timeout=300, UPDRAFT_SOC=soc)


@pytest.mark.parametrize("soc", ["Ascend910A", "Ascend910B2"])
def test_operators_compiled_one_by_one(soc):
    assert "fine" in python(COMPILED, timeout=300, UPDRAFT_SOC=soc, TASK_QUEUE_ENABLE="0")


def test_internal_formats():
    assert "fine" in python(INTERNAL, timeout=300, UPDRAFT_SOC="Ascend910A")
