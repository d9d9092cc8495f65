"""What the card refuses and this library could do is refused in strict mode and with UPDRAFT_FIDELITY=card; torch_npu does none of it."""
import pytest

from .subproc import python

MODES = pytest.mark.parametrize("mode", [{"UPDRAFT_STRICT": "1"}, {"UPDRAFT_STRICT": "0", "UPDRAFT_FIDELITY": "card"},
                                          {"UPDRAFT_STRICT": "0"}],
                                ids=["strict", "card", "default"])

TORCH = """
import torch, torch_npu
x = torch.arange(1 << 19, dtype=torch.float32)
y = x.npu()
pinned = x.pin_memory()
z = pinned.npu(non_blocking=True)
back = torch.empty_like(x).pin_memory()
back.copy_(z, non_blocking=True)
torch.npu.synchronize()
assert (back == x).all() and (y.clone().cpu() == x).all()
assert (y.to("npu:1").cpu() == x).all() and (y.to("npu:1").to("npu:0") == y).all()
number = torch.tensor(3.0)  # on the host, and without dimensions: PyTorch lets it meet tensors of any device
assert ((y + number).cpu() == x + 3).all()
picked = y[torch.tensor([1, 2])]
assert picked.tolist() == [1, 2]
y[torch.tensor([0])] = number.npu()
y[y > 7] = 3.0
assert y[0].item() == 3 and y[8].item() == 3
matrix = x.view(512, 1024).npu()
matrix[:, ::2].copy_(torch.zeros(512, 512))
matrix.t()[1::2].copy_(torch.ones(512, 512).pin_memory(), non_blocking=True)
assert matrix.sum().item() == 512 * 512
assert matrix.nonzero().shape == (512 * 512, 2) and matrix.unique().tolist() == [0, 1]
net = torch.nn.Sequential(torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.AdaptiveAvgPool2d(2), torch.nn.Flatten(),
                          torch.nn.Linear(32, 4)).npu()
image = torch.randn(2, 3, 16, 16).npu()
net(image).sum().backward()
torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
assert all(p.grad.isfinite().all() for p in net.parameters())
if hasattr(torch_npu, "empty_with_swapped_memory"):
    swapped = torch_npu.empty_with_swapped_memory([256], dtype=torch.float32, device=torch.device("npu:0"))
    swapped.fill_(2).add_(1)
    assert swapped.cpu().sum().item() == 768
print("all right")
"""

COPIES = """
import ctypes, torch, torch_npu
y = torch.zeros(64).npu()
torch.npu.synchronize()
acl = ctypes.CDLL("libascendcl.so")
acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
host, other = (ctypes.c_char * 64)(), (ctypes.c_char * 64)()
def copy(what, to, source, kind):
    code = acl.aclrtMemcpy(ctypes.c_void_p(to), ctypes.c_size_t(64), ctypes.c_void_p(source), ctypes.c_size_t(64), kind)
    text = (acl.aclGetRecentErrMsg() or b"").decode()
    print(what, code, "host memory" in text and "wants device memory" in text)
copy("right", y.data_ptr(), ctypes.addressof(host), 1)
copy("host for device", ctypes.addressof(other), ctypes.addressof(host), 1)
copy("device of host", ctypes.addressof(host), ctypes.addressof(other), 2)
"""


@MODES
def test_torch_npu_keeps_the_rules(mode):
    assert "all right" in python(TORCH, timeout=110, **mode)


@MODES
def test_the_kind_of_a_copy(mode):
    text = python(COPIES, **mode)
    assert "right 0 False" in text
    checked = mode["UPDRAFT_STRICT"] == "1" or "UPDRAFT_FIDELITY" in mode
    wrong = "107000 True" if checked else "0 False"
    assert f"host for device {wrong}" in text and f"device of host {wrong}" in text


def test_a_thread_without_a_device_has_the_default_one():
    """torch_npu starts AscendCL with a file that names device 0 as the default."""
    assert "0 True\n0 0" in python("""
        import ctypes, threading, torch, torch_npu
        torch.ones(1).npu()
        acl = ctypes.CDLL("libascendcl.so")
        def ask():
            free, total, device = ctypes.c_size_t(), ctypes.c_size_t(), ctypes.c_int32(-1)
            print(acl.aclrtGetMemInfo(1, ctypes.byref(free), ctypes.byref(total)), total.value > 0)
            print(acl.aclrtGetDevice(ctypes.byref(device)), device.value)
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
    """)
