"""What must not happen to a process: growth, a hang at Ctrl-C, remains after kill -9, a crash because of a log folder."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

from .subproc import python

PREPARE = "import torch, torch_npu\n"


def start(code, **env):
    process = subprocess.Popen([sys.executable, "-c", PREPARE + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, **env))
    assert process.stdout.readline().strip() == "ready", process.stderr.read()
    return process


@pytest.mark.limit(120)
def test_a_long_loop_does_not_grow():
    """Memory and descriptors after 600 steps are those after 200."""
    text = python(PREPARE + """
import os
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).npu()
optimizer = torch.optim.AdamW(model.parameters())
def step(n):
    for _ in range(n):
        x = torch.randn(16, 32).npu()
        event = torch.npu.Event(); event.record()
        loss = model(x).square().mean(); optimizer.zero_grad(); loss.backward(); optimizer.step(); loss.item()
    with open("/proc/self/statm") as f: pages = int(f.read().split()[1])
    return pages * 4096, len(os.listdir("/proc/self/fd")), torch.npu.memory_allocated()
before = step(200); after = step(400)
print("figures", *(a - b for a, b in zip(after, before)))
""")
    memory, descriptors, device = map(int, text.split("figures")[1].split()[:3])
    assert memory < 8 << 20 and descriptors <= 0 and device <= 0, text


@pytest.mark.limit(120)
def test_ctrl_c_during_synchronise():
    process = start("""
x = torch.randn(1500, 1500).npu()
print("ready", flush=True)
while True:
    for _ in range(20): y = x @ x
    torch.npu.synchronize()
""")
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode != 0 and "KeyboardInterrupt" in error, error


@pytest.mark.limit(120)
def test_kill_leaves_nothing(tmp_path):
    shared = set(os.listdir("/dev/shm")) if os.path.isdir("/dev/shm") else set()
    process = start("x = torch.ones(64 << 20, dtype=torch.uint8).npu()\ntorch.npu.synchronize()\nprint('ready', flush=True)\ninput()",
                    UPDRAFT_RUN_DIR=str(tmp_path))
    updraft = str(pathlib.Path(sys.executable).with_name("updraft"))
    environment = dict(os.environ, UPDRAFT_RUN_DIR=str(tmp_path))
    table = subprocess.run([updraft, "info"], env=environment, capture_output=True, text=True).stdout
    assert str(process.pid) in table, table
    process.kill()
    process.wait()
    table = subprocess.run([updraft, "info"], env=environment, capture_output=True, text=True).stdout
    assert str(process.pid) not in table, table
    if os.path.isdir("/dev/shm"):
        assert not {name for name in set(os.listdir("/dev/shm")) - shared if "updraft" in name}


@pytest.mark.limit(60)
@pytest.mark.parametrize("folder", ["/proc/nowhere", "/dev/null/x"])
def test_an_unwritable_log_folder_changes_nothing(folder):
    text = python(PREPARE + "print('sum', torch.ones(2).npu().add(1).cpu().sum().item())", ASCEND_PROCESS_LOG_PATH=folder,
                  ASCEND_GLOBAL_LOG_LEVEL="0")
    assert "sum 4.0" in text


@pytest.mark.limit(60)
def test_errors_reach_the_log(tmp_path):
    python(PREPARE + """
import ctypes
assert ctypes.CDLL("libascendcl.so").aclrtSetDevice(999) == 107001
""", ASCEND_PROCESS_LOG_PATH=str(tmp_path))
    text = "".join(p.read_text() for p in (tmp_path / "debug" / "plog").glob("plog-*.log"))
    assert "[ERROR]" in text and "UPDRAFT_DEVICES" in text


@pytest.mark.limit(60)
def test_strict_mode_names_the_mistake():
    """Host code that reads device memory crashes with a sentence that says so."""
    result = subprocess.run([sys.executable, "-c", PREPARE + """
import ctypes
x = torch.ones(4).npu(); torch.npu.synchronize()
ctypes.string_at(x.data_ptr(), 4)
"""], env=dict(os.environ, UPDRAFT_STRICT="1"), capture_output=True, text=True, timeout=60)
    assert result.returncode == -signal.SIGSEGV
    assert "host code touched device memory" in result.stderr


@pytest.mark.limit(90)
@pytest.mark.parametrize("limit, gigabytes", [("RLIMIT_DATA", 6), ("RLIMIT_AS", 32)])
def test_limits_of_a_shared_machine_leave_room(limit, gigabytes):
    """Batch systems limit a job's data or addresses (ulimit -d, -v): what is only reserved does not count as used."""
    text = python(f"""
import resource
resource.setrlimit(resource.{limit}, ({gigabytes} << 30,) * 2)
import torch, torch_npu
model = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8)).npu()
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    loss = model(torch.randn(16, 32).npu()).square().mean(); loss.backward(); optimizer.step()
print("loss", loss.item())
""", UPDRAFT_STRICT="0")  # which takes twice the addresses
    assert "loss" in text


@pytest.mark.limit(60)
def test_too_few_addresses_are_named():
    text = python("""
import resource
import torch, torch_npu
resource.setrlimit(resource.RLIMIT_AS, (8 << 30,) * 2)
torch.ones(2).npu()
""", status=1, UPDRAFT_MEMORY="6G")
    assert "ulimit -v" in text and "UPDRAFT_MEMORY" in text
