"""triton-ascend of PyPI, unmodified: kernels run in Triton's interpreter, because CANN's compiler is not here (python/updraft/_triton.py)."""
import subprocess
import sys
from pathlib import Path

import pytest

from ..subproc import ROOT, environment

FOLDER = ROOT / ".venv-triton"
HERE = Path(__file__).parent
pytestmark = pytest.mark.skipif(not (FOLDER / "triton").is_dir(), reason="./dev test clients installs triton-ascend")


def run(*command, **variables):
    env = environment(**{"PYTHONPATH": str(FOLDER), "UPDRAFT_STRICT": "0", **variables})
    if "TRITON_INTERPRET" not in variables:
        env.pop("TRITON_INTERPRET", None)  # of the process that asks
    return subprocess.run([sys.executable, "-W", "ignore", *command], capture_output=True, text=True, timeout=300, env=env)


@pytest.mark.parametrize("program", ["kernels", "graphs", "extension", "libdevice", "inductor"])
def test_programs(program):
    done = run(str(HERE / f"{program}.py"))
    assert done.returncode == 0, done.stdout + done.stderr


def test_strict():
    """The host may not touch the device's memory: the interpreter copies."""
    done = run(str(HERE / "kernels.py"), UPDRAFT_STRICT="1")
    assert done.returncode == 0, done.stdout + done.stderr
    done = run(str(HERE / "graphs.py"), UPDRAFT_STRICT="1")
    assert "a kernel of Triton cannot be captured with UPDRAFT_STRICT=1" in done.stderr, done.stderr


ASKS = """
import os, triton
print(os.environ.get("TRITON_INTERPRET"), [b.driver.__name__ for b in triton.backends.backends.values()])
"""


@pytest.mark.parametrize("variables", [{"TRITON_INTERPRET": "0"}, {"UPDRAFT_DISABLE": "1"}])
def test_triton_stays_as_it_is(variables):
    done = run("-c", ASKS, **variables)
    assert done.stdout == f"{variables.get('TRITON_INTERPRET')} ['NPUDriver']\n", done.stdout + done.stderr


def test_without_triton_nothing_is_set(tmp_path):
    """A folder of that name is no Triton; the programs that this one starts inherit its variables."""
    (tmp_path / "triton").mkdir()
    done = run("-c", "import os\ntry:\n    import triton.language\nexcept ImportError:\n    print(os.environ.get('TRITON_INTERPRET'))",
               PYTHONPATH=str(tmp_path))
    assert done.stdout == "None\n", done.stdout + done.stderr


def test_triton_before_torch():
    done = run("-c", ASKS + "import torch, torch_npu\nprint(triton.runtime.driver.active.get_current_device())")
    assert done.stdout == "1 ['VirtualNpu']\n0\n", done.stdout + done.stderr
