"""An older pair, torch 2.7.1 with torch_npu 2.7.1, in an environment of its own (build/older-pair): imports, computes, trains.

In the long form only: the environment takes minutes and, where pip finds no CPU build of torch 2.7.1, 5 GB of CUDA libraries
that torch's build on PyPI needs to be imported."""
import hashlib
import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "build" / "older-pair"
TORCH = "torch==2.7.1"
# The last release of the pair, which runs as it is, and the first one, whose default on Ascend910B are internal formats.
RELEASES = ["torch_npu==2.7.1.post11", "torch_npu==2.7.1"]
COMMON = """attrs==26.1.0 decorator==5.3.1 filelock==4.2.11 fsspec==2026.9.0 Jinja2==3.1.6 MarkupSafe==3.0.4 mpmath==1.3.0
    networkx==3.4.2 numpy==2.2.6 psutil==7.2.2 PyYAML==6.0.3 setuptools==80.9.0 sympy==1.14.0 typing_extensions==4.16.0""".split()
CUDA = """cublas==12.6.4.1 cuda-cupti==12.6.80 cuda-nvrtc==12.6.77 cuda-runtime==12.6.77 cudnn==9.5.1.17 cufft==11.3.0.4
    cufile==1.11.1.6 curand==10.3.7.77 cusolver==11.7.1.2 cusparse==12.5.4.2 cusparselt==0.6.3 nccl==2.26.2
    nvjitlink==12.6.85 nvtx==12.6.77"""
CUDA = ["nvidia-%s-cu12==%s" % tuple(name.split("==")) for name in CUDA.split()]
INDEX = os.environ.get("UPDRAFT_TORCH_INDEX", "https://download.pytorch.org/whl/cpu")

pytestmark = [pytest.mark.long, pytest.mark.limit(1800)]

# Losses of a few steps on the CPU and on the device, as they are told apart below.
TRAIN = """
    import copy, os, torch, torch_npu
    import torch.nn.functional as F
    from torch import nn
    for name, value in eval(os.environ.get("CONFIG", "{}")).items():
        setattr(torch.npu.config, name, value)
    torch.manual_seed(0)

    class Text(nn.Module):
        def __init__(self, vocabulary=65, width=64, heads=4, layers=2, length=32):
            super().__init__()
            self.heads, self.token, self.place = heads, nn.Embedding(vocabulary, width), nn.Parameter(torch.zeros(length, width))
            self.blocks = nn.ModuleList(nn.ModuleDict(dict(
                first=nn.LayerNorm(width), qkv=nn.Linear(width, 3 * width), out=nn.Linear(width, width),
                second=nn.LayerNorm(width), up=nn.Linear(width, 4 * width), down=nn.Linear(4 * width, width)))
                for _ in range(layers))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

        def forward(self, ids):
            x = self.token(ids) + self.place
            batch, length, width = x.shape
            for b in self.blocks:
                q, k, v = (t.view(batch, length, self.heads, -1).transpose(1, 2) for t in b["qkv"](b["first"](x)).chunk(3, -1))
                y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
                x = x + b["out"](y.transpose(1, 2).reshape(batch, length, width))
                x = x + b["down"](F.gelu(b["up"](b["second"](x))))
            return self.head(self.norm(x))

    def conv():
        net = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
                            nn.Conv2d(8, 16, 3, stride=2), nn.BatchNorm2d(16), nn.ReLU(), nn.AdaptiveAvgPool2d(1),
                            nn.Flatten(), nn.Linear(16, 10))
        return net, torch.randn(8, 3, 32, 32), torch.randint(10, (8,)), lambda p: torch.optim.SGD(p, 0.1, momentum=0.9)

    def text():
        ids = torch.randint(65, (4, 33))
        return Text(), ids[:, :-1], ids[:, 1:], lambda p: torch.optim.AdamW(p, 3e-3)

    def train(device, net, x, y, optimizer, amp=None):
        net, x, y, kind = copy.deepcopy(net).to(device), x.to(device), y.to(device), device.split(":")[0]
        optimizer, losses = optimizer(net.parameters()), []
        scaler = torch.amp.GradScaler(kind, enabled=amp == torch.float16)
        for _ in range(10):
            optimizer.zero_grad()
            with torch.autocast(kind, dtype=amp, enabled=amp is not None):
                loss = F.cross_entropy(net(x).flatten(0, -2).float(), y.flatten())
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            losses.append(loss.item())
        return losses

    for task in (conv, text):
        task = task()
        cpu = train("cpu", *task)
        assert cpu[-1] < cpu[0] - 0.5, cpu
        for amp, tolerance in ((None, 1e-4), (torch.bfloat16, 0.03), (torch.float16, 0.01)):
            npu = train("npu:0", *task, amp)
            assert max(abs(a - b) for a, b in zip(cpu, npu)) < tolerance, (amp, cpu, npu)
    print("trained", torch.__version__, torch_npu.__version__, torch.npu.get_device_name(0))
"""


