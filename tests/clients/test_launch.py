"""Plain launchers: torchrun's ranks and spawned workers find the virtual NPU by themselves."""
import subprocess
import sys

import pytest

from tests.clients.subproc import ROOT, environment

RANK = """
import os, sys, time
import torch, torch_npu
rank = int(os.environ["LOCAL_RANK"])
torch.npu.set_device(rank)
weight = torch.ones(4, 4, device="npu", requires_grad=True)
(weight @ weight).sum().backward()
assert weight.grad.device.index == rank and weight.grad.cpu().eq(8).all()
open(os.path.join(sys.argv[1], "rank-%d" % rank), "w").write(os.environ["ASCEND_HOME_PATH"])
# PyTorch's thread for gradients still gives up Python objects of backward(), and aborts when the interpreter is gone
# by then. Longer scripts never see it.
time.sleep(0.5)
"""

SPAWN = """
import sys
import torch
import torch.multiprocessing

def work(rank, folder):
    x = torch.full((3,), float(rank), device="npu:%d" % rank)
    open("%s/rank-%d" % (folder, rank), "w").write(str((x + 1).sum().item()))

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, args=(sys.argv[1],), nprocs=2)
"""


def run(tmp_path, code, *launcher):
    script = tmp_path / "script.py"
    script.write_text(code)
    done = subprocess.run([sys.executable, *launcher, str(script), str(tmp_path)], cwd=ROOT, env=environment(), timeout=110,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    return [(tmp_path / ("rank-%d" % rank)).read_text() for rank in range(2)]


@pytest.mark.limit(180)
def test_torchrun_with_two_ranks(tmp_path):
    homes = run(tmp_path, RANK, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2")
    assert homes[0] == homes[1] and homes[0]


@pytest.mark.limit(180)
def test_spawned_workers(tmp_path):
    assert run(tmp_path, SPAWN) == ["3.0", "6.0"]


VISIBLE = """
import torch, torch_npu
assert torch.npu.device_count() == 2, torch.npu.device_count()
x = torch.ones(3, device="npu:1")
assert x.sum().item() == 3
try:
    torch.ones(3, device="npu:2")
except RuntimeError as e:
    assert "ASCEND_RT_VISIBLE_DEVICES" in str(e) or "device_count" in str(e) or "invalid device" in str(e).lower(), e
else:
    raise AssertionError("there is no third device")
import os
devices = os.path.join(os.environ["UPDRAFT_RUN_DIR"], "devices")
assert str(os.getpid()) in os.listdir(os.path.join(devices, "5")), "npu:1 is device 5 of the machine"
"""


@pytest.mark.limit(60)
def test_visible_devices(tmp_path):
    done = subprocess.run([sys.executable, "-c", VISIBLE], cwd=ROOT, timeout=50, capture_output=True, text=True,
                          env=dict(environment(), ASCEND_RT_VISIBLE_DEVICES="3,5,9", UPDRAFT_RUN_DIR=str(tmp_path)))
    assert done.returncode == 0, done.stderr[-4000:]


LATE = """
import ctypes, os, torch, torch_npu
acl, n = ctypes.CDLL("libascendcl.so"), ctypes.c_uint32()
def count():
    assert acl.aclrtGetDeviceCount(ctypes.byref(n)) == 0
    return n.value
counts = []
for value in ("", "0,", "0, 1", "0,32,1", "0,32,0", "0,0", "1,0", "npu0", "2,5"):
    os.environ["ASCEND_RT_VISIBLE_DEVICES"] = value
    counts.append((torch.npu.device_count(), count()))
assert acl.aclrtSetDevice(1) == 0 and acl.aclrtSetDevice(2) != 0
os.environ["ASCEND_RT_VISIBLE_DEVICES"] = "7"
counts.append((2, count()))
print(counts)
"""


@pytest.mark.limit(60)
def test_visible_devices_count_until_one_is_used(tmp_path):
    done = subprocess.run([sys.executable, "-c", LATE], cwd=ROOT, timeout=50, capture_output=True, text=True,
                          env=dict(environment(), UPDRAFT_RUN_DIR=str(tmp_path)))
    assert done.returncode == 0, done.stderr[-4000:]
    assert done.stdout.strip() == str([(n, n) for n in (0, 1, 1, 1, 1, 0, 0, 0, 2, 2)])
