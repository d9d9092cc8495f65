"""Saturation mode: results stay within fp16 and a sticky flag tells of an overflow."""
import os
import subprocess
import sys

CODE = """
import torch, torch_npu
status = lambda: torch_npu.npu_get_float_status(torch.zeros(8).npu())[0].item()
clear = lambda: torch_npu.npu_clear_float_status(torch.zeros(8).npu())
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
print("fine")
"""


def test_saturation():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "INF_NAN_MODE_FORCE_DISABLE": "1"})
    assert done.returncode == 0 and "fine" in done.stdout, done.stderr[-2000:]
