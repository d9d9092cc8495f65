"""The examples as a user runs them: CUDA scripts, unmodified, on npu by `updraft run --cuda-as-npu`."""
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .subproc import ROOT, environment

EXAMPLES = ROOT / "examples"


def example(device, script, *arguments):
    updraft = Path(sys.executable).with_name("updraft")
    updraft = str(updraft) if updraft.exists() else shutil.which("updraft")
    prefix = []
    if device.startswith("npu"):
        assert updraft, "the updraft command is not installed; ./dev setup does it"
        prefix = [updraft, "run", "--cuda-as-npu"]
    done = subprocess.run([*prefix, sys.executable, str(EXAMPLES / script), *map(str, arguments)], cwd=ROOT, env=environment(), timeout=280,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    if device.startswith("npu"):
        assert re.search(r"device: .*Ascend", done.stdout), done.stdout
    return done.stdout


def number(pattern, text):
    found = re.search(pattern, text)
    assert found, text
    return float(found.group(1))


@pytest.mark.limit(300)
def test_digits_learns_saves_and_resumes(device, tmp_path):
    text = example(device, "digits.py", "--epochs", 8, "--out", tmp_path)
    assert number(r"\ntest accuracy: ([\d.]+) %", text) >= 97.0, text
    assert number(r"throughput: (\d+) images/s", text) > 0
    assert (tmp_path / "digits.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "digits.pt").stat().st_size > 100_000
    again = example(device, "digits.py", "--epochs", 8, "--out", tmp_path)
    assert "resumed after epoch 8" in again and number(r"\ntest accuracy: ([\d.]+) %", again) >= 97.0


@pytest.mark.limit(300)
def test_an_interrupted_training_goes_on(device, tmp_path):
    """The first checkpoint is of a run that was stopped; the second run ends what the first began."""
    import torch
    example(device, "digits.py", "--epochs", 2, "--out", tmp_path)
    state = torch.load(tmp_path / "digits.pt", map_location="cpu")
    assert len(state["history"]) == 2
    text = example(device, "digits.py", "--epochs", 3, "--out", tmp_path)
    assert "resumed after epoch 2" in text and "epoch  3:" in text and "epoch  2:" not in text


@pytest.mark.limit(300)
@pytest.mark.parametrize("precision", [(), ("--bf16",)])
def test_chargpt_learns_and_samples(device, precision):
    text = example(device, "chargpt.py", "--steps", 120, "--batch", 16, "--length", 64, "--layers", 2, *precision)
    first, held_out = number(r"step    1: loss ([\d.]+)", text), number(r"held-out loss: ([\d.]+)", text)
    assert first > 4.0 and held_out < 2.75, text
    assert len(text.split("sample:\n")[1]) > 200
