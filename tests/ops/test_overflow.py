"""Saturation mode: results stay within fp16 and a sticky flag of the device tells of an overflow."""
import os
import subprocess
import sys

START = """
import ctypes
import torch, torch_npu
status = lambda d=0: torch_npu.npu_get_float_status(torch.zeros(8, device=f"npu:{d}"))[0].item()
clear = lambda d=0: torch_npu.npu_clear_float_status(torch.zeros(8, device=f"npu:{d}"))
"""
CODE = """
x = torch.tensor([60000.0, -60000.0, 1.0]).half().npu()
assert status() == 0
assert (x + x).cpu().tolist() == [65504.0, -65504.0, 2.0]
assert status() == 1 and status() == 1
clear()
assert status() == 0
torch._foreach_mul_([x], 4.0)
assert x.cpu().tolist() == [65504.0, -65504.0, 4.0] and status() == 1
clear()
y = torch.tensor([3e38]).npu()
assert (y * y).cpu().item() == float("inf") and status() == 1
clear()
z = torch.full((3,), float("-inf")).npu()
z + 1
assert status() == 0  # an infinity that was there is no overflow
large = torch.full((300000,), 60000.0).half().npu()
assert (large + large).cpu().max() == 65504 and status() == 1  # by many threads
print("fine")
"""
TWO_DEVICES = """
acl = ctypes.CDLL("libascendcl.so")
def set_mode(device, mode):
    torch.npu.set_device(device)
    assert acl.aclrtSetDeviceSatMode(mode) == 0
    torch.npu.set_device(0)
x, y = (torch.tensor([60000.0, 1.0]).half().to(f"npu:{d}") for d in (0, 1))
set_mode(1, 0)  # torch_npu has chosen the mode of the first device
assert status(0) == 0 and status(1) == 0
assert (x + x).cpu().tolist() == [65504.0, 2.0]
assert status(0) == 1 and status(1) == 0
clear(1)
assert status(0) == 1
assert (y * 2).cpu().tolist() == [65504.0, 2.0]
clear(0)
assert status(0) == 0 and status(1) == 1
# The mode is the device's, too.
clear(1)
set_mode(1, 1)
assert (y * 2).cpu().tolist() == [float("inf"), 2.0] and status(1) == 0
mode = ctypes.c_int32(-1)
assert acl.aclrtGetDeviceSatMode(ctypes.byref(mode)) == 0 and mode.value == 0
assert (x * 2).cpu().tolist() == [65504.0, 2.0] and status(0) == 1 and status(1) == 0
print("fine")
"""


def run(code):
    done = subprocess.run([sys.executable, "-c", START + code], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "INF_NAN_MODE_FORCE_DISABLE": "1"})
    assert done.returncode == 0 and "fine" in done.stdout, done.stderr[-2000:]


def test_saturation():
    run(CODE)


def test_each_device_has_its_own():
    run(TWO_DEVICES)
