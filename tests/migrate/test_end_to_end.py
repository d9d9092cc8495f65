"""The examples that say cuda, migrated in three ways - by the tool, by --auto, by hand - train to the same losses.

What a person changes by hand stands below, line by line; it is the reference that the tool did not make.
"""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"
IMPORT = ("import torch\n", "import torch\nimport torch_npu\n")

# name: (what is copied, the script, its options, what a person writes, the losses that it prints)
SCRIPTS = {
    "digits": ("digits.py", "digits.py", ["--epochs", "1", "--batch", "128", "--workers", "0", "--fresh"], [
        IMPORT,
        ("default=torch.cuda.is_available()", "default=torch.npu.is_available()"),
        ("    cuda = torch.cuda.is_available()\n", "    cuda = torch.npu.is_available()\n"),
        ('torch.device("cuda" if cuda', 'torch.device("npu" if cuda'),
        ("{torch.cuda.get_device_name(0)", "{torch.npu.get_device_name(0)"),
        ("model = model.cuda()", 'model = model.to("npu")'),
        ("torch.cuda.amp.GradScaler(enabled", 'torch.amp.GradScaler("npu", enabled'),
        ("images.cuda(non_blocking=True), labels.cuda(non_blocking=True)",
         'images.to("npu", non_blocking=True), labels.to("npu", non_blocking=True)'),
        ("torch.cuda.amp.autocast(enabled", 'torch.amp.autocast("npu", enabled'),
        ("torch.cuda.synchronize()", "torch.npu.synchronize()"),
        ("torch.cuda.max_memory_allocated()", "torch.npu.max_memory_allocated()"),
    ], r"loss [\d.]+, test accuracy [\d.]+|^test accuracy.*"),
    "chargpt": ("chargpt.py", "chargpt.py", ["--steps", "6", "--batch", "8", "--width", "64", "--layers", "2", "--characters", "20", "--bf16"], [
        IMPORT,
        ("cuda = torch.cuda.is_available()", "cuda = torch.npu.is_available()"),
        ('torch.device("cuda" if cuda', 'torch.device("npu" if cuda'),
        ("{torch.cuda.get_device_name(0)", "{torch.npu.get_device_name(0)"),
    ], r"loss:? [\d.]+|sample:[\s\S]*"),
    "imagenet": ("imagenet", "main.py", ["--dummy", "--pictures", "24", "--batch-size", "8", "--image-size", "32", "--classes", "4", "--epochs", "1",
                                         "--workers", "0", "--seed", "0", "--gpu", "0", "--lr", "0.01", "--print-freq", "1"], [
        IMPORT,
        ('default="nccl"', 'default="hccl"'),
        ("torch.cuda.device_count()", "torch.npu.device_count()"),
        ("if torch.cuda.is_available():", "if torch.npu.is_available():"),
        ('torch.device("cuda", gpu or 0)', 'torch.device("npu", gpu or 0)'),
        ("torch.cuda.set_device(device)", "torch.npu.set_device(device)"),
        ("torch.cuda.get_device_name(device)", "torch.npu.get_device_name(device)"),
        ("torch.amp.GradScaler(enabled", 'torch.amp.GradScaler("npu", enabled'),
    ], r"Loss [\d.e+-]+"),
}


def by_hand(script, changes):
    text = script.read_text()
    for old, new in changes:
        assert text.count(old) == 1, f"{script.name} has changed: {old!r} stands in it {text.count(old)} times"
        text = text.replace(old, new)
    script.write_text(text)


def train(warm, folder, script, options):
    env = dict(os.environ, UPDRAFT_THREADS="1", OMP_NUM_THREADS="1", UPDRAFT_DEVICES="1", PYTHONWARNINGS="ignore")
    if script == "digits.py":
        options = [*options, "--out", str(folder / "trained")]
    elif script == "main.py":
        options = [*options, "--out", str(folder)]
    if folder.name == "tool":  # what the tool makes starts as its users start it
        done = subprocess.run([sys.executable, script, *options], cwd=folder, capture_output=True, text=True, timeout=280, env=env)
    else:
        done = warm.run(script, *options, cwd=folder, env=env, timeout=280)
    assert done.returncode == 0, f"{folder}\n{done.stdout[-1500:]}\n{done.stderr[-3000:]}"
    assert "Ascend" in done.stdout, done.stdout  # transfer_to_npu leaves torch.device("cuda") its name
    return done.stdout


@pytest.mark.parametrize("name", SCRIPTS)
def test_three_ways_train_alike(tool, warm, tmp_path, name):
    copied, script, options, changes, pattern = SCRIPTS[name]
    folders = {}
    for way in ("tool", "auto", "hand"):
        folder = tmp_path / way
        if (EXAMPLES / copied).is_dir():
            shutil.copytree(EXAMPLES / copied, folder, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            folder.mkdir()
            shutil.copy(EXAMPLES / copied, folder)
        folders[way] = folder
    tool(folders["tool"], "--in-place", "-q")
    tool(folders["auto"], "--auto", "--in-place", "-q")
    by_hand(folders["hand"] / script, changes)
    code = re.sub("#.*", "", (folders["tool"] / script).read_text().split('"""', 2)[2])
    assert not re.search(r"torch\.cuda|\.cuda\(|\"cuda\"|nccl", code), code
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        printed = dict(zip(folders, pool.map(lambda folder: train(warm, folder, script, options), folders.values())))
    losses = {way: re.findall(pattern, text, re.M) for way, text in printed.items()}
    assert len(losses["hand"]) >= 2, printed["hand"]
    assert losses["tool"] == losses["auto"] == losses["hand"]
