"""updraft migrate --verify: the original on the CPU, the migrated project on the virtual NPU, their losses."""

import json
import os
import subprocess
import sys

import pytest

TRAIN = """import sys
import torch
import torch.nn as nn

print("argv", sys.argv[1:], open("../beside.txt").read())
torch.manual_seed(0)
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
assert device.type != "cpu"
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).cuda()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
x, y = torch.randn(64, 16), torch.randint(0, 4, (64,))
for step in range(5):
    optimizer.zero_grad()
    out = model(x.to(device))
    loss = nn.functional.cross_entropy(out, y.cuda(non_blocking=True))
    loss.backward()
    optimizer.step()
    print(f"step {step} loss: {loss.item():.6f} acc {(out.argmax(1).cpu() == y).float().mean():.3f}")
torch.cuda.synchronize()
open("written.txt", "w").write("x")
"""


@pytest.fixture
def migrate(tmp_path):
    def run(source, *arguments, command="python train.py", status=0, lang="en"):
        project = tmp_path / "project"
        project.mkdir(exist_ok=True)
        (tmp_path / "beside.txt").write_text("neighbour")
        (project / "train.py").write_text(source)
        env = {k: v for k, v in os.environ.items() if k not in ("UPDRAFT_DISABLE", "TORCH_DEVICE_BACKEND_AUTOLOAD")}
        env.update(UPDRAFT_MEMORY="512M", UPDRAFT_LANG=lang)
        done = subprocess.run([sys.executable, "-m", "updraft", "migrate", str(project), "-o", str(tmp_path / "out"), "--verify", command,
                               *arguments], capture_output=True, text=True, env=env, timeout=400)
        assert done.returncode == status, (done.returncode, done.stdout[-3000:], done.stderr[-3000:])
        folder = tmp_path / "out" / "project_msft" / "verify"
        report = json.loads((folder / "verify_report.json").read_text()) if (folder / "verify_report.json").exists() else None
        return done.stderr, report, folder

    return run


def test_verified(migrate, tmp_path):
    text, report, folder = migrate(TRAIN, "--verify-twice", command="python train.py --epochs 2")
    assert "verified: 10 losses agree" in text
    assert report["verified"] and report["repeatable"] and report["streams"]["stdout"]["agree"] == 10
    for name in ("original", "original_again", "migrated"):
        assert report[name]["status"] == 0 and report[name]["hook"]
        assert "argv ['--epochs', '2'] neighbour" in (folder / (name + ".stdout.txt")).read_text()
    assert sorted(p.name for p in (tmp_path / "project").iterdir()) == ["train.py"], "the input is never altered"
    assert not (tmp_path / "out" / "project_msft" / "written.txt").exists()
    assert "x.to(device)" in (tmp_path / "out" / "project_msft" / "train.py").read_text()


def test_a_difference_is_shown_with_both_lines(migrate):
    source = TRAIN.replace("for step", 'scale = 1.5 if hasattr(torch, "n" + "pu") else 1.0\nfor step').replace(
        "{loss.item():.6f}", "{loss.item() * (scale if step > 1 else 1):.6f}")
    text, report, folder = migrate(source, status=1)
    assert "NOT verified: 4 losses agree before" in text and "number 5 of the losses in stdout differs" in text
    first = report["streams"]["stdout"]["first_difference"]
    assert first["original"]["text"].startswith("step 2 loss: ") and first["migrated"]["text"].startswith("step 2 loss: ")
    assert float(first["migrated"]["value"]) == pytest.approx(1.5 * float(first["original"]["value"]), rel=1e-3)
    for side in ("original", "migrated"):
        line = (folder / (side + ".stdout.txt")).read_text().splitlines()[first[side]["line"] - 1]
        assert line == first[side]["text"] and line in text
    assert "--verify-twice" in text


def test_an_original_that_is_not_seeded_is_named(migrate):
    text, report, _ = migrate(TRAIN.replace("torch.manual_seed(0)\n", ""), "--verify-twice", status=1)
    assert "differs from itself" in text and report["repeatable"] is False


def test_a_failure_of_one_side(migrate):
    text, report, folder = migrate(TRAIN + "\nif hasattr(torch, 'n' + 'pu'):\n    sys.exit('no such luck')\n", status=1)
    assert "the migrated project on the virtual NPU: exit status 1" in text and "no such luck" in text
    assert report["original"]["status"] == 0 and report["migrated"]["status"] == 1


def test_the_time_limit_ends_all_processes(migrate):
    source = "import os, subprocess, sys\nprint('loss: 1.0', flush=True)\n" \
             "p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(600)'])\nprint('child', p.pid, flush=True)\np.wait()\n"
    text, report, folder = migrate(source, "--verify-timeout", "6", status=1)
    assert "stopped after 6 s " in text and report["original"]["status"] is None
    for side in ("original", "migrated"):
        pid = (folder / (side + ".stdout.txt")).read_text().split("child ")[1].split()[0]
        try:
            state = open("/proc/%s/stat" % pid).read().rsplit(")", 1)[1].split()[0]
        except FileNotFoundError:
            continue
        assert state == "Z", "still running"


def test_nothing_to_compare_is_no_success(migrate):
    text, report, _ = migrate("import torch\nprint(torch.ones(1).cuda().item())\n", status=1)
    assert "nothing that looks like a loss" in text and not report["verified"]


def test_another_python_is_noticed(migrate):
    text, report, _ = migrate("print('loss: 1.0')\n", status=1)
    assert "imported torch" in text


@pytest.mark.parametrize("arguments", [("--in-place",), ("--check",), ("--diff",), ("--rtol", "-1"), ("--verify-timeout", "0")])
def test_refusals(migrate, arguments):
    migrate(TRAIN, *arguments, status=2)


def test_one_file_in_chinese(tmp_path, migrate):
    (tmp_path / "one").mkdir()
    (tmp_path / "one" / "data.txt").write_text("0.25")
    (tmp_path / "one" / "train.py").write_text("import torch\nprint('loss:', (torch.ones(1).cuda() * float(open('data.txt').read())).item())\n")
    env = {k: v for k, v in os.environ.items() if k not in ("UPDRAFT_DISABLE", "TORCH_DEVICE_BACKEND_AUTOLOAD")}
    done = subprocess.run([sys.executable, "-m", "updraft", "migrate", str(tmp_path / "one" / "train.py"), "-o", str(tmp_path / "out"),
                           "--verify", "python train.py"], capture_output=True, text=True, env=dict(env, UPDRAFT_MEMORY="512M", UPDRAFT_LANG="zh"),
                          timeout=300)
    assert done.returncode == 0, done.stderr
    assert "验证通过" in done.stderr
    report = json.loads(next((tmp_path / "out").rglob("verify_report.json")).read_text())
    assert report["verified"] and report["streams"]["stdout"]["agree"] == 1
