"""`updraft run --report`: planted faults are found where they stand, and sound training has none of them."""
import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

UPDRAFT = [sys.executable, "-m", "updraft"]


def report(folder, code, *options, status=0, lang="en", command=None, **env):
    script = folder / "train.py"
    script.write_text(textwrap.dedent(code))
    done = subprocess.run(UPDRAFT + ["run", *options, "--report", str(folder / "out.html"), *(command or [sys.executable]), str(script)], cwd=folder,
                          timeout=150, text=True, capture_output=True, env=dict(os.environ, UPDRAFT_LANG=lang, **env))
    assert done.returncode == status, done.stderr[-4000:]
    if not (folder / "out.json").exists():
        return done.stderr, None, None
    return done.stderr, json.loads((folder / "out.json").read_text()), (folder / "out.html").read_text()


def by_id(data):
    return {f["id"]: f for f in data["findings"]}


FAULTS = """
    import time
    import torch, torch_npu
    import torch.nn.functional as F
    torch.manual_seed(0)
    weights = [torch.randn(32, 32).npu().requires_grad_() for _ in range(4)]
    optimizer = torch.optim.AdamW(weights, 1e-3)

    def attention(x):
        q, k, v = (x @ w for w in weights[:3])
        return torch.softmax(q @ k.transpose(-1, -2) / 6, -1) @ v

    def by_hand(x):
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
        x = (x - mean) * torch.rsqrt(variance + 1e-5)
        return 0.5 * x * (1 + torch.tanh(0.79788 * (x + 0.044715 * torch.pow(x, 3))))

    def norm(x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)

    for step in range(60):
        time.sleep(0.02)
        x = torch.randn(2, 8 + step, 32).npu()
        y = by_hand(attention(norm(x))) @ weights[3]
        loss = (F.silu(y) * y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        value = loss.item()
        chosen = x[x > 2]
        torch.linalg.eigvalsh(x[0].t() @ x[0])
"""


@pytest.fixture(scope="module")
def faults(tmp_path_factory):
    return report(tmp_path_factory.mktemp("faults"), FAULTS)


def evidence(finding):
    return "\n".join(" | ".join(row) for row in finding["rows"])


@pytest.mark.parametrize("name, line", [
    ("cpu-fallback", "torch.linalg.eigvalsh"), ("host-waits", "value = loss.item()"), ("aicpu", "chosen = x[x > 2]"),
    ("changing-shapes", "q, k, v"), ("float32-products", "aclnnM"), ("fusable", "npu_fusion_attention"), ("fusable", "npu_rms_norm"),
    ("fusable", "npu_swiglu"), ("fusable", "functional.layer_norm"), ("fusable", "approximate='tanh'"), ("fusable", "NpuFusedAdamW"), ("device-idle", "MEMCPY")])
def test_planted_faults(faults, name, line):
    finding = by_id(faults[1])[name]
    assert line in evidence(finding), evidence(finding)
    assert finding["advice"] and finding["meaning"]
    if name in ("cpu-fallback", "host-waits", "aicpu"):
        assert "train.py:" in evidence(finding)


def test_page_stands_alone(faults):
    said, data, page = faults
    assert "out.html" in said and "out.json" in said
    assert data["status"] == 0 and data["product"] == "Ascend910B2"
    assert "http" not in page and "<script" not in page  # nothing from elsewhere
    for finding in data["findings"]:
        assert f'id="{finding["id"]}"' in page
    assert {o["name"] for o in data["operators"]} >= {"aclnnSoftmax", "aclnnMatmul"}


def test_sound_training_has_none(tmp_path):
    _, data, _ = report(tmp_path, """
        import torch, torch_npu
        torch.manual_seed(0)
        net = torch.nn.Sequential(torch.nn.Conv2d(3, 16, 3, padding=1), torch.nn.BatchNorm2d(16), torch.nn.ReLU(), torch.nn.Conv2d(16, 24, 3),
                                  torch.nn.AdaptiveAvgPool2d(1), torch.nn.Flatten(), torch.nn.Linear(24, 4)).npu()
        optimizer = torch_npu.optim.NpuFusedAdamW(net.parameters(), 1e-3)
        x, y = torch.randn(16, 3, 64, 64).pin_memory(), torch.arange(16).npu() % 4
        for step in range(20):
            with torch.autocast("npu", dtype=torch.bfloat16):
                loss = torch.nn.functional.cross_entropy(net(x.to("npu", non_blocking=True)), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        loss.item()
    """)
    # how busy the device is depends on what else the machine does
    assert not set(by_id(data)) - {"device-idle"}, by_id(data)


