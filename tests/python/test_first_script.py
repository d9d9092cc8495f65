"""docs/start/first-script.md: its scripts are written and its commands run, in order."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

from conftest import ROOT

PAGE = (ROOT / "docs" / "start" / "first-script.md").read_text()
SCRIPTS = dict(re.findall(r"`(\w+\.py)`[^\n]*:\n\n```python\n(.*?)```", PAGE, re.S))
COMMANDS = [line for block in re.findall(r"```bash\n(.*?)```", PAGE, re.S) for line in block.splitlines()]
SAID = {"updraft doctor": "no problem found", "updraft info": "910B2", "python first.py": "npu:0",
        "updraft run --cuda-as-npu python train.py": "on npu:0", "python migrated/train_msft/train.py": "on npu:0",
        "torchrun --standalone --nproc-per-node=2 several/train_msft_multi/train.py": "on npu:0"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("start")
    for name, text in SCRIPTS.items():
        (path / name).write_text(text)
    return path


def test_the_page_has_what_it_shows():
    assert set(SCRIPTS) == {"first.py", "train.py"} and set(SAID) < set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_command(folder, command):
    env = dict(os.environ, PATH="%s:%s" % (pathlib.Path(sys.executable).parent, os.environ["PATH"]))
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=env, capture_output=True, text=True, timeout=300)
    text = done.stdout + done.stderr
    assert done.returncode == 0, text
    assert SAID.get(command, "") in text, text
    losses = [float(x) for x in re.findall(r"step \d+ loss ([0-9.]+)", done.stdout)]
    assert not losses or losses[-1] < losses[0] / 10, text