def pip(*arguments, check=True):
    command = [str(FOLDER / "bin" / "python"), "-m", "pip", "install", "--disable-pip-version-check", "--no-deps", *arguments]
    done = subprocess.run(command, capture_output=True, text=True)
    if check and done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or done.stderr.splitlines()[-1:]
        pytest.skip("build/older-pair cannot be made: " + " ".join(lines[-1:]))
    return done.returncode == 0


def install():
    """The environment, made once for a list of versions."""
    stamp = hashlib.sha256(repr((TORCH, RELEASES, COMMON, CUDA, sys.version)).encode()).hexdigest()
    marker = FOLDER / "stamp"
    if not marker.exists() or marker.read_text() != stamp:
        shutil.rmtree(FOLDER, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(FOLDER)], check=True)
        pip(*COMMON)
        if not pip(TORCH + "+cpu", check=False) and not (
                INDEX and pip("--timeout", "20", "--retries", "1", "--index-url", INDEX, TORCH + "+cpu", check=False)):
            free = shutil.disk_usage(FOLDER).free
            if free < 8 << 30:
                pytest.skip("torch's CUDA build needs 8 GB of disk for an installation, %.1f are free" % (free / 1e9))
            pip(TORCH, *CUDA)
        for release in RELEASES:
            pip("--target", str(FOLDER / release), release)
        marker.write_text(stamp)


@pytest.fixture(scope="module")
def older():
    """older(release, code, **env): (status, output) of a program on the older pair and the tree under test."""
    install()
    site = next(FOLDER.glob("lib/python3*/site-packages"))
    shutil.rmtree(site / "updraft", ignore_errors=True)
    shutil.copytree(ROOT / "python" / "updraft", site / "updraft", ignore=shutil.ignore_patterns("tree", "__pycache__"))
    shutil.copy(ROOT / "packaging" / "updraft-preload.pth", site)
    from updraft import home

    def run(release, code, **env):
        env = {**os.environ, "PYTHONPATH": str(FOLDER / release), "UPDRAFT_CANN_HOME": home(), **env}
        done = subprocess.run([str(FOLDER / "bin" / "python"), "-c", textwrap.dedent(code)], env=env, cwd=str(FOLDER),
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
        return done.returncode, done.stdout

    return run


@pytest.mark.parametrize("release", RELEASES)
def test_imports_and_adds(older, release):
    status, text = older(release, """
        import torch, torch_npu
        x = torch.arange(4.0).npu()
        assert (x + x).cpu().tolist() == [0, 2, 4, 6]
        print("added", torch_npu.__version__, torch.npu.device_count())
    """)
    assert status == 0 and "added %s 8" % release.split("==")[1] in text, text


@pytest.mark.parametrize("release, env", [
    (RELEASES[0], {}),
    (RELEASES[1], {}),
    (RELEASES[1], {"UPDRAFT_SOC": "Ascend910_9391"}),
    (RELEASES[1], {"CONFIG": "{'allow_internal_format': False}"}),
], ids=["last", "first in internal formats", "first on Ascend910_9391", "first without internal formats"])
def test_trains(older, release, env):
    status, text = older(release, TRAIN, **env)
    assert status == 0 and "trained 2.7.1" in text, text


def test_convolutions_in_internal_formats(older):
    status, text = older(RELEASES[1], """
        import torch, torch_npu
        torch.manual_seed(0)
        x, w = torch.randn(2, 3, 8, 8), torch.randn(4, 3, 3, 3)
        torch.testing.assert_close(torch.nn.functional.conv2d(x.npu(), w.npu()).cpu(), torch.nn.functional.conv2d(x, w))
        print("right")
    """)
    assert status == 0 and "right" in text, text