def test_gradients_that_a_fused_optimizer_does_not_see(tmp_path):
    """The steps by model.zero_grad() repeat the first gradient; those of the optimizer's own, and of zeros in place, do not."""
    _, data, _ = report(tmp_path, """
        import torch, torch_npu

        def train(clear):
            torch.manual_seed(0)
            net = torch.nn.Linear(4, 1).npu()
            optimizer = torch_npu.optim.NpuFusedAdamW(net.parameters(), 0.1)
            for step in range(4):
                net(torch.full((2, 4), (-1.0) ** step).npu()).sum().backward()
                optimizer.step()
                clear(net, optimizer)
            return net.weight.sum().item()

        own = train(lambda net, optimizer: optimizer.zero_grad())
        zeros = train(lambda net, optimizer: net.zero_grad(set_to_none=False))
        assert own == zeros
        assert train(lambda net, optimizer: net.zero_grad()) < own - 0.3
    """)
    finding = by_id(data)["lost-gradients"]
    assert finding["level"] == "fails" and data["findings"][0]["id"] == "lost-gradients"
    assert [row[1] for row in finding["rows"]] == ["3"] and "optimizer.step()" in evidence(finding), evidence(finding)


def test_what_a_product_refuses(tmp_path):
    _, data, _ = report(tmp_path, """
        import torch, torch_npu
        x = torch.ones(4, 4, dtype=torch.int64).npu()
        y = (x @ x).cpu()
    """)
    finding = by_id(data)["refused"]
    assert finding["level"] == "fails" and data["findings"][0]["id"] == "refused"
    assert "INT64" in evidence(finding) and "y = (x @ x).cpu()" in evidence(finding)


def test_steps_with_an_overflow(tmp_path):
    _, data, _ = report(tmp_path, """
        import torch, torch_npu
        w = torch.ones(4, device="npu", requires_grad=True)
        optimizer, scaler = torch.optim.SGD([w], 0.1), torch.npu.amp.GradScaler(init_scale=2.0 ** 16, growth_interval=1000)
        for step in range(12):
            scaler.scale((w * (float("inf") if step % 2 else 1.0)).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    """)
    assert data["loss_scaling"] == {"checks": 12, "overflows": 6}
    assert "6" in by_id(data)["overflow"]["meaning"]


def test_ranks_are_one_report(tmp_path):
    _, data, _ = report(tmp_path, """
        import torch, torch_npu
        import torch.distributed as dist
        dist.init_process_group("hccl")
        torch.npu.set_device(dist.get_rank())
        x = torch.ones(1000).npu()
        for _ in range(5):
            dist.all_reduce(x)
        torch.npu.synchronize()
        dist.destroy_process_group()
    """, command=[sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--master-port=0", "--rdzv-endpoint=localhost:0", "--rdzv-backend=c10d"])
    assert len(data["processes"]) == 2 and {d["device"] for d in data["devices"]} == {0, 1}
    assert next(o["count"] for o in data["operators"] if o["name"].startswith("HcclAllReduce")) == 10


def test_failing_scripts_keep_their_status_and_have_a_report(tmp_path):
    said, data, page = report(tmp_path, """
        import torch, torch_npu
        torch.ones(3).npu() + 1
        raise SystemExit(7)
    """, status=7)
    assert data["status"] == 7 and "aclnnAdds" in page


def test_chinese(tmp_path):
    _, data, page = report(tmp_path, "import torch, torch_npu\nfor _ in range(12): torch.ones(3).npu().sum().item()\n", lang="zh")
    assert "主机等待设备的代码行" in page and by_id(data)["host-waits"]["title"] == "主机等待设备的代码行"


def test_without_the_npu(tmp_path):
    said, data, _ = report(tmp_path, "print('nothing')\n")
    assert data is None and "no report" in said


@pytest.mark.parametrize("path, said", [("", "is a folder"), ("none/out.html", "no folder")])
def test_places_that_cannot_be_written(tmp_path, path, said):
    done = subprocess.run(UPDRAFT + ["run", "--report", str(tmp_path / path), sys.executable, "-c", "print('ran')"], text=True, capture_output=True,
                          env=dict(os.environ, UPDRAFT_LANG="en"), timeout=60)
    assert done.returncode == 2 and said in done.stderr and "ran" not in done.stdout
